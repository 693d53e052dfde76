"""OAUTHBEARER on a real broker: tokens from a Python callback, and from a token endpoint (OIDC)."""

from __future__ import annotations

import ssl
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from cykafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from cykafka.admin import AdminClient
from tests.support.access import CLIENTS, assert_lets_in, each_client, operator_refusal, produce_and_consume, refusal
from tests.support.clients import wait_until

pytest.importorskip("cryptography", reason="certificates for the tests need the package cryptography")

from tests.support.oidc import Answer, OidcProvider, TokenIssuer
from tests.support.security import ADMIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.fixtures import TopicFactory
    from tests.support.security import SecureKafkaServer

pytestmark = pytest.mark.broker

SECRET = "oidc-client-secret"
Tried: TypeAlias = "tuple[str, TokenCallback, list[KafkaError]]"
QUICK = {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "200", "log_level": "0"}


class NoTokenError(Exception):
    """What the callbacks of these tests fail with."""


@dataclass
class TokenCallback:
    """An oauth_cb with tokens of the server's issuer.

    Attributes:
        issuer: Signs them.
        lifetime: Seconds that they are valid.
        failures: How many more calls fail.
        configs: What it was called with.
        threads: Names of the threads that called it.
    """

    issuer: TokenIssuer
    lifetime: float = 300.0
    failures: int = 0
    configs: list[str] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)

    def __call__(self, config: str) -> tuple[str, float]:
        self.configs.append(config)
        self.threads.add(threading.current_thread().name)
        if self.failures > 0:
            self.failures -= 1
            raise NoTokenError("the provider is away")
        return self.issuer.token(ADMIN.name, lifetime=self.lifetime), time.time() + self.lifetime


@pytest.fixture
def callback(kafka_secure: SecureKafkaServer) -> TokenCallback:
    return TokenCallback(kafka_secure.tokens)


@pytest.fixture
def provider(kafka_secure: SecureKafkaServer) -> Iterator[OidcProvider]:
    with OidcProvider(kafka_secure.tokens, {ADMIN.name: SECRET}) as running:
        yield running


def oidc_config(server: SecureKafkaServer, provider: OidcProvider, secret: str = SECRET) -> dict[str, str]:
    return server.client_config("OIDC") | {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": ADMIN.name,
        "sasl.oauthbearer.client.secret": secret,
        "sasl.oauthbearer.token.endpoint.url": provider.token_url,
    }


@each_client
def test_a_token_from_a_callback_lets_in(kafka_secure: SecureKafkaServer, callback: TokenCallback, client: str) -> None:
    config = kafka_secure.client_config("OIDC") | {"oauth_cb": callback, "sasl.oauthbearer.config": "for the callback"}
    assert_lets_in(kafka_secure, config, client)
    assert set(callback.configs) == {"for the callback"}


def test_messages_with_tokens_from_a_callback(
    kafka_secure: SecureKafkaServer, callback: TokenCallback, topic: TopicFactory
) -> None:
    config = kafka_secure.client_config("OIDC") | {"oauth_cb": callback}
    produce_and_consume(config, topic(cluster=kafka_secure), "oauth")


@each_client
def test_principal_and_extensions_are_sent(kafka_secure: SecureKafkaServer, client: str) -> None:
    token = kafka_secure.tokens.token(ADMIN.name)

    def oauth_cb(config: str) -> tuple[str, float, str, dict[str, str]]:
        return token, time.time() + 300, ADMIN.name, {"traceId": "123", "logicalCluster": "lkc-1"}

    assert_lets_in(kafka_secure, kafka_secure.client_config("OIDC") | {"oauth_cb": oauth_cb}, client)


@pytest.mark.parametrize("kind", ["forged", "another audience", "expired", "unsigned"])
def test_a_token_that_the_broker_refuses(kafka_secure: SecureKafkaServer, kind: str) -> None:
    issuer = kafka_secure.tokens
    token = {
        "forged": TokenIssuer(issuer.name, issuer.audience).token("alice"),
        "another audience": issuer.token("alice", audience="another"),
        "expired": issuer.token("alice", lifetime=-120),
        "unsigned": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.",
    }[kind]
    config = kafka_secure.client_config("OIDC") | {"oauth_cb": lambda config: (token, time.time() + 300)}
    text = refusal(config, KafkaError._AUTHENTICATION)
    assert "invalid_token" in text
    assert token not in text
    assert token not in operator_refusal(config, KafkaError._AUTHENTICATION)


def test_without_a_way_to_tokens_the_error_says_what_is_missing(kafka_secure: SecureKafkaServer) -> None:
    text = refusal(kafka_secure.client_config("OIDC"), KafkaError._AUTHENTICATION)
    assert "needs oauth_cb, or sasl.oauthbearer.method=oidc" in text
    assert "oauth_cb" in operator_refusal(kafka_secure.client_config("OIDC"), KafkaError._AUTHENTICATION)


