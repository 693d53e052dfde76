"""Signals, forks, threads, closing and dropping: nothing crashes, hangs or leaks."""

import gc
import os
import signal
import sys
import threading
import time
import weakref

import pytest

from cykafka import Consumer, KafkaException, Producer, TopicPartition
from cykafka.admin import AdminClient

NOBODY = {"bootstrap.servers": "127.0.0.1:9"}


class Quiet:
    def log(self, *args):
        pass


NOBODY["logger"] = Quiet()


def _producer(**properties):
    return Producer({**NOBODY, **properties})


def _consumer(**properties):
    # close() waits that long for a commit that cannot be made.
    times = {"session.timeout.ms": 1000, "heartbeat.interval.ms": 100}
    return Consumer({**NOBODY, "group.id": "g", **times, **properties})


def _full_producer():
    producer = _producer(**{"queue.buffering.max.messages": 1})
    producer.produce("topic", "v")
    return producer


TP = TopicPartition("topic", 0, 0)

#: Every blocking call, with a client that would wait for a minute.
BLOCKING = {
    "Producer.poll": (_producer, lambda p: p.poll(60)),
    "Producer.poll forever": (_producer, lambda p: p.poll()),
    "Producer.flush": (_full_producer, lambda p: p.flush(60)),
    "Producer.produce with timeout": (_full_producer, lambda p: p.produce("topic", "w", timeout=60)),
    "Producer.list_topics": (_producer, lambda p: p.list_topics(timeout=60)),
    "Producer.cluster_id": (_producer, lambda p: p.cluster_id(60)),
    "Producer.init_transactions": (
        lambda: _producer(**{"transactional.id": "t"}),
        lambda p: p.init_transactions(60),
    ),
    "Producer.close": (_full_producer, lambda p: p.close(60)),
    "Consumer.poll": (_consumer, lambda c: c.poll(60)),
    "Consumer.poll forever": (_consumer, lambda c: c.poll()),
    "Consumer.consume": (_consumer, lambda c: c.consume(10, 60)),
    "Consumer.iteration": (_consumer, lambda c: next(iter(c))),
    "Consumer.list_topics": (_consumer, lambda c: c.list_topics(timeout=60)),
    "Consumer.committed": (_consumer, lambda c: c.committed([TP], 60)),
    "Consumer.get_watermark_offsets": (_consumer, lambda c: c.get_watermark_offsets(TP, 60)),
    "Consumer.offsets_for_times": (_consumer, lambda c: c.offsets_for_times([TP], 60)),
    "Consumer.commit": (_consumer, lambda c: c.commit(offsets=[TP], asynchronous=False)),
    "AdminClient.poll": (lambda: AdminClient(NOBODY), lambda a: a.poll(60)),
    "AdminClient.list_topics": (lambda: AdminClient(NOBODY), lambda a: a.list_topics(timeout=60)),
    "AdminClient.list_groups": (lambda: AdminClient(NOBODY), lambda a: a.list_groups(timeout=60)),
}


def _end(client):
    if isinstance(client, Producer):
        client.purge()
        client.close(1)
    else:
        client.close()


@pytest.mark.parametrize("name", BLOCKING)
def test_ctrl_c_interrupts(name, record_property):
    make, call = BLOCKING[name]
    client = make()
    sent = []

    def interrupt():
        time.sleep(0.15)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    begin = time.monotonic()
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            while time.monotonic() < begin + 30:
                try:
                    call(client)
                except KafkaException as error:
                    # Without any broker librdkafka gives some calls up early; the signal comes in one of them.
                    if error.args[0].name() not in (
                        "_TRANSPORT",
                        "_TIMED_OUT",
                        "_WAIT_COORD",
                        "_ALL_BROKERS_DOWN",
                    ):
                        raise
    finally:
        thread.join()
    record_property("seconds from signal to exception", time.monotonic() - sent[0])
    assert time.monotonic() - sent[0] < 10
    assert not client.closed
    _end(client)


@pytest.mark.parametrize("name", [name for name in BLOCKING if not name.endswith("iteration")])
def test_wakeup_from_another_thread(name):
    make, call = BLOCKING[name]
    client = make()
    timer = threading.Timer(0.15, client.wakeup)
    timer.start()
    begin = time.monotonic()
    try:
        call(client)
    except (KafkaException, BufferError):
        pass
    timer.join()
    assert time.monotonic() - begin < 30
    if not client.closed:
        _end(client)


