"""Interceptors of producers and consumers."""

import gc
import sys

import pytest

from cykafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from cykafka.interceptors import ConsumerInterceptor, ProducerInterceptor, ProducerRecord
from tests.mock.conftest import poll_until, take


class Recorder(ProducerInterceptor, ConsumerInterceptor):
    """Writes down what it is shown; one list may serve several."""

    def __init__(self, name="a", log=None):
        self.name = name
        self.log = [] if log is None else log

    def on_send(self, record):
        record.headers.append((self.name, b"sent"))
        record.state[self.name] = record.value
        self.log.append((self.name, "send", record.topic, record.value))

    def on_acknowledgement(self, record, error, message):
        self.log.append((self.name, "ack", record.state[self.name], error, message and message.value()))

    def on_consume(self, message):
        message.set_headers([*(message.headers() or []), (self.name, b"seen")])
        self.log.append((self.name, "consume", message.value()))

    def on_commit(self, error, partitions):
        offsets = [(p.topic, p.partition, p.offset) for p in partitions if p.offset >= 0]
        self.log.append((self.name, "commit", error, offsets))


class Failing:
    """Changes what it is given, then raises."""

    def on_send(self, record):
        record.value = b"broken"
        record.headers.clear()
        record.topic = None
        raise OSError("send")

    def on_acknowledgement(self, record, error, message):
        raise OSError("ack")

    def on_consume(self, message):
        raise OSError("consume")

    def on_commit(self, error, partitions):
        raise OSError("commit")


@pytest.fixture
def make_producer(mock_cluster):
    made = []

    def make(*interceptors, **properties):
        config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0}
        made.append(Producer({**config, "interceptors": list(interceptors), **properties}))
        return made[-1]

    yield make
    for producer in made:
        producer.close()


@pytest.fixture
def unraised(monkeypatch):
    """The exceptions that went to sys.unraisablehook."""
    caught = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: caught.append(str(unraisable.exc_value)))
    return caught


def read(make_consumer, count, topic="topic", **properties):
    consumer = make_consumer(**properties)
    consumer.assign([TopicPartition(topic, p, 0) for p in range(4)])
    return take(consumer, count)


def test_they_are_called_in_order_around_a_message(make_producer, make_consumer):
    log, reports = [], []
    first, second = Recorder("a", log), Recorder("b", log)
    producer = make_producer(first, second)
    producer.produce(
        "topic", b"v", headers={"own": "1"}, on_delivery=lambda e, m: log.append(("report", e, m.headers()))
    )
    producer.flush(20)
    headers = [("own", b"1"), ("a", b"sent"), ("b", b"sent")]
    assert log == [
        ("a", "send", "topic", b"v"),
        ("b", "send", "topic", b"v"),
        ("a", "ack", b"v", None, b"v"),
        ("b", "ack", b"v", None, b"v"),
        ("report", None, headers),
    ]
    (message,) = read(make_consumer, 1)
    assert message.headers() == headers


def test_on_send_may_change_everything(make_producer, make_consumer):
    class Changing(ProducerInterceptor):
        def on_send(self, record):
            assert record.partition == -1
            assert record.timestamp == 0
            record.topic, record.value, record.key, record.partition = "topic", record.value * 2, "new", 3
            record.timestamp = 1_700_000_000_000
            record.headers = [("h", b"x")]

    producer = make_producer(Changing())
    producer.produce("elsewhere", b"v", b"old")
    assert producer.produce_batch("elsewhere", [{"value": b"w"}]) == 1
    producer.flush(20)
    messages = read(make_consumer, 2)
    assert [(m.value(), m.key(), m.partition(), m.timestamp()[1], m.headers()) for m in messages] == [
        (value, b"new", 3, 1_700_000_000_000, [("h", b"x")]) for value in (b"vv", b"ww")
    ]


def test_the_partitioner_sees_what_they_have_changed(make_producer):
    class Keying(ProducerInterceptor):
        def on_send(self, record):
            record.key = b"from interceptor"

    keys = []
    producer = make_producer(Keying(), partitioner=lambda topic, key, count, available: keys.append(key) or 0)
    producer.produce("topic", b"v")
    producer.flush(20)
    assert keys == [b"from interceptor"]


