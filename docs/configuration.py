"""Makes the configuration reference from the table that comes with the vendored librdkafka; a Sphinx extension.

The page is not kept in the repository: it is librdkafka's text, and belongs to the version that is built.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
PAGE = HERE / "api" / "configuration.md"
SECTIONS = {"Global configuration properties": "Of clients", "Topic configuration properties": "Of topics"}
USERS = {"C": "consumer", "P": "producer", "*": "both"}
HEAD = """# Configuration reference

Every property of librdkafka {version} may be given to every client, in the dict or as a keyword argument with `_` for
`.`. Properties of topics may be given to clients too, and apply to all their topics. What cykafka takes besides
(callbacks, `logger`, `spin_us` and the like) is with the [clients](index.md).

The tables are those of the librdkafka that cykafka is built with.
"""


def find_table() -> Path:
    """Return librdkafka's table of properties."""
    found = sorted(HERE.parent.glob("librdkafka/src-*/CONFIGURATION.md"))
    if not found:
        raise FileNotFoundError("librdkafka's sources are not unpacked: make build")
    return found[-1]


def rows(section: str) -> list[list[str]]:
    """Return the cells of a section's table; a bar within a cell is escaped."""
    lines = [line for line in section.splitlines() if line.count("|") >= 5]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines[2:]]


def render(text: str, version: str) -> str:
    """Return the page."""
    parts = [HEAD.format(version=version)]
    for title, ours in SECTIONS.items():
        section = text.split(f"## {title}")[1].split("\n## ", maxsplit=1)[0]
        parts.append(f"## {ours}\n")
        for name, users, values, default, importance, *description in rows(section):
            body = "|".join(description).replace("<br>", " ").strip()
            body = re.sub(r"\*Type: ([^*]*)\*", r"Type: \1.", body)
            facts = [
                USERS.get(users, users),
                f"default {default}" if default else "no default",
                f"importance {importance}",
            ]
            if values:
                facts.insert(1, f"values {values.replace(chr(92), '')}")
            parts.append(f"`{name}`\n: {'; '.join(facts)}.\n\n  {escape(body)}\n")
    return "\n".join(parts)


def escape(text: str) -> str:
    """Keep what looks like markup of other kinds from being taken for it."""
    return re.sub(r"(?<!`)<([^>`\s]*)>", r"&lt;\1&gt;", text)


def write(_app: Sphinx) -> None:
    """Write the page, unless it is there already as it should be."""
    table = find_table()
    page = render(table.read_text(), table.parent.name.removeprefix("src-"))
    if not PAGE.is_file() or PAGE.read_text() != page:
        PAGE.write_text(page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
