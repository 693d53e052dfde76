"""Builds the vendored librdkafka as a static library and tells setup.py how to compile and link against it.

The built tree is kept in a cache folder (build/librdkafka, or CYKAFKA_BUILD_CACHE) named after everything that
changes the result, so that editing the extension module never builds librdkafka again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from vendor import Pin, VendorError, patches_hash, unpack  # noqa: E402

#: Every feature that librdkafka must have been built with (``builtin.features``).
FEATURES = (
    "gzip",
    "snappy",
    "ssl",
    "sasl",
    "regex",
    "lz4",
    "sasl_gssapi",
    "sasl_plain",
    "sasl_scram",
    "plugins",
    "zstd",
    "sasl_oauthbearer",
    "http",
    "oidc",
)

CONFIGURE = (
    "--enable-zlib",
    "--enable-zstd",
    "--enable-ssl",
    "--enable-gssapi",
    "--enable-curl",
    "--disable-lz4-ext",
    "--enable-regex-ext",
    "--enable-c11threads",
    "--disable-debug-symbols",
)

LIBRARIES = ("ssl", "crypto", "z", "zstd", "sasl2", "curl", "m", "dl", "pthread", "rt")


@dataclasses.dataclass(frozen=True)
class Requirement:
    """A system library that is needed to build: its header, and its package by package manager."""

    name: str
    header: str
    apt: str
    dnf: str
    apk: str
    brew: str


REQUIREMENTS = (
    Requirement("zlib", "zlib.h", "zlib1g-dev", "zlib-devel", "zlib-dev", "zlib"),
    Requirement("zstd", "zstd.h", "libzstd-dev", "libzstd-devel", "zstd-dev", "zstd"),
    Requirement("OpenSSL", "openssl/ssl.h", "libssl-dev", "openssl-devel", "openssl-dev", "openssl@3"),
    Requirement("curl", "curl/curl.h", "libcurl4-openssl-dev", "libcurl-devel", "curl-dev", "curl"),
    Requirement("Cyrus SASL", "sasl/sasl.h", "libsasl2-dev", "cyrus-sasl-devel", "cyrus-sasl-dev", "cyrus-sasl"),
)

INSTALL_COMMANDS = {
    "apt-get": ("apt-get install -y", "apt"),
    "dnf": ("dnf install -y", "dnf"),
    "apk": ("apk add", "apk"),
    "brew": ("brew install", "brew"),
}


class BuildError(Exception):
    """librdkafka cannot be built here; the text names the cure."""


def compiler() -> list[str]:
    """Return the C compiler's command, CC or cc."""
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def has_header(header: str) -> bool:
    """Tell whether the compiler finds a header."""
    command = [*compiler(), *shlex.split(os.environ.get("CPPFLAGS", "")), "-E", "-x", "c", "-"]
    source = f"#include <stddef.h>\n#include <{header}>\n"
    try:
        return subprocess.run(command, input=source, capture_output=True, text=True, check=False).returncode == 0
    except FileNotFoundError:
        raise BuildError(
            f"no C compiler: {command[0]} not found. Install one (Debian, Ubuntu: apt-get install build-essential; "
            f"macOS: xcode-select --install), or set CC"
        ) from None


def missing_requirements(found: Callable[[str], bool] = has_header) -> list[Requirement]:
    """Return the libraries whose headers are not there."""
    return [requirement for requirement in REQUIREMENTS if not found(requirement.header)]


def install_command(missing: Iterable[Requirement], which: Callable[[str], str | None] = shutil.which) -> str:
    """Return the command that installs libraries on this system."""
    for program, (command, attribute) in INSTALL_COMMANDS.items():
        if which(program):
            return f"{command} {' '.join(getattr(requirement, attribute) for requirement in missing)}"
    return f"your package manager, for: {', '.join(requirement.name for requirement in missing)}"


def check_requirements(found: Callable[[str], bool] = has_header) -> None:
    """Raise if a library is missing, naming all of them and the command that installs them."""
    missing = missing_requirements(found)
    if missing:
        raise BuildError(
            f"headers needed to build librdkafka are missing: "
            f"{', '.join(f'{requirement.header} ({requirement.name})' for requirement in missing)}. "
            f"Install them with: {install_command(missing)}"
        )


def check_features(built: Iterable[str]) -> None:
    """Raise if the library lacks a feature."""
    lacking = sorted(set(FEATURES) - set(built))
    if lacking:
        raise BuildError(
            f"librdkafka was built without {', '.join(lacking)}: look for the reason in config.log of its build "
            f"folder, install what is missing ({install_command(REQUIREMENTS)}), delete the folder and build again"
        )


