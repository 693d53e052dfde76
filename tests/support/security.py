"""A Kafka server with every kind of security that clients meet, each on a listener of its own."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.certificates import Certificate, CertificateAuthority
from tests.support.kafka import KafkaServer, Listener
from tests.support.oidc import TokenIssuer
from tests.support.process import WorkFolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_SECURITY = "org.apache.kafka.common.security"
_OAUTH_LOGIN = f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule required"


@dataclass(frozen=True)
class User:
    """A user that the server knows by PLAIN and both kinds of SCRAM."""

    name: str
    password: str

    @property
    def principal(self) -> str:
        """How access control calls the user."""
        return f"User:{self.name}"


#: May do everything.
ADMIN = User("admin", "admin-password")
#: Without any right until a test grants one.
ALICE = User("alice", "alice-password")
#: Without any right until a test grants one.
BOB = User("bob", "bob-password")
_USERS = (ADMIN, ALICE, BOB)


class SecureKafkaServer(KafkaServer):
    """One Kafka node with these listeners; see `addresses` and `client_config`.

    | listener | protocol | for |
    |---|---|---|
    | PLAINTEXT | PLAINTEXT | setting up: anonymous users may do everything |
    | SSL | SSL | one-way TLS, certificate for localhost and 127.0.0.1 |
    | MTLS | SSL | mutual TLS: the principal is the client certificate's common name |
    | SSL_EXPIRED, SSL_WRONG_HOST, SSL_SELF_SIGNED | SSL | certificates that a client must refuse |
    | SASL_PLAINTEXT | SASL_PLAINTEXT | PLAIN, SCRAM-SHA-256 and -512, OAUTHBEARER with unsigned tokens |
    | SASL_SSL | SASL_SSL | the same over TLS |
    | OIDC | SASL_PLAINTEXT | OAUTHBEARER with tokens signed by `tokens` |

    Access control is on: users other than `ADMIN` and anonymous ones have no rights until a test grants them.

    Args:
        properties: Broker properties that override those of the server.
        java_options: Options of the Java virtual machine, after the defaults for tests.

    Attributes:
        authority: Signs the certificates; a test may issue more.
        server_certificate: The good certificate of the server.
        client: Certificate of a client, principal `User:client`.
        tokens: Signs the tokens of the OIDC listener.
    """

    listeners = (
        Listener("SSL", "SSL"),
        Listener("MTLS", "SSL"),
        Listener("SSL_EXPIRED", "SSL"),
        Listener("SSL_WRONG_HOST", "SSL"),
        Listener("SSL_SELF_SIGNED", "SSL"),
        Listener("SASL_PLAINTEXT", "SASL_PLAINTEXT"),
        Listener("SASL_SSL", "SASL_SSL"),
        Listener("OIDC", "SASL_PLAINTEXT"),
    )

    def __init__(self, *, properties: Mapping[str, str] | None = None, java_options: Sequence[str] = ()) -> None:
        super().__init__(properties=properties, java_options=java_options)
        self._secrets = WorkFolder("cykafka-secrets-")
        folder = self._secrets.path
        self.authority = CertificateAuthority(folder)
        self.client = self.authority.issue("client")
        self.tokens = TokenIssuer()
        self._key_set = folder / "keys.json"
        self._key_set.write_text(self.tokens.keys())
        self.server_certificate = self.authority.issue("server")
        self._certificates: dict[str, Certificate] = {
            "SSL": self.server_certificate,
            "MTLS": self.server_certificate,
            "SASL_SSL": self.server_certificate,
            "SSL_EXPIRED": self.authority.issue("expired", expired=True),
            "SSL_WRONG_HOST": self.authority.issue("wrong-host", hosts=("kafka.example", "192.0.2.1")),
            "SSL_SELF_SIGNED": self.authority.issue("self-signed", self_signed=True),
        }

    def close(self) -> None:
        """Kill the server and remove its folder and the certificates. Safe to call twice."""
        super().close()
        self._secrets.close()

    def format_arguments(self) -> list[str]:
        """Create the SCRAM users while formatting."""
        return [
            argument
            for mechanism in _SCRAM_MECHANISMS
            for user in _USERS
            for argument in ("--add-scram", f"{mechanism}=[name={user.name},password={user.password}]")
        ]

    def extra_java_options(self) -> list[str]:
        """Let the server read the key set, which Kafka refuses without permission."""
        return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self._key_set.as_uri()}"]

    def extra_properties(self, node: int) -> dict[str, str]:
        """Access control, and the security of each listener."""
        del node
        properties = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:ANONYMOUS;{ADMIN.principal}",
            "allow.everyone.if.no.acl.found": "false",
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
        }
        for listener, certificate in self._certificates.items():
            prefix = f"listener.name.{listener.lower()}.ssl"
            properties[f"{prefix}.keystore.type"] = "PEM"
            properties[f"{prefix}.keystore.location"] = str(certificate.keystore)
            properties[f"{prefix}.truststore.type"] = "PEM"
            properties[f"{prefix}.truststore.location"] = str(self.authority.certificate)
            properties[f"{prefix}.client.auth"] = "required" if listener == "MTLS" else "none"
        for listener in ("SASL_PLAINTEXT", "SASL_SSL"):
            properties |= self._sasl_properties(listener)
        return {**properties, **self._oidc_properties()}

    def client_config(
        self,
        listener: str,
        *,
        mechanism: str = "SCRAM-SHA-256",
        user: User = ALICE,
        password: str | None = None,
    ) -> dict[str, str]:
        """Client properties that reach a listener in the right way.

        Args:
            listener: Listener name.
            mechanism: SASL mechanism, for SASL_PLAINTEXT and SASL_SSL. OIDC has OAUTHBEARER alone, and the
                test provides the token.
            user: Who to be, on SASL listeners.
            password: Another password than the user's.

        Returns:
            Properties, `bootstrap.servers` among them.
        """
        protocol = next((each.protocol for each in self.listeners if each.name == listener), "PLAINTEXT")
        config = {"bootstrap.servers": self.addresses(listener), "security.protocol": protocol}
        if "SSL" in protocol:
            config["ssl.ca.location"] = str(self.authority.certificate)
        if listener == "MTLS":
            config["ssl.certificate.location"] = str(self.client.certificate)
            config["ssl.key.location"] = str(self.client.key)
        if listener == "OIDC":
            config["sasl.mechanism"] = "OAUTHBEARER"
        elif protocol.startswith("SASL_"):
            config["sasl.mechanism"] = mechanism
            if mechanism == "OAUTHBEARER":
                config["sasl.oauthbearer.config"] = f"principal={user.name}"
                config["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
            else:
                config["sasl.username"] = user.name
                config["sasl.password"] = user.password if password is None else password
        return config

    def tls_context(self, *, with_client_certificate: bool = False) -> ssl.SSLContext:
        """A client-side context that trusts the authority.

        Args:
            with_client_certificate: Whether it shows the certificate of `client`.
        """
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        if with_client_certificate:
            context.load_cert_chain(self.client.certificate, self.client.key)
        return context

    def _sasl_properties(self, listener: str) -> dict[str, str]:
        prefix = f"listener.name.{listener.lower()}"
        passwords = " ".join(f'user_{user.name}="{user.password}"' for user in _USERS)
        unsigned = f'{_OAUTH_LOGIN} unsecuredLoginStringClaim_sub="broker";'
        properties = {
            f"{prefix}.sasl.enabled.mechanisms": ",".join(_SASL_MECHANISMS),
            f"{prefix}.plain.sasl.jaas.config": f"{_SECURITY}.plain.PlainLoginModule required {passwords};",
            f"{prefix}.oauthbearer.sasl.jaas.config": unsigned,
        }
        for mechanism in _SCRAM_MECHANISMS:
            login = f"{_SECURITY}.scram.ScramLoginModule required;"
            properties[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = login
        return properties

    def _oidc_properties(self) -> dict[str, str]:
        prefix = "listener.name.oidc"
        validator = f"{_SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        return {
            f"{prefix}.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{prefix}.oauthbearer.sasl.jaas.config": f"{_OAUTH_LOGIN};",
            f"{prefix}.oauthbearer.sasl.server.callback.handler.class": validator,
            f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": self._key_set.as_uri(),
            f"{prefix}.sasl.oauthbearer.expected.audience": self.tokens.audience,
            f"{prefix}.sasl.oauthbearer.expected.issuer": self.tokens.name,
            # A connection ends with its token, unless the client authenticates again (KIP-368).
            f"{prefix}.oauthbearer.connections.max.reauth.ms": "3600000",
        }
