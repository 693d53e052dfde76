"""Every name, parameter and default of confluent_kafka that cykafka has, has not, or has in another way.

The peer's interface is a file beside the repository, ``../shared/peer-api.json``. Whatever differs stands in
`DIFFERENCES` with the reason; an entry that is no longer true fails as well.
"""

import ast
import enum
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.unit

API = Path(__file__).resolve().parents[3] / "shared" / "peer-api.json"
PEER = "confluent_kafka"
MODULES = (
    "",
    ".admin",
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
    import cykafka.serialization
    import cykafka.testing

    lacking = []
    for module in (cykafka, cykafka.admin, cykafka.serialization, cykafka.testing):
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
