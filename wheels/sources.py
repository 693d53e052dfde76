"""Gets the pinned sources of the libraries that wheels carry, checks them and unpacks them beside this file.

    python wheels/sources.py                           unpack what wheels/pins.json pins (does nothing if it is there)
    python wheels/sources.py --update OpenSSL 400.0.2   pin another version of a library's crate, then unpack it

The sources come from crates that carry them, fetched by name with cargo, which has to be there only for that. The hash
of each crate and of the tree taken out of it must be the pinned ones.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "librdkafka"))

from requirements import BuildError  # noqa: E402
from vendor import tree_hash  # noqa: E402

PIN_FILE = HERE / "pins.json"


@dataclasses.dataclass(frozen=True)
class Source:
    """The pinned sources of one library.

    Attributes:
        name: What the library is called.
        version: Its version.
        crate: Crate that carries its sources.
        crate_version: Version of the crate.
        crate_sha256: SHA-256 of the crate's archive, as cargo checks it.
        folder: Folder of the sources in the crate.
        tree_sha256: Hash of that folder, see `vendor.tree_hash`.
        licence: SPDX expression.
        licence_file: Its text, in the folder.
        headers_only: Nothing of it gets into the wheel: only its headers are needed.
    """

    name: str
    version: str
    crate: str
    crate_version: str
    crate_sha256: str
    folder: str
    tree_sha256: str
    licence: str
    licence_file: str
    headers_only: bool = False

    @property
    def path(self) -> Path:
        """Where the sources are unpacked."""
        return HERE / f"src-{self.name.lower().replace(' ', '-')}-{self.version}"

    @property
    def record(self) -> dict[str, str]:
        """What `cykafka.build_info` tells of it."""
        source = f"crate {self.crate} {self.crate_version}"
        return {"name": self.name, "source": source, "sha256": self.crate_sha256, "licence": self.licence}


def load() -> list[Source]:
    """Read the pins."""
    return [Source(**entry) for entry in json.loads(PIN_FILE.read_text())]


def save(sources: Iterable[Source]) -> None:
    """Write the pins."""
    PIN_FILE.write_text(json.dumps([dataclasses.asdict(source) for source in sources], indent=2) + "\n")


def fetch(crates: dict[str, str], folder: Path) -> Path:
    """Fetch crates, by name and version, into a folder and return the one they are in."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise BuildError("cargo is needed to fetch the sources of the libraries in a wheel: install it (Debian: cargo)")
    dependencies = "".join(f'{name} = "={version.partition("+")[0]}"\n' for name, version in crates.items())
    (folder / "src").mkdir()
    (folder / "src" / "lib.rs").touch()
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "sources"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n{dependencies}'
    )
    print(f"fetching {', '.join(crates)} with cargo", file=sys.stderr, flush=True)
    result = subprocess.run(
        [cargo, "vendor", "--quiet", "vendored"], cwd=folder, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise BuildError(f"cargo could not fetch {', '.join(crates)}: {result.stderr.strip()}")
    return folder / "vendored"


def crate_hash(crate: Path) -> str:
    """Return the SHA-256 of the archive that cargo unpacked a crate from, after checking it."""
    checksum: str = json.loads((crate / ".cargo-checksum.json").read_text())["package"]
    return checksum


def check(what: str, actual: str, pinned: str) -> None:
    """Raise if a hash is not the pinned one."""
    if actual != pinned:
        raise BuildError(f"{what} is not what wheels/pins.json pins: its hash is {actual}, the pin says {pinned}")


def unpack(sources: Iterable[Source]) -> None:
    """Fetch, check and unpack what is not there yet.

    Raises:
        BuildError: If something cannot be had or is not what the pin says.
    """
    lacking = [
        source for source in sources if not (source.path.is_dir() and tree_hash(source.path) == source.tree_sha256)
    ]
    if not lacking:
        return
    with tempfile.TemporaryDirectory(prefix="cykafka-sources-") as scratch:
        vendored = fetch({source.crate: source.crate_version for source in lacking}, Path(scratch))
        for source in lacking:
            crate = vendored / source.crate
            check(f"crate {source.crate} {source.crate_version}", crate_hash(crate), source.crate_sha256)
            check(f"the source tree of {source.name}", tree_hash(crate / source.folder), source.tree_sha256)
            shutil.rmtree(source.path, ignore_errors=True)
            shutil.copytree(crate / source.folder, source.path)


#: Where each library's sources say which version they are.
_VERSION_PATTERNS = {
    "OpenSSL": ("VERSION.dat", r"MAJOR=(\d+)\s+MINOR=(\d+)\s+PATCH=(\d+)"),
    "curl": ("include/curl/curlver.h", r'LIBCURL_VERSION "(\d+)\.(\d+)\.(\d+)'),
    "zstd": (
        "lib/zstd.h",
        r"VERSION_MAJOR +(\d+)\s+#define ZSTD_VERSION_MINOR +(\d+)\s+#define ZSTD_VERSION_RELEASE +(\d+)",
    ),
    "zlib": ("zlib.h", r'ZLIB_VERSION "(\d+)\.(\d+)\.?(\d*)'),
    "Cyrus SASL": (
        "include/sasl.h",
        r"SASL_VERSION_MAJOR (\d+)\s+#define SASL_VERSION_MINOR (\d+)\s+#define SASL_VERSION_STEP (\d+)",
    ),
}


def update(name: str, crate_version: str) -> Source:
    """Pin another version of a library's crate: fetch it and write its hashes down."""
    sources = load()
    index = next((index for index, source in enumerate(sources) if source.name == name), None)
    if index is None:
        raise BuildError(
            f"no library {name!r} in wheels/pins.json, only {', '.join(source.name for source in sources)}"
        )
    old = sources[index]
    with tempfile.TemporaryDirectory(prefix="cykafka-sources-") as scratch:
        crate = fetch({old.crate: crate_version}, Path(scratch)) / old.crate
        tree = crate / old.folder
        file, pattern = _VERSION_PATTERNS[name]
        match = re.search(pattern, (tree / file).read_text())
        if not match:
            raise BuildError(f"{file} of {name} does not say which version it is")
        sources[index] = dataclasses.replace(
            old,
            version=".".join(filter(None, match.groups())),
            crate_version=crate_version,
            crate_sha256=crate_hash(crate),
            tree_sha256=tree_hash(tree),
        )
    save(sources)
    return sources[index]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Get the pinned sources of the libraries that wheels carry.")
    parser.add_argument("--update", nargs=2, metavar=("LIBRARY", "CRATE_VERSION"), help="pin this version first")
    arguments = parser.parse_args()
    try:
        if arguments.update:
            update(*arguments.update)
        unpack(load())
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for source in load():
        print(f"{source.name} {source.version}: {os.path.relpath(source.path)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
