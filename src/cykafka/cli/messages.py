"""Produce and consume, in the manner of kcat."""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import click

from cykafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_STORED,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from cykafka.cli.connection import Connection, connected, parse_time
from cykafka.cli.output import write

ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
NAMED_OFFSETS = {"beginning": OFFSET_BEGINNING, "end": OFFSET_END, "stored": OFFSET_STORED}
FORMATS = """%t topic, %p partition, %o offset, %k key, %s value, %T timestamp in ms, %h headers, %S value size,
%K key size, %% a percent sign; \\n, \\t, \\r, \\0 as usual."""


def unescape(text: str) -> bytes:
    r"""Replace \n, \t, \r, \0 and \\ by what they stand for."""
    parts = text.split("\\")
    data = parts[0].encode()
    rest = iter(parts[1:])
    for part in rest:
        if not part:
            # Two backslashes: the split has made an empty part between them.
            data += b"\\" + next(rest, "").encode()
        else:
            data += ESCAPES.get(part[0], b"\\" + part[0].encode()) + part[1:].encode()
    return data


def parse_header(text: str) -> tuple[str, bytes | None]:
    """Split NAME=VALUE; a name alone is a header without value."""
    name, separator, value = text.partition("=")
    if not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="-H")
    return name, value.encode() if separator else None


def split(stream: IO[bytes], delimiter: bytes) -> Iterator[bytes]:
    """Yield what stands between delimiters; an empty last part is none."""
    if delimiter == b"\n":
        for line in stream:
            yield line.removesuffix(b"\n")
        return
    rest = b""
    while chunk := stream.read(65536):
        *parts, rest = (rest + chunk).split(delimiter)
        yield from parts
    if rest:
        yield rest


def decode_json(text: str | None, encoded: str | None) -> bytes | None:
    """Return a field's bytes, from its text or from its base64."""
    if encoded is not None:
        return base64.b64decode(encoded, validate=True)
    return None if text is None else text.encode()


def from_json(line: bytes, number: int) -> dict[str, Any]:
    """Read a message as `as_json` writes it; text, or base64 in a field whose name ends in _base64."""
    try:
        data = json.loads(line)
        value = data.get("value")
        if value is not None and not isinstance(value, str):
            value = json.dumps(value)
        return {
            "value": decode_json(value, data.get("value_base64")),
            "key": decode_json(data.get("key"), data.get("key_base64")),
            "headers": [
                (header["name"], decode_json(header.get("value"), header.get("value_base64")))
                for header in data.get("headers") or []
            ],
            "timestamp": data.get("timestamp") or 0,
            "partition": data.get("partition", -1),
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.ClickException(f"line {number} is not a message as 'consume --json' prints it: {error}") from error


@click.command()
@click.argument("topic")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-k", "--key", help="Key of all messages.")
@click.option("-K", "--key-delimiter", help="Each message begins with its key, which ends here.")
@click.option("-D", "--delimiter", default="\\n", show_default=True, help="What ends a message.")
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME=VALUE", help="Header of all messages.")
@click.option("-p", "--partition", type=click.IntRange(min=0), help="Partition; else the partitioner's choice.")
@click.option("-T", "--timestamp", type=click.IntRange(min=0), default=0, help="Milliseconds since the epoch.")
@click.option("-Z", "--null", "empty_is_null", is_flag=True, help="An empty value or key is null (a tombstone).")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: each line is an object as 'consume --json' prints it.",
)
@connected
def produce(
    connection: Connection,
    topic: str,
    files: tuple[Path, ...],
    key: str | None,
    key_delimiter: str | None,
    delimiter: str,
    headers: tuple[str, ...],
    partition: int | None,
    timestamp: int,
    empty_is_null: bool,
    form: str,
) -> None:
    """Produce messages to TOPIC: the lines of standard input, or FILES, each as one message."""
    common = [parse_header(text) for text in headers]
    failed: list[str] = []
    delivered = 0

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        nonlocal delivered
        if error is None:
            delivered += 1
        else:
            failed.append(error.str())

    def null(data: bytes | None) -> bytes | None:
        return None if empty_is_null and data == b"" else data

    def read() -> Iterator[dict[str, Any]]:
        if files:
            for path in files:
                yield {"value": path.read_bytes(), "key": key}
            return
        ends = b"\n" if form == "json" else unescape(delimiter)
        if not ends:
            raise click.BadParameter("must not be empty", param_hint="-D")
        for number, part in enumerate(split(sys.stdin.buffer, ends), 1):
            if form == "json":
                if part.strip():
                    yield from_json(part, number)
                continue
            value: bytes | None = part
            own: bytes | None = None if key is None else key.encode()
            if key_delimiter is not None:
                own, found, value = part.partition(unescape(key_delimiter))
                if not found:
                    own, value = (None if key is None else key.encode()), part
            yield {"value": null(value), "key": null(own)}

    with Producer(connection.config() | {"on_delivery": on_delivery}) as producer:
        # Whether the cluster is there is said at once, not when the first message times out.
        producer.list_topics(topic, connection.timeout)
        for message in read():
            message["headers"] = [*common, *message.get("headers", [])] or None
            if partition is not None:
                message["partition"] = partition
            message["timestamp"] = message.get("timestamp") or timestamp
            producer.produce(topic, timeout=-1, **message)
            producer.poll(0)
        left = producer.flush()
    if failed or left:
        reasons = ", ".join(sorted(set(failed))) or "no acknowledgement"
        raise click.ClickException(f"{len(failed) + left} messages were not delivered: {reasons}")
    connection.output.done(f"{delivered} delivered", delivered=delivered)


