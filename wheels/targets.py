"""The systems that wheels are made for, and the compilers that make them.

Where zig cross-compiles, its wrappers stand in for cc, ar and ranlib: zig brings the C library of each target, also
an old glibc and musl, so that one machine makes the wheels of all. The native target uses the compiler that is there,
as in the containers and on the machines of the hosted builds.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import platform
import shlex
import shutil
from pathlib import Path

from requirements import BuildError

BUILD = Path(__file__).resolve().parent.parent / "build" / "wheels"


@dataclasses.dataclass(frozen=True)
class Target:
    """A system that wheels are made for.

    Attributes:
        name: Platform tag of its wheels; "native" for the system that builds.
        zig: What zig calls it; empty for the native one, which has a compiler of its own.
        openssl: What OpenSSL's Configure calls it; empty to let that find out.
        machine: Machine, as Python calls it.
        triplet: End of the names of its extension modules, as in core.cpython-314-<triplet>.so.
        emulator: Program that runs its programs here, or empty.
    """

    name: str
    zig: str = ""
    openssl: str = ""
    machine: str = ""
    triplet: str = ""
    emulator: str = ""

    @property
    def folder(self) -> Path:
        """Where everything made for it is kept."""
        return BUILD / self.name

    @property
    def prefix(self) -> Path:
        """Where its static libraries are installed."""
        return self.folder / "prefix"

    @property
    def runs_here(self) -> bool:
        """Whether its programs can be run here, be it by an emulator."""
        if not self.zig:
            return True
        return shutil.which(self.emulator) is not None if self.emulator else self.machine == platform.machine()

    def environment(self) -> dict[str, str]:
        """Return the environment variables that make builds compile for it."""
        if not self.zig:
            return {}
        tools = {name: str(self._wrapper(name)) for name in ("cc", "ar", "ranlib")}
        return {
            "CC": tools["cc"],
            "AR": tools["ar"],
            "RANLIB": tools["ranlib"],
            "LDSHARED": f"{tools['cc']} -shared",
            "CYKAFKA_EMULATOR": self.emulator,
        }

    def _wrapper(self, tool: str) -> Path:
        """Write a program that runs one of zig's tools for this target, and return its path."""
        package = importlib.util.find_spec("ziglang")
        if package is None or package.origin is None:
            raise BuildError("zig is needed to compile for other systems: pip install ziglang")
        path = self.folder / "bin" / tool
        zig = shlex.quote(str(Path(package.origin).with_name("zig")))
        arguments = f"cc -target {self.zig}" if tool == "cc" else tool
        text = f'#!/bin/sh\nexec {zig} {arguments} "$@"\n'
        if not path.is_file() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        return path


_X86_64 = {"openssl": "linux-x86_64", "machine": "x86_64"}
_AARCH64 = {"openssl": "linux-aarch64", "machine": "aarch64"}

NATIVE = Target("native", machine=platform.machine())

#: By the platform tag of their wheels.
TARGETS = {
    target.name: target
    for target in (
        Target("manylinux_2_28_x86_64", "x86_64-linux-gnu.2.28", triplet="x86_64-linux-gnu", **_X86_64),
        Target("musllinux_1_2_x86_64", "x86_64-linux-musl", triplet="x86_64-linux-musl", **_X86_64),
        Target(
            "manylinux_2_28_aarch64",
            "aarch64-linux-gnu.2.28",
            triplet="aarch64-linux-gnu",
            emulator="qemu-aarch64-static",
            **_AARCH64,
        ),
        Target(
            "musllinux_1_2_aarch64",
            "aarch64-linux-musl",
            triplet="aarch64-linux-musl",
            emulator="qemu-aarch64-static",
            **_AARCH64,
        ),
    )
}


def jobs() -> int:
    """Return how many compilers to run at a time."""
    return os.cpu_count() or 1
