"""What this installation of cykafka is made of: versions, features, and where each linked library came from."""

from __future__ import annotations

import dataclasses
import enum
import json
import platform
import sysconfig
from pathlib import Path

from cykafka._rdkafka import core
from cykafka._version import __version__


class Linking(enum.Enum):
    """How a library comes into the process.

    Attributes:
        STATIC: It is part of cykafka's compiled module.
        SHARED: It is the system's, which the module needs to be loaded.
    """

    STATIC = "static"
    SHARED = "shared"


@dataclasses.dataclass(frozen=True)
class LinkedLibrary:
    """A C library that the compiled module uses.

    Attributes:
        name: Its name.
        version: The version that the library itself tells at run time.
        linking: How it is linked.
        source: The package that its sources came from, with version; "system" for one of the system's.
        sha256: SHA-256 of that package, empty for one of the system's.
        licence: SPDX expression, empty for one of the system's.
    """

    name: str
    version: str
    linking: Linking
    source: str = "system"
    sha256: str = ""
    licence: str = ""


@dataclasses.dataclass(frozen=True)
class BuildInfo:
    """What an installation is made of; `build_info` makes it.

    Attributes:
        version: Version of cykafka.
        librdkafka: Version of librdkafka.
        features: What librdkafka was built with (``builtin.features``).
        libraries: The libraries that the module is linked with.
        kerberos_problem: Why Kerberos (``sasl.mechanism=GSSAPI``) cannot be used on this system, None if it can.
        compiler: The compiler that made the module.
        module: File of the compiled module.
        python: Version of the Python that runs it.
        platform: What it runs on, as wheels call it.
        free_threaded: Whether that Python was built without the GIL.
    """

    version: str
    librdkafka: str
    features: tuple[str, ...]
    libraries: tuple[LinkedLibrary, ...]
    kerberos_problem: str | None
    compiler: str
    module: Path
    python: str
    platform: str
    free_threaded: bool


def build_info() -> BuildInfo:
    """Tell what this installation is made of, for bug reports and for checking what is deployed.

    Any thread may call it. It loads the system's Cyrus SASL library, to see whether Kerberos can be used.

    Returns:
        Versions, features and origins.
    """
    record = {entry["name"]: entry for entry in json.loads(core.linked_record())}
    libraries = []
    for name, version in core.linked_versions().items():
        entry = record.get(name)
        if entry:
            library = LinkedLibrary(name, version, Linking.STATIC, entry["source"], entry["sha256"], entry["licence"])
        else:
            library = LinkedLibrary(name, version, Linking.SHARED)
        libraries.append(library)
    return BuildInfo(
        version=__version__,
        librdkafka=core.libversion()[0],
        features=tuple(core.builtin_features()),
        libraries=tuple(libraries),
        kerberos_problem=core.kerberos_problem(),
        compiler=core.compiler_version(),
        module=Path(core.__file__),
        python=platform.python_version(),
        platform=sysconfig.get_platform(),
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    )
