"""Builds the extension module; everything else about the package is in pyproject.toml.

Environment: CYKAFKA_DEV=1 compiles the module with little optimisation, CYKAFKA_DEBUG=1 with none and with debug
checks, CYKAFKA_SANITIZE=address with AddressSanitizer (librdkafka too). CYKAFKA_BUILD_CACHE keeps the built
librdkafka somewhere else than in build/.
"""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "librdkafka"))

from vendor import Pin, VendorError, unpack  # noqa: E402

from build import BuildError, ensure  # noqa: E402

CORE = Path("src/cykafka/_rdkafka")


def load_json_vendor() -> ModuleType:
    """Return yyjson/vendor.py, whose name is that of librdkafka's."""
    spec = importlib.util.spec_from_file_location("yyjson_vendor", ROOT / "yyjson" / "vendor.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


json_vendor = load_json_vendor()
HELPERS = sorted(str(path) for path in (ROOT / CORE).glob("*.c") if path.name != "core.c")
PARTS = sorted(str(path) for ending in ("pyx", "pxd", "pxi", "h", "c") for path in (ROOT / CORE).glob(f"*.{ending}"))


def module_flags() -> list[str]:
    """Return the compiler flags of the module itself; -UNDEBUG undoes what Python's own flags may define."""
    flags = ["-UNDEBUG", "-g1", "-fvisibility=hidden", "-Wno-deprecated-declarations"]
    if os.environ.get("CYKAFKA_DEBUG"):
        return [*flags, "-O0", "-g", "-DCYKAFKA_DEBUG=1"]
    return [*flags, "-O1" if os.environ.get("CYKAFKA_DEV") else "-O3"]


class BuildCore(build_ext):
    """Builds librdkafka if need be, translates the Cython sources, compiles and links."""

    def finalize_options(self) -> None:
        """Translate the umbrella when any of its parts has changed."""
        from Cython.Build import cythonize

        self.distribution.ext_modules = cythonize(
            self.distribution.ext_modules, include_path=["src"], force=False, language_level=3
        )
        super().finalize_options()

    def build_extension(self, extension: Extension) -> None:
        """Compile and link the one module against the static librdkafka."""
        sanitize = os.environ.get("CYKAFKA_SANITIZE", "")
        try:
            library = ensure(sanitize)
            json_sources = Path(os.path.relpath(json_vendor.unpack(), ROOT))
        except (BuildError, VendorError) as error:
            raise SystemExit(f"error: {error}") from None
        extension.sources = [*extension.sources, str(json_sources / "yyjson.c")]
        extension.extra_compile_args = [*module_flags(), *library.compile_flags, f"-I{CORE}", f"-I{json_sources}"]
        only_init = f"-Wl,--version-script={CORE / 'exports.map'}"
        if sys.platform == "darwin":
            only_init = "-Wl,-exported_symbol,_PyInit_core"
        extension.extra_link_args = [*library.link_flags, only_init]
        if sanitize:
            extension.extra_compile_args += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer"]
            extension.extra_link_args += [f"-fsanitize={sanitize}"]
        extension.depends = [*extension.depends, str(library.root / "src" / "librdkafka.a")]
        super().build_extension(extension)


class SourceDistribution(sdist):
    """Puts the unpacked sources of librdkafka and yyjson into the sdist, so that building needs no network."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy these sources, as upstream has them, besides our own files."""
        super().make_release_tree(base_dir, files)
        sources = unpack(Pin.load())
        self.copy_tree(str(sources), str(Path(base_dir) / "librdkafka" / sources.name))
        sources = json_vendor.unpack()
        self.copy_tree(str(sources), str(Path(base_dir) / "yyjson" / sources.name))


setup(
    ext_modules=[
        Extension(
            "cykafka._rdkafka.core",
            [str(CORE / "core.pyx"), *(os.path.relpath(h, ROOT) for h in HELPERS)],
            depends=PARTS,
        )
    ],
    cmdclass={"build_ext": BuildCore, "sdist": SourceDistribution},
)
