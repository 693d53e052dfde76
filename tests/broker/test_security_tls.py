"""TLS on a real broker: whom each kind of client trusts, and how it shows who it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cykafka import KafkaError, KafkaException, Producer
from tests.support.access import assert_lets_in, each_client, operator_refusal, produce_and_consume, refusal
from tests.support.clients import run_python

pytest.importorskip("cryptography", reason="certificates for the tests need the package cryptography")

from tests.support.certificates import KEY_PASSWORD

if TYPE_CHECKING:
    from tests.support.fixtures import TopicFactory
    from tests.support.security import SecureKafkaServer

pytestmark = pytest.mark.broker

REFUSED = (KafkaError._SSL, KafkaError._TRANSPORT)


@each_client
def test_authority_from_a_file(kafka_secure: SecureKafkaServer, client: str) -> None:
    assert_lets_in(kafka_secure, kafka_secure.client_config("SSL"), client)


@each_client
def test_authority_from_a_string(kafka_secure: SecureKafkaServer, client: str) -> None:
    config = kafka_secure.client_config("SSL")
    config["ssl.ca.pem"] = Path(config.pop("ssl.ca.location")).read_text()
    assert_lets_in(kafka_secure, config, client)


def test_messages_over_tls(kafka_secure: SecureKafkaServer, topic: TopicFactory) -> None:
    produce_and_consume(kafka_secure.client_config("SSL"), topic(cluster=kafka_secure), "tls")


@each_client
def test_authority_from_the_system_store(
    kafka_secure: SecureKafkaServer, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenSSL's own variable names the store, read when a process starts: so in one of its own."""
    config = kafka_secure.client_config("SSL")
    authority = config.pop("ssl.ca.location")
    monkeypatch.setenv("SSL_CERT_FILE", authority)
    program = f"from tests.support.access import CLIENTS; print(CLIENTS[{client!r}]({config!r}))"
    assert run_python(program, timeout=120).strip() == kafka_secure.cluster_id


@pytest.mark.parametrize("location", [None, "probe"])
def test_the_system_store_does_not_know_our_authority(kafka_secure: SecureKafkaServer, location: str | None) -> None:
    config = kafka_secure.client_config("SSL")
    del config["ssl.ca.location"]
    if location is not None:
        config["ssl.ca.location"] = location
    text = refusal(config, KafkaError._SSL)
    assert "self-signed certificate in certificate chain" in text
    assert "ssl.ca.location" in text
    assert "self-signed certificate" in operator_refusal(config, KafkaError._SSL)


@pytest.mark.parametrize(
    ("listener", "reason", "operator_reason"),
    [
        ("SSL_EXPIRED", "certificate has expired", "certificate has expired"),
        ("SSL_WRONG_HOST", "IP address mismatch", "not valid for '127.0.0.1'"),
        ("SSL_SELF_SIGNED", "self-signed certificate", "self-signed certificate"),
    ],
)
def test_a_bad_certificate_is_refused_and_the_error_says_why(
    kafka_secure: SecureKafkaServer, listener: str, reason: str, operator_reason: str
) -> None:
    config = kafka_secure.client_config(listener)
    assert reason in refusal(config, KafkaError._SSL)
    assert operator_reason in operator_refusal(config, KafkaError._SSL)
    assert_lets_in(kafka_secure, config | {"enable.ssl.certificate.verification": "false"})


def test_the_host_name_is_checked_by_default(kafka_secure: SecureKafkaServer) -> None:
    config = kafka_secure.client_config("SSL_WRONG_HOST") | {"broker.address.family": "v4"}
    by_name = config | {"bootstrap.servers": config["bootstrap.servers"].replace("127.0.0.1", "localhost")}
    assert "hostname mismatch" in refusal(by_name, KafkaError._SSL)
    assert "localhost" in operator_refusal(by_name, KafkaError._SSL)
    assert_lets_in(kafka_secure, config | {"ssl.endpoint.identification.algorithm": "none"})


def test_a_revoked_certificate_is_refused(kafka_secure: SecureKafkaServer) -> None:
    authority = kafka_secure.authority
    config = kafka_secure.client_config("SSL")
    assert_lets_in(kafka_secure, config | {"ssl.crl.location": str(authority.revocation_list())})
    revoked = config | {"ssl.crl.location": str(authority.revocation_list(kafka_secure.server_certificate))}
    assert "certificate revoked" in refusal(revoked, KafkaError._SSL)
    assert "revoked" in operator_refusal(revoked, KafkaError._SSL)


