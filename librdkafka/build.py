"""Builds the vendored librdkafka as a static library and tells setup.py how to compile and link against it.

The built tree is kept in a cache folder (build/librdkafka, or CYKAFKA_BUILD_CACHE) named after everything that
changes the result, so that editing the extension module never builds librdkafka again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
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

#: What the module is linked with besides librdkafka and our loader of Cyrus SASL, users before what they use.
LIBRARIES = ("curl", "ssl", "crypto", "z", "zstd", "m", "pthread")
LINUX_LIBRARIES = ("dl", "rt")
#: A folder with the libraries as static archives and their headers, made by wheels/dependencies.py.
STATIC_VARIABLE = "CYKAFKA_STATIC_PREFIX"
#: A command that runs what was compiled for another machine, as qemu-aarch64-static does.
EMULATOR_VARIABLE = "CYKAFKA_EMULATOR"
#: What the folder of static libraries holds, see `Library.record`.
RECORD = "cykafka-dependencies.json"
LOADER = "sasl_loader"
#: Named as librdkafka's configure looks for it.
LOADER_ARCHIVE = "libsasl2.a"


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
        record: Where the linked libraries come from: name, version, package, hash and licence of each; empty if
            they are the system's.
    """

    root: Path
    compile_flags: list[str]
    link_flags: list[str]
    record: list[dict[str, str]]


def cflags(sanitize: str) -> list[str]:
    """Return the compiler flags of the library: the user's, then ours, without -DNDEBUG.

    Its assertions are part of its promises; Python's own flags, which setuptools uses, would switch them off.
    """
    given = [flag for flag in shlex.split(os.environ.get("CFLAGS", "")) if not flag.startswith("-DNDEBUG")]
    flags = [*given, "-O3", "-g1", "-fPIC", "-fvisibility=hidden"]
    if sanitize:
        flags += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer"]
    return flags


def static_prefix() -> Path | None:
    """Return the folder with the static libraries to link, or None if the system's are to be linked."""
    given = os.environ.get(STATIC_VARIABLE)
    return Path(given).resolve() if given else None


def linked_record() -> list[dict[str, str]]:
    """Return where the static libraries come from, see `Library.record`."""
    prefix = static_prefix()
    if prefix is None:
        return []
    record = prefix / RECORD
    if not record.is_file():
        raise BuildError(f"{STATIC_VARIABLE} names {prefix}, which has no {RECORD}: make it by wheels/dependencies.py")
    libraries: list[dict[str, str]] = json.loads(record.read_text())
    return libraries


def cppflags() -> list[str]:
    """Return the preprocessor flags: the user's, and where the libraries' headers are."""
    flags = shlex.split(os.environ.get("CPPFLAGS", ""))
    prefix = static_prefix()
    if prefix:
        # A static OpenSSL does not know where this system keeps its certificates: librdkafka then looks for them.
        flags += [f"-I{prefix / 'include'}", "-DWITH_STATIC_LIB_libcrypto=1"]
    return flags


def library_folders(loader: Path) -> list[str]:
    """Return the linker's options for where the libraries are, our loader of Cyrus SASL first."""
    prefix = static_prefix()
    return [f"-L{loader}", *([f"-L{prefix / 'lib'}"] if prefix else [])]


def cache_root() -> Path:
    """Return the folder that keeps built libraries."""
    return Path(os.environ.get("CYKAFKA_BUILD_CACHE") or HERE.parent / "build") / "librdkafka"


def link_libraries(loader: Path) -> list[str]:
    """Return the linker's options for the libraries that librdkafka uses.

    Archives of ours by their path: Python's own options may name the system's folder, and its libraries, before ours.
    """
    names = LIBRARIES if sys.platform == "darwin" else (*LIBRARIES, *LINUX_LIBRARIES)
    prefix = static_prefix()
    archives = {path.stem.removeprefix("lib"): str(path) for path in (prefix / "lib").glob("*.a")} if prefix else {}
    return [str(loader / LOADER_ARCHIVE), *(archives.get(name, f"-l{name}") for name in names)]


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


