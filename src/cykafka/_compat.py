"""Standing in for confluent_kafka in programs that import it by that name."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

from cykafka._rdkafka import core

_PEER = "confluent_kafka"
_OWN = "cykafka"


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds confluent_kafka.x as the very module cykafka.x."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _PEER and not fullname.startswith(f"{_PEER}."):
            return None
        own = _OWN + fullname[len(_PEER) :]
        try:
            found = importlib.util.find_spec(own)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=found.submodule_search_locations is not None)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        own = importlib.import_module(_OWN + spec.name[len(_PEER) :])
        # The import system writes the alias's spec into the module: what it was must be put back.
        self._originals = getattr(self, "_originals", {})
        self._originals[spec.name] = (own.__spec__, own.__loader__, own.__package__)
        return own

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None and spec.name in self._originals:
            module.__spec__, module.__loader__, module.__package__ = self._originals.pop(spec.name)


def install_as_confluent_kafka() -> None:
    """Let ``import confluent_kafka``, and its submodules, give cykafka from now on.

    Call it before anything imports confluent_kafka. Consumers made afterwards wait in consume() for all
    messages asked for, as confluent_kafka's do. Calling it twice is harmless.

    Raises:
        RuntimeError: If the real confluent_kafka has been imported already.
    """
    present = sys.modules.get(_PEER)
    if present is not None and present is not sys.modules[_OWN]:
        raise RuntimeError(
            "confluent_kafka is imported already: call cykafka.install_as_confluent_kafka() before anything imports it"
        )
    if not any(isinstance(finder, _Alias) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Alias())
    core.set_consume_waits_for_all(True)
    importlib.import_module(_PEER)
