/*
 * The C side of a client handle: what has to run on a thread without Python.
 *
 * Everything here is called without the GIL and touches no Python object. librdkafka's callbacks are
 * collected into a list that the thread which called poll() hands to Python after librdkafka has returned,
 * so user code never runs inside a librdkafka frame and may call any method of its client.
 */
#ifndef CYKAFKA_NATIVE_H
#define CYKAFKA_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#include "rdkafka.h"

/* A rare callback (not a delivery report, not a message) that waits to be served. */
typedef enum {
        CYK_EVENT_ERROR = 1,
        CYK_EVENT_STATS,
        CYK_EVENT_LOG,
        CYK_EVENT_THROTTLE,
        CYK_EVENT_REBALANCE,
        CYK_EVENT_OFFSET_COMMIT,
        CYK_EVENT_OAUTHBEARER_REFRESH,
        CYK_EVENT_ACKNOWLEDGED /* partitions: one element for each offset */
} cyk_event_type_t;

typedef struct cyk_event_s {
        struct cyk_event_s *next;
        cyk_event_type_t type;
        rd_kafka_resp_err_t err;
        int number; /* log level, broker id */
        int throttle_ms;
        char *text; /* error text, statistics, log line, broker name, oauthbearer config */
        size_t text_len;
        char *facility; /* log facility */
        rd_kafka_topic_partition_list_t *partitions;
} cyk_event_t;

typedef struct cyk_handle_s cyk_handle_t;

cyk_handle_t *cyk_handle_new(void);
/* Takes ownership of rk. is_consumer: the queue that is polled is the consumer's. */
void cyk_handle_attach(cyk_handle_t *h, rd_kafka_t *rk, int is_consumer);
void cyk_handle_keep(cyk_handle_t *h);
/* The last reference destroys the client and joins its threads: may block. */
void cyk_handle_release(cyk_handle_t *h);
/* Frees what was made without destroying the client: the only thing allowed in a forked child. */
void cyk_handle_abandon(cyk_handle_t *h);
rd_kafka_t *cyk_handle_rk(const cyk_handle_t *h);
rd_kafka_queue_t *cyk_handle_queue(const cyk_handle_t *h);
/* The SASL queue, or NULL when no OAUTHBEARER callback was configured. */
rd_kafka_queue_t *cyk_handle_sasl_queue(const cyk_handle_t *h);
void cyk_handle_set_sasl_queue(cyk_handle_t *h);
/* A further queue that lives as long as the handle (admin results). */
rd_kafka_queue_t *cyk_handle_own_queue(cyk_handle_t *h);
int cyk_handle_refs(cyk_handle_t *h);

/* Text that must not show in logs and errors; `changes`: the like of it comes again, as tokens do. */
void cyk_handle_add_secret(cyk_handle_t *h, const char *text, int changes);
/* Why brokers cannot be reached at present, or NULL; to be freed by free(). */
char *cyk_handle_reason(cyk_handle_t *h);

/* Events. */
int cyk_handle_pending(const cyk_handle_t *h);
cyk_event_t *cyk_handle_pop(cyk_handle_t *h);
void cyk_event_destroy(cyk_event_t *event);
/* Collects an event polled from a queue. Returns 1 if it was one of ours (and is destroyed), 0 if not. */
int cyk_handle_collect(cyk_handle_t *h, rd_kafka_event_t *rkev);
/* A request for a token that waits in the SASL queue, or NULL; to be destroyed. */
rd_kafka_event_t *cyk_handle_take_refresh(cyk_handle_t *h);

enum {
        CYK_COLLECT_ERROR = 1,
        CYK_COLLECT_STATS = 2,
        CYK_COLLECT_LOG = 4,
        CYK_COLLECT_THROTTLE = 8,
        CYK_COLLECT_REBALANCE = 16,
        CYK_COLLECT_OFFSET_COMMIT = 32,
        CYK_COLLECT_OAUTHBEARER = 64
};
/* Registers the collecting callbacks named by the mask; h becomes the configuration's opaque. */
void cyk_conf_collect(rd_kafka_conf_t *conf, cyk_handle_t *h, int mask);

/* librdkafka's threads (latency.c); all before the client is made. */
typedef enum { CYK_THREAD_MAIN = 0, CYK_THREAD_BACKGROUND, CYK_THREAD_BROKER, CYK_THREAD_KINDS } cyk_thread_kind_t;
/* Whether the kernel lets the process use a CPU. */
int cyk_cpu_usable(int cpu);
void cyk_handle_add_cpu(cyk_handle_t *h, cyk_thread_kind_t kind, int cpu);
/* The prefix takes the place of "rdk" in their names. */
void cyk_handle_name_threads(cyk_handle_t *h, const char *prefix);

