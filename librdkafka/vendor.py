"""Gets the pinned sources of librdkafka, checks them, applies our patches, and unpacks them beside this file.

Standard library only: it runs before anything is installed.

    python librdkafka/vendor.py                    unpack the pinned version (does nothing if it is there)
    python librdkafka/vendor.py --update 1.10.1    pin another version of the npm package, then unpack it

The sources come from the npm package that the pin names, or, without any network, from CYKAFKA_LIBRDKAFKA_SOURCE: an
unpacked tree or a tarball. Either way the hash of the unpacked tree must be the pinned one.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import requirements  # noqa: E402

PIN_FILE = HERE / "pin.json"
PATCHES = HERE / "patches"
SOURCE_VARIABLE = "CYKAFKA_LIBRDKAFKA_SOURCE"
STAMP = ".cykafka-unpacked"


class VendorError(requirements.BuildError):
    """The sources cannot be had or are not what the pin says; the text names the cure."""


@dataclasses.dataclass
class Pin:
    """Which sources to build.

    Attributes:
        version: Version of librdkafka.
        npm_package: npm package that carries the sources.
        npm_version: Its version.
        folder: Folder of the sources in the package.
        tarball_sha256: SHA-256 of the package's tarball.
        tree_sha256: Hash of the unpacked sources, see `tree_hash`.
    """

    version: str
    npm_package: str
    npm_version: str
    folder: str
    tarball_sha256: str
    tree_sha256: str

    @classmethod
    def load(cls, path: Path = PIN_FILE) -> Pin:
        """Read the pin file."""
        return cls(**json.loads(path.read_text()))

    def save(self, path: Path = PIN_FILE) -> None:
        """Write the pin file."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=2) + "\n")


def tree_hash(root: Path) -> str:
    """Return a hash over the names and contents of all files below a folder.

    Independent of order, times, owners and permissions, so that a tarball, an unpacked package and the copy in our
    own sdist agree.
    """
    digest = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.is_file() and p.name != STAMP):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_hash(what: str, actual: str, pinned: str) -> None:
    """Raise if a hash is not the pinned one."""
    if actual != pinned:
        raise VendorError(
            f"{what} is not what librdkafka/pin.json pins: its hash is {actual}, the pin says {pinned}. "
            f"Fetch it anew (delete librdkafka/src-*), check {SOURCE_VARIABLE}, or, to take this version on purpose, "
            f"run: python librdkafka/vendor.py --update NPM_VERSION"
        )


