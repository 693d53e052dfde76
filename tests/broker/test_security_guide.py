"""The samples of the guide to security, run as they are, but for names of hosts and files."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cykafka import Producer
from tests.support.access import assert_lets_in
from tests.support.clients import ROOT

pytest.importorskip("cryptography", reason="certificates for the tests need the package cryptography")

from tests.support.certificates import KEY_PASSWORD
from tests.support.oidc import OidcProvider
from tests.support.security import ALICE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.security import SecureKafkaServer

pytestmark = pytest.mark.broker

GUIDE = (ROOT / "docs" / "guides" / "security.md").read_text()
SAMPLES = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
SECRET = "secret of the client"
#: What samples of the same kind have in common, in the order of the guide.
KINDS = ("file", "string", "mutual", "strings", "PKCS#12", "password", "change", "callback", "OIDC")


@pytest.fixture
def provider(kafka_secure: SecureKafkaServer) -> Iterator[OidcProvider]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(kafka_secure.server_certificate.certificate, kafka_secure.server_certificate.key)
    with OidcProvider(kafka_secure.tokens, {ALICE.name: SECRET}, tls=tls) as running:
        yield running


def test_there_is_a_sample_of_each_kind() -> None:
    assert len(SAMPLES) == len(KINDS)


@pytest.mark.parametrize("sample", SAMPLES, ids=KINDS[: len(SAMPLES)])
def test_a_sample_lets_in(kafka_secure: SecureKafkaServer, provider: OidcProvider, sample: str) -> None:
    certificate = kafka_secure.client
    here = {
        "broker.example:9093": kafka_secure.addresses("SSL"),
        "broker.example:9094": kafka_secure.addresses("MTLS"),
        "broker.example:9095": kafka_secure.addresses("SASL_SSL"),
        "broker.example:9096": kafka_secure.addresses("OIDC"),
        "https://login.example/token": provider.token_url,
        '"ca.pem"': repr(str(kafka_secure.authority.certificate)),
        '"client.pem"': repr(str(certificate.certificate)),
        '"client.key"': repr(str(certificate.key)),
        '"client.encrypted.key"': repr(str(certificate.encrypted_key)),
        '"client.p12"': repr(str(certificate.pkcs12)),
        "password of the key": KEY_PASSWORD,
        "password of alice": ALICE.password,
    }
    for name, real in here.items():
        sample = sample.replace(name, real)

    def get_token(config: str) -> tuple[str, float]:
        assert config == "scope=kafka"
        return kafka_secure.tokens.token(ALICE.name), 300.0

    names: dict[str, Any] = {"get_token": get_token}
    exec(compile(sample, str(Path("docs/guides/security.md")), "exec"), names)
    producer = names.get("producer")
    if isinstance(producer, Producer):
        assert producer.list_topics(timeout=20).cluster_id == kafka_secure.cluster_id
        producer.close()
    else:
        assert_lets_in(kafka_secure, names["config"])
