# cython: language_level=3, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The compiled core of cykafka: librdkafka and the Python objects around it, in one extension module.

The parts are included in the order in which they depend on each other; each says what it owns and which thread
may call it. No Python code runs on librdkafka's threads.
"""

include "imports.pxi"
include "errors.pyx"
include "conversion.pyx"
include "topic_partition.pyx"
include "message.pyx"
include "histogram.pyx"
include "secrets.pyx"
include "config.pyx"
include "metadata.pyx"
include "client.pyx"
include "tokens.pyx"
include "hooks.pyx"
include "futures.pyx"
include "linked.pyx"
include "deadlines.pyx"
include "producer.pyx"
include "batches.pyx"
include "warmup.pyx"
include "assignment.pyx"
include "consumer.pyx"
include "arrow_decode.pyx"
include "arrow_consume.pyx"
include "arrow_produce.pyx"
include "admin_types.pyx"
include "admin_results.pyx"
include "admin.pyx"
include "admin_groups.pyx"
include "share_consumer.pyx"
include "event_loop.pyx"
include "mock_cluster.pyx"