def npm_pack(package: str, version: str, folder: Path) -> Path:
    """Download the npm package's tarball into a folder and return its path."""
    npm = shutil.which("npm")
    if npm is None:
        raise VendorError(
            f"npm is needed to fetch the sources of librdkafka: install it "
            f"({requirements.install_command([requirements.NPM])}), or set {SOURCE_VARIABLE} to an unpacked tree or "
            f"tarball of librdkafka"
        )
    print(f"fetching {package} {version} with npm", file=sys.stderr, flush=True)
    command = [npm, "pack", "--silent", "--ignore-scripts", f"{package}@{version}"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    tarballs = list(folder.glob("*.tgz"))
    if result.returncode != 0 or len(tarballs) != 1:
        raise VendorError(
            f"npm could not fetch {package} {version}: {(result.stderr or result.stdout).strip()}. Check that npm "
            f"reaches its registry, or set {SOURCE_VARIABLE} to an unpacked tree or tarball of librdkafka"
        )
    return tarballs[0]


def extract(tarball: Path, folder: Path) -> None:
    """Unpack a tarball, refusing members that would leave the folder."""
    with tarfile.open(tarball) as archive:
        for member in archive.getmembers():
            target = (folder / member.name).resolve()
            if not target.is_relative_to(folder.resolve()) or member.issym() or member.islnk():
                raise VendorError(f"{tarball.name} has an unsafe member: {member.name}")
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:  # before Python 3.10.12 and 3.11.4
            archive.extractall(folder)


def find_sources(root: Path, folder: str) -> Path:
    """Return the folder of librdkafka's sources in an unpacked package, release tarball or plain tree."""
    candidates = [root, root / "package" / folder, *(p for p in root.iterdir() if p.is_dir())]
    for candidate in candidates:
        if (candidate / "src" / "rdkafka.h").is_file() and (candidate / "configure").is_file():
            return candidate
    raise VendorError(f"no librdkafka sources (src/rdkafka.h, configure) found in {root}")


def apply_patches(sources: Path) -> list[str]:
    """Apply our patches in the order of their names and return the names."""
    names = []
    for patch in sorted(PATCHES.glob("*.patch")):
        command = ["patch", "-p1", "--forward", "--input", str(patch)]
        requirements.check([requirements.PATCH])
        result = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise VendorError(f"{patch.name} does not apply: {result.stdout.strip()} {result.stderr.strip()}")
        names.append(patch.name)
    return names


def obtain(pin: Pin, scratch: Path) -> Path:
    """Return a folder with the upstream sources, from CYKAFKA_LIBRDKAFKA_SOURCE or the npm package."""
    given = os.environ.get(SOURCE_VARIABLE)
    if given:
        source = Path(given)
        if not source.exists():
            raise VendorError(f"{SOURCE_VARIABLE} names {given}, which does not exist")
        if source.is_dir():
            return find_sources(source, pin.folder)
        extract(source, scratch)
        return find_sources(scratch, pin.folder)
    tarball = npm_pack(pin.npm_package, pin.npm_version, scratch)
    check_hash(f"{pin.npm_package} {pin.npm_version}", file_hash(tarball), pin.tarball_sha256)
    extract(tarball, scratch)
    return find_sources(scratch, pin.folder)


def source_version(sources: Path) -> str:
    """Return the version that the sources say they are."""
    match = re.search(r"#define RD_KAFKA_VERSION\s+0x([0-9a-fA-F]{8})", (sources / "src" / "rdkafka.h").read_text())
    if not match:
        raise VendorError("rdkafka.h does not say which version it is")
    number = int(match.group(1), 16)
    return f"{number >> 24}.{number >> 16 & 0xFF}.{number >> 8 & 0xFF}"


def patches_hash() -> str:
    """Return a hash over our patches."""
    digest = hashlib.sha256()
    for patch in sorted(PATCHES.glob("*.patch")):
        digest.update(patch.name.encode() + b"\0" + patch.read_bytes())
    return digest.hexdigest()


def unpack(pin: Pin, parent: Path = HERE) -> Path:
    """Unpack, check and patch the pinned sources, unless that has been done; return their folder.

    Raises:
        VendorError: If the sources cannot be had, or are not what the pin says, or were changed by hand.
    """
    target = parent / f"src-{pin.version}"
    state = f"{pin.tree_sha256} {patches_hash()}"
    stamp = target / STAMP
    if stamp.is_file():
        made_from, _, unpacked = stamp.read_text().strip().partition("\n")
        if made_from == state:
            if tree_hash(target) != unpacked:
                raise VendorError(
                    f"{target} was changed after it was unpacked. Keep the change as a patch in librdkafka/patches "
                    f"(see its README.md) or give it up; then delete the folder and build again"
                )
            return target
    with tempfile.TemporaryDirectory(prefix="cykafka-vendor-") as scratch:
        sources = obtain(pin, Path(scratch))
        check_hash(f"the source tree of librdkafka {pin.version}", tree_hash(sources), pin.tree_sha256)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(sources, target, ignore=shutil.ignore_patterns(STAMP))
    apply_patches(target)
    stamp.write_text(f"{state}\n{tree_hash(target)}\n")
    return target


def update(npm_version: str, path: Path = PIN_FILE) -> Pin:
    """Pin another version of the npm package: fetch it and write its hashes down.

    The package's tarball may be given by CYKAFKA_LIBRDKAFKA_SOURCE; an unpacked tree will not do, as the pin holds
    the tarball's hash too.
    """
    pin = Pin.load(path)
    pin.npm_version = npm_version
    with tempfile.TemporaryDirectory(prefix="cykafka-vendor-") as name:
        scratch = Path(name)
        given = os.environ.get(SOURCE_VARIABLE)
        if given and not Path(given).is_file():
            raise VendorError(f"--update needs the npm package's tarball: unset {SOURCE_VARIABLE} or let it name that")
        tarball = Path(given) if given else npm_pack(pin.npm_package, npm_version, scratch)
        extract(tarball, scratch)
        sources = find_sources(scratch, pin.folder)
        pin.tarball_sha256 = file_hash(tarball)
        pin.tree_sha256 = tree_hash(sources)
        pin.version = source_version(sources)
    pin.save(path)
    return pin


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Get the pinned sources of librdkafka.")
    parser.add_argument("--update", metavar="NPM_VERSION", help="pin this version of the npm package first")
    arguments = parser.parse_args()
    try:
        pin = update(arguments.update) if arguments.update else Pin.load()
        print(unpack(pin))
    except VendorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
