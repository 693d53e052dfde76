"""Builds the extension module; everything else about the package is in pyproject.toml.

Environment: CYKAFKA_DEV=1 compiles the module with little optimisation, CYKAFKA_DEBUG=1 with none and with debug
checks, CYKAFKA_SANITIZE=address with AddressSanitizer (librdkafka too). CYKAFKA_BUILD_CACHE keeps the built
librdkafka somewhere else than in build/; CYKAFKA_LIBRDKAFKA_SOURCE takes its sources from a tree or tarball,
CYKAFKA_YYJSON_SOURCE those of yyjson. CYKAFKA_STATIC_PREFIX names a folder with the other libraries as static archives
(wheels/dependencies.py makes it), for a wheel that needs nothing of the system.
"""

import importlib.util
import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.egg_info import egg_info
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "librdkafka"))

from requirements import BuildError  # noqa: E402
from vendor import Pin, unpack  # noqa: E402

from build import Library, ensure, static_prefix  # noqa: E402

CORE = Path("src/cykafka/_rdkafka")
EXPORTS = CORE / "exports.map"
TRANSLATED = "core.c"
#: What Cython's C code is warned for without being wrong (clang does not know the second name).
QUIET = ("-Wno-deprecated-declarations", "-Wno-discarded-qualifiers", "-Wno-unknown-warning-option")
HELPERS = sorted(str(CORE / path.name) for path in (ROOT / CORE).glob("*.c") if path.name != TRANSLATED)
PARTS = sorted(
    str(CORE / path.name)
    for ending in ("pyx", "pxd", "pxi", "h", "c")
    for path in (ROOT / CORE).glob(f"*.{ending}")
    if path.name != TRANSLATED
)


