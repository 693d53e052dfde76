"""Clients that are closed or dropped at the worst moment: an error at most, never a crash.

Each test asks what happens if Python code runs, or another thread closes the client, where C code holds a pointer.
"""

from __future__ import annotations

import gc
import threading
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from cykafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from cykafka.admin import AdminClient, NewTopic
from cykafka.testing import MockCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.mock

NOWHERE = {"bootstrap.servers": "127.0.0.1:9", "log_level": 0}
ROUNDS = 25


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster(1) as cluster:
        cluster.create_topic("topic", 4, 1)
        with Producer({"bootstrap.servers": cluster.bootstrap_servers}) as producer:
            for number in range(5000):
                producer.produce("topic", b"value", partition=number % 4)
        yield cluster


# Arguments whose reading runs Python code


class Closing:
    """A number that closes a client when it is read."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def __float__(self) -> float:
        self.client.close()
        return 1.0

    def __index__(self) -> int:
        self.client.close()
        return 1


class ClosingText(str):
    """A str that closes a client when it is looked up; equal to none."""

    __slots__ = ("client",)
    client: Any

    def __hash__(self) -> int:
        self.client.close()
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return False


def closing_text(client: Any) -> ClosingText:
    text = ClosingText("topic")
    text.client = client
    return text


@pytest.mark.parametrize(
    "call",
    [
        lambda producer: producer.produce("topic", b"v", timeout=Closing(producer)),
        lambda producer: producer.produce("topic", b"v", timestamp=Closing(producer)),
        lambda producer: producer.produce("topic", b"v", partition=Closing(producer)),
        lambda producer: producer.produce(closing_text(producer), b"v"),
        lambda producer: producer.produce(closing_text(producer), b"v", headers={"h": b"v"}),
        lambda producer: producer.produce_batch("topic", [{"value": b"v", "timestamp": Closing(producer)}]),
        lambda producer: producer.produce_batch(closing_text(producer), [{"value": b"v"}]),
        lambda producer: producer.flush(Closing(producer)),
        lambda producer: producer.poll(Closing(producer)),
        lambda producer: producer.list_topics(timeout=Closing(producer)),
    ],
)
def test_an_argument_that_closes_the_producer(call: Callable[[Producer], Any]) -> None:
    producer = Producer(NOWHERE)
    with pytest.raises((RuntimeError, TypeError)):
        call(producer)
    assert producer.closed


@pytest.mark.parametrize(
    "call",
    [
        lambda admin: admin.create_topics([NewTopic("t", 1)], request_timeout=Closing(admin)),
        lambda admin: admin.create_topics([NewTopic("t", 1)], operation_timeout=Closing(admin)),
        lambda admin: admin.describe_cluster(request_timeout=Closing(admin)),
    ],
)
def test_an_argument_that_closes_the_admin_client(call: Callable[[AdminClient], Any]) -> None:
    admin = AdminClient(NOWHERE)
    with pytest.raises((RuntimeError, TypeError, KafkaException)):
        call(admin)
    admin.close()


@pytest.mark.parametrize(
    "call",
    [
        lambda consumer: consumer.poll(Closing(consumer)),
        lambda consumer: consumer.consume(Closing(consumer), 1),
        lambda consumer: consumer.consume(1, Closing(consumer)),
        lambda consumer: consumer.committed([TopicPartition("t", 0)], timeout=Closing(consumer)),
    ],
)
def test_an_argument_that_closes_the_consumer(call: Callable[[Consumer], Any]) -> None:
    consumer = Consumer({**NOWHERE, "group.id": "g"})
    with pytest.raises((RuntimeError, TypeError)):
        call(consumer)
    assert consumer.closed


@pytest.mark.parametrize("kind", [Producer, Consumer, AdminClient])
def test_a_token_callback_that_closes_the_client_that_is_being_made(kind: Any) -> None:
    class Unfinished(kind):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(
                {
                    **NOWHERE,
                    "group.id": "g",
                    "security.protocol": "SASL_PLAINTEXT",
                    "sasl.mechanism": "OAUTHBEARER",
                    "oauth_cb": self.token,
                }
            )

        def token(self, config: str) -> tuple[str, float]:
            self.close()
            return "token", time.time() + 300

    with pytest.raises(RuntimeError, match="closed"):
        Unfinished()


# Dropping while somebody holds a weak reference


@pytest.mark.parametrize("in_background", [False, True])
def test_a_producer_dropped_with_messages_while_another_thread_reaches_for_it(in_background: bool) -> None:
    """Dropping waits for messages to be purged, without the GIL."""
    references: list[weakref.ref[Producer]] = []
    stop = threading.Event()
    reached = 0

    def reach() -> None:
        nonlocal reached
        while not stop.is_set():
            for reference in references:
                producer = reference()
                if producer is not None:
                    reached += len(producer) >= 0
                del producer

    thread = threading.Thread(target=reach)
    thread.start()
    try:
        for _ in range(ROUNDS):
            producer = Producer({**NOWHERE, "poll_in_background": in_background})
            for _ in range(2000):
                producer.produce("topic", b"v", on_delivery=lambda error, message: None)
            references[:] = [weakref.ref(producer)]
            del producer
        gc.collect()
    finally:
        stop.set()
        thread.join()
    assert reached


def test_a_subclass_with_a_finaliser_of_its_own_drops_its_messages_too() -> None:
    class Own(Producer):
        def __del__(self) -> None:
            finalised.append(self.name)

    class Callback:
        def __call__(self, error: object, message: object) -> None:
            raise AssertionError("nobody polls")

    finalised: list[str] = []
    callback = Callback()
    reference = weakref.ref(callback)
    producer = Own(NOWHERE)
    producer.produce("topic", b"v", on_delivery=callback)
    del producer, callback
    gc.collect()
    assert len(finalised) == 1
    assert reference() is None


# Closing while another thread is inside


def closed_by_another_thread(make: Callable[[], Any], use: Callable[[Any], Any], rounds: int = ROUNDS) -> None:
    """Use a client in two threads until it is closed by a third."""
    errors: list[BaseException] = []

    def work(client: Any) -> None:
        try:
            while True:
                use(client)
        except RuntimeError as error:
            # It says so already while it is being closed.
            if "closed" not in str(error):
                errors.append(error)
        except KafkaException as error:
            if not client.closed:
                errors.append(error)
        except BaseException as error:
            errors.append(error)

    for number in range(rounds):
        client = make()
        threads = [threading.Thread(target=work, args=(client,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.002 * (number % 10))
        with suppress(KafkaException):
            client.close(*((0,) if isinstance(client, Producer) else ()))
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert errors == []


def test_a_producer_closed_while_threads_produce_and_poll(cluster: MockCluster) -> None:
    def use(producer: Producer) -> None:
        for _ in range(50):
            with suppress(BufferError):
                producer.produce("topic", b"v", headers={"h": "v"}, on_delivery=lambda error, message: message.value())
        producer.poll(0)

    closed_by_another_thread(lambda: Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0}), use)


def test_a_producer_closed_while_threads_produce_columns(cluster: MockCluster) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="columns to produce need the package pyarrow")
    table = pyarrow.table({"topic": ["topic", "other"] * 100, "value": [b"v"] * 200})

    def use(producer: Producer) -> None:
        with suppress(BufferError):
            producer.produce_arrow(None, table, timeout=0)
        producer.poll(0)

    config = {"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0}
    closed_by_another_thread(lambda: Producer(config), use, rounds=5)


def make_consumer(cluster: MockCluster) -> Consumer:
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "enable.auto.commit": False, "log_level": 0}
    )
    # Not 0: the mock cluster drops old messages.
    consumer.assign([TopicPartition("topic", partition, OFFSET_BEGINNING) for partition in range(4)])
    return consumer


@pytest.mark.parametrize(
    "use",
    [
        lambda consumer: consumer.poll(0.01),
        lambda consumer: consumer.consume(500, 0.01),
        lambda consumer: consumer.consume_arrow(500, 0.01),
        lambda consumer: (consumer.seek(TopicPartition("topic", 0, 0)), consumer.poll(0)),
        lambda consumer: (consumer.position(consumer.assignment()), consumer.list_topics(timeout=1)),
        lambda consumer: (
            consumer.unassign(),
            consumer.assign([TopicPartition("topic", 0, 0)]),
            consumer.consume(9, 0),
        ),
        lambda consumer: (consumer.subscription(), consumer.assignment(), consumer.memberid()),
    ],
    ids=["poll", "consume", "consume_arrow", "seek", "position", "assign", "ask"],
)
def test_a_consumer_closed_while_threads_use_it(cluster: MockCluster, use: Callable[[Consumer], Any]) -> None:
    def careful(consumer: Consumer) -> None:
        # Seeking and positions of partitions that the other thread has just taken away.
        try:
            use(consumer)
        except KafkaException:
            if consumer.closed:
                raise

    closed_by_another_thread(lambda: make_consumer(cluster), careful)


def test_an_admin_client_closed_while_threads_ask(cluster: MockCluster) -> None:
    def use(admin: AdminClient) -> None:
        admin.describe_cluster(request_timeout=5).result(30)

    closed_by_another_thread(lambda: AdminClient({"bootstrap.servers": cluster.bootstrap_servers}), use)


def test_an_admin_client_dropped_while_it_waits_for_results(cluster: MockCluster) -> None:
    for _ in range(ROUNDS):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        futures = [admin.describe_cluster(request_timeout=5) for _ in range(20)]
        del admin
        gc.collect()
        for future in futures:
            with suppress(KafkaException):
                future.result(30)


def test_columns_outlive_their_consumer(cluster: MockCluster) -> None:
    consumer = make_consumer(cluster)
    batch = consumer.consume_arrow(1000, 10)
    schema, array = batch.__arrow_c_array__()
    names = batch.column_names
    consumer.close()
    del consumer, batch
    gc.collect()
    pyarrow = pytest.importorskip("pyarrow", reason="reading columns needs the package pyarrow")
    table = pyarrow.RecordBatch._import_from_c_capsule(schema, array)
    assert table.schema.names == names
    assert set(table.column("value").to_pylist()) <= {b"value", b"v"}
    assert table.num_rows > 0
