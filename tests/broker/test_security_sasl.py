"""SASL PLAIN and SCRAM on a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cykafka import Consumer, KafkaError, KafkaException, Producer
from cykafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from tests.support.access import assert_lets_in, each_client, operator_refusal, produce_and_consume, refusal
from tests.support.clients import wait_until

pytest.importorskip("cryptography", reason="certificates for the tests need the package cryptography")

from tests.support.security import ADMIN, ALICE, User

if TYPE_CHECKING:
    from tests.support.fixtures import TopicFactory
    from tests.support.security import SecureKafkaServer

pytestmark = pytest.mark.broker

WRONG = "not-the-password"
each_mechanism = pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])


@each_client
@each_mechanism
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_password_lets_in(kafka_secure: SecureKafkaServer, listener: str, mechanism: str, client: str) -> None:
    assert_lets_in(kafka_secure, kafka_secure.client_config(listener, mechanism=mechanism, user=ADMIN), client)


@each_mechanism
def test_messages_over_sasl(kafka_secure: SecureKafkaServer, topic: TopicFactory, mechanism: str) -> None:
    config = kafka_secure.client_config("SASL_SSL", mechanism=mechanism, user=ADMIN)
    produce_and_consume(config, topic(cluster=kafka_secure), f"sasl-{mechanism}")


@each_mechanism
def test_a_wrong_password_is_refused(kafka_secure: SecureKafkaServer, mechanism: str) -> None:
    config = kafka_secure.client_config("SASL_SSL", mechanism=mechanism, password=WRONG)
    text = refusal(config, KafkaError._AUTHENTICATION)
    assert "Authentication failed" in text
    assert WRONG not in text
    assert WRONG not in operator_refusal(config, KafkaError._AUTHENTICATION)


def test_a_user_that_does_not_exist_is_refused(kafka_secure: SecureKafkaServer) -> None:
    config = kafka_secure.client_config("SASL_PLAINTEXT", user=User("nobody", "some-password"))
    assert "Authentication failed" in refusal(config, KafkaError._AUTHENTICATION)


def test_a_mechanism_that_the_listener_lacks_is_refused_with_those_it_has(kafka_secure: SecureKafkaServer) -> None:
    config = kafka_secure.client_config("OIDC") | {
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "some-password",
    }
    assert "supported mechanisms: OAUTHBEARER" in refusal(config, KafkaError._AUTHENTICATION)
    assert "OAUTHBEARER" in operator_refusal(config, KafkaError._AUTHENTICATION)


@pytest.mark.parametrize("missing", ["sasl.username", "sasl.password"])
def test_missing_credentials_are_named(kafka_secure: SecureKafkaServer, missing: str) -> None:
    config = kafka_secure.client_config("SASL_PLAINTEXT", mechanism="PLAIN")
    del config[missing]
    with pytest.raises(KafkaException, match="sasl.username and sasl.password") as caught:
        Producer(config)
    assert caught.value.args[0].code() == KafkaError._INVALID_ARG


@each_mechanism
def test_credentials_are_changed_at_run_time(
    kafka_secure: SecureKafkaServer, topic: TopicFactory, mechanism: str
) -> None:
    """From wrong ones to right ones, for each client, which stays usable."""
    config = kafka_secure.client_config("SASL_SSL", mechanism=mechanism, user=ADMIN, password=WRONG)
    config |= {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "200", "log_level": "0"}
    errors: list[KafkaError] = []
    producer = Producer({**config, "error_cb": errors.append})
    consumer = Consumer({**config, "group.id": "credentials"})
    with AdminClient(config) as admin:
        wait_until(lambda: producer.poll(0.1) and KafkaError._AUTHENTICATION in errors)
        with pytest.raises(KafkaException, match="Authentication failed"):
            consumer.list_topics(timeout=1)
        with pytest.raises(KafkaException, match="Authentication failed"):
            admin.describe_cluster(request_timeout=1).result(20)
        with pytest.raises(KafkaException, match="Authentication failed"):
            admin.request("DescribeCluster", {}, timeout=5).result(20)
        for client in (producer, consumer, admin):
            client.set_sasl_credentials(ADMIN.name, ADMIN.password)
        assert producer.list_topics(timeout=20).cluster_id == kafka_secure.cluster_id
        assert consumer.list_topics(timeout=20).cluster_id == kafka_secure.cluster_id
        assert admin.describe_cluster(request_timeout=20).result(30).cluster_id == kafka_secure.cluster_id
        assert admin.request("DescribeCluster", {}, timeout=20).result(30)["cluster_id"] == kafka_secure.cluster_id
        name = topic(cluster=kafka_secure)
        producer.produce(name, b"after the change")
        assert producer.flush(20) == 0
    consumer.close()
    producer.close()


def test_a_password_rotated_by_an_administrator(kafka_secure: SecureKafkaServer) -> None:
    """The broker gets a new password; the client follows without a new start."""
    user = User("rotating", "the-first-password")
    with AdminClient(kafka_secure.client_config("SASL_SSL", user=ADMIN)) as admin:

        def set_password(password: str) -> None:
            change = UserScramCredentialUpsertion(
                user.name, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), password.encode()
            )
            admin.alter_user_scram_credentials([change])[user.name].result(30)

        set_password(user.password)
        config = kafka_secure.client_config("SASL_SSL", user=user) | {"reconnect.backoff.max.ms": "200"}
        assert_lets_in(kafka_secure, config)
        set_password("the-second-password")
        assert "invalid credentials" in refusal(config, KafkaError._AUTHENTICATION)
        producer = Producer({**config, "log_level": 0})
        producer.set_sasl_credentials(user.name, "the-second-password")
        assert producer.list_topics(timeout=20).cluster_id == kafka_secure.cluster_id
        producer.close()


@pytest.mark.parametrize(("username", "password"), [(None, "p"), ("u", None), (b"u", "p"), ("u", 5)])
def test_credentials_of_a_wrong_type(kafka_secure: SecureKafkaServer, username: object, password: object) -> None:
    producer = Producer(kafka_secure.client_config("SASL_PLAINTEXT", user=ALICE))
    with pytest.raises(TypeError, match="must be str"):
        producer.set_sasl_credentials(username, password)
    with pytest.raises(ValueError, match="NUL") as caught:
        producer.set_sasl_credentials("user", "secret\0password")
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="surrogates") as caught:
        producer.set_sasl_credentials("user", "secret\ud800password")
    assert "secret" not in repr(caught.value)
    producer.close()
