"""What the options of admin operations say on the wire, read by the tables of our own protocol layer."""

import pytest

from cykafka import ElectionType, KafkaException, TopicPartition
from cykafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic
from tests.support.fake_broker import FakeBroker

pytestmark = pytest.mark.unit

VERSIONS = {
    "ApiVersions": (0, 3),
    "Metadata": (1, 4),
    "CreateTopics": (2, 4),
    "DeleteTopics": (1, 3),
    "CreatePartitions": (0, 1),
    "ElectLeaders": (0, 1),
    "AlterConfigs": (0, 1),
}


class Recording(FakeBroker):
    """The only broker of a cluster: it keeps the requests that it decodes and closes the connection."""

    def __init__(self):
        super().__init__(self._record, VERSIONS)
        self.asked = {}

    def _record(self, row, version, correlation, data):
        if row.name == "ApiVersions":
            return self.api_versions(min(version, 3), correlation)
        if row.name == "Metadata":
            host, port = self.bootstrap_servers.split(":")
            broker = {"node_id": 1, "host": host, "port": int(port), "rack": None}
            body = {"brokers": [broker], "cluster_id": "fake", "controller_id": 1, "topics": []}
            return self.reply(row, version, correlation, body)
        client_id_length = int.from_bytes(data[8:10], "big")
        self.asked[row.name] = row.decode_request(data[10 + client_id_length :], version)
        return b""


@pytest.fixture
def broker():
    with Recording() as server:
        yield server


OPERATIONS = {
    "CreateTopics": lambda admin, **options: admin.create_topics([NewTopic("t", 1, 1)], **options),
    "DeleteTopics": lambda admin, **options: admin.delete_topics(["t"], **options),
    "CreatePartitions": lambda admin, **options: admin.create_partitions([NewPartitions("t", 2)], **options),
    "ElectLeaders": lambda admin, **options: {
        "all": admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition("t", 0)], **options)
    },
    "AlterConfigs": lambda admin, **options: admin.alter_configs([ConfigResource("topic", "t", {"a": "b"})], **options),
}


def ask(broker, name, **options):
    """Run an operation that fails, and return the request that it sent."""
    with AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}) as admin:
        for future in OPERATIONS[name](admin, request_timeout=20, **options).values():
            assert isinstance(future.exception(60), KafkaException)
    return broker.asked[name]


@pytest.mark.parametrize("name", ["CreateTopics", "DeleteTopics", "CreatePartitions", "ElectLeaders"])
def test_operation_timeout_is_sent_in_milliseconds(broker, name):
    assert ask(broker, name, operation_timeout=1.25)["timeout_ms"] == 1250


@pytest.mark.parametrize("name", ["CreateTopics", "CreatePartitions", "AlterConfigs"])
@pytest.mark.parametrize("validate", [True, False])
def test_validate_only_is_sent(broker, name, validate):
    assert ask(broker, name, validate_only=validate)["validate_only"] is validate
