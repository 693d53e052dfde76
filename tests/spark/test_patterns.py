"""Java regular expressions for topic names."""

import sys

import pytest

from cykafka.spark.patterns import compile_java_pattern

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("ticks-.*", "ticks-us", "my-ticks-us"),
        ("a|bc", "bc", "abc"),
        (r"\p{Alpha}+", "abc", "ab1"),
        (r"\p{Lu}[\p{Digit}_]+", "A1_2", "a1"),
        (r"\P{Digit}+", "abc", "a1"),
        (r"\Qa.b\E.", "a.bc", "axbc"),
        (r"[\Q.-\E]+", ".-", "a"),
        (r"(?<year>\d{4})-\k<year>", "2024-2024", "2024-2025"),
        (r"(?i)TICKS", "ticks", "tick"),
        (r"\Aorders\z", "orders", "orders1"),
        (r"[]a]+", "a", "b"),
        (r"a\h*b", "ab", "a-b"),
        (r"(?:a|b){2,3}", "aba", "a"),
        (r"(?!internal).*", "orders", "internal-x"),
        (r"(?<!x)a", "a", "xa"),
    ],
)
def test_means_what_it_means_in_java(pattern, matching, other):
    compiled = compile_java_pattern(pattern)
    assert compiled.fullmatch(matching)
    assert not compiled.fullmatch(other)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs Python 3.11 or later")
def test_possessive_quantifiers_and_atomic_groups():
    assert not compile_java_pattern("a*+ab").fullmatch("aaab")
    assert not compile_java_pattern("(?>a*)ab").fullmatch("aaab")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("[a-z&&[^b]]", "intersection"),
        ("[a[bc]]", "within another"),
        (r"\p{IsGreek}+", r"\\p\{IsGreek\}"),
        (r"\X", r"\\X"),
        ("(?U)a", "flag 'U'"),
        ("a(?i)b", "middle"),
        ("a\\", "lone backslash"),
        ("(a", "not a regular expression"),
        ("[ab", "without its end"),
    ],
)
def test_what_works_in_java_only_is_refused(pattern, problem):
    with pytest.raises(ValueError, match=problem):
        compile_java_pattern(pattern)