/* The stages of a message's way, in microseconds; delivered messages only. */
typedef enum {
        CYK_STAGE_ENQUEUE = 0,     /* from produce() until its request was written to the socket */
        CYK_STAGE_WIRE,            /* from then to the broker's response */
        CYK_STAGE_ACKNOWLEDGEMENT, /* from produce() to the response */
        CYK_STAGE_DELIVERY,        /* from the response until the report, or the message, is handed over */
        CYK_STAGE_COUNT
} cyk_stage_t;
/* Measures them; before the client is made. Returns -1 without memory. */
int cyk_handle_measure(cyk_handle_t *h);
struct cyk_histogram_s *cyk_handle_histogram(const cyk_handle_t *h, cyk_stage_t stage);
/* Records the messages in an event of delivery reports, none of which has been taken out. */
void cyk_handle_measure_reports(const cyk_handle_t *h, const rd_kafka_event_t *reports);
/* Records consumed messages, of which there is the last stage only. */
void cyk_handle_measure_messages(const cyk_handle_t *h, rd_kafka_message_t **messages, size_t count);

/* Registers what the above asks for; does nothing if that is nothing. */
void cyk_conf_intercept(rd_kafka_conf_t *conf, cyk_handle_t *h);

/* Waiting. */
typedef enum { CYK_WAIT_TIMEOUT = 0, CYK_WAIT_READY = 1, CYK_WAIT_WOKEN = 2 } cyk_wait_t;
/* Waits until the queue has something, it is woken, or timeout_us (>= 0) has passed; takes nothing out.
 * The first spin_us of it are spent spinning on the queue's length. */
cyk_wait_t cyk_queue_wait(rd_kafka_queue_t *rkqu, int64_t timeout_us, int64_t spin_us);
void cyk_handle_wakeup(cyk_handle_t *h);
/* True once for each wakeup() that nobody has seen yet. */
int cyk_handle_take_wakeup(cyk_handle_t *h);
int64_t cyk_clock_us(void);
/* Has a byte written to fd whenever one of the handle's queues stops being empty, or wakeup() is called; -1: no more.
 * What is in the queues already is not told. */
void cyk_handle_notify(cyk_handle_t *h, int fd);
/* How many messages and events wait to be taken or served. */
size_t cyk_handle_waiting(const cyk_handle_t *h);

/* While a flush is on, brokers send without lingering (rk_flushing of rd_kafka_flush(), which cannot be
 * used itself: with delivery reports as events it does not serve them). */
void cyk_flush_begin(rd_kafka_t *rk);
void cyk_flush_end(rd_kafka_t *rk);
/* Has brokers look at their messages again, during a flush. */
void cyk_flush_again(rd_kafka_t *rk);

/* rd_kafka_consumer_poll() without waiting, made shorter for the case that a fetched message is next. */
rd_kafka_message_t *cyk_consumer_take(cyk_handle_t *h);

/* What a Message is made of, in one call. */
typedef struct cyk_fields_s {
        int64_t timestamp;
        int64_t received_ns; /* monotonic clock; 0 if it is no fetched message */
        int timestamp_type;
        int32_t leader_epoch;
} cyk_fields_t;
void cyk_message_fields(const rd_kafka_message_t *message, cyk_fields_t *fields);

/* The same for a delivery report; now_us is the clock that its latency is measured to. */
typedef struct cyk_report_fields_s {
        int64_t timestamp;
        int timestamp_type;
        int status;
        int64_t latency_us;
} cyk_report_fields_t;
void cyk_report_fields(const rd_kafka_message_t *message, int64_t now_us, cyk_report_fields_t *fields);
/* What the reports of an event have in common: when their request was written and its response read; 0 without one. */
void cyk_report_stamps(const rd_kafka_event_t *reports, int64_t *sent_ns, int64_t *received_ns);

/* Fork guard: a number that differs in every forked child. */
extern volatile int cyk_fork_generation;
/* Installs what a process has once: the fork guard and the message pool. Returns 0, or -1 if there is no memory. */
int cyk_process_install(void);

/* Enqueues one message; headers are owned by librdkafka on success only. deadline_us: rd_clock() from which on it is
 * not sent any more, or 0. */
