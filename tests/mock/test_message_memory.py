"""The memory of produced messages is kept for later ones (message_pool.c): nobody sees another message's bytes."""

import os
import threading
import zlib

import pytest

from cykafka import Consumer, Producer, TopicPartition

#: Around the size classes' borders, beyond the largest class, and empty.
SIZES = (0, 1, 63, 64, 65, 127, 128, 700, 1500, 1900, 2048, 5000)


def payload_of(number):
    """Return a payload that tells its number, and whether it is whole."""
    size = SIZES[number % len(SIZES)]
    body = str(number).encode() * (size // len(str(number)))
    return str(number).encode() + b":" + body + b":" + str(zlib.crc32(body)).encode()


def check(payload):
    """Return the number of a payload that is as it was made."""
    number, body, checksum = payload.split(b":")
    assert zlib.crc32(body) == int(checksum)
    assert payload == payload_of(int(number))
    return int(number)


def test_threads_that_produce_and_one_that_serves_share_the_memory(mock_cluster):
    threads, count_each = 3, 800
    mock_cluster.create_topic("memory", 1, 1)
    served = threading.Event()
    reported = []
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 1}) as producer:

        def produce(first):
            for number in range(first, first + count_each):
                producer.produce(
                    "memory",
                    payload_of(number),
                    b"key",
                    0,
                    lambda error, message: reported.append((error, check(message.value()))),
                    timeout=30,
                )

        def serve():
            while not served.is_set():
                producer.poll(0.05)

        server = threading.Thread(target=serve)
        server.start()
        makers = [threading.Thread(target=produce, args=(i * count_each,)) for i in range(threads)]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join()
        assert producer.flush(60) == 0
        served.set()
        server.join()
    count = threads * count_each
    assert sorted(reported, key=lambda report: report[1]) == [(None, number) for number in range(count)]
    with Consumer({"bootstrap.servers": mock_cluster.bootstrap_servers, "group.id": "g"}) as consumer:
        consumer.assign([TopicPartition("memory", 0, 0)])
        got = []
        while len(got) < count:
            messages = consumer.consume(count, 10)
            assert messages, f"only {len(got)} of {count} messages came"
            got += [check(message.value()) for message in messages if message.error() is None]
    assert sorted(got) == list(range(count))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_child_forked_while_others_produce_can_produce(mock_cluster):
    mock_cluster.create_topic("memory", 1, 1)
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0}
    stop = threading.Event()
    with Producer(config) as producer:

        def produce():
            while not stop.is_set():
                for _ in range(200):
                    producer.produce("memory", b"x" * 100, partition=0, timeout=30)
                producer.flush(30)

        makers = [threading.Thread(target=produce) for _ in range(2)]
        for maker in makers:
            maker.start()
        try:
            for _ in range(20):
                pid = os.fork()
                if pid == 0:
                    # Only what a child may do: no client of the parent, no exit handlers.
                    outcome = 1
                    try:
                        mine = Producer(config)
                        mine.produce("memory", b"y" * 100, partition=0)
                        outcome = mine.flush(60)
                    finally:
                        os._exit(outcome)
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        finally:
            stop.set()
            for maker in makers:
                maker.join()
