"""What a wheel must be able to do on a system it was not built on; `smoke.py` installs it there and runs this.

    python smoke_program.py                 on the embedded cluster alone
    python smoke_program.py servers.json

Only cykafka and the standard library are there. servers.json holds the properties that reach the test server's
listeners in the right way ("good") and those that a client must refuse ("bad").
"""

import json
import sys
import time
from pathlib import Path

from cykafka import Consumer, KafkaError, Message, Producer, TopicPartition, build_info
from cykafka.testing import MockCluster

SECONDS = 60
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


def send(config: dict[str, str], topic: str, value: bytes) -> int:
    """Send a message and return the offset that the server gave it."""
    delivered: list[tuple[KafkaError | None, Message]] = []
    producer = Producer(config)
    producer.produce(topic, value, partition=0, on_delivery=lambda error, message: delivered.append((error, message)))
    assert producer.flush(SECONDS) == 0, "not delivered"
    producer.close()
    ((error, message),) = delivered
    assert error is None, error
    offset = message.offset()
    assert offset is not None
    return offset


def send_and_receive(config: dict[str, str], topic: str) -> None:
    """Send a message in every compression and read them back."""
    sent = [f"{name} ".encode() * 1000 for name in COMPRESSIONS]
    offsets = [
        send({**config, "compression.type": compression}, topic, value)
        for compression, value in zip(COMPRESSIONS, sent, strict=True)
    ]
    consumer = Consumer({**config, "group.id": "smoke", "check.crcs": True})
    consumer.assign([TopicPartition(topic, 0, offsets[0])])
    received: list[bytes | None] = []
    while len(received) < len(sent):
        message = consumer.poll(SECONDS)
        assert message is not None, "nothing received"
        assert message.error() is None, message.error()
        received.append(message.value())
    consumer.close()
    assert received == sent


def is_refused(config: dict[str, str]) -> str:
    """Check that a client refuses a server, and return why."""
    errors: list[KafkaError] = []
    producer = Producer({**config, "error_cb": errors.append})
    producer.produce("smoke", b"must not arrive")
    deadline = time.monotonic() + SECONDS
    while not any(error.code() == KafkaError._SSL for error in errors):
        producer.poll(1)
        assert len(producer) == 1, "delivered to a server that must be refused"
        assert time.monotonic() < deadline, f"no error of TLS, but {errors}"
    producer.purge()
    producer.close()
    return next(error.str() for error in errors if error.code() == KafkaError._SSL)


def main() -> int:
    """Run it all; an exception tells what does not work."""
    info = build_info()
    print(", ".join(f"{library.name} {library.version}" for library in info.libraries))
    assert all(library.linking.value == "static" for library in info.libraries)
    with MockCluster() as cluster:
        send_and_receive({"bootstrap.servers": cluster.bootstrap_servers}, "smoke")
    print("embedded cluster: good")
    if len(sys.argv) == 1:
        return 0
    servers = json.loads(Path(sys.argv[1]).read_text())
    for name, config in servers["good"].items():
        send_and_receive(config, "smoke")
        print(f"{name}: good")
    for name, config in servers["bad"].items():
        print(f"{name}: refused: {is_refused(config)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
