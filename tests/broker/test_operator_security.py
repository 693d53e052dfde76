"""The connection of the operations that librdkafka lacks, with every kind of security."""

import time
from pathlib import Path

import pytest

from cykafka import KafkaError, KafkaException
from cykafka.admin import AdminClient

pytest.importorskip("cryptography", reason="certificates for the tests need the package cryptography")

from tests.support.security import ADMIN, ALICE

pytestmark = pytest.mark.broker

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


def cluster_id(config):
    with AdminClient(config) as admin:
        return admin.request("DescribeCluster", {}, timeout=20).result(30)["cluster_id"]


def refused(config):
    with AdminClient(config) as admin, pytest.raises(KafkaException) as caught:
        admin.request("DescribeCluster", {}, timeout=20).result(30)
    error = caught.value.args[0]
    secret = config.get("sasl.password")
    assert secret is None or secret not in error.str()
    return error


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sasl(kafka_secure, listener, mechanism):
    assert cluster_id(kafka_secure.client_config(listener, mechanism=mechanism, user=ADMIN)) == kafka_secure.cluster_id


@pytest.mark.parametrize("mechanism", MECHANISMS[:3])
def test_a_wrong_password_is_refused(kafka_secure, mechanism):
    config = kafka_secure.client_config("SASL_SSL", mechanism=mechanism, password="another-password")
    assert refused(config) == KafkaError._AUTHENTICATION


def test_a_mechanism_that_the_listener_does_not_offer(kafka_secure):
    config = kafka_secure.client_config("OIDC") | {
        "sasl.mechanism": "PLAIN",
        "sasl.username": "a",
        "sasl.password": "another-password",
    }
    error = refused(config)
    assert error == KafkaError._AUTHENTICATION
    assert "OAUTHBEARER" in error.str()


def test_tls_with_the_authority_as_file_or_string(kafka_secure):
    config = kafka_secure.client_config("SSL")
    assert cluster_id(config) == kafka_secure.cluster_id
    pem = kafka_secure.authority.certificate.read_text()
    del config["ssl.ca.location"]
    assert cluster_id(config | {"ssl.ca.pem": pem}) == kafka_secure.cluster_id
    assert refused(config) == KafkaError._SSL


@pytest.mark.parametrize(
    ("listener", "text"), [("SSL_EXPIRED", "expired"), ("SSL_WRONG_HOST", "not valid for"), ("SSL_SELF_SIGNED", "self")]
)
def test_a_wrong_certificate_is_refused(kafka_secure, listener, text):
    config = kafka_secure.client_config(listener)
    error = refused(config)
    assert error == KafkaError._SSL
    assert text in error.str()
    unchecked = config | {"enable.ssl.certificate.verification": "false"}
    assert cluster_id(unchecked) == kafka_secure.cluster_id


def test_a_wrong_host_is_taken_when_names_are_not_checked(kafka_secure):
    config = kafka_secure.client_config("SSL_WRONG_HOST") | {"ssl.endpoint.identification.algorithm": "none"}
    assert cluster_id(config) == kafka_secure.cluster_id


def test_mutual_tls(kafka_secure, tmp_path):
    config = kafka_secure.client_config("MTLS")
    assert cluster_id(config) == kafka_secure.cluster_id
    certificate = config.pop("ssl.certificate.location")
    key = config.pop("ssl.key.location")
    assert refused(config) in {KafkaError._SSL, KafkaError._TRANSPORT}
    strings = {"ssl.certificate.pem": Path(certificate).read_text(), "ssl.key.pem": Path(key).read_text()}
    assert cluster_id(config | strings) == kafka_secure.cluster_id
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.serialization import pkcs12

    store = tmp_path / "client.p12"
    store.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"client",
            serialization.load_pem_private_key(strings["ssl.key.pem"].encode(), None),
            x509.load_pem_x509_certificate(strings["ssl.certificate.pem"].encode()),
            None,
            serialization.BestAvailableEncryption(b"changeit"),
        )
    )
    stored = config | {"ssl.keystore.location": str(store), "ssl.keystore.password": "changeit"}
    assert cluster_id(stored) == kafka_secure.cluster_id


def test_tokens_from_a_callback(kafka_secure):
    token = kafka_secure.tokens.token("admin")

    def callback(config):
        return token, time.time() + 300

    assert cluster_id(kafka_secure.client_config("OIDC") | {"oauth_cb": callback}) == kafka_secure.cluster_id

    def forged(config):
        return token[:-10] + "AAAAAAAAAA", time.time() + 300

    assert refused(kafka_secure.client_config("OIDC") | {"oauth_cb": forged}) == KafkaError._AUTHENTICATION


def test_credentials_changed_at_run_time(kafka_secure):
    config = kafka_secure.client_config("SASL_SSL", mechanism="PLAIN", password="another-password")
    with AdminClient(config) as admin:
        with pytest.raises(KafkaException):
            admin.request("DescribeCluster", {}, timeout=20).result(30)
        admin.set_sasl_credentials(ALICE.name, ALICE.password)
        answer = admin.request("DescribeCluster", {}, timeout=20).result(30)
        assert answer["cluster_id"] == kafka_secure.cluster_id


def test_what_access_control_denies(kafka_secure):
    with AdminClient(kafka_secure.client_config("SASL_SSL", user=ALICE)) as admin:
        with pytest.raises(KafkaException) as caught:
            admin.describe_client_quotas().result(30)
        assert caught.value.args[0] == KafkaError.CLUSTER_AUTHORIZATION_FAILED


def test_tls_on_a_listener_without_it_and_the_other_way_round(kafka_secure):
    config = kafka_secure.client_config("SSL") | {"bootstrap.servers": kafka_secure.bootstrap_servers}
    assert refused(config) == KafkaError._SSL
    error = refused({"bootstrap.servers": kafka_secure.addresses("SSL"), "socket.timeout.ms": 3000})
    assert error in {KafkaError._BAD_MSG, KafkaError._TRANSPORT}
