"""What commands print: tables for people, plain columns for pipes, JSON lines for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table


class Output:
    """Standard output in the form that was asked for.

    Args:
        as_json: Print JSON: an object for one thing, a line with an object for each of many.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.console = Console(soft_wrap=True)
        self.errors = Console(stderr=True, soft_wrap=True, highlight=False)

    def rows(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> None:
        """Print rows that have the same columns; column names are the keys of JSON."""
        if self.as_json:
            for row in rows:
                self.json(dict(zip(columns, row, strict=True)))
            return
        texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
        if self.console.is_terminal:
            table = Table(title=title or None, title_justify="left", header_style="bold")
            for column in columns:
                table.add_column(column.replace("_", " "), overflow="fold")
            for text in texts:
                table.add_row(*text)
            self.console.print(table)
            return
        # In a pipe: a line for each row, columns separated by tabs, no header.
        for text in texts:
            print("\t".join(text))

    def json(self, value: Any) -> None:
        """Print one line of JSON."""
        print(json.dumps(value, default=str, ensure_ascii=False))

    def facts(self, facts: dict[str, Any]) -> None:
        """Print names and values of one thing."""
        if self.as_json:
            self.json(facts)
            return
        width = max(map(len, facts))
        for name, value in facts.items():
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
            print(f"{name.replace('_', ' '):{width}}  {text}")

    def done(self, text: str, **facts: Any) -> None:
        """Say what was done: JSON with these facts, or the text for people, on standard error."""
        if self.as_json:
            self.json(facts)
        else:
            self.note(text)

    def note(self, text: str) -> None:
        """Tell people something that is not the result: on standard error."""
        self.errors.print(text, markup=False)


def write(data: bytes) -> None:
    """Write bytes to standard output."""
    sys.stdout.buffer.write(data)