@dataclasses.dataclass(frozen=True)
class Library:
    """A built librdkafka.

    Attributes:
        root: The tree it was built in.
        compile_flags: What our own sources need to be compiled with.
        link_flags: What the module needs to be linked with, the archive first.
    """

    root: Path
    compile_flags: list[str]
    link_flags: list[str]


def cflags(sanitize: str) -> list[str]:
    """Return the compiler flags of the library. Its assertions are part of its promises: never -DNDEBUG."""
    flags = ["-O3", "-g1", "-fPIC", "-fvisibility=hidden"]
    if sanitize:
        flags += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer"]
    return flags


def cache_root() -> Path:
    """Return the folder that keeps built libraries."""
    return Path(os.environ.get("CYKAFKA_BUILD_CACHE") or HERE.parent / "build") / "librdkafka"


def run(command: list[str], folder: Path, environment: dict[str, str], log: Path) -> None:
    """Run a step of the build into a log file; raise with the log's end if it fails."""
    with log.open("a") as output:
        output.write(f"$ {shlex.join(command)}\n")
        output.flush()
        result = subprocess.run(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False
        )
    if result.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise BuildError(f"building librdkafka failed at: {shlex.join(command)}\n{tail}\n(whole log: {log})")


def probe_features(root: Path, sanitize: str) -> list[str]:
    """Compile and run a program that prints the library's features."""
    source = (
        '#include <stdio.h>\n#include "rdkafka.h"\nint main(void) { char b[512]; size_t n = sizeof(b);'
        ' rd_kafka_conf_get(rd_kafka_conf_new(), "builtin.features", b, &n); puts(b); return 0; }\n'
    )
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "probe"
        (Path(folder) / "probe.c").write_text(source)
        command = [*compiler(), "-o", str(program), str(program) + ".c", f"-I{root / 'src'}"]
        command += [f"-fsanitize={sanitize}"] if sanitize else []
        command += [str(root / "src" / "librdkafka.a"), *(f"-l{library}" for library in LIBRARIES)]
        command += shlex.split(os.environ.get("LDFLAGS", ""))
        linked = subprocess.run(command, capture_output=True, text=True, check=False)
        if linked.returncode != 0:
            raise BuildError(f"librdkafka cannot be linked: {linked.stderr.strip()}")
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        output = subprocess.run([program], capture_output=True, text=True, check=True, env=environment)
    return output.stdout.strip().split(",")


def build_in(root: Path, sanitize: str) -> None:
    """Configure and compile in a copy of the sources."""
    log = root / "cykafka-build.log"
    environment = dict(os.environ)
    environment["CC"] = shlex.join(compiler())
    environment["CFLAGS"] = " ".join([*cflags(sanitize), *shlex.split(os.environ.get("CPPFLAGS", ""))])
    environment.pop("MAKEFLAGS", None)
    for name in ("configure", "lds-gen.py"):
        (root / name).chmod(0o755)
    run(["./configure", *CONFIGURE], root, environment, log)
    run(["make", "-C", "src", f"-j{os.cpu_count() or 1}", "librdkafka.a"], root, environment, log)
    check_features(probe_features(root, sanitize))


def ensure(sanitize: str = "") -> Library:
    """Return the built library, building it first if it is not in the cache.

    Args:
        sanitize: Value for -fsanitize, or nothing.

    Raises:
        BuildError, VendorError: If that is not possible; the text names the cure.
    """
    pin = Pin.load()
    sources = unpack(pin)
    identity = [
        pin.tree_sha256,
        patches_hash(),
        *cflags(sanitize),
        *CONFIGURE,
        *compiler(),
        os.environ.get("CPPFLAGS", ""),
    ]
    key = hashlib.sha256("\0".join(identity).encode()).hexdigest()[:12]
    root = cache_root() / f"{pin.version}-{key}"
    if not (root / "src" / "librdkafka.a").is_file():
        check_requirements()
        print(
            f"building librdkafka {pin.version} (about half a minute on two cores)",
            file=sys.stderr,
            flush=True,
        )
        # Built aside and moved, so that an interrupted build is never taken for a finished one.
        scratch = root.with_name(f"{root.name}.{os.getpid()}")
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(sources, scratch)
        build_in(scratch, sanitize)
        if not root.exists():
            scratch.rename(root)
        shutil.rmtree(scratch, ignore_errors=True)
    return Library(
        root=root,
        compile_flags=[f"-I{root / 'src'}", f"-I{root}"],
        link_flags=[str(root / "src" / "librdkafka.a"), *(f"-l{library}" for library in LIBRARIES)],
    )


def main() -> int:
    """Build the library, or with --requirements print the command that installs what is missing."""
    try:
        if "--requirements" in sys.argv[1:]:
            missing = missing_requirements()
            if missing:
                print(install_command(missing))
            return 0
        print(ensure(os.environ.get("CYKAFKA_SANITIZE", "")).root)
    except (BuildError, VendorError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
