"""Options of the source and the sink."""

import logging

import pytest

from cykafka.spark.errors import OptionError
from cykafka.spark.offsets import TopicPartition
from cykafka.spark.options import Delivery, PositionKind, parse_duration, read_options, write_options

pytestmark = pytest.mark.unit

SERVERS = {"kafka.bootstrap.servers": "localhost:1"}
BASE = {**SERVERS, "subscribe": "t"}


def read(streaming=True, **options):
    return read_options(
        {**BASE, **{name.replace("__", "."): value for name, value in options.items()}}, streaming=streaming
    )


def test_names_are_matched_whatever_their_case():
    options = read_options(
        {"KAFKA.Bootstrap.Servers": "localhost:1", "SUBSCRIBE": "a, b ,a", "FailOnDataLoss": "FALSE"},
        streaming=True,
    )
    assert options.topics.subscribe == ("a", "b")
    assert options.consumer["bootstrap.servers"] == "localhost:1"
    assert not options.fail_on_data_loss


def test_defaults_are_those_of_the_jvm_connector():
    stream, batch = read(), read(streaming=False)
    assert stream.starting.kind is PositionKind.LATEST
    assert batch.starting.kind is PositionKind.EARLIEST
    assert batch.ending.kind is PositionKind.LATEST
    assert stream.fail_on_data_loss
    assert stream.poll_timeout == 120
    assert stream.fetch_retries == 3
    assert stream.max_trigger_delay == 900
    assert stream.group_id_prefix == "spark-kafka-source"
    assert batch.group_id_prefix == "spark-kafka-relation"
    assert (stream.max_offsets_per_trigger, stream.min_partitions, stream.max_records_per_partition) == (None,) * 3


def test_precedence_of_starts():
    everything = {
        "startingTimestamp": "5",
        "startingOffsetsByTimestamp": '{"t":{"0":6}}',
        "startingOffsets": '{"t":{"0":7}}',
    }
    starting = read(**everything).starting
    assert (starting.kind, starting.timestamp) == (PositionKind.TIMESTAMP, 5)
    del everything["startingTimestamp"]
    starting = read(**everything).starting
    assert (starting.kind, starting.by_partition) == (PositionKind.TIMESTAMPS, {TopicPartition("t", 0): 6})
    del everything["startingOffsetsByTimestamp"]
    starting = read(**everything).starting
    assert (starting.kind, starting.by_partition) == (PositionKind.OFFSETS, {TopicPartition("t", 0): 7})


def test_group_id_overrides_the_prefix_with_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        options = read(groupIdPrefix="p", kafka__group__id="g")
    assert options.group_id == "g"
    assert "groupIdPrefix" in caplog.text