# Refreshing: tokens of a few seconds, after which the broker ends connections that have not authenticated again.
# Less would not do: Kafka refuses to authenticate a connection twice within a second.
SHORT = 20.0


def by_poll_of_a_producer(config: dict[str, Any], topic: str, done: Callable[[], bool]) -> None:
    producer = Producer(config)
    while not done():
        producer.produce(topic, b"v")
        producer.poll(0.05)
    assert producer.flush(20) == 0
    producer.close()


def by_poll_of_a_consumer(config: dict[str, Any], topic: str, done: Callable[[], bool]) -> None:
    consumer = Consumer({**config, "group.id": "refresh"})
    consumer.subscribe([topic])
    while not done():
        message = consumer.poll(0.05)
        assert message is None or message.error() is None, message.error()
    consumer.close()


def by_a_busy_consumer(config: dict[str, Any], topic: str, done: Callable[[], bool]) -> None:
    """One that always finds a message, and so never waits."""
    consumer = Consumer({**config, "group.id": "busy"})
    while not done():
        consumer.assign([TopicPartition(topic, 0, 0)])
        for _ in range(200):
            message = consumer.poll(0.05)
            assert message is None or message.error() is None, message.error()
    consumer.close()


def by_blocking_calls(config: dict[str, Any], topic: str, done: Callable[[], bool]) -> None:
    producer = Producer(config)
    while not done():
        assert topic in producer.list_topics(topic, timeout=20).topics
        time.sleep(0.05)
    producer.close()


def by_admin_calls(config: dict[str, Any], topic: str, done: Callable[[], bool]) -> None:
    with AdminClient(config) as admin:
        while not done():
            assert admin.describe_topics(TopicCollection([topic]), request_timeout=20)[topic].result(30).partitions
            assert admin.request("DescribeCluster", {}, timeout=20).result(30)["cluster_id"]
            time.sleep(0.05)


def by_nobody(config: dict[str, Any], topic: str, done: Callable[[], bool]) -> None:
    """The application does something else all the time."""
    producer = Producer(config)
    wait_until(done, timeout=60)
    producer.produce(topic, b"v")
    assert producer.flush(20) == 0
    producer.close()


def test_tokens_are_refreshed_before_they_expire(kafka_secure: SecureKafkaServer, topic: TopicFactory) -> None:
    name = topic(cluster=kafka_secure)
    uses = (
        by_poll_of_a_producer,
        by_poll_of_a_consumer,
        by_a_busy_consumer,
        by_blocking_calls,
        by_admin_calls,
        by_nobody,
    )
    end = time.monotonic() + SHORT + 3
    with ThreadPoolExecutor(len(uses), thread_name_prefix="user") as threads:

        def start(use: Callable[[dict[str, Any], str, Callable[[], bool]], None]) -> tuple[Future[None], Tried]:
            callback, errors = TokenCallback(kafka_secure.tokens, SHORT), list[KafkaError]()
            config = kafka_secure.client_config("OIDC") | {"oauth_cb": callback, "error_cb": errors.append}
            done = threads.submit(use, {**config, "log_level": "0"}, name, lambda: time.monotonic() > end)
            return done, (use.__name__, callback, errors)

        for future, (use, callback, errors) in [start(use) for use in uses]:
            future.result(120)
            assert len(callback.configs) >= 2, use
            assert KafkaError._AUTHENTICATION not in errors, use
            # Never on one of librdkafka's threads.
            assert all(thread.startswith(("user", "cykafka-")) for thread in callback.threads), use


@pytest.mark.parametrize("kind", [Producer, Consumer, AdminClient])
def test_a_callback_that_fails_at_first_fails_the_constructor(
    kafka_secure: SecureKafkaServer, callback: TokenCallback, kind: type
) -> None:
    callback.failures = 1
    config = kafka_secure.client_config("OIDC") | {"oauth_cb": callback, "log_level": "0"}
    if kind is Consumer:
        config["group.id"] = "constructor"
    with pytest.raises(NoTokenError):
        kind(config)
    client = kind(config)
    assert client.list_topics(timeout=20).cluster_id == kafka_secure.cluster_id
    client.close()


def test_a_refresh_that_fails_surfaces_and_the_client_recovers(
    kafka_secure: SecureKafkaServer, callback: TokenCallback, topic: TopicFactory
) -> None:
    """The next attempt comes after 10 s, librdkafka's own pause."""
    callback.lifetime = 5.0
    errors: list[KafkaError] = []
    config = kafka_secure.client_config("OIDC") | QUICK | {"oauth_cb": callback, "error_cb": errors.append}
    producer = Producer(config)
    assert producer.list_topics(timeout=20).cluster_id == kafka_secure.cluster_id
    callback.failures = 1

    def raised() -> bool:
        try:
            producer.poll(0.1)
        except NoTokenError:
            return True
        return False

    wait_until(raised)
    wait_until(
        lambda: producer.poll(0.1) and any("NoTokenError: the provider is away" in error.str() for error in errors)
    )
    with pytest.raises(KafkaException, match="the provider is away"):
        while True:
            producer.list_topics(timeout=0.5)
    callback.lifetime = 300.0
    name = topic(cluster=kafka_secure)
    reports: list[KafkaError | None] = []
    producer.produce(name, b"after the failure", on_delivery=lambda error, message: reports.append(error))
    assert producer.flush(40) == 0
    assert reports == [None]
    producer.close()


