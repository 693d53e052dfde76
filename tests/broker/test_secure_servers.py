"""The secure Kafka server of the tests: each listener lets in whom it should, and nobody else."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

from tests.support import wire

pytest.importorskip("cryptography", reason="certificates for the tests need the package cryptography")

from tests.support.oidc import OidcProvider, TokenIssuer
from tests.support.security import ADMIN, ALICE, User

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.fixtures import TopicFactory
    from tests.support.security import SecureKafkaServer

pytestmark = pytest.mark.broker

SASL_AUTHENTICATION_FAILED = 58
UNSUPPORTED_SASL_MECHANISM = 33


def plain(connection: wire.Connection, user: User, password: str) -> None:
    connection.sasl_handshake("PLAIN")
    connection.sasl_authenticate(f"\0{user.name}\0{password}".encode())


def scram(connection: wire.Connection, mechanism: str, user: User, password: str) -> None:
    """RFC 5802, as far as a test needs it."""
    algorithm = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
    connection.sasl_handshake(mechanism)
    first = f"n={user.name},r=client-nonce"
    answer = connection.sasl_authenticate(f"n,,{first}".encode()).decode()
    fields = dict(field.split("=", 1) for field in answer.split(","))
    salt, rounds = base64.b64decode(fields["s"]), int(fields["i"])
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, rounds)
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    last = f"c=biws,r={fields['r']}"
    signature = hmac.digest(hashlib.new(algorithm, client_key).digest(), f"{first},{answer},{last}".encode(), algorithm)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    connection.sasl_authenticate(f"{last},p={base64.b64encode(proof).decode()}".encode())


def oauth(connection: wire.Connection, token: str) -> None:
    connection.sasl_handshake("OAUTHBEARER")
    refusal = connection.sasl_authenticate(f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    if refusal:
        connection.sasl_authenticate(b"\x01")


def unsigned_token(subject: str, lifetime: float) -> str:
    now = time.time()
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + lifetime})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."


def test_tls_listener_shows_a_valid_certificate(kafka_secure: SecureKafkaServer) -> None:
    address = kafka_secure.addresses("SSL")
    for name in ("localhost", "127.0.0.1"):
        with wire.connect(address, tls=kafka_secure.tls_context(), server_name=name) as connection:
            assert connection.metadata().brokers == {1: address}


@pytest.mark.parametrize(
    ("listener", "complaint"),
    [
        ("SSL_EXPIRED", "certificate has expired"),
        ("SSL_WRONG_HOST", "Hostname mismatch"),
        ("SSL_SELF_SIGNED", "self.signed certificate"),
    ],
)
def test_bad_certificates_are_refused(kafka_secure: SecureKafkaServer, listener: str, complaint: str) -> None:
    address = kafka_secure.addresses(listener)
    with (
        pytest.raises(ssl.SSLCertVerificationError, match=complaint),
        wire.connect(address, tls=kafka_secure.tls_context()),
    ):
        pass


def test_revoked_certificate_is_refused(kafka_secure: SecureKafkaServer) -> None:
    context = kafka_secure.tls_context()
    context.load_verify_locations(kafka_secure.authority.revocation_list(kafka_secure.server_certificate))
    context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    with (
        pytest.raises(ssl.SSLCertVerificationError, match="revoked"),
        wire.connect(kafka_secure.addresses("SSL"), tls=context),
    ):
        pass


def test_mutual_tls_wants_a_client_certificate(kafka_secure: SecureKafkaServer) -> None:
    address = kafka_secure.addresses("MTLS")
    with wire.connect(address, tls=kafka_secure.tls_context(with_client_certificate=True)) as connection:
        assert connection.api_versions()
    # With TLS 1.3 the client learns of the refusal from its first read.
    with pytest.raises(OSError), wire.connect(address, tls=kafka_secure.tls_context()) as connection:
        connection.api_versions()


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_passwords_are_checked(kafka_secure: SecureKafkaServer, listener: str, mechanism: str) -> None:
    def log_in(password: str) -> None:
        tls = kafka_secure.tls_context() if listener == "SASL_SSL" else None
        with wire.connect(kafka_secure.addresses(listener), tls=tls) as connection:
            if mechanism == "PLAIN":
                plain(connection, ALICE, password)
            else:
                scram(connection, mechanism, ALICE, password)
            assert connection.metadata().brokers

    log_in(ALICE.password)
    with pytest.raises(wire.ProtocolError) as refusal:
        log_in("wrong")
    assert refusal.value.code == SASL_AUTHENTICATION_FAILED


def test_unsigned_tokens_are_checked(kafka_secure: SecureKafkaServer) -> None:
    address = kafka_secure.addresses("SASL_PLAINTEXT")
    with wire.connect(address) as connection:
        oauth(connection, unsigned_token("alice", 60))
        assert connection.metadata().brokers
    with wire.connect(address) as connection, pytest.raises(wire.ProtocolError, match="invalid_token"):
        oauth(connection, unsigned_token("alice", -60))


def test_signed_tokens_are_checked(kafka_secure: SecureKafkaServer) -> None:
    address, issuer = kafka_secure.addresses("OIDC"), kafka_secure.tokens
    with wire.connect(address) as connection:
        oauth(connection, issuer.token("alice"))
        assert connection.metadata().brokers
    stranger = TokenIssuer(issuer.name, issuer.audience)
    refused = [
        issuer.token("alice", lifetime=-120),
        issuer.token("alice", audience="other"),
        stranger.token("alice"),
        unsigned_token("alice", 60),
    ]
    for token in refused:
        with wire.connect(address) as connection, pytest.raises(wire.ProtocolError) as refusal:
            oauth(connection, token)
        assert refusal.value.code == SASL_AUTHENTICATION_FAILED


def test_mechanism_that_the_listener_lacks_is_refused(kafka_secure: SecureKafkaServer) -> None:
    with wire.connect(kafka_secure.addresses("OIDC")) as connection:
        with pytest.raises(wire.ProtocolError, match="mechanisms: OAUTHBEARER") as refusal:
            connection.sasl_handshake("PLAIN")
        assert refusal.value.code == UNSUPPORTED_SASL_MECHANISM


def test_users_see_only_what_they_may(kafka_secure: SecureKafkaServer, topic: TopicFactory) -> None:
    name = topic(cluster=kafka_secure)
    seen = {}
    for user in (ADMIN, ALICE):
        with wire.connect(kafka_secure.addresses("SASL_PLAINTEXT")) as connection:
            plain(connection, user, user.password)
            seen[user] = name in connection.metadata().topics
    with wire.connect(
        kafka_secure.addresses("MTLS"), tls=kafka_secure.tls_context(with_client_certificate=True)
    ) as connection:
        assert name not in connection.metadata().topics
    assert seen == {ADMIN: True, ALICE: False}


def test_client_config_names_what_each_listener_needs(kafka_secure: SecureKafkaServer) -> None:
    mutual = kafka_secure.client_config("MTLS")
    assert mutual["security.protocol"] == "SSL"
    assert {"ssl.ca.location", "ssl.certificate.location", "ssl.key.location"} <= set(mutual)
    by_password = kafka_secure.client_config("SASL_SSL", mechanism="PLAIN", user=ADMIN)
    assert (by_password["sasl.mechanism"], by_password["sasl.username"]) == ("PLAIN", "admin")
    assert kafka_secure.client_config("PLAINTEXT") == {
        "bootstrap.servers": kafka_secure.bootstrap_servers,
        "security.protocol": "PLAINTEXT",
    }


def ask_for_token(provider: OidcProvider, secret: str, context: ssl.SSLContext | None = None) -> dict[str, str]:
    credentials = base64.b64encode(f"alice:{secret}".encode()).decode()
    request = urllib.request.Request(
        provider.token_url,
        data=urllib.parse.urlencode({"grant_type": "client_credentials", "scope": "s"}).encode(),
        headers={"Authorization": f"Basic {credentials}"},
    )
    with urllib.request.urlopen(request, timeout=10, context=context) as answer:
        return dict(json.load(answer))


def test_token_provider_serves_what_the_broker_accepts(kafka_secure: SecureKafkaServer) -> None:
    with OidcProvider(kafka_secure.tokens, {"alice": "secret"}) as provider:
        provider.failures.append(HTTPStatus.SERVICE_UNAVAILABLE)
        for secret, status in (("secret", 503), ("wrong", 401)):
            with pytest.raises(urllib.error.HTTPError) as failure:
                ask_for_token(provider, secret)
            assert failure.value.code == status
            failure.value.close()
        token = ask_for_token(provider, "secret")["access_token"]
        assert provider.requests[-1].form["scope"] == "s"
        with urllib.request.urlopen(provider.keys_url, timeout=10) as answer:
            assert answer.read().decode() == kafka_secure.tokens.keys()
    with wire.connect(kafka_secure.addresses("OIDC")) as connection:
        oauth(connection, token)


def test_token_provider_over_https(kafka_secure: SecureKafkaServer) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(kafka_secure.server_certificate.certificate, kafka_secure.server_certificate.key)
    with OidcProvider(kafka_secure.tokens, {"alice": "secret"}, tls=server) as provider:
        assert provider.token_url.startswith("https://")
        assert ask_for_token(provider, "secret", kafka_secure.tls_context())["token_type"] == "Bearer"


def test_encrypted_keys_open_with_their_password(kafka_secure: SecureKafkaServer, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import pkcs12

    from tests.support.certificates import KEY_PASSWORD, CertificateAuthority

    issued = CertificateAuthority(tmp_path).issue("someone")
    context = kafka_secure.tls_context()
    context.load_cert_chain(issued.certificate, issued.encrypted_key, KEY_PASSWORD)
    with pytest.raises(ssl.SSLError):
        context.load_cert_chain(issued.certificate, issued.encrypted_key, "wrong")
    key, certificate, others = pkcs12.load_key_and_certificates(issued.pkcs12.read_bytes(), KEY_PASSWORD.encode())
    assert key is not None
    assert certificate is not None
    assert certificate.serial_number == issued.serial_number
    assert len(others) == 1