def test_limits_of_streams_have_no_effect_in_a_batch_and_it_says_so(caplog):
    with caplog.at_level(logging.WARNING):
        read(streaming=False, maxOffsetsPerTrigger="5")
    assert "maxOffsetsPerTrigger" in caplog.text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15m", 900), ("30s", 30), ("100ms", 0.1), ("2h", 7200), ("1d", 86400), ("250", 0.25)],
)
def test_durations(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"subscribe": "t"}, "kafka.bootstrap.servers"),
        (SERVERS, "subscribe"),
        ({**BASE, "assign": '{"t":[0]}'}, "subscribe"),
        ({**SERVERS, "subscribe": " , "}, "subscribe"),
        ({**SERVERS, "subscribe": ""}, "subscribe"),
        ({**SERVERS, "assign": '{"t":["0"]}'}, "assign"),
        ({**SERVERS, "assign": "t"}, "assign"),
        ({**SERVERS, "assign": "{}"}, "assign"),
        ({**SERVERS, "subscribePattern": "("}, "subscribePattern"),
        ({**BASE, "startingOffsets": "soon"}, "startingOffsets"),
        ({**BASE, "startingOffsets": '{"t":{"0":-3}}'}, "startingOffsets"),
        ({**BASE, "startingOffsets": "{}"}, "startingOffsets"),
        ({**BASE, "startingTimestamp": "-1"}, "startingTimestamp"),
        ({**BASE, "startingOffsetsByTimestamp": '{"t":{"0":-1}}'}, "startingOffsetsByTimestamp"),
        ({**BASE, "startingOffsetsByTimestampStrategy": "x"}, "startingOffsetsByTimestampStrategy"),
        ({**BASE, "endingOffsets": "latest"}, "endingOffsets"),
        ({**BASE, "endingTimestamp": "1"}, "endingTimestamp"),
        ({**BASE, "failOnDataLoss": "maybe"}, "failOnDataLoss"),
        ({**BASE, "minPartitions": "0"}, "minPartitions"),
        ({**BASE, "minPartitions": "2.5"}, "minPartitions"),
        ({**BASE, "maxRecordsPerPartition": "0"}, "maxRecordsPerPartition"),
        ({**BASE, "minRecordsPerPartition": "5", "minPartitions": "2"}, "minRecordsPerPartition"),
        ({**BASE, "maxOffsetsPerTrigger": "-5"}, "maxOffsetsPerTrigger"),
        ({**BASE, "minOffsetsPerTrigger": "6", "maxOffsetsPerTrigger": "5"}, "minOffsetsPerTrigger"),
        ({**BASE, "maxTriggerDelay": "soon"}, "maxTriggerDelay"),
        ({**BASE, "kafkaConsumer.pollTimeoutMs": "x"}, "kafkaConsumer.pollTimeoutMs"),
        ({**BASE, "fetchOffset.numRetries": "-1"}, "fetchOffset.numRetries"),
        ({**BASE, "includeHeaders": "yes"}, "includeHeaders"),
        ({**BASE, "kafka.auto.offset.reset": "latest"}, "kafka.auto.offset.reset"),
    ],
)
def test_wrong_options_of_a_stream_are_named(given, option):
    with pytest.raises(OptionError) as caught:
        read_options(given, streaming=True)
    assert caught.value.option == option
    assert f"Option '{option}'" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets"),
        ({"startingOffsets": '{"t":{"0":-1}}'}, "startingOffsets"),
        ({"endingOffsets": "earliest"}, "endingOffsets"),
        ({"endingOffsets": '{"t":{"0":-2}}'}, "endingOffsets"),
    ],
)
def test_wrong_options_of_a_batch_are_named(given, option):
    with pytest.raises(OptionError) as caught:
        read_options({**BASE, **given}, streaming=False)
    assert caught.value.option == option


@pytest.mark.parametrize(
    ("given", "streaming", "option"),
    [
        ({}, False, "kafka.bootstrap.servers"),
        ({**SERVERS, "delivery": "twice"}, True, "delivery"),
        ({**SERVERS, "topic": ""}, True, "topic"),
        ({**SERVERS, "delivery": "exactly_once"}, False, "txnAppId"),
        ({**SERVERS, "delivery": "exactly_once", "txnAppId": "a"}, False, "txnVersion"),
        ({**SERVERS, "delivery": "exactly_once", "txnVersion": "1"}, False, "txnAppId"),
        ({**SERVERS, "delivery": "exactly_once", "txnAppId": "a", "txnVersion": "x"}, False, "txnVersion"),
        ({**SERVERS, "txnAppId": "a", "txnVersion": "1"}, False, "txnAppId"),
        ({**SERVERS, "delivery": "exactly_once", "txnAppId": "a", "txnVersion": "1"}, True, "txnAppId"),
        ({**SERVERS, "kafka.value.serializer": "x"}, True, "kafka.value.serializer"),
    ],
)
def test_wrong_options_of_a_writer_are_named(given, streaming, option):
    with pytest.raises(OptionError) as caught:
        write_options(given, streaming=streaming)
    assert caught.value.option == option


def test_options_of_a_writer():
    options = write_options(
        {**SERVERS, "topic": "t", "delivery": "EXACTLY_ONCE", "txnAppId": "a", "txnVersion": "3"},
        streaming=False,
    )
    assert options.delivery is Delivery.EXACTLY_ONCE
    assert (options.topic, options.txn_app_id, options.txn_version) == ("t", "a", 3)
