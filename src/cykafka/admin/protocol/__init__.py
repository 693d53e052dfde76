"""The Kafka protocol, for what librdkafka does not offer: requests by a table, over connections of our own.

`AdminClient.request` sends any of them; `names` lists them, `api` describes one.
"""

from cykafka.admin.protocol._cluster import Cluster, Coordinator, Leader, Route
from cykafka.admin.protocol._schema import Api, Field, Versions, api, names

__all__ = ["Api", "Cluster", "Coordinator", "Field", "Leader", "Route", "Versions", "api", "names"]
