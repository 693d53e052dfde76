"""Pytest fixtures around the embedded mock cluster; loaded by pytest as a plugin of the package."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cykafka.testing import MockCluster


@pytest.fixture
def mock_cluster() -> Iterator[MockCluster]:
    """Yield an embedded cluster of one broker, for one test."""
    with MockCluster(1) as cluster:
        cluster.set_group_initial_rebalance_delay(0)
        yield cluster


@pytest.fixture
def mock_cluster_factory() -> Iterator[Callable[..., MockCluster]]:
    """Yield a function that makes embedded clusters as `MockCluster` does; they end with the test."""
    clusters: list[MockCluster] = []

    def make(num_brokers: int = 1, **options: Any) -> MockCluster:
        cluster = MockCluster(num_brokers, **options)
        cluster.set_group_initial_rebalance_delay(0)
        clusters.append(cluster)
        return cluster

    yield make
    for cluster in clusters:
        cluster.close()
