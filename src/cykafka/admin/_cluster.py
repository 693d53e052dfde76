"""Description of a cluster."""

from typing import Any

from cykafka._model import Node
from cykafka.admin._acl import AclOperation, as_operations


class DescribeClusterResult:
    """What describe_cluster() returns.

    Args:
        controller: The controller, or None.
        nodes: All brokers.
        cluster_id: Identifier of the cluster.
        authorized_operations: Operations that the client may do, if they were asked for.
    """

    def __init__(
        self,
        controller: Node | None,
        nodes: list[Node],
        cluster_id: str | None = None,
        authorized_operations: list[Any] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.controller = controller
        self.nodes = nodes
        self.authorized_operations: list[AclOperation] | None = as_operations(authorized_operations)

    def __repr__(self) -> str:
        return f"DescribeClusterResult(cluster_id={self.cluster_id!r}, {len(self.nodes)} nodes)"
