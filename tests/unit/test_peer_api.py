"""Every name, parameter and default of confluent_kafka that cykafka has, has not, or has in another way.

The peer's interface is a file beside the repository, ``../shared/peer-api.json``. Whatever differs stands in
`DIFFERENCES` with the reason; an entry that is no longer true fails as well. `BEHAVIOUR` is what differs where names
and parameters do not; it was found by running both libraries side by side.
"""

import ast
import dataclasses
import enum
import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cykafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Node,
    Producer,
    SerializingProducer,
    ShareConsumer,
    TopicPartition,
    Uuid,
    murmur2,
)
from cykafka.admin import ConfigEntry, ConfigResource, NewTopic, OffsetSpec
from cykafka.serialization import SerializationError, StringSerializer

pytestmark = pytest.mark.unit

API = Path(__file__).resolve().parents[3] / "shared" / "peer-api.json"
PEER = "confluent_kafka"
MODULES = (
    "",
    ".admin",
    ".aio",
    ".aio.producer",
    ".cimpl",
    ".error",
    ".serialization",
    ".serializing_producer",
    ".deserializing_consumer",
    ".deserializing_share_consumer",
)

PLUMBING = "how the peer builds serializers from configuration, not for users"

#: What differs, and why; a difference that is gone must go from here too.
DIFFERENCES = {
    "cimpl._reentry_identity_var: missing": "an internal of the peer's callbacks",
    "cimpl._AdminClientImpl: missing": "what AdminClient builds on; ours takes other values",
    **{
        f"{module}.{name}: missing": PLUMBING
        for module in ("serializing_producer", "deserializing_consumer")
        for name in (
            "SharedClusterIdResolver",
            "TYPE_CHECKING",
            "build_serdes",
            "close_serdes",
            "pop_serde_props",
            "propagate_cluster_id_resolver",
        )
    },
}


@dataclasses.dataclass(frozen=True)
class Difference:
    """Something that does not do what it does in confluent_kafka 2.16.1, on purpose.

    Args:
        run: What is done.
        ours: The value, or class of exception, that comes of it here.
        peers: What comes of it there.
        why: Why.
    """

    run: Callable[[], Any]
    ours: Any
    peers: str
    why: str


NOWHERE: dict[str, Any] = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


def producing(**arguments: Any) -> Callable[[], Any]:
    """Return what makes a producer, produces with it, and drops both."""

    def run() -> Any:
        with Producer(NOWHERE) as producer:
            try:
                return producer.produce(**{"topic": "t", **arguments})
            finally:
                producer.purge()

    return run


