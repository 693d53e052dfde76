"""Java regular expressions, as ``subscribePattern`` takes them, for topic names in Python.

Topic names are ASCII letters, digits, dots, underscores and dashes, so Unicode classes shrink to ASCII ones.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"\-._",
    "Graph": r"a-zA-Z0-9\-._",
    "Print": r"a-zA-Z0-9\-._",
    "ASCII": r"a-zA-Z0-9\-._",
    "XDigit": "0-9a-fA-F",
    "L": "a-zA-Z",
    "Ll": "a-z",
    "Lu": "A-Z",
    "N": "0-9",
    "Nd": "0-9",
    "P": r"\-._",
    "IsAlphabetic": "a-zA-Z",
    "IsLetter": "a-zA-Z",
    "IsDigit": "0-9",
    "IsLowercase": "a-z",
    "IsUppercase": "A-Z",
    "javaLowerCase": "a-z",
    "javaUpperCase": "A-Z",
}
_NO_SUCH_CHARACTER = {"h", "v", "R", "s"}
_PYTHON_FLAGS = frozenset("ismx")


def compile_java_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a Java regular expression for whole topic names (use ``fullmatch``).

    Args:
        pattern: As `java.util.regex.Pattern` takes it.

    Raises:
        ValueError: It is malformed, or uses what Python has no counterpart for; the message says what.
    """
    translated = _Translation(pattern).run()
    try:
        return re.compile(translated, re.ASCII)
    except re.error as error:
        raise ValueError(f"'{pattern}' is not a regular expression that works here: {error}") from None


class _Translation:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._result: list[str] = []

    def run(self) -> str:
        while self._at < len(self._pattern):
            letter = self._pattern[self._at]
            if letter == "\\":
                self._escape(in_class=False)
            elif letter == "[":
                self._character_class()
            elif letter == "(":
                self._group()
            elif letter in "*+?}":
                self._quantifier(letter)
            else:
                self._take(1)
        return "".join(self._result)

    def _take(self, count: int) -> None:
        self._result.append(self._pattern[self._at : self._at + count])
        self._at += count

    def _put(self, text: str, length: int) -> None:
        self._result.append(text)
        self._at += length

    def _unsupported(self, what: str) -> ValueError:
        return ValueError(
            f"'{self._pattern}' uses {what}, which works in Java only; write it in another way, or name the "
            "topics "
            "with 'subscribe'"
        )

    def _escape(self, *, in_class: bool) -> None:
        rest = self._pattern[self._at + 1 :]
        if not rest:
            raise ValueError(f"'{self._pattern}' ends with a lone backslash")
        letter = rest[0]
        simple: dict[str, Callable[[], None]] = {
            "z": lambda: self._put(r"\Z", 2),
            "Q": lambda: self._quoted(in_class=in_class),
            "p": lambda: self._property(in_class=in_class),
            "P": lambda: self._property(in_class=in_class),
            "k": self._back_reference,
        }
        if letter in simple:
            simple[letter]()
        elif letter in "GXN":
            raise self._unsupported(f"\\{letter}")
        elif letter in _NO_SUCH_CHARACTER:
            # No topic name has such characters; a class that cannot match keeps the rest as it is.
            self._put(r"\s" if in_class else r"[^\s\S]", 2)
        else:
            self._take(2)

    def _quoted(self, *, in_class: bool) -> None:
        end = self._pattern.find("\\E", self._at)
        text = self._pattern[self._at + 2 : end if end >= 0 else None]
        escaped = "".join(f"\\{letter}" for letter in text) if in_class else re.escape(text)
        self._put(escaped, len(text) + (4 if end >= 0 else 2))

    def _property(self, *, in_class: bool) -> None:
        found = re.compile(r"\\([pP])(?:\{(\w+)\}|(\w))").match(self._pattern, self._at)
        name = (found[2] or found[3]) if found else ""
        if found is None or name not in _CLASSES:
            raise self._unsupported(found[0] if found else self._pattern[self._at :])
        negated = found[1] == "P"
        if in_class and negated:
            raise self._unsupported(f"{found[0]} inside a character class")
        letters = _CLASSES[name]
        self._put(letters if in_class else f"[{'^' * negated}{letters}]", len(found[0]))

    def _back_reference(self) -> None:
        found = re.compile(r"\\k<(\w+)>").match(self._pattern, self._at)
        if found is None:
            raise ValueError(f"'{self._pattern}' has \\k without a group's name")
        self._put(f"(?P={found[1]})", len(found[0]))

    def _group(self) -> None:
        named = re.compile(r"\(\?<(?![=!])(\w+)>").match(self._pattern, self._at)
        flags = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?[:)]").match(self._pattern, self._at)
        if named is not None:
            self._put(f"(?P<{named[1]}>", len(named[0]))
        elif flags is not None:
            self._flags(flags)
        elif self._pattern.startswith("(?>", self._at):
            self._check_version("an atomic group")
            self._take(3)
        else:
            self._take(1)

    def _flags(self, found: re.Match[str]) -> None:
        unknown = (set(found[1]) | set(found[2] or "")) - _PYTHON_FLAGS
        if unknown:
            raise self._unsupported(f"the flag '{min(unknown)}'")
        if found[0].endswith(")") and (self._at > 0 or found[2]):
            raise self._unsupported(f"{found[0]} in the middle of the pattern")
        self._take(len(found[0]))

    def _quantifier(self, letter: str) -> None:
        if letter != "}" and self._pattern.startswith("+", self._at + 1):
            self._check_version("a possessive quantifier")
            self._take(2)
        else:
            self._take(1)

    def _check_version(self, what: str) -> None:
        if sys.version_info < (3, 11):
            raise self._unsupported(f"{what} (in Python 3.11 or later it works here too)")

    def _character_class(self) -> None:
        self._take(1)
        if self._pattern.startswith("^", self._at):
            self._take(1)
        first = True
        while self._at < len(self._pattern):
            letter = self._pattern[self._at]
            if letter == "\\":
                self._escape(in_class=True)
            elif letter == "[":
                raise self._unsupported("a character class within another")
            elif self._pattern.startswith("&&", self._at):
                raise self._unsupported("an intersection of character classes (&&)")
            elif letter == "]" and not first:
                self._take(1)
                return
            elif letter == "]":
                self._put(r"\]", 1)
            else:
                self._take(1)
            first = False
        raise ValueError(f"'{self._pattern}' has a character class without its end")
