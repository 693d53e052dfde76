"""Tracing with OpenTelemetry."""

import builtins
import sys

import pytest

from cykafka import Producer, TopicPartition
from cykafka.opentelemetry import TracingInterceptor
from tests.mock.conftest import take

pytest.importorskip("opentelemetry.sdk.trace", reason="tracing needs the package opentelemetry-sdk")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    yield made
    made.shutdown()


@pytest.fixture
def tracing(provider):
    return TracingInterceptor(provider, group="group", client_id="me")


@pytest.fixture
def traced(mock_cluster, tracing):
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0, "interceptors": [tracing]}
    with Producer(config) as producer:
        yield producer


def receive(make_consumer, tracing, count=1):
    consumer = make_consumer(interceptors=[tracing])
    consumer.assign([TopicPartition("topic", 0, 0)])
    return take(consumer, count)


def test_a_trace_goes_from_producer_to_consumer(traced, tracing, provider, exporter, make_consumer):
    with provider.get_tracer("app").start_as_current_span("request") as request:
        traced.produce("topic", "value", key="key", partition=0, headers={"own": "1"})
    traced.flush(20)
    (message,) = receive(make_consumer, tracing)
    with tracing.process(message) as current, provider.get_tracer("app").start_as_current_span("inner"):
        assert current.is_recording()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"request", "send topic", "poll topic", "process topic", "inner"}
    assert {span.context.trace_id for span in spans.values()} == {request.get_span_context().trace_id}
    send, poll, process = (spans[f"{what} topic"] for what in ("send", "poll", "process"))
    assert (send.kind, poll.kind, process.kind) == (SpanKind.PRODUCER, SpanKind.CLIENT, SpanKind.CONSUMER)
    assert send.parent.span_id == request.get_span_context().span_id
    assert spans["inner"].parent.span_id == process.context.span_id
    for span in (poll, process):
        assert span.parent.span_id == send.context.span_id
        assert [link.context.span_id for link in span.links] == [send.context.span_id]
    common = {
        "messaging.system": "kafka",
        "messaging.client.id": "me",
        "messaging.destination.name": "topic",
        "messaging.destination.partition.id": "0",
        "messaging.kafka.message.key": "key",
        "messaging.kafka.offset": 0,
        "messaging.message.body.size": 5,
    }
    assert dict(send.attributes) == {
        **common,
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
    }
    consumer_side = {**common, "messaging.consumer.group.name": "group"}
    assert dict(poll.attributes) == {
        **consumer_side,
        "messaging.operation.name": "poll",
        "messaging.operation.type": "receive",
    }
    assert dict(process.attributes) == {
        **consumer_side,
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
    }
    headers = dict(message.headers())
    assert headers["own"] == b"1"
    assert headers["traceparent"].startswith(b"00-%032x-%016x-" % (send.context.trace_id, send.context.span_id))


def test_a_span_that_is_active_stays_the_parent(traced, tracing, provider, exporter, make_consumer):
    traced.produce("topic", "value", partition=0)
    traced.flush(20)
    with provider.get_tracer("app").start_as_current_span("loop") as loop:
        receive(make_consumer, tracing)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert spans["poll topic"].parent.span_id == loop.get_span_context().span_id
    assert spans["poll topic"].links[0].context.trace_id == spans["send topic"].context.trace_id


def test_errors_are_in_the_spans(traced, tracing, exporter, make_consumer):
    with pytest.raises(TypeError):
        traced.produce("topic", 5)
    traced.produce("topic", None, key=b"\xff", partition=0)
    traced.flush(20)
    (message,) = receive(make_consumer, tracing)
    with pytest.raises(ZeroDivisionError), tracing.process(message):
        raise ZeroDivisionError("mine")
    refused, sent, polled, processed = exporter.get_finished_spans()
    assert refused.status.status_code == StatusCode.ERROR
    assert refused.attributes["error.type"] == "_INVALID_ARG"
    assert sent.attributes["messaging.kafka.message.tombstone"] is True
    assert "messaging.kafka.message.key" not in sent.attributes
    assert polled.status.status_code == StatusCode.UNSET
    assert processed.status.status_code == StatusCode.ERROR
    assert processed.attributes["error.type"] == "ZeroDivisionError"
    assert processed.events[0].name == "exception"


def test_a_failed_delivery_ends_the_span_with_its_error(tracing, exporter):
    with Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "interceptors": [tracing]}) as producer:
        producer.produce("topic", "v")
        assert exporter.get_finished_spans() == ()
        producer.purge()
        producer.flush(20)
    (span,) = exporter.get_finished_spans()
    assert span.attributes["error.type"] == "_PURGE_QUEUE"
    assert "messaging.kafka.offset" not in span.attributes


def test_a_context_that_is_there_is_replaced(traced, tracing, make_consumer, exporter):
    """A message that is passed on with its headers is a new one."""
    old = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
    traced.produce("topic", "v", partition=0, headers=[("traceparent", old), ("tracestate", None)])
    traced.flush(20)
    (message,) = receive(make_consumer, tracing)
    contexts = [value for name, value in message.headers() if name == "traceparent"]
    assert len(contexts) == 1
    assert contexts[0].decode() != old


def test_messages_without_a_context_have_spans_without_a_link(producer, tracing, make_consumer, exporter):
    producer.produce("topic", "v", partition=0, headers={"traceparent": "nonsense"})
    producer.flush(20)
    (message,) = receive(make_consumer, tracing)
    with tracing.process(message):
        pass
    for span in exporter.get_finished_spans():
        assert span.parent is None
        assert not span.links


def test_keys_may_be_left_out(mock_cluster, provider, exporter):
    tracing = TracingInterceptor(provider, message_keys=False)
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "interceptors": [tracing]}
    with Producer(config) as producer:
        producer.produce("topic", "v", key="secret")
    assert "secret" not in str(dict(exporter.get_finished_spans()[0].attributes))


def test_without_opentelemetry_one_sentence_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def refusing(name, *args, **kwargs):
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refusing)
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install cykafka\[opentelemetry\]"):
        TracingInterceptor()
