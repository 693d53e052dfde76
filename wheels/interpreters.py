"""Finds the Pythons of this machine that wheels can be made with: in PATH, of pyenv and of Debian's folders."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

#: What cykafka has wheels for, as wheels call it.
WANTED = ("cp310", "cp311", "cp312", "cp313", "cp314", "cp314t")

_ASK = """
import json, sys, sysconfig, os
free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
header = os.path.join(sysconfig.get_path("include"), "Python.h")
print(json.dumps([
    f"cp{sys.version_info[0]}{sys.version_info[1]}{'t' if free else ''}",
    list(sys.version_info[:3]),
    sys.implementation.name == "cpython" and os.path.isfile(header),
]))
"""


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """A Python that wheels can be made with.

    Attributes:
        tag: What wheels call it, as in cp314t.
        version: Its version.
        path: Its program.
        root: The clean system that it belongs to (`chroots.py`), None for one of this machine.
    """

    tag: str
    version: tuple[int, ...]
    path: Path
    root: Path | None = None

    @property
    def module_tag(self) -> str:
        """What the names of its extension modules call it, as in cpython-314t."""
        return f"cpython-{self.tag[2:]}"


def ask(path: Path) -> Interpreter | None:
    """Return what a Python says of itself, None if it does not run or has no headers."""
    try:
        answer = subprocess.run([path, "-c", _ASK], capture_output=True, text=True, check=True, timeout=60).stdout
        tag, version, usable = json.loads(answer)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter(tag, tuple(version), path) if usable else None


def candidates() -> Iterable[Path]:
    """Yield programs that may be Pythons; the one that runs this comes first."""
    yield Path(sys.executable)
    folders = [Path(folder) for folder in os.get_exec_path()]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders += sorted(pyenv.glob("versions/*/bin"))
    for folder in folders:
        # A shim of pyenv answers for whichever version is chosen at the moment.
        if folder.name != "shims":
            yield from sorted(path for path in folder.glob("python3.*") if path.name[9:].rstrip("t").isdigit())


def find() -> dict[str, Interpreter]:
    """Return the Pythons to make wheels with, the latest of each tag."""
    found: dict[str, Interpreter] = {}
    for path in candidates():
        interpreter = ask(path)
        if interpreter and interpreter.tag in WANTED:
            known = found.get(interpreter.tag)
            if known is None or known.version < interpreter.version:
                found[interpreter.tag] = interpreter
    return dict(sorted(found.items()))


def main() -> int:
    """Print what is there and what is not."""
    found = find()
    for tag in WANTED:
        print(f"{tag}: {found[tag].path}" if tag in found else f"{tag}: not on this machine")
    return 0


if __name__ == "__main__":
    sys.exit(main())
