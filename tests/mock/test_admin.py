"""The admin client on brokers that lack what it asks for."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.mock

DELETE_GROUPS = """
from cykafka import KafkaError, KafkaException
from cykafka.admin import AdminClient
from cykafka.testing import MockCluster

with MockCluster() as cluster:
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        future = admin.delete_consumer_groups(["group"], request_timeout=30)["group"]
        error = future.exception(60)
        assert isinstance(error, KafkaException), error
        assert error.args[0] == KafkaError._UNSUPPORTED_FEATURE, error
print("closed")
"""


def test_an_operation_that_the_coordinator_does_not_know_leaves_a_client_that_can_be_closed():
    # In a process of its own: librdkafka aborted it.
    result = subprocess.run(
        [sys.executable, "-c", DELETE_GROUPS], capture_output=True, text=True, timeout=120, check=False
    )
    assert (result.returncode, result.stdout) == (0, "closed\n"), result.stderr
