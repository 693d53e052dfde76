"""Token endpoints and callbacks that misbehave: a clear error, nothing leaked, and the client can be closed at once.

There is no broker: librdkafka gets a token before it connects.
"""

from __future__ import annotations

import base64
import gc
import json
import logging
import threading
import time
import weakref
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest

from cykafka import Consumer, KafkaError, KafkaException, Producer
from cykafka.admin import AdminClient
from tests.support.clients import wait_until

pytest.importorskip("cryptography", reason="tokens for the tests need the package cryptography")

from cykafka.admin.protocol._oidc import fetch_token
from tests.support.oidc import Answer, OidcProvider, TokenIssuer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.mock

ID, SECRET = "alice", "the-secret-of-the-client"
NOWHERE = "127.0.0.1:9"


@pytest.fixture(scope="module")
def issuer() -> TokenIssuer:
    return TokenIssuer()


@pytest.fixture
def provider(issuer: TokenIssuer) -> Iterator[OidcProvider]:
    with OidcProvider(issuer, {ID: SECRET}) as running:
        yield running


def oauth_config(**others: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": NOWHERE,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "log_level": 0,
    } | others


def oidc_config(provider: OidcProvider, **others: Any) -> dict[str, Any]:
    return oauth_config(
        **{
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": ID,
            "sasl.oauthbearer.client.secret": SECRET,
            "sasl.oauthbearer.token.endpoint.url": provider.token_url,
        },
        **others,
    )


