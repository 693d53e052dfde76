"""The embedded cluster itself."""

import subprocess
import sys

import pytest

from cykafka import KafkaError, KafkaException, Producer, TopicPartition
from cykafka.testing import ApiKey, MockCluster
from tests.mock.conftest import take


def _produce(servers, topic="topic", count=1, **properties):
    reports = []
    with Producer({"bootstrap.servers": servers, "linger.ms": 0, **properties}) as producer:
        for i in range(count):
            producer.produce(topic, str(i), partition=0, on_delivery=lambda e, m: reports.append((e, m)))
        producer.flush(20)
    return reports


def test_brokers_and_topics(mock_cluster_factory):
    cluster = mock_cluster_factory(3)
    cluster.create_topic("topic", 4, 2)
    with Producer({"bootstrap.servers": cluster.bootstrap_servers}) as producer:
        metadata = producer.list_topics(timeout=10)
    assert sorted(metadata.brokers) == [1, 2, 3]
    assert len(metadata.topics["topic"].partitions) == 4
    assert all(len(p.replicas) == 2 for p in metadata.topics["topic"].partitions.values())
    with pytest.raises(KafkaException):
        cluster.create_topic("topic", 4, 2)
    cluster.delete_topic("topic")
    with pytest.raises(KafkaException):
        cluster.delete_topic("topic")


def test_topics_made_by_use_have_the_defaults(mock_cluster_factory):
    cluster = mock_cluster_factory(2, default_partitions=3, default_replication_factor=2)
    _produce(cluster.bootstrap_servers)
    with Producer({"bootstrap.servers": cluster.bootstrap_servers}) as producer:
        partitions = producer.list_topics("topic", 10).topics["topic"].partitions
    assert len(partitions) == 3
    assert len(partitions[0].replicas) == 2


def test_request_errors_and_tracking(mock_cluster):
    _produce(mock_cluster.bootstrap_servers)
    mock_cluster.start_request_tracking()
    mock_cluster.push_request_errors(
        ApiKey.PRODUCE, [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError(KafkaError.REQUEST_TIMED_OUT)]
    )
    assert [e for e, _ in _produce(mock_cluster.bootstrap_servers)] == [None]
    produced = [request for request in mock_cluster.requests() if request.api_key == ApiKey.PRODUCE]
    assert len(produced) == 3
    assert all(request.broker_id == 1 and request.timestamp_us > 0 for request in produced)
    mock_cluster.clear_requests()
    assert mock_cluster.requests() == []
    mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
    mock_cluster.clear_request_errors(ApiKey.PRODUCE)
    assert [e for e, _ in _produce(mock_cluster.bootstrap_servers)] == [None]
    mock_cluster.stop_request_tracking()


def test_round_trip_time(mock_cluster):
    _produce(mock_cluster.bootstrap_servers)
    mock_cluster.set_broker_rtt(1, 0.2)
    ((error, message),) = _produce(mock_cluster.bootstrap_servers)
    assert error is None
    assert message.latency() > 0.19
    mock_cluster.set_broker_rtt(1, 0)
    mock_cluster.push_broker_request_errors(1, ApiKey.PRODUCE, [(0, 0.3)])
    ((error, message),) = _produce(mock_cluster.bootstrap_servers)
    assert message.latency() > 0.29


def test_partition_errors(mock_cluster):
    _produce(mock_cluster.bootstrap_servers)
    mock_cluster.push_partition_request_errors("topic", 0, ApiKey.PRODUCE, [KafkaError.TOPIC_AUTHORIZATION_FAILED])
    assert [e for e, _ in _produce(mock_cluster.bootstrap_servers)] == [KafkaError.TOPIC_AUTHORIZATION_FAILED]


def test_broker_down_and_up_and_leader_change(mock_cluster_factory):
    cluster = mock_cluster_factory(2)
    cluster.create_topic("topic", 1, 2)
    cluster.set_leader("topic", 0, 1)
    assert [e for e, _ in _produce(cluster.bootstrap_servers)] == [None]
    cluster.set_broker_down(1)
    errors = [e for e, _ in _produce(cluster.bootstrap_servers, **{"message.timeout.ms": 500})]
    assert errors == [KafkaError._MSG_TIMED_OUT]
    cluster.set_leader("topic", 0, 2)
    assert [e for e, _ in _produce(cluster.bootstrap_servers)] == [None]
    cluster.set_broker_up(1)
    cluster.set_leader("topic", 0, 1)
    assert [e for e, _ in _produce(cluster.bootstrap_servers)] == [None]


def test_followers_racks_and_coordinators(mock_cluster_factory, tmp_path):
    cluster = mock_cluster_factory(2)
    cluster.create_topic("topic", 1, 2)
    cluster.set_broker_rack(1, "a")
    cluster.set_follower("topic", 0, 2)
    cluster.set_coordinator("group", "g", 2)
    cluster.set_controller(2)
    with Producer({"bootstrap.servers": cluster.bootstrap_servers}) as producer:
        assert producer.list_topics(timeout=10).controller_id == 2
    for call in (lambda: cluster.set_broker_down(9), lambda: cluster.set_coordinator("group", "g", 9)):
        with pytest.raises(ValueError, match="no broker 9"):
            call()


def test_api_versions(mock_cluster):
    mock_cluster.set_api_versions(ApiKey.PRODUCE, 0, 7)
    assert [e for e, _ in _produce(mock_cluster.bootstrap_servers)] == [None]
    with pytest.raises(KafkaException):
        mock_cluster.set_api_versions(999, 0, 1)


def test_delete_records(mock_cluster, make_consumer):
    _produce(mock_cluster.bootstrap_servers, count=10)
    mock_cluster.delete_records("topic", 0, 6)
    consumer = make_consumer()
    consumer.assign([TopicPartition("topic", 0, -2)])
    assert take(consumer, 1)[0].offset() == 6


def test_another_process_can_connect(mock_cluster):
    code = (
        "import sys, cykafka\n"
        "with cykafka.Producer({'bootstrap.servers': sys.argv[1]}) as p: p.produce('topic', 'from afar')\n"
    )
    import os

    subprocess.run(
        [sys.executable, "-c", code, mock_cluster.bootstrap_servers],
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_closed_cluster_says_so():
    with pytest.raises(ValueError, match="at least 1"):
        MockCluster(0)
    cluster = MockCluster(1)
    cluster.close()
    cluster.close()
    with pytest.raises(RuntimeError, match="closed"):
        cluster.create_topic("topic")
    with pytest.raises(RuntimeError, match="closed"), cluster:
        pass