@pytest.mark.parametrize(
    "name",
    [
        "Producer.poll",
        "Producer.flush",
        "Producer.list_topics",
        "Consumer.poll",
        "Consumer.consume",
        "Consumer.committed",
        "AdminClient.poll",
    ],
)
def test_closing_by_another_thread_ends_the_call(name):
    make, call = BLOCKING[name]
    client = make()
    outcome = []

    def run():
        try:
            outcome.append(call(client))
        except (RuntimeError, KafkaException) as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.2)
    if isinstance(client, Producer):
        client.close(0)
    else:
        client.close()
    thread.join(20)
    assert not thread.is_alive()
    assert outcome
    assert client.closed


def _in_child(function):
    """Run a function in a forked child; return the text that it returns."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, str(function()).encode()[:4000])
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode()[:4000])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the child ended with status {status}"
    return text


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_use_after_fork_says_what_to_do(mock_cluster):
    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers})
    consumer = Consumer({"bootstrap.servers": mock_cluster.bootstrap_servers, "group.id": "g"})
    admin = AdminClient({"bootstrap.servers": mock_cluster.bootstrap_servers})
    for call in (
        lambda: producer.produce("topic", "v"),
        lambda: producer.flush(),
        lambda: consumer.poll(0),
        lambda: admin.list_topics(),
        lambda: consumer.close(),
        lambda: mock_cluster.create_topic("x"),
    ):
        text = _in_child(call)
        assert text.startswith("RuntimeError"), text
        assert "fork" in text

    def drop_and_make_another():
        nonlocal producer, consumer, admin
        del producer, consumer, admin
        gc.collect()
        with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers}) as own:
            own.produce("from-child", "v")
        return len(own)

    assert _in_child(drop_and_make_another) == "0"
    producer.produce("topic", "the parent's works on")
    assert producer.flush(20) == 0
    consumer.close()
    admin.close()
    producer.close()


def test_dropping_in_any_order_frees_everything(mock_cluster):
    servers = mock_cluster.bootstrap_servers
    producer, consumer = (
        Producer({"bootstrap.servers": servers}),
        Consumer({"bootstrap.servers": servers, "group.id": "g"}),
    )
    admin = AdminClient({"bootstrap.servers": servers})
    future = admin.describe_cluster(request_timeout=0.5)
    consumer.subscribe(["topic"])
    producer.produce("topic", "v")
    producer.flush(20)
    message = consumer.consume(1, 0.1)
    future.exception(20)
    gone = [weakref.ref(client) for client in (producer, consumer, admin)]
    del admin, producer, consumer
    gc.collect()
    deadline = time.monotonic() + 20
    while any(reference() is not None for reference in gone) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [reference() for reference in gone] == [None] * 3
    assert message is not None


def test_dropping_from_another_thread(mock_cluster):
    holder = [Producer({"bootstrap.servers": mock_cluster.bootstrap_servers}) for _ in range(5)]
    for producer in holder:
        producer.produce("topic", "v")
    threads = [threading.Thread(target=holder.pop) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert holder == []


def test_a_client_in_a_reference_cycle_is_collected():
    producer = _producer()
    producer_cycle = {"producer": producer}

    class Callback:
        def __init__(self, cycle):
            self.cycle = cycle

        def __call__(self, *_):
            pass

    cycling = Producer({**NOBODY, "on_delivery": Callback(producer_cycle)})
    producer_cycle["self"] = cycling
    gone = weakref.ref(cycling)
    del cycling, producer_cycle
    gc.collect()
    assert gone() is None
    producer.close(0)


def test_many_threads_share_one_producer(mock_cluster):
    reports = []
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 1}) as producer:

        def work(number):
            for i in range(500):
                producer.produce("topic", f"{number}-{i}", on_delivery=lambda e, m: reports.append((e, m.value())))
                if i % 50 == 0:
                    producer.poll(0)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        producer.flush(30)
    assert len({value for error, value in reports if error is None}) == 3000
    assert len(reports) == 3000


def test_a_client_left_open_does_not_crash_the_interpreters_end(tmp_path):
    import subprocess

    script = tmp_path / "left_open.py"
    script.write_text(
        "import cykafka, cykafka.admin\n"
        "from cykafka.testing import MockCluster\n"
        "cluster = MockCluster(1)\n"
        "p = cykafka.Producer({'bootstrap.servers': cluster.bootstrap_servers})\n"
        "c = cykafka.Consumer({'bootstrap.servers': cluster.bootstrap_servers, 'group.id': 'g'})\n"
        "c.subscribe(['t'])\n"
        "a = cykafka.admin.AdminClient({'bootstrap.servers': cluster.bootstrap_servers})\n"
        "f = a.describe_cluster()\n"
        "p.produce('t', 'v', on_delivery=print)\n"
        "c.poll(0.1)\n"
    )
    result = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
