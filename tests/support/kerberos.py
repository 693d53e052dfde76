"""A Kerberos realm of a test's own, and a Kafka node that lets in who has a ticket of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from tests.support.errors import MissingToolError, ServerError
from tests.support.kafka import KafkaServer, Listener
from tests.support.ports import LOOPBACK, free_ports
from tests.support.process import ServerProcess, WorkFolder

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

REALM = "CYKAFKA.TEST"
#: The service, as clients ask for it: its name and the host that they connect to.
SERVICE = f"kafka/{LOOPBACK}"
_TOOLS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_START_SECONDS = 60.0


def _tool(name: str) -> str:
    # Debian has them where the search path of users does not lead.
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")
    if path is None:
        raise MissingToolError(
            f"Kerberos tests need {', '.join(_TOOLS)}: install them (Debian: krb5-kdc krb5-admin-server krb5-user), "
            f"{name} is missing"
        )
    return path


class KerberosRealm:
    """A key distribution centre on a free loopback port. A context manager.

    Attributes:
        folder: Its folder, with configuration, database, key tables and ticket caches.
        environment: Environment variables with which Kerberos programs and libraries use it.
    """

    def __init__(self) -> None:
        self._work = WorkFolder("cykafka-kerberos-")
        self.folder = self._work.path
        self.environment = {
            "KRB5_CONFIG": str(self.folder / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{self.folder / 'tickets'}",
        }
        self._process: ServerProcess | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def configuration(self) -> Path:
        """The file that tells clients and servers where the realm is."""
        return self.folder / "krb5.conf"

    def start(self) -> None:
        """Make the database and start the server.

        Raises:
            MissingToolError: MIT Kerberos is not installed.
        """
        tools = {name: _tool(name) for name in _TOOLS}
        (port,) = free_ports(1)
        self.configuration.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n"
            " dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = {LOOPBACK}:{port}\n }}\n"
        )
        (self.folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = {LOOPBACK}:{port}\n kdc_tcp_listen = {LOOPBACK}:{port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {self.folder / 'principal'}\n"
            f"  key_stash_file = {self.folder / 'stash'}\n  acl_file = {self.folder / 'acl'}\n  max_life = 1h\n }}\n"
        )
        self._run(tools["kdb5_util"], "create", "-s", "-r", REALM, "-P", "master-password")
        log = self.folder / "kdc.log"
        self._process = ServerProcess(
            "krb5kdc",
            ["env", *(f"{name}={value}" for name, value in self.environment.items()), tools["krb5kdc"], "-n"],
            log=log,
            ready="starting...",
            folder=self.folder,
        )
        self._process.start()
        self._process.wait_ready(_START_SECONDS)

    def close(self) -> None:
        """End the server and remove its folder. Safe to call twice."""
        if self._process is not None:
            self._process.kill()
            self._process = None
        self._work.close()

    def add(self, principal: str) -> Path:
        """Add somebody with a random key and return a key table with it."""
        table = self.folder / f"{principal.replace('/', '-')}.keytab"
        self._run(_tool("kadmin.local"), "-r", REALM, "addprinc", "-randkey", principal)
        self._run(_tool("kadmin.local"), "-r", REALM, "ktadd", "-k", str(table), principal)
        return table

    def log_in(self, principal: str, table: Path) -> None:
        """Get a ticket for somebody into the cache that `environment` names."""
        self._run(_tool("kinit"), "-k", "-t", str(table), f"{principal}@{REALM}")

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode != 0:
            raise ServerError(f"{command[0]} failed: {done.stderr.strip()}")


class KerberosKafkaServer(KafkaServer):
    """One Kafka node with the listener GSSAPI, which takes tickets of a realm.

    Args:
        realm: The realm; it runs.
    """

    listeners = (Listener("GSSAPI", "SASL_PLAINTEXT"),)

    def __init__(self, realm: KerberosRealm) -> None:
        super().__init__()
        self._realm = realm
        self._table = realm.add(SERVICE)

    def extra_java_options(self) -> list[str]:
        """Tell Java where the realm is."""
        return [f"-Djava.security.krb5.conf={self._realm.configuration}"]

    def extra_properties(self, node: int) -> dict[str, str]:
        """The service's key."""
        del node
        login = (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
            f'keyTab="{self._table}" principal="{SERVICE}@{REALM}";'
        )
        return {
            "listener.name.gssapi.sasl.enabled.mechanisms": "GSSAPI",
            "listener.name.gssapi.gssapi.sasl.jaas.config": login,
            "listener.name.gssapi.sasl.kerberos.service.name": "kafka",
        }
