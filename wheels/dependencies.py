"""Builds the libraries that wheels carry as static archives: OpenSSL, curl, zstd, zlib, and the headers of Cyrus SASL.

    python wheels/dependencies.py                          for this system, with its own compiler
    python wheels/dependencies.py manylinux_2_28_x86_64    for another one, with zig

It prints the folder that CYKAFKA_STATIC_PREFIX names to the build of the module. Nothing is built twice: the folder
remembers what it was made of.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "librdkafka"))
sys.path.insert(0, str(HERE))

import sources  # noqa: E402
from build import RECORD, run  # noqa: E402
from requirements import BuildError, compiler  # noqa: E402
from sources import Source  # noqa: E402
from targets import NATIVE, TARGETS, Target, jobs  # noqa: E402

#: One section a function, so that the linker leaves out what is not used; hidden, as nothing of it is exported. Stack
#: traces do without tables for C code that throws nothing.
CFLAGS = (
    "-g0",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
)
#: Small where speed comes from assembler (OpenSSL) or does not matter (curl), fast where it comes from the compiler.
SMALL = "-Os"
FAST = "-O3"

#: Nothing is read from the system behind the user's back (configuration file, modules): only certificates are.
#: Left out is what no Kafka broker speaks: other protocols, and ciphers that have gone out of use. What old key stores
#: are encrypted with (RC2, RC4, DES) stays, for ssl.providers=legacy.
OPENSSL_OPTIONS = (
    "no-shared",
    "no-module",
    "no-tests",
    "no-apps",
    "no-docs",
    "no-autoload-config",
    "no-ui-console",
    *(f"no-{protocol}" for protocol in ("quic", "dtls", "srp", "srtp", "cmp", "cms", "ts", "ssl-trace", "comp")),
    *(f"no-{cipher}" for cipher in ("aria", "bf", "camellia", "cast", "idea", "seed", "sm2", "sm3", "sm4", "rc5")),
    *(
        f"no-{other}"
        for other in ("argon2", "ec2m", "gost", "lms", "mdc2", "ocb", "rmd160", "siv", "slh-dsa", "whirlpool")
    ),
    "--libdir=lib",
    "--openssldir=/etc/ssl",
)

#: Only what fetching tokens by HTTPS needs.
CURL_OPTIONS = {
    "BUILD_CURL_EXE": "OFF",
    "BUILD_SHARED_LIBS": "OFF",
    "BUILD_STATIC_LIBS": "ON",
    "BUILD_TESTING": "OFF",
    "BUILD_EXAMPLES": "OFF",
    "BUILD_LIBCURL_DOCS": "OFF",
    "BUILD_MISC_DOCS": "OFF",
    "ENABLE_CURL_MANUAL": "OFF",
    "CMAKE_DISABLE_FIND_PACKAGE_Perl": "ON",
    "HTTP_ONLY": "ON",
    "CURL_USE_OPENSSL": "ON",
    "CURL_DISABLE_OPENSSL_AUTO_LOAD_CONFIG": "ON",
    "CURL_USE_LIBPSL": "OFF",
    "CURL_USE_LIBSSH2": "OFF",
    "CURL_BROTLI": "OFF",
    "CURL_ZLIB": "OFF",
    "CURL_ZSTD": "OFF",
    "USE_LIBIDN2": "OFF",
    "USE_NGHTTP2": "OFF",
    "CURL_DISABLE_ALTSVC": "ON",
    "CURL_DISABLE_COOKIES": "ON",
    "CURL_DISABLE_DOH": "ON",
    "CURL_DISABLE_FORM_API": "ON",
    "CURL_DISABLE_HSTS": "ON",
    "CURL_DISABLE_MIME": "ON",
    "CURL_DISABLE_NETRC": "ON",
    "CURL_CA_BUNDLE": "none",
    "CURL_CA_PATH": "none",
}


class Builder:
    """Builds the libraries for one target.

    Attributes:
        target: The target.
        scratch: Folder to build in.
        prefix: Folder to install into.
        log: What the builds print.
    """

    def __init__(self, target: Target, scratch: Path, prefix: Path) -> None:
        self.target = target
        self.scratch = scratch
        self.prefix = prefix
        self.log = scratch / "build.log"
        self.environment = {**os.environ, **target.environment()}
        self.environment.pop("MAKEFLAGS", None)
        self.compiler = shlex.split(self.environment.get("CC", "")) or ["cc"]

    def run(self, command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
        """Run a step of a build."""
        run(command, folder, environment or self.environment, self.log)

    def copy(self, source: Source) -> Path:
        """Copy the sources, as some builds write into them."""
        return Path(shutil.copytree(source.path, self.scratch / source.path.name))

    def archive(self, name: str, files: list[Path], flags: list[str]) -> None:
        """Compile C files into a static archive."""
        folder = self.scratch / name
        folder.mkdir()
        (self.prefix / "lib").mkdir(parents=True, exist_ok=True)
        for path in files:
            self.run([*self.compiler, *CFLAGS, FAST, *flags, "-c", str(path)], folder)
        archiver = shlex.split(self.environment.get("AR", "")) or ["ar"]
        objects = sorted(path.name for path in folder.glob("*.o"))
        self.run([*archiver, "rcs", str(self.prefix / "lib" / f"lib{name}.a"), *objects], folder)

    def headers(self, files: list[Path], folder: str = "") -> None:
        """Install headers."""
        target = self.prefix / "include" / folder
        target.mkdir(parents=True, exist_ok=True)
        for path in files:
            shutil.copy(path, target / path.name)

    def openssl(self, source: Source) -> None:
        """Build OpenSSL by its own Configure and make."""
        folder = self.copy(source)
        name = [self.target.openssl] if self.target.openssl else []
        image = self.scratch / "image"
        # The prefix and the compiler's command get into the binary: a usual one, and a name without its folder.
        options = [*OPENSSL_OPTIONS, "--prefix=/usr/local", *CFLAGS, SMALL]
        environment = dict(self.environment)
        if self.target.zig:
            environment |= {"CC": "cc", "AR": "ar", "RANLIB": "ranlib"}
            environment["PATH"] = os.pathsep.join([str(Path(self.compiler[0]).parent), environment.get("PATH", "")])
        (folder / "Configure").chmod(0o755)
        self.run(["perl", "Configure", *name, *options], folder, environment)
        self.run(["make", f"-j{jobs()}", "build_sw"], folder, environment)
        self.run(["make", "install_dev", f"DESTDIR={image}"], folder, environment)
        for part in ("include", "lib"):
            shutil.copytree(image / "usr" / "local" / part, self.prefix / part, dirs_exist_ok=True)
        # They name that prefix, where nothing is.
        for part in ("cmake", "pkgconfig"):
            shutil.rmtree(self.prefix / "lib" / part)

    def curl(self, source: Source) -> None:
        """Build curl by its CMake files."""
        folder = self.scratch / "curl"
        options = {
            **CURL_OPTIONS,
            # Without -O3, which CMake adds else.
            "CMAKE_BUILD_TYPE": "MinSizeRel",
            "CMAKE_C_COMPILER": self.compiler[0],
            "CMAKE_C_FLAGS": " ".join([*self.compiler[1:], *CFLAGS, f"-ffile-prefix-map={source.path}=curl"]),
            "OPENSSL_ROOT_DIR": str(self.prefix),
            "OPENSSL_USE_STATIC_LIBS": "TRUE",
            "CMAKE_INSTALL_PREFIX": str(self.prefix),
            "CMAKE_INSTALL_LIBDIR": "lib",
        }
        if self.target.zig:
            # Named so that CMake takes it for cross-compiling: it must not look into this system's folders.
            options |= {"CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": self.target.machine}
            options |= {"CMAKE_AR": self.environment["AR"], "CMAKE_RANLIB": self.environment["RANLIB"]}
            options |= {"CMAKE_FIND_ROOT_PATH": str(self.prefix), "CMAKE_FIND_ROOT_PATH_MODE_INCLUDE": "ONLY"}
            options |= {"CMAKE_FIND_ROOT_PATH_MODE_LIBRARY": "ONLY", "CMAKE_FIND_ROOT_PATH_MODE_PROGRAM": "NEVER"}
        defines = [f"-D{key}={value}" for key, value in options.items()]
        self.run(["cmake", "-S", str(source.path), "-B", str(folder), *defines], self.scratch)
        self.run(["cmake", "--build", str(folder), "--parallel", str(jobs())], self.scratch)
        self.run(["cmake", "--install", str(folder)], self.scratch)

    def zstd(self, source: Source) -> None:
        """Compile zstd: compression, decompression, and no assembler, which not every compiler here takes."""
        library = source.path / "lib"
        files = [path for part in ("common", "compress", "decompress") for path in sorted((library / part).glob("*.c"))]
        flags = ["-DZSTD_DISABLE_ASM=1", "-DZSTD_LEGACY_SUPPORT=0", f"-I{library}"]
        self.archive("zstd", files, flags)
        self.headers([library / "zstd.h", library / "zstd_errors.h"])

    def zlib(self, source: Source) -> None:
        """Compile zlib."""
        self.archive("z", sorted(source.path.glob("*.c")), ["-DHAVE_UNISTD_H"])
        self.headers([source.path / "zlib.h", source.path / "zconf.h"])

    def cyrus_sasl(self, source: Source) -> None:
        """Install the headers of Cyrus SASL, whose library is loaded at run time."""
        self.headers([source.path / "include" / name for name in ("sasl.h", "prop.h")], "sasl")


def identity(target: Target, pinned: list[Source]) -> str:
    """Return a hash over everything that changes the built libraries."""
    parts = [target.name, target.zig, *CFLAGS, SMALL, FAST, *OPENSSL_OPTIONS, json.dumps(CURL_OPTIONS)]
    parts += [source.tree_sha256 for source in pinned]
    parts += [Path(__file__).read_text(), *(() if target.zig else compiler())]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def build(target: Target) -> Path:
    """Build all libraries for a target, unless that has been done; return the folder they are in.

    Raises:
        BuildError: If that is not possible; the text names the cure.
    """
    pinned = sources.load()
    stamp = target.prefix / "identity"
    wanted = identity(target, pinned)
    if stamp.is_file() and stamp.read_text() == wanted:
        return target.prefix
    for tool in ("perl", "make", "cmake"):
        if shutil.which(tool) is None:
            raise BuildError(f"{tool} is needed to build the libraries that wheels carry: install it")
    sources.unpack(pinned)
    scratch = target.folder / "dependencies"
    for folder in (scratch, target.prefix):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    builder = Builder(target, scratch, target.prefix)
    steps: dict[str, Callable[[Source], None]] = {
        "zlib": builder.zlib,
        "zstd": builder.zstd,
        "Cyrus SASL": builder.cyrus_sasl,
        "OpenSSL": builder.openssl,
        "curl": builder.curl,
    }
    by_name = {source.name: source for source in pinned}
    for name, step in steps.items():
        print(f"building {name} {by_name[name].version} for {target.name}", file=sys.stderr, flush=True)
        step(by_name[name])
    linked = [source for source in pinned if not source.headers_only]
    licences = target.prefix / "licences"
    licences.mkdir()
    for source in linked:
        shutil.copy(source.path / source.licence_file, licences / f"{source.name}.txt")
    (target.prefix / RECORD).write_text(json.dumps([source.record for source in linked], indent=2) + "\n")
    shutil.rmtree(scratch)
    stamp.write_text(wanted)
    return target.prefix


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Build the static libraries that wheels carry.")
    parser.add_argument("target", nargs="?", choices=sorted(TARGETS), help="platform tag (default: this system)")
    arguments = parser.parse_args()
    try:
        print(build(TARGETS[arguments.target] if arguments.target else NATIVE))
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