def test_failing_ones_break_nothing(make_producer, make_consumer, unraised):
    log = []
    producer = make_producer(Failing(), Recorder("a", log), Failing())
    producer.produce("topic", b"v", headers=[("own", "1")])
    producer.flush(20)
    consumer = make_consumer(interceptors=[Failing(), Recorder("a", log)], enable_auto_commit=False)
    consumer.subscribe(["topic"])
    (message,) = take(consumer, 1)
    consumer.commit(message, asynchronous=False)
    consumer.close()
    assert message.value() == b"v"
    assert message.headers() == [("own", b"1"), ("a", b"sent"), ("a", b"seen")]
    assert [entry[1] for entry in log][:4] == ["send", "ack", "consume", "commit"]
    assert unraised[:6] == ["send", "send", "ack", "ack", "consume", "commit"]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("topic", None),
        ("value", 5),
        ("key", 5.0),
        ("partition", "1"),
        ("timestamp", b""),
        ("headers", 5),
        ("headers", {"a": "b"}),
        ("headers", [("a", 5)]),
        ("headers", ["ab"]),
        ("headers", [(b"a", "b")]),
    ],
)
def test_what_they_set_wrongly_is_undone(make_producer, unraised, name, wrong):
    class Setting(ProducerInterceptor):
        def on_send(self, record):
            setattr(record, name, wrong)

    producer = make_producer(Setting())
    message = producer.send("topic", b"v", "k", 1, 5, {"h": "x"}).result(20)
    assert (message.value(), message.key(), message.partition(), message.headers()) == (b"v", b"k", 1, [("h", b"x")])
    assert len(unraised) == 1
    assert name in unraised[0]


def test_no_headers_may_be_none(make_producer):
    class Dropping(ProducerInterceptor):
        def on_send(self, record):
            record.headers = None

    assert make_producer(Dropping(), Dropping()).send("topic", b"v", headers={"h": "x"}).result(20).headers() is None


def test_a_message_that_is_refused_is_acknowledged_with_its_error(make_producer):
    seen = []

    class Watching(ProducerInterceptor):
        def on_acknowledgement(self, record, error, message):
            seen.append((record.value, error.code(), message))

    producer = make_producer(Watching(), **{"message.max.bytes": 1000})
    with pytest.raises(KafkaException):
        producer.produce("topic", b"x" * 5000)
    with pytest.raises(TypeError):
        producer.produce("topic", 5)
    batch = [{"value": b"y" * 5000}]
    assert producer.produce_batch("topic", batch) == 0
    assert seen == [
        (b"x" * 5000, KafkaError.MSG_SIZE_TOO_LARGE, None),
        (5, KafkaError._INVALID_ARG, None),
        (b"y" * 5000, KafkaError.MSG_SIZE_TOO_LARGE, None),
    ]


