"""No secret reaches logs, errors, reprs or statistics: every mode, right and wrong, with everything logged."""

from __future__ import annotations

import base64
import itertools
import json
import logging
import traceback
import urllib.parse
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cykafka import Consumer, KafkaException, Producer, TopicPartition
from cykafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

pytest.importorskip("cryptography", reason="certificates for the tests need the package cryptography")

from tests.support.certificates import KEY_PASSWORD
from tests.support.oidc import Answer, OidcProvider
from tests.support.security import ADMIN, ALICE, User

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.fixtures import TopicFactory
    from tests.support.security import SecureKafkaServer

pytestmark = pytest.mark.broker

WRONG = "not-the-right-password"
CHANGED = "another-password-set-later"
OIDC_SECRET = "client-secret-of-oidc"
NEW_USER = User("scanned", "password-of-a-new-user")


def hidden_in(text: str) -> str:
    """What is common to all base64 texts of data that contain the text at some place; three of them, by line."""
    data = text.encode()
    middles = []
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode()
        # Without the first and last characters, which depend on the neighbours.
        middles.append(encoded[0 if shift == 0 else 4 : len(encoded) - 4])
    return "\n".join(middles)


@dataclass
class Scan:
    """What clients have shown, and the secrets that may not be in it.

    Attributes:
        shown: Texts by what showed them.
        secrets: The secrets by name.
    """

    shown: list[tuple[str, str]] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)

    def show(self, source: str, *things: object) -> None:
        for thing in things:
            self.shown += ((source, str(thing)), (source, repr(thing)))
            if isinstance(thing, BaseException):
                self.shown.append((source, "".join(traceback.format_exception(thing))))

    def forms(self) -> Iterator[tuple[str, str]]:
        for name, secret in self.secrets.items():
            if "-----BEGIN" in secret:
                lines = [line for line in secret.splitlines() if line and "-----" not in line]
                yield from ((name, line) for line in lines)
                continue
            yield name, secret
            yield name, urllib.parse.quote(secret)
            yield name, secret.encode().hex()
            yield name, repr(secret.encode())
            yield from ((name, middle) for middle in hidden_in(secret).splitlines())

    def leaks(self) -> list[tuple[str, str, str]]:
        forms = list(self.forms())
        return [
            (source, name, text[max(text.find(form) - 80, 0) : text.find(form) + 20])
            for source, text in self.shown
            for name, form in forms
            if form in text
        ]


class Collector(logging.Handler):
    def __init__(self, scan: Scan) -> None:
        super().__init__(logging.DEBUG)
        self.scan = scan

    def emit(self, record: logging.LogRecord) -> None:
        self.scan.shown.append(("logger", self.format(record)))


def use(scan: Scan, name: str, config: dict[str, Any], topic: str) -> None:
    """Do something with each kind of client and keep all that it shows."""
    callbacks = {
        "error_cb": lambda error: scan.show(f"{name}: error_cb", error, error.str()),
        "stats_cb": lambda text: scan.shown.append((f"{name}: statistics", text)),
    }
    config = config | callbacks | {"debug": "all", "log_level": 7, "statistics.interval.ms": 50}

    def attempt(what: str, call: Any) -> None:
        try:
            scan.show(f"{name}: {what}", call())
        except (KafkaException, ValueError, TypeError, RuntimeError) as exception:
            scan.show(f"{name}: {what}", exception, *exception.args)

    try:
        producer = Producer(config)
    except KafkaException as exception:
        scan.show(f"{name}: constructor", exception, *exception.args)
        return
    consumer = Consumer({**config, "group.id": "scan"})
    with AdminClient(config) as admin:
        scan.show(f"{name}: repr", producer, consumer, admin, dir(producer))
        producer.produce(topic, b"v", on_delivery=lambda error, message: scan.show(f"{name}: report", error, message))
        attempt("list_topics", lambda: producer.list_topics(timeout=0.5))
        producer.poll(0.2)
        consumer.assign([TopicPartition(topic, 0, 0)])
        attempt("poll", lambda: consumer.poll(0.2))
        attempt("committed", lambda: consumer.committed([TopicPartition(topic, 0)], timeout=0.2))
        attempt("admin", lambda: admin.describe_cluster(request_timeout=0.5).result(20))
        attempt("operator", lambda: admin.request("DescribeCluster", {}, timeout=2).result(20))
        admin.poll(0.1)
        attempt("pickle", lambda: producer.__reduce__())
        producer.set_sasl_credentials(ALICE.name, CHANGED)
        attempt("list_topics after a change", lambda: producer.list_topics(timeout=0.2))
    producer.flush(0.1)
    producer.close(0.1)
    consumer.close()


