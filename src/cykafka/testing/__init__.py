"""Tools for testing programs that use Kafka, without a Kafka.

`MockCluster` is an embedded cluster: real sockets, real protocol, no server to install. The pytest fixtures
``mock_cluster`` and ``mock_cluster_factory`` come with the package (plugin ``cykafka.testing.fixtures``).
"""

from cykafka._rdkafka.core import MockCluster, MockRequest
from cykafka.testing._api_key import ApiKey

__all__ = ["ApiKey", "MockCluster", "MockRequest"]