def parse_offset(text: str) -> Callable[[Consumer, TopicPartition, float], int]:
    """Return how an offset of the option -o is found for a partition.

    It is a name, a number, a negative number counted from the end, or s@TIME (milliseconds, or ISO 8601).
    """
    if text in NAMED_OFFSETS:
        return lambda *_: NAMED_OFFSETS[text]
    if text.startswith("s@"):
        milliseconds = parse_time(text[2:])

        def at_time(consumer: Consumer, partition: TopicPartition, timeout: float) -> int:
            asked = TopicPartition(partition.topic, partition.partition, milliseconds)
            offset = consumer.offsets_for_times([asked], timeout)[0].offset
            return offset if offset >= 0 else OFFSET_END

        return at_time
    try:
        number = int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not {', '.join(NAMED_OFFSETS)}, a number, or s@TIME") from None
    if number >= 0:
        return lambda *_: number

    def from_end(consumer: Consumer, partition: TopicPartition, timeout: float) -> int:
        watermarks = consumer.get_watermark_offsets(partition, timeout)
        return max(watermarks[0], watermarks[1] + number)

    return from_end


def text_of(name: str, data: bytes | None) -> dict[str, Any]:
    """Return a field as JSON: text if it is UTF-8, else base64 under another name."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def as_json(message: Message) -> dict[str, Any]:
    """Return a message as an object for JSON."""
    kind, milliseconds = message.timestamp()
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": milliseconds if kind else None,
        **text_of("key", message.key()),
        **text_of("value", message.value()),
        "headers": [{"name": name, **text_of("value", value)} for name, value in message.headers() or []],
    }


def formatter(text: str) -> Callable[[Message], bytes]:
    """Return what makes bytes of a message by a format such as ``%k: %s``."""
    fields: dict[str, Callable[[Message], bytes]] = {
        "t": lambda message: (message.topic() or "").encode(),
        "p": lambda message: str(message.partition()).encode(),
        "o": lambda message: str(message.offset()).encode(),
        "k": lambda message: message.key() or b"",
        "s": lambda message: message.value() or b"",
        "T": lambda message: str(message.timestamp()[1]).encode(),
        "S": lambda message: str(-1 if message.value() is None else len(message.value() or b"")).encode(),
        "K": lambda message: str(-1 if message.key() is None else len(message.key() or b"")).encode(),
        "h": lambda message: b",".join(
            name.encode() + b"=" + (value or b"") for name, value in message.headers() or []
        ),
        "%": lambda _: b"%",
    }
    first, *rest = text.split("%")
    pieces: list[bytes | Callable[[Message], bytes]] = [unescape(first)]
    parts = iter(rest)
    for part in parts:
        name = part[:1]
        if not name:
            # "%%" has split into an empty part.
            pieces += [b"%", unescape(next(parts, ""))]
        elif name in fields:
            pieces += [fields[name], unescape(part[1:])]
        else:
            raise click.BadParameter(f"%{name} is unknown; there are {FORMATS}", param_hint="-f")
    return lambda message: b"".join(piece if isinstance(piece, bytes) else piece(message) for piece in pieces)


def choose_format(form: str | None, key_delimiter: str | None, as_lines: bool) -> Callable[[Message], bytes]:
    """Return what makes bytes of a message by the options."""
    if as_lines:
        return lambda message: json.dumps(as_json(message), ensure_ascii=False).encode() + b"\n"
    if form is not None:
        return formatter(form)
    if key_delimiter is None:
        return lambda message: (message.value() or b"") + b"\n"
    between = unescape(key_delimiter)
    return lambda message: (message.key() or b"") + between + (message.value() or b"") + b"\n"


def start(
    consumer: Consumer, connection: Connection, topics: tuple[str, ...], partitions: tuple[int, ...], offset: str
) -> list[TopicPartition]:
    """Assign the partitions of topics from an offset on; returns them."""
    find = parse_offset(offset)
    wanted = []
    for topic in topics:
        metadata = connection.topic(consumer, topic)
        missing = set(partitions) - set(metadata.partitions)
        if missing:
            raise click.ClickException(f"{topic} has no partition {min(missing)}: it has {len(metadata.partitions)}")
        wanted += [TopicPartition(topic, number) for number in sorted(partitions or metadata.partitions)]
    for partition in wanted:
        partition.offset = find(consumer, partition, connection.timeout)
    consumer.assign(wanted)
    return wanted


@click.command(epilog=f"Formats: {FORMATS}")
@click.argument("topics", nargs=-1, required=True)
@click.option("-G", "--group", help="Join this consumer group, and commit what was printed.")
@click.option("-p", "--partition", "partitions", type=click.IntRange(min=0), multiple=True, help="Only this one.")
@click.option(
    "-o",
    "--offset",
    default="beginning",
    show_default=True,
    metavar="OFFSET",
    help="beginning, end, stored, a number, -N for the last N, s@TIME; in a group where it has not committed.",
)
@click.option("-c", "--count", type=click.IntRange(min=1), help="End after so many messages.")
@click.option("-e", "--exit", "at_end", is_flag=True, help="End at the end of all partitions.")
@click.option("-f", "--format", "form", help="How to print a message, for example '%k: %s\\n'.")
@click.option("-K", "--key-delimiter", help="Print the key before the value, and this between.")
@click.option("-u", "--unbuffered", is_flag=True, help="Write every message at once.")
@connected
def consume(
    connection: Connection,
    topics: tuple[str, ...],
    group: str | None,
    partitions: tuple[int, ...],
    offset: str,
    count: int | None,
    at_end: bool,
    form: str | None,
    key_delimiter: str | None,
    unbuffered: bool,
) -> None:
    """Print the messages of TOPICS."""
    render = choose_format(form, key_delimiter, connection.output.as_json)
    if group and partitions:
        raise click.UsageError("-p and -G do not go together: a group shares out the partitions itself")
    if group and offset not in ("beginning", "end", "stored"):
        raise click.UsageError("with -G, -o is beginning or end: where to begin without a committed offset")
    parse_offset(offset)
    config = connection.config(
        group_id=group or "cykafka-cli",
        enable_partition_eof=at_end,
        enable_auto_commit=bool(group),
        enable_auto_offset_store=False,
        auto_offset_reset="end" if offset == "end" else "beginning",
    )
    printed = 0
    ended: set[tuple[str, int]] = set()
    with Consumer(config) as consumer:
        if group:
            for topic in topics:
                connection.topic(consumer, topic)
            consumer.subscribe(list(topics))
        else:
            start(consumer, connection, topics, partitions, offset)
        idle_since = time.monotonic()
        while count is None or printed < count:
            message = consumer.poll(0.2)
            if message is None:
                # People watching a quiet topic see what came so far.
                if time.monotonic() - idle_since > 0.1:
                    sys.stdout.buffer.flush()
                continue
            idle_since = time.monotonic()
            error = message.error()
            if error is not None:
                if error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                ended.add((str(message.topic()), int(message.partition() or 0)))
                if ended >= {(each.topic, each.partition) for each in consumer.assignment()}:
                    break
                continue
            ended.discard((str(message.topic()), int(message.partition() or 0)))
            write(render(message))
            printed += 1
            if unbuffered:
                sys.stdout.buffer.flush()
            if group:
                consumer.store_offsets(message=message)
        sys.stdout.buffer.flush()