# Tokens from a token endpoint


@each_client
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_oidc_lets_in(kafka_secure: SecureKafkaServer, client: str, scheme: str) -> None:
    tls = None
    if scheme == "https":
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(kafka_secure.server_certificate.certificate, kafka_secure.server_certificate.key)
    with OidcProvider(kafka_secure.tokens, {ADMIN.name: SECRET}, tls=tls) as provider:
        config = oidc_config(kafka_secure, provider) | {"sasl.oauthbearer.scope": "kafka and more"}
        if tls is not None:
            config["https.ca.location"] = str(kafka_secure.authority.certificate)
        assert_lets_in(kafka_secure, config, client)
        assert {(each.client_id, each.form["scope"]) for each in provider.requests} == {(ADMIN.name, "kafka and more")}
        if tls is not None:
            pem = config | {"https.ca.pem": kafka_secure.authority.certificate.read_text()}
            del pem["https.ca.location"]
            assert_lets_in(kafka_secure, pem, client)


def test_messages_with_oidc(kafka_secure: SecureKafkaServer, provider: OidcProvider, topic: TopicFactory) -> None:
    """With tokens that are renewed several times meanwhile, in the background."""
    provider.lifetime = 4.0
    name = topic(cluster=kafka_secure)
    produce_and_consume(oidc_config(kafka_secure, provider), name, "oidc")
    producer = Producer(oidc_config(kafka_secure, provider) | {"log_level": "0"})
    before = len(provider.requests)
    wait_until(lambda: len(provider.requests) >= before + 3)
    producer.produce(name, b"later")
    assert producer.flush(20) == 0
    producer.close()


def test_oidc_with_a_wrong_secret_is_refused(kafka_secure: SecureKafkaServer, provider: OidcProvider) -> None:
    config = oidc_config(kafka_secure, provider, "not-the-secret")
    text = refusal(config, KafkaError._AUTHENTICATION)
    assert "invalid_client" in text
    assert "not-the-secret" not in text
    assert "401" in operator_refusal(config, KafkaError._AUTHENTICATION)


def test_oidc_over_tls_checks_the_certificate_of_the_endpoint(kafka_secure: SecureKafkaServer) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(kafka_secure.server_certificate.certificate, kafka_secure.server_certificate.key)
    with OidcProvider(kafka_secure.tokens, {ADMIN.name: SECRET}, tls=tls) as provider:
        config = oidc_config(kafka_secure, provider)
        assert "certificate" in refusal(config, KafkaError._AUTHENTICATION)
        assert "certificate" in operator_refusal(config, KafkaError._AUTHENTICATION)
        assert provider.requests == []


def test_a_client_recovers_from_an_endpoint_that_fails(kafka_secure: SecureKafkaServer, provider: OidcProvider) -> None:
    """The next attempt comes after 10 s, librdkafka's own pause."""
    provider.misbehaviour = Answer("<html>maintenance</html>", content_type="text/html")
    errors: list[KafkaError] = []
    config = oidc_config(kafka_secure, provider) | QUICK
    producer = Producer(config | {"error_cb": errors.append})
    with AdminClient(config) as admin:
        wait_until(lambda: producer.poll(0.1) and KafkaError._AUTHENTICATION in errors)
        assert "not JSON" in next(error for error in errors if error == KafkaError._AUTHENTICATION).str()
        with pytest.raises(KafkaException, match="not JSON"):
            producer.list_topics(timeout=0.5)
        with pytest.raises(KafkaException, match="not JSON"):
            admin.request("DescribeCluster", {}, timeout=5).result(20)
        provider.misbehaviour = None

        def reaches() -> bool:
            """Whether the producer is in; until its next attempt librdkafka may refuse at once."""
            try:
                return producer.list_topics(timeout=5).cluster_id == kafka_secure.cluster_id
            except KafkaException:
                return False

        wait_until(reaches, 90)
        assert admin.describe_cluster(request_timeout=40).result(60).cluster_id == kafka_secure.cluster_id
        assert admin.request("DescribeCluster", {}, timeout=20).result(30)["cluster_id"] == kafka_secure.cluster_id
    producer.close()


def test_all_clients_are_known_here() -> None:
    assert set(CLIENTS) == {"producer", "consumer", "admin", "operator"}
