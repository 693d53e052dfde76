"""Offsets in the form that checkpoints keep."""

import json

import pytest

from cykafka.spark.offsets import StreamOffset, TopicPartition, describe, parse_numbers, to_json

pytestmark = pytest.mark.unit

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_json_is_that_of_the_jvm_connector():
    assert json.dumps(to_json({B0: 7, A1: 5, A0: 3})) == '{"a": {"0": 3, "1": 5}, "b": {"0": 7}}'


def test_partitions_are_sorted_as_numbers():
    offsets = {TopicPartition("t", number): number for number in (10, 2, 1)}
    assert list(to_json(offsets)["t"]) == ["1", "2", "10"]


def test_offsets_survive_the_round_trip():
    positions = {A0: 2**53 + 1, B0: 0}
    assert StreamOffset.from_json(json.loads(describe(positions))).positions == positions


def test_end_of_the_first_batch_carries_its_start():
    first = StreamOffset({A0: 9, B0: 4}, {A0: 2, B0: 4})
    stored = json.loads(json.dumps(first.to_json()))
    assert StreamOffset.from_json(stored) == first
    # What the JVM connector makes of it: it ignores topics without partitions.
    jvm = {(topic, number) for topic, partitions in stored.items() for number in partitions}
    assert jvm == {("a", "0"), ("b", "0")}


@pytest.mark.parametrize(
    "wrong", [[], "x", {"t": 1}, {"t": {"x": 1}}, {"t": {"0": "1"}}, {"t": {"0": 1.5}}, {"t": {"0": True}}]
)
def test_malformed_offsets_are_refused_with_an_example(wrong):
    with pytest.raises(ValueError, match="expected e.g. EXAMPLE, got"):
        parse_numbers(wrong, "EXAMPLE")
