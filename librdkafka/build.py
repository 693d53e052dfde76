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
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import requirements  # noqa: E402
from requirements import BuildError, compiler  # noqa: E402
from vendor import Pin, patches_hash, unpack  # noqa: E402

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
    "--no-download",
)

#: What the module is linked with besides librdkafka, in this order.
LIBRARIES = ("ssl", "crypto", "z", "zstd", "sasl2", "curl", "m", "pthread")
LINUX_LIBRARIES = ("dl", "rt")


def check_features(built: Iterable[str]) -> None:
    """Raise if the library lacks a feature."""
    lacking = sorted(set(FEATURES) - set(built))
    if lacking:
        raise BuildError(
            f"librdkafka was built without {', '.join(lacking)}: look for the reason in config.log of its build "
            f"folder, install what is missing ({requirements.install_command(requirements.LIBRARIES)}), delete the "
            f"folder and build again"
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
    """Return the compiler flags of the library: the user's, then ours, without -DNDEBUG.

    Its assertions are part of its promises; Python's own flags, which setuptools uses, would switch them off.
    """
    given = [flag for flag in shlex.split(os.environ.get("CFLAGS", "")) if not flag.startswith("-DNDEBUG")]
    flags = [*given, "-O3", "-g1", "-fPIC", "-fvisibility=hidden"]
    if sanitize:
        flags += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer"]
    return flags


def cache_root() -> Path:
    """Return the folder that keeps built libraries."""
    return Path(os.environ.get("CYKAFKA_BUILD_CACHE") or HERE.parent / "build") / "librdkafka"


def link_libraries() -> list[str]:
    """Return the linker's options for the libraries that librdkafka uses."""
    names = LIBRARIES if sys.platform == "darwin" else (*LIBRARIES, *LINUX_LIBRARIES)
    return [f"-l{name}" for name in names]


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
        command += [str(root / "src" / "librdkafka.a"), *link_libraries()]
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


def cache_key(pin: Pin, sanitize: str) -> str:
    """Return a name for everything that changes the built library."""
    environment = os.environ.get("CPPFLAGS", "")
    identity = [pin.tree_sha256, patches_hash(), *cflags(sanitize), *CONFIGURE, *compiler(), environment]
    return hashlib.sha256("\0".join(identity).encode()).hexdigest()[:12]


def ensure(sanitize: str = "") -> Library:
    """Return the built library, building it first if it is not in the cache.

    Args:
        sanitize: Value for -fsanitize, or nothing.

    Raises:
        BuildError: If that is not possible; the text names the cure.
    """
    pin = Pin.load()
    root = cache_root() / f"{pin.version}-{cache_key(pin, sanitize)}"
    sources = unpack(pin)
    if not (root / "src" / "librdkafka.a").is_file():
        requirements.check(requirements.GROUPS["build"])
        print(f"building librdkafka {pin.version} (about half a minute on two cores)", file=sys.stderr, flush=True)
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
        link_flags=[str(root / "src" / "librdkafka.a"), *link_libraries()],
    )


def main() -> int:
    """Build the library and print where it is."""
    try:
        print(ensure(os.environ.get("CYKAFKA_SANITIZE", "")).root)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
