"""Gets the pinned sources of yyjson, the JSON parser, checks them and unpacks them beside this file.

Standard library only, and what librdkafka/vendor.py has for both:

    python yyjson/vendor.py                   unpack the pinned version (does nothing if it is there)
    python yyjson/vendor.py --update 4.0.6    pin another version of the PyPI package, then unpack it

The sources come from the source distribution of the PyPI package that the pin names, or, without any network, from
CYKAFKA_YYJSON_SOURCE: a folder or tarball with yyjson.c and yyjson.h. Either way their hash must be the pinned one.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "librdkafka"))

from vendor import VendorError, extract, tree_hash  # noqa: E402

PIN_FILE = HERE / "pin.json"
SOURCE_VARIABLE = "CYKAFKA_YYJSON_SOURCE"
FILES = ("yyjson.c", "yyjson.h")


@dataclasses.dataclass
class Pin:
    """Which sources to build.

    Attributes:
        version: Version of yyjson.
        pypi_package: PyPI package whose source distribution carries the sources.
        pypi_version: Its version.
        sdist_sha256: SHA-256 of the source distribution.
        tree_sha256: Hash of the two files, see `tree_hash`.
    """

    version: str
    pypi_package: str
    pypi_version: str
    sdist_sha256: str
    tree_sha256: str

    @classmethod
    def load(cls) -> Pin:
        """Read the pin file."""
        return cls(**json.loads(PIN_FILE.read_text()))


def check_hash(what: str, actual: str, pinned: str) -> None:
    """Raise if a hash is not the pinned one."""
    if actual != pinned:
        raise VendorError(
            f"{what} is not what yyjson/pin.json pins: its hash is {actual}, the pin says {pinned}. Fetch it anew "
            f"(delete yyjson/src-*), check {SOURCE_VARIABLE}, or, to take this version on purpose, run: "
            "python yyjson/vendor.py --update PYPI_VERSION"
        )


def pip_download(package: str, version: str, folder: Path) -> Path:
    """Download the package's source distribution into a folder and return its path."""
    if importlib.util.find_spec("pip"):
        pip = [sys.executable, "-m", "pip"]
    else:
        # In an isolated build environment pip is outside.
        pip = [shutil.which("pip3") or shutil.which("pip") or ""]
    if not pip[0]:
        raise VendorError(
            f"pip is needed to fetch the sources of yyjson: install it, or set {SOURCE_VARIABLE} to a folder or tarball"
        )
    print(f"fetching {package} {version} with pip", file=sys.stderr, flush=True)
    arguments = ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", package]
    command = [*pip, *arguments, "--dest", str(folder), f"{package}=={version}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    tarballs = list(folder.glob("*.tar.gz"))
    if result.returncode != 0 or len(tarballs) != 1:
        raise VendorError(
            f"pip could not fetch {package} {version}: {(result.stderr or result.stdout).strip()}. Check that pip "
            f"reaches its index, or set {SOURCE_VARIABLE} to a folder or tarball with yyjson.c and yyjson.h"
        )
    return tarballs[0]


def find_sources(root: Path) -> Path:
    """Return the folder that has the sources, below another one."""
    for header in sorted(root.rglob("yyjson.h")):
        if header.with_name("yyjson.c").is_file():
            return header.parent
    raise VendorError(f"no yyjson.c and yyjson.h found in {root}")


def obtain(pin: Pin, scratch: Path, *, check_sdist: bool = True) -> Path:
    """Return a folder with the sources, from where they can be had."""
    source = os.environ.get(SOURCE_VARIABLE)
    if source:
        path = Path(source)
        if not path.exists():
            raise VendorError(f"{SOURCE_VARIABLE} names {source}, which does not exist")
        if path.is_dir():
            return find_sources(path)
        extract(path, scratch)
        return find_sources(scratch)
    tarball = pip_download(pin.pypi_package, pin.pypi_version, scratch)
    actual = hashlib.sha256(tarball.read_bytes()).hexdigest()
    if check_sdist:
        check_hash(f"{pin.pypi_package} {pin.pypi_version}", actual, pin.sdist_sha256)
    pin.sdist_sha256 = actual
    extract(tarball, scratch)
    return find_sources(scratch)


def copy(sources: Path, target: Path) -> None:
    """Copy the two files into an empty folder."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in FILES:
        shutil.copy(sources / name, target / name)


def unpack(pin: Pin | None = None) -> Path:
    """Unpack and check the pinned sources, unless that has been done; return their folder."""
    pin = pin or Pin.load()
    target = HERE / f"src-{pin.version}"
    if target.is_dir() and tree_hash(target) == pin.tree_sha256:
        return target
    with tempfile.TemporaryDirectory(prefix="cykafka-vendor-") as scratch:
        checked = Path(scratch) / "checked"
        copy(obtain(pin, Path(scratch)), checked)
        check_hash(f"the source of yyjson {pin.version}", tree_hash(checked), pin.tree_sha256)
        copy(checked, target)
    return target


def update(pypi_version: str) -> Pin:
    """Pin another version of the PyPI package: fetch it and write its hashes down."""
    pin = Pin.load()
    pin.pypi_version = pypi_version
    with tempfile.TemporaryDirectory(prefix="cykafka-vendor-") as scratch:
        checked = Path(scratch) / "checked"
        copy(obtain(pin, Path(scratch), check_sdist=False), checked)
        pin.tree_sha256 = tree_hash(checked)
        match = re.search(r'#define YYJSON_VERSION_STRING "([0-9.]+)"', (checked / "yyjson.h").read_text())
        if not match:
            raise VendorError("yyjson.h does not say which version it is")
        pin.version = match.group(1)
    PIN_FILE.write_text(json.dumps(dataclasses.asdict(pin), indent=2) + "\n")
    return pin


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Get the pinned sources of yyjson.")
    parser.add_argument("--update", metavar="PYPI_VERSION", help="pin this version of the PyPI package first")
    arguments = parser.parse_args()
    try:
        print(unpack(update(arguments.update) if arguments.update else None))
    except VendorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