def test_a_failed_delivery_is_acknowledged_with_its_error(make_producer):
    log = []
    producer = make_producer(Recorder("a", log), **{"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    producer.produce("topic", b"v")
    producer.purge()
    producer.flush(20)
    assert log[-1] == ("a", "ack", b"v", KafkaError._PURGE_QUEUE, b"v")


def test_the_default_callback_and_only_error_reports_stay_as_they_are(make_producer):
    reports, log = [], []
    producer = make_producer(
        Recorder("a", log), on_delivery=lambda e, m: reports.append(e), **{"delivery.report.only.error": True}
    )
    producer.produce("topic", b"v")
    producer.flush(20)
    assert [entry[1] for entry in log] == ["send", "ack"]
    assert reports == []


def test_they_see_every_message_that_is_returned(make_consumer, producer):
    for i in range(600):
        producer.produce("topic", str(i), partition=0)
    producer.flush(20)
    recorder = Recorder()
    consumer = make_consumer(interceptors=[recorder], enable_partition_eof=True)
    consumer.assign([TopicPartition("topic", 0, 0)])
    values = []
    while len(values) < 600:
        for message in [consumer.poll(20), *consumer.consume(300, 0.1)]:
            if message is not None and message.error() is None:
                values.append(message.value())
                assert message.headers() == [("a", b"seen")]
    assert [entry[2] for entry in recorder.log] == values


def test_an_interrupted_on_consume_loses_no_message(make_consumer, producer):
    for i in range(3):
        producer.produce("topic", str(i), partition=0)
    producer.flush(20)

    class Interrupting(ConsumerInterceptor):
        times = 0

        def on_consume(self, message):
            self.times += 1
            if self.times in (1, 3):
                raise KeyboardInterrupt

    consumer = make_consumer(interceptors=[Interrupting()])
    consumer.assign([TopicPartition("topic", 0, 0)])
    with pytest.raises(KeyboardInterrupt):
        consumer.poll(20)
    values = [consumer.poll(20).value()]
    while len(values) < 3:
        try:
            values += [m.value() for m in consumer.consume(10, 1)]
        except KeyboardInterrupt:
            continue
    assert values == [b"0", b"1", b"2"]


@pytest.mark.parametrize("how", ["seek", "incremental_unassign"])
def test_messages_in_hand_of_other_partitions_are_kept(make_consumer, producer, how):
    """What an interrupted consume() had fetched of one partition is not lost because another one is moved."""
    for partition in (0, 1):
        producer.produce("topic", str(partition), partition=partition)
    producer.flush(20)

    class Interrupting(ConsumerInterceptor):
        interrupt = True

        def on_consume(self, message):
            if self.interrupt:
                raise KeyboardInterrupt

    interceptor = Interrupting()
    consumer = make_consumer(interceptors=[interceptor])
    consumer.incremental_assign([TopicPartition("topic", 0, 0), TopicPartition("topic", 1, 0)])
    with pytest.raises(KeyboardInterrupt):
        consumer.consume(2, 20, min_messages=2)
    interceptor.interrupt = False
    if how == "seek":
        consumer.seek(TopicPartition("topic", 0, 0), 20)
    else:
        consumer.incremental_unassign([TopicPartition("topic", 0)])
    values = [consumer.poll(20).value() for _ in range(2 if how == "seek" else 1)]
    assert sorted(values) == ([b"0", b"1"] if how == "seek" else [b"1"])


def test_commits_of_every_kind_are_shown(make_consumer, producer):
    producer.produce("topic", "v", partition=0)
    producer.flush(20)
    recorder, own = Recorder(), []
    consumer = make_consumer(interceptors=[recorder], on_commit=lambda e, p: own.append(e), auto_commit_interval_ms=100)
    consumer.subscribe(["topic"])
    (message,) = take(consumer, 1)

    def commits():
        return [entry[3] for entry in recorder.log if entry[1] == "commit" and entry[2] is None]

    poll_until(consumer, lambda: commits() == [[("topic", 0, 1)]])
    consumer.commit(offsets=[TopicPartition("topic", 0, 0)], asynchronous=False)
    assert commits()[1:] == [[("topic", 0, 0)]]
    consumer.commit(message, asynchronous=True)
    poll_until(consumer, lambda: [("topic", 0, 1)] in commits()[2:])
    assert len(own) == len(recorder.log) - 2


def test_a_commit_that_fails_is_shown(make_consumer, producer, mock_cluster):
    recorder = Recorder()
    consumer = make_consumer(interceptors=[recorder])
    with pytest.raises(KafkaException):
        consumer.commit(offsets=[TopicPartition("topic", 0, -5)], asynchronous=False)
    producer.produce("topic", "v", partition=0)
    producer.flush(20)
    consumer.subscribe(["topic"])
    (message,) = take(consumer, 1)
    mock_cluster.push_request_errors(8, [KafkaError.OFFSET_METADATA_TOO_LARGE] * 3)
    with pytest.raises(KafkaException):
        consumer.commit(message, asynchronous=False)
    assert [e for e in recorder.log if e[1] == "commit"][-1][2] == KafkaError.OFFSET_METADATA_TOO_LARGE


@pytest.mark.parametrize(
    ("interceptors", "message"),
    [(5, "list"), ([object()], "none of the methods"), ([Recorder], "not classes"), ({"a": 1}, "list")],
)
def test_what_is_no_interceptor_is_refused(interceptors, message):
    for make in (Producer, lambda config: Consumer({**config, "group.id": "g"})):
        with pytest.raises(TypeError, match=message):
            make({"interceptors": interceptors})


def test_a_method_that_is_none_is_refused():
    class Odd:
        on_send = 5

    with pytest.raises(TypeError, match="on_send"):
        Producer({"interceptors": [Odd()]})


def test_a_record_can_be_made_for_tests():
    record = ProducerRecord("topic", b"v", key="k")
    assert (record.partition, record.timestamp, record.headers, record.state) == (-1, 0, [], {})
    assert repr(record) == "<ProducerRecord topic [-1]>"


def test_nothing_is_left_behind(mock_cluster, make_consumer):
    """Records, acknowledgements, futures and partitioners' arguments go with their messages."""

    class Watching(ProducerInterceptor, ConsumerInterceptor):
        def on_send(self, record):
            record.state[self] = record.headers

        def on_consume(self, message):
            message.headers()

    watching = Watching()
    consumer = make_consumer(interceptors=[watching])
    consumer.assign([TopicPartition("topic", 0, 0)])
    kept = []
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "linger.ms": 1,
        "interceptors": [watching],
        "partitioner": lambda topic, key, count, available: kept.append(len(available)) or kept.clear() or 0,
    }

    def cycle(producer):
        futures = [producer.send("topic", str(i), headers={"h": "x"}) for i in range(1000)]
        assert producer.flush(60) == 0
        assert all(future.result(0).error() is None for future in futures)
        assert len(take(consumer, 1000)) == 1000

    with Producer(config) as producer:
        cycle(producer)
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(3):
            cycle(producer)
        gc.collect()
        assert len(gc.get_objects()) - before < 100
