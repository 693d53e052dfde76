"""SASL messages and tokens, without a broker."""

import base64
import contextlib
import hashlib
import hmac
import json
import socket
import threading
import time

import pytest

from cykafka import KafkaError, KafkaException
from cykafka.admin.protocol._sasl import Authenticator
from cykafka.admin.protocol._settings import Settings
from tests.support.ports import LOOPBACK

pytestmark = pytest.mark.unit

PASSWORD = "s3cret-pässword"


def start(**properties):
    return Authenticator({name.replace("_", "."): value for name, value in properties.items()}).exchange(5.0)


def refused(action):
    with pytest.raises(KafkaException) as caught:
        action()
    assert caught.value.args[0].code() == KafkaError._AUTHENTICATION
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


def test_plain():
    assert next(start(sasl_mechanism="plain", sasl_username="bob", sasl_password="x")) == b"\0bob\0x"


class ScramServer:
    """The other side of SCRAM, by RFC 5802."""

    def __init__(self, algorithm, iterations=4096, password=PASSWORD):
        self.algorithm, self.iterations = algorithm, iterations
        self.salt = b"salty-salt"
        self.salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), self.salt, iterations)

    def first(self, message):
        self.client_first = message.decode()[3:]
        nonce = self.client_first.split("r=")[1]
        salt = base64.b64encode(self.salt).decode()
        self.server_first = f"r={nonce}server,s={salt},i={self.iterations}"
        return self.server_first.encode()

    def final(self, message):
        without_proof, _, proof = message.decode().rpartition(",p=")
        signed = f"{self.client_first},{self.server_first},{without_proof}".encode()
        client_key = hmac.digest(self.salted, b"Client Key", self.algorithm)
        signature = hmac.digest(hashlib.new(self.algorithm, client_key).digest(), signed, self.algorithm)
        assert base64.b64decode(proof) == bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        server_key = hmac.digest(self.salted, b"Server Key", self.algorithm)
        return b"v=" + base64.b64encode(hmac.digest(server_key, signed, self.algorithm))


@pytest.mark.parametrize(("mechanism", "algorithm"), [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")])
def test_scram_satisfies_the_other_side(mechanism, algorithm):
    server = ScramServer(algorithm)
    messages = start(sasl_mechanisms=mechanism, sasl_username="b,o=b", sasl_password=PASSWORD)
    first = next(messages)
    assert first.startswith(b"n,,n=b=2Co=3Db,r=")
    final = messages.send(server.first(first))
    with pytest.raises(StopIteration):
        messages.send(server.final(final))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"r=other,s=c2FsdA==,i=4096", "nonce"),
        (b"", "nonce"),
        (b"\xff", "UTF-8"),
    ],
)
def test_scram_refuses_a_wrong_first_answer(answer, text):
    messages = start(sasl_mechanism="SCRAM-SHA-256", sasl_username="bob", sasl_password=PASSWORD)
    next(messages)
    assert text in refused(lambda: messages.send(answer))


@pytest.mark.parametrize(
    ("rounds", "salt", "text"),
    [("1", "c2FsdA==", "iteration"), ("999999999", "c2FsdA==", "iteration"), ("4096", "?", "salt")],
)
def test_scram_refuses_dangerous_parameters(rounds, salt, text):
    messages = start(sasl_mechanism="SCRAM-SHA-256", sasl_username="bob", sasl_password=PASSWORD)
    nonce = next(messages).decode().split("r=")[1]
    assert text in refused(lambda: messages.send(f"r={nonce}x,s={salt},i={rounds}".encode()))


def test_scram_refuses_a_broker_that_does_not_know_the_password():
    server = ScramServer("sha256")
    messages = start(sasl_mechanism="SCRAM-SHA-256", sasl_username="bob", sasl_password=PASSWORD)
    messages.send(server.first(next(messages)))
    wrong = base64.b64encode(b"x" * 32).decode()
    assert "signature is wrong" in refused(lambda: messages.send(f"v={wrong}".encode()))


def test_credentials_that_are_missing_and_mechanisms_that_are_not_there():
    assert "sasl.username" in refused(lambda: start(sasl_mechanism="PLAIN"))
    with pytest.raises(KafkaException, match="GSSAPI is not supported"):
        start(sasl_mechanism="GSSAPI")


