# Class layouts of every part, so that a part may use the classes of another one that comes later.

from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t, uintptr_t

from cykafka._rdkafka.rdkafka cimport *
from cykafka._rdkafka.rdkafka_admin cimport *

include "errors.pxd"
include "topic_partition.pxd"
include "message.pxd"
include "histogram.pxd"
include "config.pxd"
include "client.pxd"
include "deadlines.pxd"
include "hooks.pxd"
include "producer.pxd"
include "consumer.pxd"
include "share_consumer.pxd"
include "arrow.pxd"
include "admin.pxd"
include "mock_cluster.pxd"