def load_json_vendor() -> ModuleType:
    """Return yyjson/vendor.py, whose name is that of librdkafka's."""
    spec = importlib.util.spec_from_file_location("yyjson_vendor", ROOT / "yyjson" / "vendor.py")
    if spec is None or spec.loader is None:
        raise SystemExit("error: yyjson/vendor.py is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


json_vendor = load_json_vendor()


def unpacked_sources() -> tuple[Path, Path]:
    """Return the sources of librdkafka and of yyjson; end with a message for the user if they cannot be had."""
    try:
        return unpack(Pin.load()).relative_to(ROOT), json_vendor.unpack().relative_to(ROOT)
    except BuildError as error:
        raise SystemExit(f"error: {error}") from None


def vendored_record() -> list[dict[str, str]]:
    """Return where the sources come from that are always compiled in, as `Library.record` does for the others."""
    kafka, parser = Pin.load(), json_vendor.Pin.load()
    return [
        {
            "name": "librdkafka",
            "source": f"npm {kafka.npm_package} {kafka.npm_version}",
            "sha256": kafka.tarball_sha256,
            "licence": "BSD-2-Clause",
        },
        {
            "name": "yyjson",
            "source": f"PyPI {parser.pypi_package} {parser.pypi_version}",
            "sha256": parser.sdist_sha256,
            "licence": "MIT",
        },
    ]


def compile_flags(library: Library, sanitize: str) -> list[str]:
    """Return the compiler flags of the module; -UNDEBUG undoes what Python's own flags may define."""
    # A function that this version of librdkafka lacks must end the build, not the import.
    flags = ["-UNDEBUG", "-g1", "-fvisibility=hidden", "-Werror=implicit-function-declaration", *QUIET]
    if os.environ.get("CYKAFKA_DEBUG"):
        flags += ["-O0", "-g", "-DCYKAFKA_DEBUG=1"]
    else:
        flags += ["-O1" if os.environ.get("CYKAFKA_DEV") else "-O3"]
    if sanitize:
        flags += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer"]
    # As JSON twice: the second time makes a C string of it.
    record = json.dumps(json.dumps([*vendored_record(), *library.record], separators=(",", ":")))
    if library.record:
        # What is published does not tell where it was built.
        headers = sysconfig.get_path("include")
        flags += [f"-ffile-prefix-map={library.root}=librdkafka", f"-ffile-prefix-map={headers}=python"]
    return [*flags, *library.compile_flags, f"-I{CORE}", f"-DCYKAFKA_LINKED={record}"]


def link_flags(library: Library, sanitize: str) -> list[str]:
    """Return the linker flags of the module: whatever it is linked with, only its init function is exported."""
    if sys.platform == "darwin":
        hide = ["-Wl,-exported_symbol,_PyInit_core", *(["-Wl,-dead_strip,-S"] if library.record else [])]
    else:
        hide = [f"-Wl,--version-script={EXPORTS}", *(["-Wl,--gc-sections,--strip-debug"] if library.record else [])]
    return [*library.link_flags, *hide, *([f"-fsanitize={sanitize}"] if sanitize else [])]


class BuildCore(build_ext):
    """Builds librdkafka if need be, translates the Cython sources, compiles and links."""

    def build_extension(self, ext: Extension) -> None:
        """Compile and link the one module against the static librdkafka."""
        from Cython.Build import cythonize

        sanitize = os.environ.get("CYKAFKA_SANITIZE", "")
        _, json_sources = unpacked_sources()
        try:
            library = ensure(sanitize)
        except BuildError as error:
            raise SystemExit(f"error: {error}") from None
        ext.extra_compile_args = [*compile_flags(library, sanitize), f"-I{json_sources}"]
        ext.extra_link_args = link_flags(library, sanitize)
        ext.depends = [*ext.depends, str(EXPORTS), str(library.root / "src" / "librdkafka.a")]
        translated = cythonize([ext], include_path=["src"], language_level=3)  # type: ignore[no-untyped-call]
        ext.sources = [*translated[0].sources, str(json_sources / "yyjson.c")]

        # Times alone do not tell that a module was built with other flags (make dev, then make bench).
        built = Path(self.get_ext_fullpath(ext.name))
        used = Path(self.build_temp) / f"{'-'.join(built.parts)}.flags"
        flags = "\n".join([*ext.extra_compile_args, *ext.extra_link_args])
        self.force = bool(self.force) or not used.is_file() or used.read_text() != flags
        super().build_extension(ext)
        used.parent.mkdir(parents=True, exist_ok=True)
        used.write_text(flags)


def static_licences() -> list[str]:
    """Copy the licence texts of the static libraries below build/ and return their paths."""
    prefix = static_prefix()
    copies = []
    for text in sorted((prefix / "licences").iterdir()) if prefix else ():
        copy = Path("build/licences") / text.name
        shutil.copy(text, ROOT / copy)
        copies.append(str(copy))
    return copies


class EggInfo(egg_info):
    """Adds the licence texts of what is linked into the module, which are known once its sources are unpacked."""

    def run(self) -> None:
        """Write the metadata."""
        kafka_sources, json_sources = unpacked_sources()
        # The licence of yyjson is the comment at its head.
        json_licence = Path("build/licences/yyjson.txt")
        (ROOT / json_licence).parent.mkdir(parents=True, exist_ok=True)
        head, _, _ = (ROOT / json_sources / "yyjson.h").read_text().partition("*/")
        (ROOT / json_licence).write_text(f"{head}*/\n")
        given = getattr(self.distribution.metadata, "license_files", None) or []
        added = [str(kafka_sources / "LICENSES.txt"), str(json_licence), *static_licences()]
        self.distribution.metadata.license_files = [*given, *added]  # type: ignore[attr-defined]
        super().run()


class SourceDistribution(sdist):
    """Puts the unpacked sources of librdkafka and yyjson into the sdist, so that building needs no network."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy these sources, as they were unpacked, besides our own files."""
        super().make_release_tree(base_dir, files)
        for tree in unpacked_sources():
            self.copy_tree(str(tree), str(Path(base_dir) / tree))


setup(
    ext_modules=[Extension("cykafka._rdkafka.core", [str(CORE / "core.pyx"), *HELPERS], depends=PARTS)],
    cmdclass={"build_ext": BuildCore, "egg_info": EggInfo, "sdist": SourceDistribution},
)