def part(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def jwt(claims: object, *, signature: str = "c2lnbmF0dXJl") -> str:
    return f"{part({'alg': 'RS256'})}.{part(claims)}.{signature}"


def token_answer(token: object) -> Answer:
    return Answer(json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": 300}))


SOON = int(time.time()) + 3600
#: What is no answer to either of our two clients of token endpoints, and what the errors say.
NO_TOKENS = {
    "not JSON": (Answer("{not json"), "JSON"),
    "a list": (Answer("[]"), "access_token"),
    "an empty object": (Answer("{}"), "access_token"),
    "a token that is a number": (token_answer(5), "token"),
    "a token that is null": (token_answer(None), "token"),
    "an expired token": (token_answer(jwt({"sub": "a", "exp": 1})), "expired"),
    "unauthorized": (Answer('{"error": "invalid_client"}', HTTPStatus.UNAUTHORIZED), "401|invalid_client"),
    "not found": (Answer("no such page", HTTPStatus.NOT_FOUND, "text/plain"), "404|no such page"),
    "a redirection": (Answer("{}", HTTPStatus.FOUND), "302|JSON|access_token"),
}
#: What librdkafka refuses besides, since it looks into tokens.
NO_TOKENS_EITHER = {
    "a web page": (Answer("<html>", content_type="text/html"), "not JSON"),
    "an empty body": (Answer(""), "access_token"),
    "a token without dots": (token_answer("opaque"), "JWT"),
    "a payload that is not base64": (token_answer("a.!!!!.c"), "payload|JWT"),
    "a payload that is not JSON": (token_answer(f"a.{base64.urlsafe_b64encode(b'{').decode()}.c"), "payload|JWT"),
    "no expiry": (token_answer(jwt({"sub": "a"})), "exp"),
    "an expiry that is text": (token_answer(jwt({"sub": "a", "exp": "soon"})), "exp"),
    "an expiry out of range": (token_answer(jwt({"sub": "a", "exp": 1e300})), "exp"),
    "no subject": (token_answer(jwt({"exp": SOON})), "sub"),
    "a subject that is a number": (token_answer(jwt({"sub": 5, "exp": SOON})), "sub"),
    "a character that tokens may not have": (
        token_answer(jwt({"sub": "a", "exp": SOON}, signature="s\u00e9cret")),
        "visible characters",
    ),
    "more than it reads": (Answer(json.dumps({"access_token": "a" * 1_000_000})), ""),
}


def error_of(config: dict[str, Any]) -> tuple[str, str]:
    """Return what error_cb and a call of a producer say."""
    errors: list[KafkaError] = []
    producer = Producer({**config, "error_cb": errors.append})
    try:
        wait_until(lambda: producer.poll(0.1) and KafkaError._AUTHENTICATION in errors)
        with pytest.raises(KafkaException) as caught:
            producer.list_topics(timeout=0.2)
        assert caught.value.args[0] in {KafkaError._TRANSPORT, KafkaError._TIMED_OUT}
    finally:
        producer.close()
    told = next(error for error in errors if error == KafkaError._AUTHENTICATION).str()
    assert told.startswith("Failed to acquire SASL OAUTHBEARER token: ")
    return told.partition(": ")[2], caught.value.args[0].str()


@pytest.mark.parametrize(("answer", "says"), (NO_TOKENS | NO_TOKENS_EITHER).values(), ids=NO_TOKENS | NO_TOKENS_EITHER)
def test_an_answer_without_a_token(provider: OidcProvider, answer: Answer, says: str) -> None:
    provider.misbehaviour = answer
    told, raised = error_of(oidc_config(provider))
    assert any(word in told for word in says.split("|"))
    assert told in raised
    assert SECRET not in told
    assert "s\u00e9cret" not in told


@pytest.mark.parametrize(("answer", "says"), NO_TOKENS.values(), ids=NO_TOKENS)
def test_an_answer_without_a_token_for_the_operators_connection(
    provider: OidcProvider, answer: Answer, says: str
) -> None:
    provider.misbehaviour = answer
    with pytest.raises(KafkaException) as caught:
        fetch_token(oidc_config(provider), 10.0)
    error = caught.value.args[0]
    assert error == KafkaError._AUTHENTICATION
    assert any(word in error.str() for word in says.split("|"))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("kind", [Producer, Consumer, AdminClient])
def test_a_client_is_closed_at_once_while_its_token_endpoint_hangs(provider: OidcProvider, kind: Any) -> None:
    provider.misbehaviour = Answer("x" * 1000, hang=True)
    config = oidc_config(provider)
    if kind is Consumer:
        config["group.id"] = "hanging"
    client = kind(config)
    wait_until(lambda: provider.requests)
    closed = threading.Event()

    def close() -> None:
        client.close()
        closed.set()

    threading.Thread(target=close, daemon=True).start()
    # librdkafka gives the endpoint 20 s, which is what it took.
    assert closed.wait(15)


@pytest.mark.slow
def test_a_token_endpoint_that_hangs_is_given_up_after_20_seconds(provider: OidcProvider) -> None:
    provider.misbehaviour = Answer("x" * 1000, hang=True)
    errors: list[KafkaError] = []
    producer = Producer(oidc_config(provider, error_cb=errors.append))
    wait_until(lambda: producer.poll(0.1) and KafkaError._AUTHENTICATION in errors, timeout=60)
    assert any("timed out" in error.str().lower() for error in errors)
    producer.close()


def test_credentials_by_their_other_names(provider: OidcProvider) -> None:
    config = oidc_config(provider)
    for name in ("id", "secret"):
        config[f"sasl.oauthbearer.client.credentials.client.{name}"] = config.pop(f"sasl.oauthbearer.client.{name}")
    producer = Producer(config)
    wait_until(lambda: provider.issued)
    producer.close()
    assert fetch_token(config, 10.0)[0] == provider.issued[-1]
    assert {each.client_id for each in provider.requests} == {ID}


def test_a_token_endpoint_that_hangs_holds_the_operators_connection_no_longer_than_its_time_out(
    provider: OidcProvider,
) -> None:
    provider.misbehaviour = Answer("x" * 1000, hang=True)
    before = threading.active_count()
    with pytest.raises(KafkaException, match="did not answer in time"):
        fetch_token(oidc_config(provider), 0.3)
    provider.ended.set()
    wait_until(lambda: threading.active_count() <= before)


def test_an_endpoint_that_is_not_there() -> None:
    told, raised = error_of(
        oauth_config(
            **{
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": ID,
                "sasl.oauthbearer.client.secret": SECRET,
                "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:9/token",
            }
        )
    )
    assert "connect" in told
    assert told in raised


@pytest.mark.parametrize("missing", ["client.id", "client.secret", "token.endpoint.url"])
def test_a_missing_property_is_named(provider: OidcProvider, missing: str) -> None:
    config = oidc_config(provider)
    del config[f"sasl.oauthbearer.{missing}"]
    with pytest.raises(KafkaException, match=f"sasl.oauthbearer.{missing}"):
        Producer(config)


def test_what_an_endpoint_repeats_of_our_secret_is_not_shown(
    provider: OidcProvider, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither as it is nor as basic authentication encodes it, whoever writes the log."""
    sent = base64.b64encode(f"{ID}:{SECRET}".encode()).decode()
    body = json.dumps({"error": "invalid_client", "error_description": f"{ID} must not come with {SECRET} ({sent})"})
    provider.misbehaviour = Answer(body, HTTPStatus.UNAUTHORIZED)
    logger = logging.getLogger("test.secrets")
    config = oidc_config(provider, debug="all", log_level=7)
    with caplog.at_level(logging.DEBUG, "test.secrets"):
        by_logger = error_of({**config, "logger": logger})
    by_default = error_of(config)
    written = capfd.readouterr().err
    for text in (*by_logger, *by_default, written, caplog.text):
        assert "must not come with [redacted] (" in text
        assert SECRET not in text
        assert sent not in text


def test_a_password_in_the_url_of_the_endpoint_is_not_shown(
    provider: OidcProvider, capfd: pytest.CaptureFixture[str]
) -> None:
    provider.misbehaviour = Answer("{}", HTTPStatus.UNAUTHORIZED)
    config = oidc_config(provider, log_level=7, debug="all")
    url = "sasl.oauthbearer.token.endpoint.url"
    config[url] = config[url].replace("//", "//someone:password-of-the-url@")
    error_of(config)
    assert "password-of-the-url" not in capfd.readouterr().err


# Callbacks


@pytest.mark.parametrize(
    "answer",
    [
        ("a-secret-token", "another-secret"),
        ("a-secret-t\u00f6ken", time.time() + 300),
        ("a-secret-token\0", time.time() + 300),
        ("a-secret-token\ud800", time.time() + 300),
        ("a-secret-token", float("nan")),
        ("a-secret-token", float("inf")),
        ("a-secret-token", 10**400),
        ("a-secret-token", 0.0),
        ("a-secret-token", time.time() + 300, "p", {"auth": "another-secret"}),
        ("a-secret-token", time.time() + 300, "p", {"key": "another-secret\x01"}),
        ("a-secret-token", time.time() + 300, "p", {"key": 5}),
        ["a-secret-token", time.time() + 300],
    ],
)
def test_an_unusable_answer_of_the_callback_is_refused_and_not_quoted(
    answer: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((TypeError, ValueError, KafkaException)) as caught:
        Producer(oauth_config(oauth_cb=lambda config: answer, debug="all", log_level=7))
    shown = f"{caught.value!s} {caught.value!r} {capfd.readouterr().err}"
    assert "a-secret-t" not in shown
    assert "another-secret" not in shown


def test_a_lifetime_of_centuries_is_taken() -> None:
    producer = Producer(oauth_config(oauth_cb=lambda config: ("token", 1e15)))
    producer.close(0)


def test_a_token_in_what_the_callback_raises_later_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    """The client knows its tokens, and keeps them out of texts of others."""
    tokens = ["the-first-token-of-all"]

    def oauth_cb(config: str) -> tuple[str, float]:
        if len(tokens) == 1:
            tokens.append("")
            return tokens[0], time.time() + 2
        raise RuntimeError(f"cannot renew {tokens[0]}")

    errors: list[KafkaError] = []
    producer = Producer(oauth_config(oauth_cb=oauth_cb, error_cb=errors.append, debug="all", log_level=7))

    def failed() -> bool:
        try:
            producer.poll(0.1)
        except RuntimeError:
            return True
        return False

    wait_until(failed)
    wait_until(lambda: producer.poll(0.1) and KafkaError._AUTHENTICATION in errors)
    assert "cannot renew [redacted]" in next(e for e in errors if e == KafkaError._AUTHENTICATION).str()
    with pytest.raises(KafkaException, match=r"cannot renew \[redacted\]"):
        producer.list_topics(timeout=0.2)
    producer.close(0)
    assert tokens[0] not in capfd.readouterr().err


def test_the_thread_that_looks_after_tokens_ends_with_the_client() -> None:
    def patrols() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("cykafka-tokens")]

    before = len(patrols())
    config = oauth_config(oauth_cb=lambda config: ("token", time.time() + 300))
    closed, dropped = Producer(config), Producer(config)
    assert len(patrols()) == before + 2
    closed.close(0)
    reference = weakref.ref(dropped)
    del dropped
    gc.collect()
    assert reference() is None
    wait_until(lambda: len(patrols()) == before)


def test_a_callback_that_fails_late_is_reported_where_nobody_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    answers = [("token", time.time() + 2)]

    def oauth_cb(config: str) -> tuple[str, float]:
        return answers.pop()

    producer = Producer(oauth_config(oauth_cb=oauth_cb))
    wait_until(lambda: unraisable)
    assert unraisable[0].exc_type is IndexError
    with pytest.raises(KafkaException, match="oauth_cb failed: IndexError"):
        producer.list_topics(timeout=0.2)
    producer.close(0)