rd_kafka_resp_err_t cyk_produce(rd_kafka_t *rk,
                                rd_kafka_topic_t *rkt,
                                int32_t partition,
                                int msgflags,
                                void *payload,
                                size_t len,
                                const void *key,
                                size_t key_len,
                                int64_t timestamp,
                                int64_t deadline_us,
                                rd_kafka_headers_t *headers,
                                void *opaque);

/* Whether a consumed message has headers. librdkafka's own functions allocate twice to find out that it has none. */
int cyk_message_has_headers(const rd_kafka_message_t *message);

/* Partitions of a topic as the cached metadata has them: 0 while it is not known, with *err if it is no topic. */
int32_t cyk_topic_partition_count(rd_kafka_topic_t *rkt, rd_kafka_resp_err_t *err);
/* The same, waiting up to timeout_us for them. */
int32_t cyk_topic_await_partitions(rd_kafka_topic_t *rkt, int64_t timeout_us, rd_kafka_resp_err_t *err);
/* rd_kafka_topic_partition_available() outside of a partitioner. */
int cyk_topic_partition_available(rd_kafka_topic_t *rkt, int32_t partition);
/* The offset that a consumer is at, and the end of the partition as the last fetch response had it; -1: unknown. */
void cyk_partition_progress(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *position, int64_t *end);
/* Counts as a poll for max.poll.interval.ms. */
void cyk_consumer_alive(cyk_handle_t *h);

/* Blocking calls of librdkafka which cannot be interrupted run on a thread of their own, so that the caller
 * can answer signals, wakeup() and close(); an abandoned call ends by itself and frees what it owns. */
typedef enum {
        CYK_CALL_METADATA = 1,
        CYK_CALL_COMMITTED,
        CYK_CALL_WATERMARKS,
        CYK_CALL_OFFSETS_FOR_TIMES,
        CYK_CALL_SEEK,
        CYK_CALL_CLUSTERID,
        CYK_CALL_LIST_GROUPS,
        CYK_CALL_STATISTICS,
        CYK_CALL_INIT_TRANSACTIONS,
        CYK_CALL_SEND_OFFSETS,
        CYK_CALL_COMMIT_TRANSACTION,
        CYK_CALL_ABORT_TRANSACTION,
        CYK_CALL_SHARE_COMMIT,
        CYK_CALL_SHARE_CLOSE,
        CYK_CALL_WARMUP, /* partitions: the topics */
        CYK_CALL_DESTROY
} cyk_call_op_t;

typedef struct cyk_call_s {
        cyk_call_op_t op;
        int64_t timeout_us; /* -1: no limit */
        /* Arguments; owned by the call. */
        char *topic;
        int32_t partition;
        rd_kafka_topic_partition_list_t *partitions; /* in and out */
        rd_kafka_consumer_group_metadata_t *cgmetadata;
        /* Results; owned by the call. */
        rd_kafka_resp_err_t err;
        rd_kafka_error_t *error;
        const struct rd_kafka_metadata *metadata;
        const struct rd_kafka_group_list *groups;
        rd_kafka_topic_partition_list_t *brokers; /* their ids as partitions of no topic */
        char *text;
        int64_t low;
        int64_t high;
        /* Private. */
        cyk_handle_t *handle;
        void *sync;
} cyk_call_t;

cyk_call_t *cyk_call_new(cyk_handle_t *h, cyk_call_op_t op, int64_t timeout_us);
/* Returns 0, or -1 if no thread could be made. */
int cyk_call_start(cyk_call_t *call);
/* Waits up to timeout_us; true if the call is done. */
int cyk_call_wait(cyk_call_t *call, int64_t timeout_us);
/* Makes an unlimited call end after the piece that it is in. */
void cyk_call_abandon(cyk_call_t *call);
/* Gives the call up: frees it now, or when its thread has ended. */
void cyk_call_release(cyk_call_t *call);

/* Share consumers (KIP-932). The native client of one is an rd_kafka_t like any other, made by this function. */
rd_kafka_t *cyk_share_consumer_new(rd_kafka_conf_t *conf, char *errstr, size_t errstr_size);
rd_kafka_share_t *cyk_handle_share(const cyk_handle_t *h);
/* Collects the outcome of acknowledgements, or stops that. */
rd_kafka_error_t *cyk_share_collect_acknowledgements(cyk_handle_t *h, int collect);

struct rd_kafka_mock_cluster_s;
/* Partitions and replicas of topics that are created by being used. */
void cyk_mock_set_defaults(struct rd_kafka_mock_cluster_s *mcluster, int partition_cnt, int replication_factor);

#endif