def consuming(call: Callable[[Consumer], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with Consumer({**NOWHERE, "group.id": "g"}) as consumer:
            return call(consumer)

    return run


def configured(client: type, **properties: Any) -> Callable[[], Any]:
    return lambda: client({**NOWHERE, **properties}).close()


WRONG_TYPE = "a wrong type is told at once, not dropped in silence or turned into text"
MORE = "takes more"
BEHAVIOUR = {
    "KafkaError == text": Difference(
        lambda: KafkaError(3) == "x", False, "SystemError", "comparing with anything must not break the interpreter"
    ),
    "TopicPartition == number": Difference(
        lambda: TopicPartition("t") == 5, False, "NotImplementedError", "equality never raises"
    ),
    "TopicPartition.metadata": Difference(
        lambda: setattr(TopicPartition("t"), "metadata", "x"), None, "AttributeError", f"{MORE}: may be set"
    ),
    "bool(message)": Difference(
        lambda: bool(Message(value=b"")), True, "False", "`if message:` would lose messages that are empty"
    ),
    "Message(latency=1.23456789).latency()": Difference(
        lambda: Message(latency=1.23456789).latency(), 1.234568, "1.234567", "rounded, not cut"
    ),
    "Message(offset=None)": Difference(
        lambda: Message(offset=None).offset(), None, "TypeError", f"{MORE}: None is none"
    ),
    "Uuid == Uuid": Difference(lambda: Uuid(1, 2) == Uuid(1, 2), True, "False", "equal values are equal"),
    "Node == Node": Difference(lambda: Node(1, "h", 2) == Node(1, "h", 2), True, "False", "equal values are equal"),
    "murmur2 of a bytearray": Difference(
        lambda: murmur2(bytearray(b"abc"), 10), 7, "TypeError", f"{MORE}: any bytes-like object"
    ),
    "error_cb=None": Difference(
        configured(Producer, error_cb=None), True, "TypeError", f"{MORE}: None stands for no callback"
    ),
    "a property that is bytes": Difference(
        configured(Producer, **{"client.id": b"x"}), TypeError, "client.id is \"b'x'\"", WRONG_TYPE
    ),
    "a name of a property that is a number": Difference(
        lambda: Producer({5: "x"}), TypeError, "KafkaException", WRONG_TYPE
    ),
    "logger=5": Difference(configured(Producer, logger=5), TypeError, "accepted", WRONG_TYPE),
    "keyword arguments with underscores": Difference(
        lambda: Producer(bootstrap_servers="127.0.0.1:1", log_level=0).close(), True, "KafkaException", MORE
    ),
    "key.serializer=5": Difference(
        lambda: SerializingProducer({**NOWHERE, "key.serializer": 5}), TypeError, "accepted", WRONG_TYPE
    ),
    "produce to no topic": Difference(
        producing(topic=""), ValueError, "accepted, reported as undelivered", "a mistake is told at once"
    ),
    "produce(timestamp=-1)": Difference(
        producing(timestamp=-1), ValueError, "accepted", "negative times are refused by brokers"
    ),
    "produce(timestamp=None)": Difference(producing(timestamp=None), None, "TypeError", f"{MORE}: None is now"),
    "produce(on_delivery=5)": Difference(producing(on_delivery=5), TypeError, "accepted", WRONG_TYPE),
    "produce(headers={5: ...})": Difference(producing(headers={5: "x"}), TypeError, "accepted", WRONG_TYPE),
    "produce(headers=tuple)": Difference(
        producing(headers=(("a", b"b"),)), None, "TypeError", f"{MORE}: pairs may be lists, the list a tuple"
    ),
    "subscribe to a tuple": Difference(
        consuming(lambda consumer: consumer.subscribe(("t",))), None, "TypeError", f"{MORE}: also sets"
    ),
    "subscribe to a number": Difference(
        consuming(lambda consumer: consumer.subscribe([5])), TypeError, "accepted", WRONG_TYPE
    ),
    "assign a tuple": Difference(
        consuming(lambda consumer: consumer.assign((TopicPartition("t", 0),))), None, "TypeError", MORE
    ),
    "pause what is not assigned": Difference(
        consuming(lambda consumer: consumer.pause([TopicPartition("t", 0)])),
        KafkaException,
        "ignored",
        "the caller believes that it is paused",
    ),
    "poll(-0.5)": Difference(
        consuming(lambda consumer: consumer.poll(-0.5)), ValueError, "waits for ever", "a negative rest of a deadline"
    ),
    "committed() of nothing": Difference(
        consuming(lambda consumer: consumer.committed([])), [], "_TIMED_OUT", "nobody needs to be asked"
    ),
    "offsets_for_times() of nothing": Difference(
        consuming(lambda consumer: consumer.offsets_for_times([])), [], "_INVALID_ARG", "nobody needs to be asked"
    ),
    "ShareConsumer with an unknown mode": Difference(
        lambda: ShareConsumer({**NOWHERE, "group.id": "g", "share.acknowledgement.mode": "x"}),
        ValueError,
        "accepted",
        "librdkafka takes any text and then acknowledges nothing",
    ),
    "an oauth_cb that raises": Difference(
        lambda: Producer(
            {**NOWHERE, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "OAUTHBEARER", "oauth_cb": int}
        ),
        ValueError,
        "SASL_AUTHENTICATION_FAILED after ten seconds",
        "the callback's own exception says what is wrong, at once",
    ),
    "StringSerializer of a number": Difference(
        lambda: StringSerializer()(5), SerializationError, "AttributeError", "the documented class"
    ),
    "for_timestamp of a negative number": Difference(
        lambda: OffsetSpec.for_timestamp(-5), ValueError, "accepted", "-1 to -5 are other specifications"
    ),
    "str of a secret ConfigEntry": Difference(
        lambda: str(ConfigEntry("sasl.password", "x")), 'sasl.password="(hidden)"', 'sasl.password="x"', "logs are read"
    ),
    "NewTopic == number": Difference(
        lambda: NewTopic("t", 1) == 5, False, "NotImplementedError", "equality never raises"
    ),
    "names of a broker resource": Difference(
        lambda: ConfigResource("broker", 1), ValueError, "accepted, TypeError when used", "told where the mistake is"
    ),
}


def peer_parameters(signature: str) -> list[inspect.Parameter]:
    """Read a signature; a default that is not a literal becomes its text, ``...`` stays Ellipsis."""
    text = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", signature)
    arguments = ast.parse(f"def f{text}: pass").body[0].args  # type: ignore[attr-defined]
    kinds = inspect.Parameter
    positional = [(a, kinds.POSITIONAL_ONLY) for a in arguments.posonlyargs]
    positional += [(a, kinds.POSITIONAL_OR_KEYWORD) for a in arguments.args]
    defaults = [kinds.empty] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    found = [kinds(a.arg, kind, default=literal(d)) for (a, kind), d in zip(positional, defaults, strict=True)]
    if arguments.vararg:
        found.append(kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(
            kinds(argument.arg, kinds.KEYWORD_ONLY, default=kinds.empty if default is None else literal(default))
        )
    if arguments.kwarg:
        found.append(kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD))
    return [parameter for parameter in found if parameter.name != "self"]


def literal(node: Any) -> Any:
    if node is inspect.Parameter.empty:
        return node
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def as_text(default: Any) -> Any:
    """Members of enumerations as the peer's signatures write them."""
    return str(default) if isinstance(default, enum.Enum) else default


def compare_parameters(where: str, signature: str, own: Any) -> Iterator[str]:
    """Tell what a caller of the peer's function could not do with ours."""
    peers = peer_parameters(signature)
    if all(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in peers):
        return
    try:
        ours = [p for p in inspect.signature(own).parameters.values() if p.name != "self"]
    except (TypeError, ValueError):
        yield f"{where}: no signature"
        return
    names = {p.name: p for p in ours}
    takes_any = {p.kind for p in ours}
    for index, peer in enumerate(peers):
        if peer.kind in (peer.VAR_POSITIONAL, peer.VAR_KEYWORD):
            if peer.kind not in takes_any:
                yield f"{where}({peer}): missing"
            continue
        if peer.name not in names:
            if peer.kind is peer.POSITIONAL_ONLY and index < len(ours):
                continue
            if peer.VAR_KEYWORD not in takes_any and peer.VAR_POSITIONAL not in takes_any:
                yield f"{where}({peer.name}): missing"
            continue
        mine = names[peer.name]
        if peer.kind is not peer.KEYWORD_ONLY and ours[: index + 1][-1].name != peer.name:
            yield f"{where}({peer.name}): position {ours.index(mine)} instead of {index}"
        if peer.default is Ellipsis or peer.default == "...":
            continue
        if peer.default is not peer.empty and as_text(mine.default) != as_text(peer.default):
            now = "required" if mine.default is mine.empty else f"default {mine.default!r}"
            yield f"{where}({peer.name}): {now} instead of {peer.default!r}"


def compare_class(where: str, peer: dict[str, Any], own: type) -> Iterator[str]:
    known = {base.__name__ for base in inspect.getmro(own)}
    for base in peer["bases"]:
        if base.rsplit(".", 1)[-1] not in known:
            yield f"{where}: not a {base.rsplit('.', 1)[-1]}"
    for member, value in peer.get("members", {}).items():
        if member not in own.__members__ or own[member].value != value:  # type: ignore[attr-defined,misc]
            yield f"{where}.{member}: not {value!r}"
    for attribute, about in peer["attributes"].items():
        if not hasattr(own, attribute):
            yield f"{where}.{attribute}: missing"
        elif "value" in about and getattr(own, attribute) != about["value"]:
            yield f"{where}.{attribute}: {getattr(own, attribute)!r} instead of {about['value']!r}"
    for method, about in peer["methods"].items():
        if not hasattr(own, method):
            yield f"{where}.{method}: missing"
            continue
        if about.get("unhashable") and own.__hash__ is not None:
            yield f"{where}.__hash__: hashable"
        if about["from"] != where.rsplit(".", 1)[-1]:
            continue
        function = own if method == "__init__" else getattr(own, method)
        if method.startswith("__") and method not in ("__init__", "__call__"):
            continue
        for signature in about.get("stub_signatures") or [about.get("signature")]:
            if signature:
                yield from compare_parameters(
                    where if method == "__init__" else f"{where}.{method}", signature, function
                )


def compare(where: str, peer: dict[str, Any], own: Any) -> Iterator[str]:
    kind = peer["kind"]
    if kind == "constant" and own != peer["value"]:
        yield f"{where}: {own!r} instead of {peer['value']!r}"
    elif kind in ("class", "enum", "exception"):
        yield from compare_class(where, peer, own)
    elif kind in ("function", "reexport"):
        signature = peer.get("signature") or peer.get("stub_signature")
        if signature and not peer.get("of", "").endswith(".Enum"):
            yield from compare_parameters(where, signature, own)


def differences(api: dict[str, Any]) -> Iterator[str]:
    for module in MODULES:
        try:
            own = importlib.import_module(f"cykafka{module}")
        except ModuleNotFoundError:
            yield f"{module.lstrip('.')}: missing"
            continue
        for name, peer in api[PEER + module].items():
            if name == "__meta__":
                continue
            where = f"{module.lstrip('.')}.{name}".lstrip(".")
            if not hasattr(own, name):
                yield f"{where}: missing"
            else:
                yield from compare(where, peer, getattr(own, name))


@pytest.fixture(scope="module")
def peer() -> dict[str, Any]:
    if not API.is_file():
        pytest.skip(f"needs {API.name} in the folder shared/ beside the repository")
    return json.loads(API.read_text())


def test_nothing_differs_without_a_reason(peer: dict[str, Any]) -> None:
    found = set(differences(peer))
    assert "\n".join(sorted(found - set(DIFFERENCES))) == ""
    assert "\n".join(sorted(set(DIFFERENCES) - found)) == "", "these do not differ any more"
    assert all(DIFFERENCES.values())


@pytest.mark.parametrize("difference", BEHAVIOUR.values(), ids=BEHAVIOUR)
def test_behaviour_that_differs_on_purpose(difference: Difference) -> None:
    assert difference.why
    if isinstance(difference.ours, type) and issubclass(difference.ours, Exception):
        with pytest.raises(difference.ours):
            difference.run()
    else:
        assert difference.run() == difference.ours


def test_what_the_peer_has_and_we_do_not_says_so_when_it_is_imported() -> None:
    for module, sentence in (
        ("cykafka.schema_registry", "does not exist yet: .* serializ"),
        ("cykafka.schema_registry.avro", "does not exist yet: .* serializ"),
        ("cykafka.avro", "deprecated it; use SerializingProducer"),
    ):
        with pytest.raises(ModuleNotFoundError, match=sentence):
            importlib.import_module(module)


def test_every_error_code_of_the_peer_is_there(peer):
    from cykafka import KafkaError

    description = peer["confluent_kafka.cimpl"]["KafkaError"]
    for name, attribute in description["attributes"].items():
        assert getattr(KafkaError, name) == attribute["value"]
    for name in description["stub_only"]:
        if not name.startswith("__"):
            assert isinstance(getattr(KafkaError, name), int), name


def test_every_public_name_has_a_docstring():
    import cykafka
    import cykafka.admin
    import cykafka.aio
    import cykafka.serialization
    import cykafka.testing

    lacking = []
    for module in (cykafka, cykafka.admin, cykafka.aio, cykafka.serialization, cykafka.testing):
        for name in module.__all__:
            value = getattr(module, name)
            if not callable(value):
                continue
            if not inspect.getdoc(value):
                lacking.append(name)
            if inspect.isclass(value) and not issubclass(value, enum.Enum):
                lacking += [
                    f"{name}.{attribute}"
                    for attribute in dir(value)
                    if not attribute.startswith("_")
                    and callable(getattr(value, attribute))
                    and not inspect.getdoc(getattr(value, attribute))
                ]
    assert lacking == []


def test_the_comparison_notices_what_differs() -> None:
    class Own:
        limit = 2

        def __init__(self, conf: Any, size: int = 1) -> None: ...

        def send(self, value: Any, key: Any = None, *, wait: bool = True) -> None: ...

        def any(self, *args: Any, **kwargs: Any) -> None: ...

    def method(*signatures: str) -> dict[str, Any]:
        return {"from": "Own", "stub_signatures": list(signatures)}

    peer = {
        "kind": "class",
        "bases": ["builtins.dict"],
        "attributes": {"limit": {"value": 3}, "gone": {}},
        "methods": {
            "__init__": method("(self, conf: dict[str, Any], size: int=5, more: Optional[int]=None) -> None"),
            "send": method("(self, key: Any=None, value: Any=...) -> None", "(self, value: Any, *, wait: Any=None)"),
            "any": method("(self, whatever: int=1, *args: Any, **kwargs: Any) -> None"),
            "lost": method("(self) -> None"),
        },
    }
    assert sorted(compare("Own", peer, Own)) == [
        "Own(more): missing",
        "Own(size): default 1 instead of 5",
        "Own.gone: missing",
        "Own.limit: 2 instead of 3",
        "Own.lost: missing",
        "Own.send(key): position 1 instead of 0",
        "Own.send(value): position 0 instead of 1",
        "Own.send(wait): default True instead of None",
        "Own: not a dict",
    ]
