"""Tries wheels on clean systems: installs each there and runs `smoke_program.py` against a Kafka with TLS and SCRAM.

    python wheels/smoke.py dist/*.whl

It runs from the project's folder, needs root, debootstrap, and what the tests on a real Kafka need (a JDK and Maven).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "librdkafka"))
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))

import chroots  # noqa: E402
import interpreters  # noqa: E402
from chroots import RELEASES  # noqa: E402
from requirements import BuildError  # noqa: E402

if TYPE_CHECKING:
    from tests.support.security import SecureKafkaServer

PROGRAM = HERE / "smoke_program.py"
AUTHORITY = "authority.pem"
SYSTEM_CERTIFICATES = "usr/local/share/ca-certificates/cykafka-smoke.crt"
#: Listeners whose certificate a client must refuse.
BAD = ("SSL_EXPIRED", "SSL_WRONG_HOST", "SSL_SELF_SIGNED")


def server_properties(server: SecureKafkaServer, folder: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return the properties of `smoke_program.py`, for certificates in a folder of the clean system."""
    from tests.support.security import ADMIN

    authority = {"ssl.ca.location": f"{folder}/{AUTHORITY}"}
    good = {"TLS": server.client_config("SSL", user=ADMIN) | authority}
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"):
        good[f"TLS and {mechanism}"] = server.client_config("SASL_SSL", mechanism=mechanism, user=ADMIN) | authority
    # Without a location the system's own certificates count.
    system = dict(good["TLS and SCRAM-SHA-512"])
    del system["ssl.ca.location"]
    good["TLS by the system's certificates"] = system
    bad = {name: server.client_config(name) | authority for name in BAD}
    bad["an authority that is not trusted"] = server.client_config("SSL") | {"ssl.ca.location": f"{folder}/other.pem"}
    return {"good": good, "bad": bad}


def prepare(server: SecureKafkaServer) -> None:
    """Make the topic and let everybody use it."""
    from cykafka.admin import (
        AclBinding,
        AclOperation,
        AclPermissionType,
        AdminClient,
        NewTopic,
        ResourcePatternType,
        ResourceType,
    )

    admin = AdminClient({"bootstrap.servers": server.bootstrap_servers})
    admin.create_topics([NewTopic("smoke", 1, 1)])["smoke"].result(60)
    bindings = [
        AclBinding(kind, "*", ResourcePatternType.LITERAL, "User:*", "*", AclOperation.ALL, AclPermissionType.ALLOW)
        for kind in (ResourceType.TOPIC, ResourceType.GROUP)
    ]
    for future in admin.create_acls(bindings).values():
        future.result(60)


def python_for(wheel: Path) -> tuple[Path, str, tuple[Path, ...]]:
    """Return a clean system for a wheel, its Python there, and folders of this machine that this Python needs."""
    tag = wheel.name.split("-")[-2]
    for release in RELEASES:
        if release.tag == tag:
            return chroots.make(release), f"/usr/bin/{release.python}", ()
    found = interpreters.find().get(tag)
    if found is None:
        raise BuildError(f"no Python {tag} here to try {wheel.name} with")
    # The release has no such Python: one of this machine is lent to it.
    installation = found.path.resolve().parent.parent
    return chroots.make(RELEASES[0]), str(found.path.resolve()), (installation,)


def trust(root: Path, authority: Path) -> None:
    """Make the clean system trust an authority."""
    target = root / SYSTEM_CERTIFICATES
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(authority, target)
    update = subprocess.run(
        ["chroot", str(root), "update-ca-certificates"], capture_output=True, text=True, check=False
    )
    if update.returncode != 0:
        raise BuildError(f"update-ca-certificates failed: {update.stderr.strip()}")


def smoke(wheel: Path, server: SecureKafkaServer) -> str:
    """Install a wheel on a clean system, run the program there and return what it printed.

    Raises:
        BuildError: If that fails; the text has the output.
    """
    from tests.support.certificates import CertificateAuthority

    root, python, mounts = python_for(wheel)
    trust(root, server.authority.certificate)
    with tempfile.TemporaryDirectory(prefix="cykafka-smoke-", dir=root / "tmp") as name:
        folder = Path(name)
        shutil.copy(wheel, folder)
        shutil.copy(PROGRAM, folder)
        shutil.copy(server.authority.certificate, folder / AUTHORITY)
        (folder / "other").mkdir()
        shutil.copy(CertificateAuthority(folder / "other").certificate, folder / "other.pem")
        there = f"/tmp/{folder.name}"
        (folder / "servers.json").write_text(json.dumps(server_properties(server, there)))
        pip = [f"{there}/env/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
        for command in (
            [python, "-m", "venv", f"{there}/env"],
            [*pip, f"{there}/{wheel.name}"],
            [f"{there}/env/bin/python", f"{there}/{PROGRAM.name}", f"{there}/servers.json"],
        ):
            done = subprocess.run(
                chroots.command(root, command, mounts), capture_output=True, text=True, check=False, timeout=600
            )
            if done.returncode != 0:
                output = "\n".join([*done.stdout.splitlines()[-20:], *done.stderr.splitlines()[-20:]])
                raise BuildError(f"{wheel.name} on {root.name}: {' '.join(command)} failed:\n{output}")
    return done.stdout


def main() -> int:
    """Run the command line."""
    from tests.support.errors import MissingToolError
    from tests.support.security import SecureKafkaServer

    parser = argparse.ArgumentParser(description="Try wheels on clean systems.")
    parser.add_argument("wheels", nargs="+", type=Path)
    wheels = parser.parse_args().wheels
    reason = chroots.cannot()
    try:
        if not reason:
            with SecureKafkaServer() as server:
                prepare(server)
                for wheel in wheels:
                    print(f"{wheel.name}:\n{smoke(wheel, server)}", flush=True)
    except MissingToolError as error:
        reason = str(error)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if reason:
        print(f"the wheels were not tried on other systems: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
