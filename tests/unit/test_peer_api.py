"""Names, parameters and defaults against those of confluent_kafka, as peer-api.json lists them."""

import enum
import importlib
import inspect
import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

PEER_API = Path(__file__).resolve().parents[3] / "shared" / "peer-api.json"

MODULES = [
    "confluent_kafka",
    "confluent_kafka.admin",
    "confluent_kafka.cimpl",
    "confluent_kafka.error",
    "confluent_kafka.serialization",
    "confluent_kafka.serializing_producer",
    "confluent_kafka.deserializing_consumer",
]

PLUMBING = "how the peer builds serializers from configuration, not for users"
SHARE = "share groups are not there yet"

#: What differs, and why; a difference that is gone must go from here too.
DIFFERENCES = {
    "confluent_kafka.ShareConsumer": SHARE,
    "confluent_kafka.DeserializingShareConsumer": SHARE,
    "confluent_kafka.cimpl.ShareConsumer": SHARE,
    **{
        f"confluent_kafka.{module}.{name}": PLUMBING
        for module in ("serializing_producer", "deserializing_consumer")
        for name in (
            "SharedClusterIdResolver",
            "TYPE_CHECKING",
            "build_serdes",
            "pop_serde_props",
            "propagate_cluster_id_resolver",
        )
    },
}


@pytest.fixture(scope="module")
def peer():
    if not PEER_API.is_file():
        pytest.skip(f"needs {PEER_API.name} in the folder shared/ beside the repository")
    return json.loads(PEER_API.read_text())


def _parameters(signature):
    """Return (name, default) pairs of a signature's text, without self; None where it cannot be read."""
    inner = re.match(r"^\((.*)\)(?: -> .*)?$", signature.strip(), re.DOTALL)
    if inner is None:
        return None
    parts, depth, current = [], 0, ""
    for character in inner.group(1) + ",":
        depth += character in "([{"
        depth -= character in ")]}"
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    pairs = []
    for part in parts:
        if not part or part in ("self", "/", "*") or part.startswith("*"):
            continue
        name, _, default = part.partition("=")
        pairs.append((name.split(":")[0].strip(), default.strip() or None))
    return pairs


def _own_parameters(function):
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    return {name: p for name, p in signature.parameters.items() if name != "self"}


def _same_default(theirs, parameter):
    if theirs is None or theirs == "...":
        return True
    own = parameter.default
    if own is inspect.Parameter.empty:
        return False
    texts = {repr(own), str(own), repr(own).replace("'", '"')}
    if isinstance(own, enum.Enum):
        texts |= {f"<{type(own).__name__}.{own.name}: {own.value!r}>"}
    return theirs in texts or (theirs == "None" and own in (None, -1))


def _methods(own, description):
    """Yield what differs in a class's methods."""
    for name, method in (description.get("methods") or {}).items():
        if name.startswith("_"):
            continue
        if not hasattr(own, name):
            yield f"{name}: missing"
            continue
        theirs = method.get("signature")
        if theirs is None and len(method.get("stub_signatures", [])) == 1:
            theirs = method["stub_signatures"][0]
        mine = _own_parameters(getattr(own, name))
        if theirs is None or mine is None:
            continue
        takes_any = any(p.kind is p.VAR_KEYWORD for p in mine.values())
        for parameter, default in _parameters(theirs) or []:
            if parameter not in mine:
                if not takes_any:
                    yield f"{name}({parameter}): missing"
            elif not _same_default(default, mine[parameter]):
                yield f"{name}({parameter}): default {mine[parameter].default!r}, not {default}"


def _differences(api):
    for module_name in MODULES:
        own_module = importlib.import_module(module_name.replace("confluent_kafka", "cykafka", 1))
        for name, description in api[module_name].items():
            if name == "__meta__" or name.startswith("_"):
                continue
            where = f"{module_name}.{name}"
            if not hasattr(own_module, name):
                yield where
                continue
            own = getattr(own_module, name)
            if description["kind"] == "constant" and own != description["value"]:
                yield where
            if description["kind"] == "enum":
                for member, value in description["members"].items():
                    if own[member].value != value:
                        yield f"{where}.{member}"
            if description["kind"] in ("class", "exception"):
                for problem in _methods(own, description):
                    yield f"{where}.{problem}"


def test_nothing_is_missing_without_a_reason(peer):
    found = set(_differences(peer))
    assert found - set(DIFFERENCES) == set()
    assert set(DIFFERENCES) - found == set(), "these do not differ any more"
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
