"""OpenTelemetry tracing of producers and consumers; needs ``pip install cykafka[opentelemetry]``.

Spans and attributes follow OpenTelemetry's semantic conventions for messaging and Kafka; the trace context travels in
the headers of the messages (W3C ``traceparent`` and ``tracestate``, or whatever propagator is configured).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cykafka._rdkafka.core import KafkaError, Message, ProducerRecord
from cykafka._version import __version__
from cykafka.interceptors import ConsumerInterceptor, ProducerInterceptor

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.propagators.textmap import TextMapPropagator
    from opentelemetry.trace import Link, Span, TracerProvider

__all__ = ["TracingInterceptor"]

_Headers = list[tuple[str, Any]]


class _HeaderSetter:
    """Writes a propagator's fields into headers."""

    def set(self, carrier: _Headers, key: str, value: str) -> None:
        carrier[:] = [pair for pair in carrier if pair[0] != key]
        carrier.append((key, value.encode()))


class _HeaderGetter:
    """Reads a propagator's fields from headers."""

    def get(self, carrier: _Headers, key: str) -> list[str] | None:
        values = [
            value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            for name, value in carrier
            if name.lower() == key.lower() and value is not None
        ]
        return values or None

    def keys(self, carrier: _Headers) -> list[str]:
        return [name for name, _ in carrier]


class TracingInterceptor(ProducerInterceptor, ConsumerInterceptor):
    """Makes spans of what goes through the clients it is configured in; one may serve many clients.

    - A producer's message has a span ``send <topic>`` (kind PRODUCER) from produce() to its acknowledgement. Its
      context is put into the headers of the message.
    - A consumer's message has a span ``poll <topic>`` (kind CLIENT), made when poll() or consume() returns it, with a
      link to the context in its headers, and that as its parent if no span is active.
    - `process` makes the span ``process <topic>`` (kind CONSUMER) around what an application does with a message.

    Args:
        tracer_provider: Provider of tracers; the global one if not given.
        propagator: What writes and reads the context; the global one if not given.
        group: Group of the consumers, for their spans.
        client_id: Client id, for all spans.
        message_keys: Put the keys of messages into the spans.

    ::

        tracing = TracingInterceptor()
        producer = Producer({..., "interceptors": [tracing]})
        consumer = Consumer({..., "interceptors": [tracing]})
        for message in consumer:
            with tracing.process(message):
                work(message)

    Thread-safe.

    Raises:
        ImportError: If OpenTelemetry is not installed.
    """

    def __init__(
        self,
        tracer_provider: "TracerProvider | None" = None,
        *,
        propagator: "TextMapPropagator | None" = None,
        group: str | None = None,
        client_id: str | None = None,
        message_keys: bool = True,
    ) -> None:
        try:
            from opentelemetry import propagate, trace
        except ImportError as error:
            raise ImportError("tracing needs OpenTelemetry: pip install cykafka[opentelemetry]") from error
        self._trace = trace
        self._tracer = trace.get_tracer("cykafka", __version__, tracer_provider)
        self._propagator = propagator or propagate.get_global_textmap()
        self._message_keys = message_keys
        self._setter: Any = _HeaderSetter()
        self._getter: Any = _HeaderGetter()
        self._common = {"messaging.system": "kafka"}
        if client_id is not None:
            self._common["messaging.client.id"] = client_id
        self._consumer = {} if group is None else {"messaging.consumer.group.name": group}

    def on_send(self, record: ProducerRecord) -> None:
        """Begin the span of a message and put its context into the headers."""
        span = self._tracer.start_span(
            f"send {record.topic}",
            kind=self._trace.SpanKind.PRODUCER,
            attributes=self._attributes("send", "send", record.topic, record.key, record.value),
        )
        record.state[self] = span
        self._propagator.inject(record.headers, self._trace.set_span_in_context(span), self._setter)

    def on_acknowledgement(self, record: ProducerRecord, error: KafkaError | None, message: Message | None) -> None:
        """End the span of a message."""
        span: Span | None = record.state.pop(self, None)
        if span is None:
            return
        if message is not None and error is None:
            span.set_attributes(_place(message))
        if error is not None:
            span.set_attribute("error.type", error.name())
            span.set_status(self._trace.StatusCode.ERROR, error.str())
        span.end()

    def on_consume(self, message: Message) -> None:
        """Make a span of a message that has been received."""
        context = self.context_of(message)
        active = self._trace.get_current_span().get_span_context().is_valid
        self._tracer.start_span(
            f"poll {message.topic()}",
            context=None if active else context,
            kind=self._trace.SpanKind.CLIENT,
            links=self._links(context),
            attributes=self._message_attributes("poll", "receive", message),
        ).end()

    def context_of(self, message: Message) -> "Context":
        """Return the context in a message's headers, an empty one if there is none.

        Args:
            message: Message of any client.
        """
        from opentelemetry.context import Context

        return self._propagator.extract(message.headers() or [], Context(), self._getter)

    @contextmanager
    def process(self, message: Message) -> "Iterator[Span]":
        """Return a context manager that makes a span of the processing of a message, active meanwhile.

        Its parent is the context in the message's headers. An exception is recorded in the span, and goes on.

        Args:
            message: Message that a consumer returned.

        Yields:
            Span: The span.
        """
        context = self.context_of(message)
        with self._tracer.start_as_current_span(
            f"process {message.topic()}",
            context=context,
            kind=self._trace.SpanKind.CONSUMER,
            links=self._links(context),
            attributes=self._message_attributes("process", "process", message),
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_attribute("error.type", type(error).__qualname__)
                raise

    def _links(self, context: "Context") -> "list[Link]":
        """Return a link to the span in a context, if there is one."""
        origin = self._trace.get_current_span(context).get_span_context()
        return [self._trace.Link(origin)] if origin.is_valid else []

    def _attributes(self, name: str, kind: str, topic: str | None, key: Any, value: Any) -> dict[str, Any]:
        """Return the attributes that all spans have."""
        attributes: dict[str, Any] = {
            **self._common,
            "messaging.operation.name": name,
            "messaging.operation.type": kind,
            "messaging.destination.name": str(topic),
        }
        if isinstance(key, bytes | str) and self._message_keys:
            # A key that is no text cannot be an attribute.
            text = key if isinstance(key, str) else key.decode("utf-8", "surrogateescape")
            if text.isprintable():
                attributes["messaging.kafka.message.key"] = text
        if value is None:
            attributes["messaging.kafka.message.tombstone"] = True
        elif isinstance(value, str):
            attributes["messaging.message.body.size"] = len(value.encode())
        elif hasattr(value, "__len__"):
            attributes["messaging.message.body.size"] = len(value)
        return attributes

    def _message_attributes(self, name: str, kind: str, message: Message) -> dict[str, Any]:
        """Return the attributes of a span about a consumed message."""
        attributes = self._attributes(name, kind, message.topic(), message.key(), message.value())
        return {**attributes, **self._consumer, **_place(message)}


def _place(message: Message) -> dict[str, Any]:
    """Return the attributes that say where in its topic a message is."""
    place: dict[str, Any] = {}
    if message.partition() is not None:
        place["messaging.destination.partition.id"] = str(message.partition())
    if message.offset() is not None:
        place["messaging.kafka.offset"] = message.offset()
    return place
