"""System packages that building and testing need: which are missing, and the command that installs them.

Standard library only: it runs before anything is installed.

    python librdkafka/requirements.py build venv servers    install what is missing where that is possible

Installing is possible as root or by a sudo that asks nothing (Homebrew wants neither); else the command is named.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable


class BuildError(Exception):
    """cykafka cannot be built here; the text names the cure."""


@dataclasses.dataclass(frozen=True)
class Requirement:
    """Something of the system that is needed: a header, a program or a Python module, and its package by manager.

    Attributes:
        name: What messages call it.
        apt: Package of Debian and Ubuntu.
        dnf: Package of Fedora and its like.
        apk: Package of Alpine.
        brew: Package of Homebrew; empty if macOS brings it.
        header: Header to include, or empty.
        program: Program to run, or empty.
        module: Python module to import, or empty.
    """

    name: str
    apt: str
    dnf: str
    apk: str
    brew: str
    header: str = ""
    program: str = ""
    module: str = ""

    @property
    def what(self) -> str:
        """What is looked for, and what it belongs to."""
        return f"{self.header or self.program or self.module} ({self.name})"


_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"

#: Without these nothing can be compiled.
TOOLS = (
    Requirement("C compiler", "build-essential", "gcc", "build-base", "", program="cc"),
    Requirement("GNU make", "make", "make", "make", "make", program="make"),
    Requirement("bash", "bash", "bash", "bash", "", program="bash"),
)

#: Libraries that librdkafka is built with.
LIBRARIES = (
    Requirement("zlib", "zlib1g-dev", "zlib-devel", "zlib-dev", "zlib", header="zlib.h"),
    Requirement("zstd", "libzstd-dev", "libzstd-devel", "zstd-dev", "zstd", header="zstd.h"),
    Requirement("OpenSSL", "libssl-dev", "openssl-devel", "openssl-dev", "openssl@3", header="openssl/ssl.h"),
    Requirement("curl", "libcurl4-openssl-dev", "libcurl-devel", "curl-dev", "curl", header="curl/curl.h"),
    Requirement("Cyrus SASL", "libsasl2-dev", "cyrus-sasl-devel", "cyrus-sasl-dev", "cyrus-sasl", header="sasl/sasl.h"),
)

PYTHON_HEADERS = Requirement(
    "Python's headers", f"{_PYTHON}-dev", "python3-devel", "python3-dev", "python", header="Python.h"
)

NPM = Requirement("npm, for the sources of librdkafka", "npm", "nodejs-npm", "npm", "node", program="npm")
PATCH = Requirement("patch, for our patches to librdkafka", "patch", "patch", "patch", "", program="patch")

GROUPS = {
    "build": (*TOOLS, *LIBRARIES, PYTHON_HEADERS),
    "venv": (
        Requirement("venv", f"{_PYTHON}-venv", "python3-pip", "python3", "python", module="ensurepip"),
        Requirement("venv", f"{_PYTHON}-venv", "python3", "python3", "python", module="venv"),
    ),
    "sources": (NPM,),
    "kerberos": (
        Requirement(
            "a Kerberos server", "krb5-kdc krb5-admin-server krb5-user libsasl2-modules-gssapi-mit",
            "krb5-server krb5-workstation cyrus-sasl-gssapi", "krb5-server krb5 cyrus-sasl-gssapiv2", "",
            program="krb5kdc",
        ),
    ),
    "wheels": (
        Requirement("Perl, for OpenSSL's build", "perl", "perl-core", "perl", "", program="perl"),
        Requirement("Rust's cargo, for the sources of libraries", "cargo", "cargo", "cargo", "rust", program="cargo"),
        Requirement("debootstrap, for systems to try wheels on", "debootstrap", "debootstrap", "debootstrap", "",
                    program="debootstrap"),
    ),
    "servers": (
        Requirement(
            "JDK 17 or later", "default-jdk-headless", "java-latest-openjdk-headless", "openjdk21", "openjdk",
            program="java",
        ),
        Requirement("Maven", "maven", "maven", "maven", "maven", program="mvn"),
    ),
}  # fmt: skip

_INSTALL_COMMANDS = {
    "apt-get": ("apt-get install -y", "apt"),
    "dnf": ("dnf install -y", "dnf"),
    "apk": ("apk add", "apk"),
    "brew": ("brew install", "brew"),
}


def compiler() -> list[str]:
    """Return the C compiler's command, CC or cc."""
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def has_header(header: str) -> bool:
    """Tell whether the compiler finds a header; if there is no compiler, no header is there."""
    command = [*compiler(), *shlex.split(os.environ.get("CPPFLAGS", "")), "-E", "-x", "c", "-"]
    command += [f"-I{path}" for path in {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}]
    source = f"#include <stddef.h>\n#include <{header}>\n"
    try:
        return subprocess.run(command, input=source, capture_output=True, text=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def has_program(program: str) -> bool:
    """Tell whether a program is in PATH; for cc, whether the compiler that CC names is."""
    # Debian has servers' programs where the search path of users does not lead.
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    return shutil.which(compiler()[0] if program == "cc" else program, path=path) is not None


def is_there(requirement: Requirement) -> bool:
    """Tell whether a requirement is met here."""
    if requirement.header:
        return has_header(requirement.header)
    if requirement.program:
        return has_program(requirement.program)
    return importlib.util.find_spec(requirement.module) is not None


def missing(wanted: Iterable[Requirement], found: Callable[[Requirement], bool] = is_there) -> list[Requirement]:
    """Return what is not there."""
    return [requirement for requirement in wanted if not found(requirement)]


def install_command(wanted: Iterable[Requirement], which: Callable[[str], str | None] = shutil.which) -> str:
    """Return the command that installs packages on this system, or a sentence if its package manager is unknown."""
    wanted = list(wanted)
    for program, (command, attribute) in _INSTALL_COMMANDS.items():
        if which(program):
            packages = dict.fromkeys(filter(None, (getattr(requirement, attribute) for requirement in wanted)))
            if not packages:
                return "xcode-select --install"
            return f"{command} {' '.join(packages)}"
    return f"your package manager, for: {', '.join(requirement.name for requirement in wanted)}"


def check(wanted: Iterable[Requirement], found: Callable[[Requirement], bool] = is_there) -> None:
    """Raise if something is missing, naming all of it and the command that installs it.

    Raises:
        BuildError: If something is missing.
    """
    lacking = missing(wanted, found)
    if lacking:
        compilers = f" (CC names {compiler()[0]})" if os.environ.get("CC") and TOOLS[0] in lacking else ""
        raise BuildError(
            f"missing on this system: {', '.join(requirement.what for requirement in lacking)}{compilers}. "
            f"Install with: {install_command(lacking)}"
        )


def _root_prefix(program: str) -> list[str] | None:
    """Return what has to stand before a package manager's command, or None if we may not install here."""
    if program == "brew":
        return []
    if os.geteuid() == 0:
        return ["env"]
    sudo = ["sudo", "-n"]
    if shutil.which("sudo") and subprocess.run([*sudo, "true"], capture_output=True, check=False).returncode == 0:
        return [*sudo, "env"]
    return None


def install(wanted: Iterable[Requirement]) -> None:
    """Install what is missing.

    Raises:
        BuildError: If that is not possible here; the text names the command.
    """
    lacking = missing(wanted)
    command = shlex.split(install_command(lacking))
    prefix = _root_prefix(command[0]) if lacking and command[0] in _INSTALL_COMMANDS else None
    if prefix is not None:
        print(f"installing system packages: {shlex.join(command)}", file=sys.stderr, flush=True)
        if command[0] == "apt-get":
            # Its list of packages may be missing or old; if it cannot be renewed, installing says why.
            subprocess.run([*prefix, "apt-get", "update", "-qq"], check=False, stdout=subprocess.DEVNULL)
            prefix = [*prefix, "DEBIAN_FRONTEND=noninteractive"]
        subprocess.run([*prefix, *command], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    check(lacking)


def main() -> int:
    """Install the groups named on the command line."""
    parser = argparse.ArgumentParser(description="Install the system packages that are missing, where possible.")
    parser.add_argument("groups", nargs="+", choices=sorted(GROUPS))
    arguments = parser.parse_args()
    try:
        install(requirement for group in arguments.groups for requirement in GROUPS[group])
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
