"""The page about what users have asked for names tests that exist, and leaves no row without an answer."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "design" / "requests.md"


def rows():
    lines = PAGE.read_text().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def test_the_tests_that_it_names_exist():
    missing = []
    for name in re.findall(r"`([a-z]+/\w+::\w+)`", PAGE.read_text()):
        file, test = name.split("::")
        path = ROOT / "tests" / f"{file}.py"
        if not path.is_file() or not re.search(rf"def {test}\(", path.read_text()):
            missing.append(name)
    assert missing == []


def test_each_of_the_thirty_has_a_test_or_a_reason():
    numbered = {int(row[0]): row for row in rows() if row[0].isdigit()}
    assert sorted(numbered) == list(range(1, 31))
    for number, (_, asked, here, test) in numbered.items():
        assert asked, number
        assert here, number
        assert "::" in test or test.startswith("none:"), number
