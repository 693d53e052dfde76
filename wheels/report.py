"""Writes docs/project/dependencies.md: everything that cykafka consists of or asks for, with versions and licences.

python wheels/report.py
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
REPORT = ROOT / "docs" / "project" / "dependencies.md"
sys.path.insert(0, str(HERE))

import sources  # noqa: E402

HEAD = """\
# Dependencies and licences

Written by `python wheels/report.py`. cykafka itself is under the Apache License 2.0, and needs no other Python package.

## Compiled into the module

Pinned by SHA-256, fetched by package name, checked on each build. The licence texts are in every wheel; the parts of
librdkafka are listed one by one in `librdkafka/LICENCES.md`. All of these licences allow use in closed source.

| library | version | package | licence | in |
|---|---|---|---|---|
"""

TAIL = """
Of the system, wheels need the C library, and Cyrus SASL (BSD with attribution) only when Kerberos is chosen: its
headers ({sasl}) are used in building, its library is loaded at run time. A build from source links the
system's OpenSSL, curl, zstd and zlib instead.

## Optional Python packages

Installed by `pip install cykafka[extra]`; none is ever imported before it is used.

| extra | package | licence |
|---|---|---|
"""


def compiled() -> list[str]:
    """Return a row for each library that is compiled in."""
    kafka = json.loads((ROOT / "librdkafka" / "pin.json").read_text())
    parser = json.loads((ROOT / "yyjson" / "pin.json").read_text())
    rows = [
        (
            "librdkafka",
            kafka["version"],
            f"npm {kafka['npm_package']} {kafka['npm_version']}",
            "BSD-2-Clause",
            "all builds",
        ),
        ("yyjson", parser["version"], f"PyPI {parser['pypi_package']} {parser['pypi_version']}", "MIT", "all builds"),
    ]
    rows += [
        (source.name, source.version, f"crate {source.crate} {source.crate_version}", source.licence, "wheels")
        for source in sources.load()
        if not source.headers_only
    ]
    return [f"| {' | '.join(row)} |" for row in rows]


def licence(package: str) -> str:
    """Return what an installed package says of its licence."""
    try:
        said = metadata(package)
    except PackageNotFoundError:
        raise SystemExit(f"error: {package} is not installed: its licence cannot be read") from None
    for expression in said.get_all("License-Expression") or ():
        return str(expression)
    classifiers = [line.split(" :: ")[-1] for line in said.get_all("Classifier") or () if line.startswith("License ::")]
    return ", ".join(classifiers) or next(iter(said.get_all("License") or ("unknown",))).splitlines()[0]


def optional() -> list[str]:
    """Return a row for each package that an extra asks for."""
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = []
    for extra, requirements in extras.items():
        for requirement in requirements:
            name = requirement.split(";")[0].split(">=")[0].split("[")[0].strip()
            rows.append(f"| {extra} | {requirement} | {licence(name)} |")
    return rows


def main() -> int:
    """Write the report."""
    (sasl,) = (source for source in sources.load() if source.headers_only)
    tail = TAIL.format(sasl=f"{sasl.version}, crate {sasl.crate} {sasl.crate_version}")
    REPORT.write_text(HEAD + "\n".join(compiled()) + "\n" + tail + "\n".join(optional()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