def probe_features(root: Path, loader: Path, sanitize: str) -> list[str]:
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
        command += [str(root / "src" / "librdkafka.a"), *link_libraries(loader)]
        command += shlex.split(os.environ.get("LDFLAGS", ""))
        linked = subprocess.run(command, capture_output=True, text=True, check=False)
        if linked.returncode != 0:
            raise BuildError(f"librdkafka cannot be linked: {linked.stderr.strip()}")
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        command = [*shlex.split(os.environ.get(EMULATOR_VARIABLE, "")), str(program)]
        output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return output.stdout.strip().split(",")


def build_loader(sanitize: str) -> Path:
    """Compile what stands in for libsasl2 and loads it at run time; return the folder of the archive."""
    sources = [HERE / f"{LOADER}.{ending}" for ending in ("c", "h")]
    command = [*compiler(), *cflags(sanitize), *cppflags()]
    identity = [*command, *(path.read_text() for path in sources)]
    folder = cache_root() / f"loader-{hashlib.sha256(chr(0).join(identity).encode()).hexdigest()[:12]}"
    if not (folder / LOADER_ARCHIVE).is_file():
        scratch = folder.with_name(f"{folder.name}.{os.getpid()}")
        scratch.mkdir(parents=True, exist_ok=True)
        archiver = shlex.split(os.environ.get("AR", "")) or ["ar"]
        log = scratch / "cykafka-build.log"
        run([*command, "-c", str(sources[0]), "-o", f"{LOADER}.o"], scratch, dict(os.environ), log)
        run([*archiver, "rcs", LOADER_ARCHIVE, f"{LOADER}.o"], scratch, dict(os.environ), log)
        if not folder.exists():
            scratch.rename(folder)
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def build_in(root: Path, loader: Path, sanitize: str) -> None:
    """Configure and compile in a copy of the sources."""
    log = root / "cykafka-build.log"
    environment = dict(os.environ)
    environment["CC"] = shlex.join(compiler())
    environment["CFLAGS"] = " ".join([*cflags(sanitize), *cppflags()])
    environment["LDFLAGS"] = " ".join([*library_folders(loader), *shlex.split(os.environ.get("LDFLAGS", ""))])
    prefix = static_prefix()
    if prefix:
        environment["PKG_CONFIG_LIBDIR"] = str(prefix / "lib" / "pkgconfig")
    environment.pop("MAKEFLAGS", None)
    for name in ("configure", "lds-gen.py"):
        (root / name).chmod(0o755)
    run(["./configure", *CONFIGURE], root, environment, log)
    run(["make", "-C", "src", f"-j{os.cpu_count() or 1}", "librdkafka.a"], root, environment, log)
    check_features(probe_features(root, loader, sanitize))


def cache_key(pin: Pin, sanitize: str) -> str:
    """Return a name for everything that changes the built library."""
    environment = os.environ.get("CPPFLAGS", "")
    identity = [pin.tree_sha256, patches_hash(), *cflags(sanitize), *CONFIGURE, *compiler(), environment]
    record = linked_record()
    if record:
        identity.append(json.dumps(record))
    return hashlib.sha256("\0".join(identity).encode()).hexdigest()[:12]


def ensure(sanitize: str = "") -> Library:
    """Return the built library, building it first if it is not in the cache.

    Args:
        sanitize: Value for -fsanitize, or nothing.

    Raises:
        BuildError: If that is not possible; the text names the cure.
    """
    pin = Pin.load()
    record = linked_record()
    root = cache_root() / f"{pin.version}-{cache_key(pin, sanitize)}"
    sources = unpack(pin)
    built = (root / "src" / "librdkafka.a").is_file()
    if not built:
        group = requirements.GROUPS["build"]
        requirements.check([one for one in group if not record or one not in requirements.LIBRARIES])
    loader = build_loader(sanitize)
    if not built:
        print(f"building librdkafka {pin.version} (about half a minute on two cores)", file=sys.stderr, flush=True)
        # Built aside and moved, so that an interrupted build is never taken for a finished one.
        scratch = root.with_name(f"{root.name}.{os.getpid()}")
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(sources, scratch)
        build_in(scratch, loader, sanitize)
        if not root.exists():
            scratch.rename(root)
        shutil.rmtree(scratch, ignore_errors=True)
    return Library(
        root=root,
        compile_flags=[f"-I{root / 'src'}", f"-I{root}", f"-I{HERE}", *cppflags()],
        link_flags=[str(root / "src" / "librdkafka.a"), *link_libraries(loader)],
        record=record,
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