def test_oauth_callback_is_asked_once_for_several_connections():
    asked = []

    def callback(config):
        asked.append(config)
        return "token", time.time() + 3600, "bob", {"tenant": "a"}

    authenticator = Authenticator(
        {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": callback, "sasl.oauthbearer.config": "x=y"}
    )
    for _ in range(2):
        messages = authenticator.exchange(5.0)
        assert next(messages) == b"n,,\x01auth=Bearer token\x01tenant=a\x01\x01"
        with pytest.raises(StopIteration):
            messages.send(b"")
    assert asked == ["x=y"]
    authenticator.forget()
    authenticator.exchange(5.0)
    assert len(asked) == 2


@pytest.mark.parametrize("result", [None, "token", ("token",), ("token", "soon"), ("token", 1.0), (b"t", 9e9)])
def test_oauth_callback_that_returns_nonsense(result):
    assert "oauth_cb" in refused(lambda: _with_callback(result))


def _with_callback(result):
    return Authenticator({"sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda config: result}).exchange(5.0)


def test_oauth_callback_that_raises():
    def callback(config):
        raise OSError(PASSWORD)

    assert "OSError" in refused(
        lambda: Authenticator({"sasl.mechanism": "OAUTHBEARER", "oauth_cb": callback}).exchange(5.0)
    )


def test_a_refused_token_says_why():
    messages = _with_callback(("token", time.time() + 60))
    next(messages)
    assert "invalid_token" in refused(lambda: messages.send(b'{"status":"invalid_token"}'))


@contextlib.contextmanager
def endpoint(answer, *, slowly=False):
    """A token endpoint that sends bytes as they are; None: nothing."""
    stop = threading.Event()
    server = socket.create_server((LOOPBACK, 0))
    taken = []

    def serve():
        with contextlib.suppress(OSError):
            connection, _ = server.accept()
            with connection:
                request = b""
                while b"scope=" not in request and (more := connection.recv(65536)):
                    request += more
                taken.append(request)
                if answer is None:
                    stop.wait(30)
                elif not slowly:
                    connection.sendall(answer)
                for byte in answer if answer and slowly else b"":
                    connection.sendall(bytes((byte,)))
                    if stop.wait(0.05):
                        return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.getsockname()[1]}/token", taken
    finally:
        stop.set()
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)


def http(body, status="200 OK"):
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()


def oidc(url, timeout=5.0):
    properties = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": PASSWORD,
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.extensions": "tenant=a",
    }
    return Authenticator(properties).exchange(timeout)


def test_oidc_gets_a_token():
    claims = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + 60}).encode()).decode().rstrip("=")
    with endpoint(http(json.dumps({"access_token": f"a.{claims}.c"}))) as (url, taken):
        assert next(oidc(url)) == f"n,,\x01auth=Bearer a.{claims}.c\x01tenant=a\x01\x01".encode()
    assert b"grant_type=client_credentials&scope=kafka" in taken[0]
    # As librdkafka sends them, not encoded as a form.
    assert b"Authorization: Basic " + base64.b64encode(f"me:{PASSWORD}".encode()) in taken[0]
    assert PASSWORD.encode() not in taken[0]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (http("no", "401 Unauthorized"), "HTTP status 401"),
        (http("nonsense"), "not JSON"),
        (http("[1]"), "no access_token"),
        (http("{}"), "no access_token"),
        (http('{"access_token": "t", "expires_in": -5}'), "expired"),
        (b"\x16\x03\x01garbage", "BadStatusLine"),
        (b"", "RemoteDisconnected"),
        (http("x" * 1100000), "larger than"),
    ],
    ids=["status", "no-json", "list", "no-token", "expired", "garbage", "closed", "huge"],
)
def test_oidc_endpoint_that_answers_nonsense(answer, text):
    with endpoint(answer) as (url, _):
        assert text in refused(lambda: oidc(url))


def test_oidc_endpoint_that_hangs_or_trickles_ends_in_time():
    for answer in (None, http("x" * 1000)):
        with endpoint(answer, slowly=True) as (url, _):
            assert "in time" in refused(lambda url=url: oidc(url, 0.3))


def test_oidc_properties_that_are_missing():
    assert "http or https address" in refused(lambda: oidc("ftp://x"))
    properties = {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"}
    assert "client.secret" in refused(lambda: Authenticator(properties).exchange(1.0))


def test_unsigned_token():
    messages = start(
        sasl_mechanism="OAUTHBEARER",
        enable_sasl_oauthbearer_unsecure_jwt="true",
        sasl_oauthbearer_config="principal=bob scope=a,b extension_tenant=x",
    )
    message = next(messages).decode()
    assert message.endswith("\x01tenant=x\x01\x01")
    payload = message.split("Bearer ")[1].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert (claims["sub"], claims["scope"]) == ("bob", ["a", "b"])


def test_settings_show_no_secret():
    settings = Settings.from_config({"bootstrap.servers": "[::1]:9,b", "sasl.password": PASSWORD})
    assert settings.bootstrap == (("::1", 9), ("b", 9092))
    assert PASSWORD not in repr(settings)
