"""Clean systems to try wheels on: small Debian releases in folders, made by debootstrap, entered by chroot.

They share the network of this machine, so that a program in them reaches a server here; everything else is theirs. A
mount is seen only by the command that wanted it, and is gone with it.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from requirements import BuildError
from targets import BUILD


@dataclasses.dataclass(frozen=True)
class Release:
    """A Debian release to try wheels on.

    Attributes:
        suite: Its name.
        python: Its Python package, which is the name of the program, too.
    """

    suite: str
    python: str

    @property
    def tag(self) -> str:
        """What wheels call its Python."""
        return "cp" + self.python.removeprefix("python").replace(".", "")

    @property
    def packages(self) -> tuple[str, ...]:
        """What is installed besides the smallest system: as little as running, or building, a wheel needs."""
        return self.python, f"{self.python}-venv", f"{self.python}-dev", "ca-certificates"


#: Neither is the release that builds.
RELEASES = (Release("trixie", "python3.13"), Release("sid", "python3.14"))


def mirror() -> str:
    """Return where this machine gets Debian's packages from."""
    targets = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"]
    sites = subprocess.run(targets, capture_output=True, text=True, check=True).stdout.split()
    site = next((site for site in sites if site.rstrip("/").endswith("/debian")), None)
    if site is None:
        raise BuildError("this machine's package sources name no Debian mirror")
    return site


def cannot() -> str:
    """Return why there can be no clean systems here; empty if there can be."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "clean systems need root on Linux"
    lacking = [tool for tool in ("debootstrap", "apt-get", "unshare", "chroot") if shutil.which(tool) is None]
    return f"clean systems need {', '.join(lacking)} (Debian: apt-get install debootstrap)" if lacking else ""


def make(release: Release) -> Path:
    """Make a clean system, unless it is there; return its folder.

    Raises:
        BuildError: If that is not possible here.
    """
    reason = cannot()
    if reason:
        raise BuildError(reason)
    root = Path(os.environ.get("CYKAFKA_CHROOTS") or BUILD / "chroots") / release.suite
    if root.is_dir():
        return root
    scratch = root.with_name(f"{root.name}.{os.getpid()}")
    scratch.mkdir(parents=True)
    print(f"making a Debian {release.suite} in {root}", file=sys.stderr, flush=True)
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(release.packages)}", release.suite]
    done = subprocess.run([*command, str(scratch), mirror()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(scratch, ignore_errors=True)
        raise BuildError(f"debootstrap {release.suite} failed: {' '.join(done.stdout.splitlines()[-5:])}")
    scratch.rename(root)
    return root


def command(root: Path, arguments: list[str], mounts: tuple[Path, ...] = (), folder: str = "/") -> list[str]:
    """Return the command that runs a program in a clean system.

    Args:
        root: The system's folder.
        arguments: The program, by its path there, and its arguments.
        mounts: Folders of this machine to show there under the same names, for this command only.
        folder: Working folder there.
    """
    steps = [f"mount -t proc proc {shlex.quote(f'{root}/proc')}"]
    for path in mounts:
        there = shlex.quote(f"{root}{path}")
        steps.append(f"mkdir -p {there} && mount --rbind {shlex.quote(str(path))} {there}")
    steps.append(f"exec chroot {shlex.quote(str(root))} {shlex.join(['/usr/bin/env', '-C', folder, *arguments])}")
    return ["unshare", "--mount", "sh", "-ec", "\n".join(steps)]
