"""Short waits: time-outs below a millisecond, and spinning."""

import threading
import time

import pytest

from cykafka import Consumer, Producer
from tests.support.clients import Reports


@pytest.fixture(params=["producer", "consumer"])
def idle(request):
    """A client to which nothing comes."""
    client = Producer({"log_level": 0}) if request.param == "producer" else Consumer({"group.id": "g", "log_level": 0})
    yield client
    client.close()


def fastest_wait(client, timeout, count=300):
    """Return the seconds of the shortest of many polls: what a loaded machine does to the others does not count."""
    waits = []
    for _ in range(count):
        start = time.perf_counter()
        client.poll(timeout)
        waits.append(time.perf_counter() - start)
    return min(waits)


def test_a_time_out_below_a_millisecond_is_kept(idle):
    """It was rounded up to a whole millisecond."""
    assert 0.00015 < fastest_wait(idle, 0.0002) < 0.001


def test_spinning_keeps_the_time_out_too(idle):
    idle.spin_us = 100
    assert 0.00015 < fastest_wait(idle, 0.0002) < 0.001
    idle.spin_us = 1_000_000
    assert 0.00015 < fastest_wait(idle, 0.0002) < 0.001


@pytest.mark.parametrize("spin_us", [0, 20, 10_000_000])
def test_a_report_ends_the_wait(mock_cluster, spin_us):
    reports = Reports()
    with Producer(bootstrap_servers=mock_cluster.bootstrap_servers, linger_ms=0, spin_us=spin_us) as producer:
        for i in range(50):
            producer.produce("t", b"v", on_delivery=reports)
            assert producer.poll(60) == 1
            assert len(reports) == i + 1


@pytest.mark.parametrize("spin_us", [0, 20, 10_000_000])
def test_a_message_ends_the_wait(mock_cluster, make_consumer, spin_us):
    mock_cluster.create_topic("t", 1, 1)
    consumer = make_consumer()
    consumer.spin_us = spin_us
    consumer.subscribe(["t"])
    with Producer(bootstrap_servers=mock_cluster.bootstrap_servers, linger_ms=0) as producer:
        for i in range(20):
            producer.produce("t", str(i))
            producer.flush(30)
            message = consumer.poll(60)
            assert message.error() is None
            assert message.value() == str(i).encode()


def test_wakeup_and_close_end_a_spinning_wait(idle):
    idle.spin_us = 3_600_000_000
    timer = threading.Timer(0.05, idle.wakeup)
    timer.start()
    assert not idle.poll(60)
    timer.join()
    timer = threading.Timer(0.05, idle.close)
    timer.start()
    with pytest.raises(RuntimeError, match="closed"):
        idle.poll(60)
    timer.join()


def test_other_threads_run_while_one_spins(idle):
    idle.spin_us = 3_600_000_000
    turns = 0

    def poll():
        idle.poll(60)

    thread = threading.Thread(target=poll)
    thread.start()
    for _ in range(1000):
        turns += 1
        time.sleep(0)
    idle.wakeup()
    thread.join()
    assert turns == 1000


def test_spin_us_is_a_setting_and_an_attribute():
    with Producer({"spin_us": 7, "log_level": 0}) as producer:
        assert producer.spin_us == 7
        producer.spin_us = 0
        assert producer.spin_us == 0
        for value in (-1, 3_600_000_001):
            with pytest.raises(ValueError, match="spin_us must be between 0"):
                producer.spin_us = value
        for value in (True, None, "x"):
            with pytest.raises(TypeError, match="spin_us must be a whole number"):
                producer.spin_us = value
        assert producer.spin_us == 0
    with pytest.raises(ValueError, match="spin_us must be between 0"):
        Consumer({"group.id": "g"}, spin_us=-5)