def configurations(
    server: SecureKafkaServer, provider: OidcProvider, scan: Scan
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every mode, with what is right and what is wrong."""
    certificate = server.client
    mutual = {
        name: value
        for name, value in server.client_config("MTLS").items()
        if name not in {"ssl.certificate.location", "ssl.key.location"}
    }
    pem = {
        "ssl.certificate.pem": certificate.certificate.read_text(),
        "ssl.key.pem": certificate.encrypted_key.read_text(),
    }
    store = {"ssl.keystore.location": str(certificate.pkcs12)}
    yield "key as string", mutual | pem | {"ssl.key.pem": certificate.key.read_text()}
    yield "key with password", mutual | pem | {"ssl.key.password": KEY_PASSWORD}
    yield "key with a wrong password", mutual | pem | {"ssl.key.password": WRONG}
    yield "torn key", mutual | pem | {"ssl.key.pem": certificate.key.read_text()[:-60]}
    yield "key store", mutual | store | {"ssl.keystore.password": KEY_PASSWORD}
    yield "key store with a wrong password", mutual | store | {"ssl.keystore.password": WRONG}
    for mechanism, password in itertools.product(("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), (None, WRONG)):
        config = server.client_config("SASL_SSL", mechanism=mechanism, user=ADMIN, password=password)
        yield f"{mechanism}, password {'right' if password is None else 'wrong'}", config
    yield "PLAIN without TLS", server.client_config("SASL_PLAINTEXT", mechanism="PLAIN", user=ADMIN)
    for name, lifetime in (("token", 300.0), ("expired token", -120.0)):
        token = server.tokens.token(ADMIN.name, lifetime=lifetime)
        scan.secrets[name] = token
        scan.secrets[f"signature of the {name}"] = token.rpartition(".")[2]
        yield name, server.client_config("OIDC") | {"oauth_cb": lambda config, token=token: (token, 4e9)}
    oidc = server.client_config("OIDC") | {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": ADMIN.name,
        "sasl.oauthbearer.client.secret": OIDC_SECRET,
        "sasl.oauthbearer.token.endpoint.url": provider.token_url,
    }
    yield "OIDC", oidc
    yield "OIDC with a wrong secret", oidc | {"sasl.oauthbearer.client.secret": WRONG}
    provider.misbehaviour = Answer(json.dumps({"error": f"who are you, {OIDC_SECRET}?"}), HTTPStatus.FORBIDDEN)
    yield "OIDC from an endpoint that repeats the secret", oidc


@pytest.fixture
def scan(kafka_secure: SecureKafkaServer) -> Scan:
    return Scan(
        secrets={
            "password": ADMIN.password,
            "other user's password": ALICE.password,
            "wrong password": WRONG,
            "changed password": CHANGED,
            "key password": KEY_PASSWORD,
            "key": kafka_secure.client.key.read_text(),
            "encrypted key": kafka_secure.client.encrypted_key.read_text(),
            "client secret": OIDC_SECRET,
            "new user's password": NEW_USER.password,
        }
    )


@pytest.mark.parametrize("by_logger", [True, False], ids=["logger", "standard error"])
def test_no_secret_is_shown(
    kafka_secure: SecureKafkaServer,
    topic: TopicFactory,
    scan: Scan,
    capfd: pytest.CaptureFixture[str],
    by_logger: bool,
) -> None:
    name = topic(cluster=kafka_secure)
    logger = logging.getLogger(f"scan.{name}")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(Collector(scan))
    own = {"logger": logger} if by_logger else {}
    with OidcProvider(kafka_secure.tokens, {ADMIN.name: OIDC_SECRET}) as provider:
        for mode, config in configurations(kafka_secure, provider, scan):
            use(scan, mode, config | own, name)
            scan.shown.append((mode, capfd.readouterr().err))
        for number, token in enumerate(provider.issued):
            scan.secrets[f"token {number} from the endpoint"] = token
            scan.secrets[f"signature of token {number} from the endpoint"] = token.rpartition(".")[2]
        assert provider.issued
    with AdminClient(kafka_secure.client_config("SASL_SSL", user=ADMIN) | {"debug": "all", "log_level": 7}) as admin:
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        change = UserScramCredentialUpsertion(NEW_USER.name, info, NEW_USER.password.encode(), b"salt-of-a-new-user")
        scan.show("SCRAM change", change)
        admin.alter_user_scram_credentials([change])[NEW_USER.name].result(30)
    scan.shown.append(("SCRAM change", capfd.readouterr().err))
    everything = "".join(text for _, text in scan.shown)
    # It was really logged what may be dangerous.
    for expected in ("SASL", "[redacted]", "certificate", "OIDC", "sasl.password", '"brokers"'):
        assert expected in everything
    assert scan.leaks() == []


def test_the_scan_finds_what_it_looks_for(scan: Scan) -> None:
    """In each of the forms, so that an empty result means something."""
    for text in (
        f"user={ADMIN.name} password={ADMIN.password}",
        base64.b64encode(f"\0{ADMIN.name}\0{ADMIN.password}".encode()).decode(),
        base64.b64encode(f"id:{OIDC_SECRET}".encode()).decode(),
        base64.b64encode(f"some id:{OIDC_SECRET}".encode()).decode(),
        scan.secrets["key"].splitlines()[1],
        KEY_PASSWORD.encode().hex(),
    ):
        scan.shown = [("test", text)]
        assert scan.leaks(), text
    scan.shown = [("test", Path(__file__).name)]
    assert scan.leaks() == []
