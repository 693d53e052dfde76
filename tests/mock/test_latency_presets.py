"""The presets: accepted as they are, free of warnings, and explained."""

import re
from pathlib import Path

import pytest

from cykafka import Consumer, Producer, TopicPartition, presets
from tests.mock.conftest import take
from tests.support.clients import ROOT, Reports

NAMES = [name for name in presets.__all__ if name != "Preset"]
GUIDE = Path(ROOT, "docs/guides/low-latency.md")


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_carries_messages_without_warnings(mock_cluster, capfd, name):
    preset = getattr(presets, name)
    servers = {"bootstrap.servers": mock_cluster.bootstrap_servers}
    reports = Reports()
    with Producer({**preset["producer"], **servers}) as producer:
        producer.produce("t", b"v", partition=0, on_delivery=reports)
        assert producer.flush(60) == 0
    with Consumer({**preset["consumer"], **servers, "group.id": "g"}) as consumer:
        consumer.assign([TopicPartition("t", 0, 0)])
        assert take(consumer, 1)[0].value() == b"v"
    assert reports.errors == [None]
    assert "CONFWARN" not in capfd.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_every_value_has_its_reason_in_the_guide(name):
    text = GUIDE.read_text().split(f"### `{name}`")[1].split("\n##")[0]
    told = dict(re.findall(r"^\| `([a-z.]+)` \| `([^`]+)` \| \S.{10,} \|$", text, re.MULTILINE))
    preset = getattr(presets, name)
    values = {**preset["producer"], **preset["consumer"]}
    assert told == {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()}


def test_presets_are_plain_dictionaries():
    for name in NAMES:
        preset = getattr(presets, name)
        assert type(preset) is dict
        assert set(preset) == {"producer", "consumer"}
        for properties in preset.values():
            assert type(properties) is dict
            assert all(type(value) in (str, int, float, bool) for value in properties.values())