@each_client
@pytest.mark.parametrize("form", ["files", "encrypted file", "strings", "encrypted strings", "PKCS#12"])
def test_mutual_tls(kafka_secure: SecureKafkaServer, client: str, form: str) -> None:
    certificate = kafka_secure.client
    shown = {
        "files": {"ssl.certificate.location": certificate.certificate, "ssl.key.location": certificate.key},
        "encrypted file": {
            "ssl.certificate.location": certificate.certificate,
            "ssl.key.location": certificate.encrypted_key,
            "ssl.key.password": KEY_PASSWORD,
        },
        "strings": {
            "ssl.certificate.pem": certificate.certificate.read_text(),
            "ssl.key.pem": certificate.key.read_text(),
        },
        "encrypted strings": {
            "ssl.certificate.pem": certificate.certificate.read_text(),
            "ssl.key.pem": certificate.encrypted_key.read_text(),
            "ssl.key.password": KEY_PASSWORD,
        },
        "PKCS#12": {"ssl.keystore.location": certificate.pkcs12, "ssl.keystore.password": KEY_PASSWORD},
    }[form]
    without = {
        name: value
        for name, value in kafka_secure.client_config("MTLS").items()
        if name not in {"ssl.certificate.location", "ssl.key.location"}
    }
    assert_lets_in(kafka_secure, without | {name: str(value) for name, value in shown.items()}, client)


def test_without_a_client_certificate_mutual_tls_refuses(kafka_secure: SecureKafkaServer) -> None:
    config = kafka_secure.client_config("MTLS")
    del config["ssl.certificate.location"], config["ssl.key.location"]
    assert "certificate" in refusal(config, *REFUSED)
    assert "certificate" in operator_refusal(config, *REFUSED)


def test_a_client_certificate_of_another_authority_is_refused(kafka_secure: SecureKafkaServer) -> None:
    stranger = kafka_secure.authority.issue("stranger", self_signed=True)
    config = kafka_secure.client_config("MTLS") | {
        "ssl.certificate.location": str(stranger.certificate),
        "ssl.key.location": str(stranger.key),
    }
    assert refusal(config, *REFUSED)
    assert operator_refusal(config, *REFUSED)


@pytest.mark.parametrize(
    ("wrong", "texts"),
    [
        ({"ssl.ca.location": "/nonexistent/ca.pem"}, ["ssl.ca.location"]),
        ({"ssl.ca.pem": "nonsense"}, ["ssl.ca.pem", "PEM"]),
        ({"ssl.certificate.pem": "nonsense"}, ["ssl.certificate.pem"]),
        ({"ssl.key.pem": "nonsense"}, ["ssl.key.pem"]),
        ({"ssl.key.location": "encrypted", "ssl.key.password": "not-the-password"}, ["ssl.key", "ssl.key.password"]),
        ({"ssl.key.location": "encrypted"}, ["ssl.key", "ssl.key.password"]),
        ({"ssl.keystore.location": "store"}, ["ssl.keystore.password"]),
        ({"ssl.keystore.location": "store", "ssl.keystore.password": "not-the-password"}, ["PKCS#12", "mac verify"]),
        ({"ssl.cipher.suites": "NONSENSE"}, ["ssl.cipher.suites"]),
    ],
)
def test_what_cannot_be_read_is_named_at_once(
    kafka_secure: SecureKafkaServer, wrong: dict[str, str], texts: list[str]
) -> None:
    files = {"encrypted": kafka_secure.client.encrypted_key, "store": kafka_secure.client.pkcs12}
    config = kafka_secure.client_config("SSL") | {name: str(files.get(value, value)) for name, value in wrong.items()}
    if "ssl.ca.pem" in wrong:
        del config["ssl.ca.location"]
    with pytest.raises(KafkaException) as caught:
        Producer(config)
    assert caught.value.args[0].code() == KafkaError._INVALID_ARG
    for text in texts:
        assert text in caught.value.args[0].str()
    assert "not-the-password" not in str(caught.value)


def test_a_listener_with_another_protocol(kafka_secure: SecureKafkaServer) -> None:
    tls_on_plain = kafka_secure.client_config("SSL") | {"bootstrap.servers": kafka_secure.bootstrap_servers}
    assert "SSL connection closed by peer" in refusal(tls_on_plain, *REFUSED)
    producer = Producer({"bootstrap.servers": kafka_secure.addresses("SASL_PLAINTEXT"), "log_level": 0})
    with pytest.raises(KafkaException, match=r"closed by peer|security\.protocol"):
        producer.list_topics(timeout=1)
    producer.close(0)
