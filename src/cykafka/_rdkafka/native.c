/* Handles, collected events, waiting. See native.h for the rules; blocking calls are in blocking.c. */
#include "native_int.h"

#include <string.h>

#include "message_pool.h"

#include "rdkafka_mock_int.h"
#include "rdkafka_offset.h"
#include "rdkafka_queue.h"

#ifndef _WIN32
#include <pthread.h>
#endif

volatile int cyk_fork_generation = 0;

#ifndef _WIN32
static void cyk_in_forked_child(void) {
        cyk_fork_generation++;
        cyk_message_pool_unlock();
}

static int cyk_fork_guard_install(void) {
        return pthread_atfork(cyk_message_pool_lock, cyk_message_pool_unlock, cyk_in_forked_child);
}
#else
static int cyk_fork_guard_install(void) {
        return 0;
}
#endif

int cyk_process_install(void) {
        return cyk_message_pool_install() || cyk_fork_guard_install() ? -1 : 0;
}

int64_t cyk_clock_us(void) {
        return rd_clock();
}

/* ---- Handles ---- */

cyk_handle_t *cyk_handle_new(void) {
        cyk_handle_t *h = calloc(1, sizeof(*h));
        if (!h)
                return NULL;
        h->event_fd = -1;
        mtx_init(&h->lock, mtx_plain);
        rd_atomic32_init(&h->refcnt, 1);
        rd_atomic32_init(&h->wakeups, 0);
        return h;
}

void cyk_handle_attach(cyk_handle_t *h, rd_kafka_t *rk, int is_consumer) {
        h->rk = rk;
        if (rk->rk_type == RD_KAFKA_PRODUCER)
                cyk_message_pool_enter();
        if (is_consumer) {
                /* One queue for messages and callbacks alike; a share consumer's takes messages only. */
                if (!RD_KAFKA_IS_SHARE_CONSUMER(rk))
                        rd_kafka_poll_set_consumer(rk);
                h->queue = rd_kafka_queue_get_consumer(rk);
                h->destroy_flags = RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE;
        } else {
                h->queue = rd_kafka_queue_get_main(rk);
        }
}

void cyk_handle_set_sasl_queue(cyk_handle_t *h) {
        h->sasl_queue = rd_kafka_queue_get_sasl(h->rk);
}

rd_kafka_queue_t *cyk_handle_own_queue(cyk_handle_t *h) {
        if (!h->own_queue) {
                h->own_queue = rd_kafka_queue_new(h->rk);
                if (h->event_fd != -1)
                        rd_kafka_queue_io_event_enable(h->own_queue, h->event_fd, "", 1);
        }
        return h->own_queue;
}

void cyk_handle_keep(cyk_handle_t *h) {
        rd_atomic32_add(&h->refcnt, 1);
}

void cyk_handle_destroy_client(cyk_handle_t *h) {
        if (h->queue)
                rd_kafka_queue_destroy(h->queue);
        if (h->sasl_queue)
                rd_kafka_queue_destroy(h->sasl_queue);
        if (h->own_queue)
                rd_kafka_queue_destroy(h->own_queue);
        h->queue = h->sasl_queue = h->own_queue = NULL;
        if (h->rk) {
                int is_producer = h->rk->rk_type == RD_KAFKA_PRODUCER;
                rd_kafka_destroy_flags(h->rk, h->destroy_flags);
                if (is_producer)
                        cyk_message_pool_leave();
        }
        h->rk = NULL;
}

void cyk_handle_abandon(cyk_handle_t *h) {
        cyk_event_t *event;
        while ((event = cyk_handle_pop(h)))
                cyk_event_destroy(event);
        cyk_handle_forget_interceptors(h);
        cyk_secrets_destroy(h);
        mtx_destroy(&h->lock);
        free(h);
}

void cyk_handle_release(cyk_handle_t *h) {
        if (rd_atomic32_sub(&h->refcnt, 1) > 0)
                return;
        cyk_handle_destroy_client(h);
        cyk_handle_abandon(h);
}

int cyk_handle_refs(cyk_handle_t *h) {
        return rd_atomic32_get(&h->refcnt);
}

rd_kafka_t *cyk_handle_rk(const cyk_handle_t *h) {
        return h->rk;
}

rd_kafka_queue_t *cyk_handle_queue(const cyk_handle_t *h) {
        return h->queue;
}

rd_kafka_queue_t *cyk_handle_sasl_queue(const cyk_handle_t *h) {
        return h->sasl_queue;
}

/* ---- Collected events ---- */

void cyk_event_destroy(cyk_event_t *event) {
        free(event->text);
        free(event->facility);
        if (event->partitions)
                rd_kafka_topic_partition_list_destroy(event->partitions);
        free(event);
}

/* An event that cannot be allocated is dropped: librdkafka itself aborts on failed allocations. */
cyk_event_t *cyk_event_new(cyk_event_type_t type, const char *text, size_t text_len) {
        cyk_event_t *event = rd_calloc(1, sizeof(*event));
        event->type        = type;
        if (text) {
                event->text = rd_malloc(text_len + 1);
                memcpy(event->text, text, text_len);
                event->text[text_len] = '\0';
                event->text_len       = text_len;
        }
        return event;
}

void cyk_handle_push(cyk_handle_t *h, cyk_event_t *event) {
        mtx_lock(&h->lock);
        if (h->tail)
                h->tail->next = event;
        else
                h->head = event;
        h->tail = event;
        h->pending++;
        mtx_unlock(&h->lock);
}

int cyk_handle_pending(const cyk_handle_t *h) {
        return h->pending;
}

cyk_event_t *cyk_handle_pop(cyk_handle_t *h) {
        cyk_event_t *event;
        mtx_lock(&h->lock);
        event = h->head;
        if (event) {
                h->head = event->next;
                if (!h->head)
                        h->tail = NULL;
                event->next = NULL;
                h->pending--;
        }
        mtx_unlock(&h->lock);
        return event;
}

static size_t cyk_strlen(const char *text) {
        return text ? strlen(text) : 0;
}

/* An event with a text that librdkafka or somebody else has written, without secrets. */
static cyk_event_t *cyk_event_redacted(cyk_handle_t *h, cyk_event_type_t type, const char *text) {
        cyk_event_t *event = cyk_event_new(type, NULL, 0);
        if (text) {
                event->text     = cyk_redact(h, text);
                event->text_len = strlen(event->text);
        }
        return event;
}

static void cyk_collect_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
        cyk_event_t *event = cyk_event_redacted(opaque, CYK_EVENT_ERROR, reason);
        (void)rk;
        event->err = (rd_kafka_resp_err_t)err;
        cyk_handle_push(opaque, event);
}

static int cyk_collect_stats(rd_kafka_t *rk, char *json, size_t json_len, void *opaque) {
        (void)rk;
        cyk_handle_push(opaque, cyk_event_new(CYK_EVENT_STATS, json, json_len));
        return 0;
}

static void cyk_collect_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf) {
        cyk_handle_t *h    = rk ? rd_kafka_opaque(rk) : NULL;
        cyk_event_t *event;
        if (!h)
                return;
        event           = cyk_event_redacted(h, CYK_EVENT_LOG, buf);
        event->number   = level;
        event->facility = fac ? rd_strdup(fac) : NULL;
        cyk_handle_push(h, event);
}

static void cyk_collect_throttle(
    rd_kafka_t *rk, const char *broker_name, int32_t broker_id, int throttle_time_ms, void *opaque) {
        cyk_event_t *event = cyk_event_new(CYK_EVENT_THROTTLE, broker_name, cyk_strlen(broker_name));
        (void)rk;
        event->number      = broker_id;
        event->throttle_ms = throttle_time_ms;
        cyk_handle_push(opaque, event);
}

static void cyk_collect_rebalance(rd_kafka_t *rk,
                                  rd_kafka_resp_err_t err,
                                  rd_kafka_topic_partition_list_t *partitions,
                                  void *opaque) {
        cyk_event_t *event = cyk_event_new(CYK_EVENT_REBALANCE, NULL, 0);
        (void)rk;
        event->err        = err;
        event->partitions = partitions ? rd_kafka_topic_partition_list_copy(partitions)
                                       : rd_kafka_topic_partition_list_new(0);
        cyk_handle_push(opaque, event);
}

static void cyk_collect_offset_commit(rd_kafka_t *rk,
                                      rd_kafka_resp_err_t err,
                                      rd_kafka_topic_partition_list_t *offsets,
                                      void *opaque) {
        cyk_event_t *event = cyk_event_new(CYK_EVENT_OFFSET_COMMIT, NULL, 0);
        (void)rk;
        event->err        = err;
        event->partitions = offsets ? rd_kafka_topic_partition_list_copy(offsets)
                                    : rd_kafka_topic_partition_list_new(0);
        cyk_handle_push(opaque, event);
}

static void cyk_collect_oauthbearer(rd_kafka_t *rk, const char *oauthbearer_config, void *opaque) {
        (void)rk;
        cyk_handle_push(opaque, cyk_event_new(CYK_EVENT_OAUTHBEARER_REFRESH, oauthbearer_config,
                                              cyk_strlen(oauthbearer_config)));
}

void cyk_conf_collect(rd_kafka_conf_t *conf, cyk_handle_t *h, int mask) {
        rd_kafka_conf_set_opaque(conf, h);
        if (mask & CYK_COLLECT_ERROR)
                rd_kafka_conf_set_error_cb(conf, cyk_collect_error);
        if (mask & CYK_COLLECT_STATS)
                rd_kafka_conf_set_stats_cb(conf, cyk_collect_stats);
        rd_kafka_conf_set_log_cb(conf, mask & CYK_COLLECT_LOG ? cyk_collect_log : cyk_print_log);
        if (mask & CYK_COLLECT_THROTTLE)
                rd_kafka_conf_set_throttle_cb(conf, cyk_collect_throttle);
        if (mask & CYK_COLLECT_REBALANCE)
                rd_kafka_conf_set_rebalance_cb(conf, cyk_collect_rebalance);
        if (mask & CYK_COLLECT_OFFSET_COMMIT)
                rd_kafka_conf_set_offset_commit_cb(conf, cyk_collect_offset_commit);
        if (mask & CYK_COLLECT_OAUTHBEARER) {
                rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, cyk_collect_oauthbearer);
                rd_kafka_conf_enable_sasl_queue(conf, 1);
        }
}

int cyk_handle_collect(cyk_handle_t *h, rd_kafka_event_t *rkev) {
        const char *fac, *str;
        int level;

        switch (rd_kafka_event_type(rkev)) {
        case RD_KAFKA_EVENT_ERROR:
                /* The event has FATAL already replaced by its cause; the dispatcher wants the marker. */
                cyk_collect_error(h->rk,
                                  rd_kafka_event_error_is_fatal(rkev) ? RD_KAFKA_RESP_ERR__FATAL
                                                                      : rd_kafka_event_error(rkev),
                                  rd_kafka_event_error_string(rkev), h);
                break;
        case RD_KAFKA_EVENT_STATS:
                str = rd_kafka_event_stats(rkev);
                cyk_handle_push(h, cyk_event_new(CYK_EVENT_STATS, str, cyk_strlen(str)));
                break;
        case RD_KAFKA_EVENT_LOG:
                if (!rd_kafka_event_log(rkev, &fac, &str, &level))
                        cyk_collect_log(h->rk, level, fac, str);
                break;
        case RD_KAFKA_EVENT_REBALANCE:
                cyk_collect_rebalance(h->rk, rd_kafka_event_error(rkev),
                                      rd_kafka_event_topic_partition_list(rkev), h);
                break;
        case RD_KAFKA_EVENT_OFFSET_COMMIT:
                cyk_collect_offset_commit(h->rk, rd_kafka_event_error(rkev),
                                          rd_kafka_event_topic_partition_list(rkev), h);
                break;
        case RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH:
                cyk_collect_oauthbearer(h->rk, rd_kafka_event_config_string(rkev), h);
                break;
        default:
                return 0;
        }
        rd_kafka_event_destroy(rkev);
        return 1;
}

rd_kafka_event_t *cyk_handle_take_refresh(cyk_handle_t *h) {
        rd_kafka_event_t *rkev;
        while ((rkev = rd_kafka_queue_poll(h->sasl_queue, 0))) {
                if (rd_kafka_event_type(rkev) == RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH)
                        return rkev;
                rd_kafka_event_destroy(rkev);
        }
        return NULL;
}

/* ---- Waiting ---- */

/* Tells the processor that this is a spinning loop: the other thread of the core runs meanwhile. */
static inline void cyk_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ __volatile__("yield");
#endif
}

/* cnd_timedwait_abs() waits in whole milliseconds, rounded up. Returns false when the time is over. */
static int cyk_cond_wait(cnd_t *cond, mtx_t *lock, rd_ts_t abs_timeout) {
        struct timespec end;
        int64_t left = abs_timeout - rd_clock();
        if (left <= 0)
                return 0;
        rd_timeout_init_timespec_us(&end, left);
        cnd_timedwait(cond, lock, &end);
        return 1;
}

static cyk_wait_t cyk_q_wait(rd_kafka_q_t *rkq, int64_t timeout_us, int64_t spin_us) {
        rd_kafka_q_t *fwdq;
        cyk_wait_t result = CYK_WAIT_TIMEOUT;
        rd_ts_t abs_timeout;

        mtx_lock(&rkq->rkq_lock);
        if ((fwdq = rd_kafka_q_fwd_get(rkq, 0))) {
                mtx_unlock(&rkq->rkq_lock);
                result = cyk_q_wait(fwdq, timeout_us, spin_us);
                rd_kafka_q_destroy(fwdq);
                return result;
        }

        if (spin_us > 0) {
                /* Volatile reads without the lock: a stale value costs one more turn, never a wrong result,
                 * since the state is looked at again under the lock below. */
                volatile int *qlen  = (volatile int *)&rkq->rkq_qlen;
                volatile int *flags = (volatile int *)&rkq->rkq_flags;
                rd_ts_t spin_end    = rd_clock() + (spin_us < timeout_us ? spin_us : timeout_us);
                mtx_unlock(&rkq->rkq_lock);
                while (!*qlen && !(*flags & RD_KAFKA_Q_F_YIELD) && rd_clock() < spin_end)
                        cyk_relax();
                timeout_us = timeout_us > spin_us ? timeout_us - spin_us : 0;
                mtx_lock(&rkq->rkq_lock);
        }

        abs_timeout = rd_clock() + timeout_us;
        for (;;) {
                if (TAILQ_FIRST(&rkq->rkq_q)) {
                        result = CYK_WAIT_READY;
                        break;
                }
                if (rkq->rkq_flags & RD_KAFKA_Q_F_YIELD) {
                        rkq->rkq_flags &= ~RD_KAFKA_Q_F_YIELD;
                        result = CYK_WAIT_WOKEN;
                        break;
                }
                if (!cyk_cond_wait(&rkq->rkq_cond, &rkq->rkq_lock, abs_timeout))
                        break;
        }
        mtx_unlock(&rkq->rkq_lock);
        return result;
}

cyk_wait_t cyk_queue_wait(rd_kafka_queue_t *rkqu, int64_t timeout_us, int64_t spin_us) {
        return cyk_q_wait(rkqu->rkqu_q, timeout_us, spin_us);
}

void cyk_handle_wakeup(cyk_handle_t *h) {
        rd_atomic32_set(&h->wakeups, 1);
        if (h->queue)
                rd_kafka_queue_yield(h->queue);
        if (h->own_queue)
                rd_kafka_queue_yield(h->own_queue);
}

int cyk_handle_take_wakeup(cyk_handle_t *h) {
        if (likely(!rd_atomic32_get(&h->wakeups)))
                return 0;
        rd_atomic32_set(&h->wakeups, 0);
        return 1;
}

void cyk_handle_notify(cyk_handle_t *h, int fd) {
        rd_kafka_queue_t *queues[] = {h->queue, h->sasl_queue, h->own_queue};
        size_t i;
        h->event_fd = fd;
        for (i = 0; i < RD_ARRAYSIZE(queues); i++) {
                if (queues[i])
                        rd_kafka_queue_io_event_enable(queues[i], fd, "", 1);
        }
        if (RD_KAFKA_IS_SHARE_CONSUMER(h->rk))
                /* Its callbacks do not come by the consumer's queue. */
                rd_kafka_q_io_event_enable(h->rk->rk_rep, fd, "", 1);
}

size_t cyk_handle_waiting(const cyk_handle_t *h) {
        return h->pending + rd_kafka_queue_length(h->queue) +
               (h->sasl_queue ? rd_kafka_queue_length(h->sasl_queue) : 0) +
               (h->own_queue ? rd_kafka_queue_length(h->own_queue) : 0);
}

/* ---- Consuming ---- */

rd_kafka_message_t *cyk_consumer_take(cyk_handle_t *h) {
        rd_kafka_q_t *rkq = h->queue->rkqu_q;
        rd_kafka_op_t *rko;

        mtx_lock(&rkq->rkq_lock);
        rko = TAILQ_FIRST(&rkq->rkq_q);
        /* Anything but a plain fetched message goes the long way: callbacks, errors, a queue that is forwarded. */
        if (unlikely(rkq->rkq_fwdq || !rko || rko->rko_type != RD_KAFKA_OP_FETCH || rko->rko_err ||
                     rd_kafka_op_version_outdated(rko, 0))) {
                mtx_unlock(&rkq->rkq_lock);
                return rd_kafka_consumer_poll(h->rk, 0);
        }
        rd_kafka_q_mark_served(rkq);
        rd_kafka_q_deq0(rkq, rko);
        mtx_unlock(&rkq->rkq_lock);

        if (unlikely(rd_kafka_op_is_ctrl_msg(rko))) {
                /* The end of a transaction: only its position matters. */
                rd_kafka_fetch_op_app_prepare(h->rk, rko);
                rd_kafka_op_destroy(rko);
                return rd_kafka_consumer_poll(h->rk, 0);
        }
        rd_kafka_fetch_op_app_prepare(h->rk, rko);
        /* Resets the clock of max.poll.interval.ms. */
        rd_kafka_app_polled(h->rk, rkq);
        return rd_kafka_message_get(rko);
}

int64_t cyk_message_received_ns(const rd_kafka_message_t *message) {
        const rd_kafka_op_t *rko = message->_private;
        return rko->rko_u.fetch.rkbuf ? rko->rko_u.fetch.rkbuf->rkbuf_received_ns : 0;
}

void cyk_message_fields(const rd_kafka_message_t *message, cyk_fields_t *fields) {
        const rd_kafka_msg_t *rkm = (const rd_kafka_msg_t *)message;
        if (unlikely(message->err || !message->rkt || rd_kafka_rkt_is_lw(message->rkt))) {
                rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
                fields->timestamp              = rd_kafka_message_timestamp(message, &type);
                fields->timestamp_type         = type;
                fields->leader_epoch           = rd_kafka_message_leader_epoch(message);
                fields->received_ns            = 0;
                return;
        }
        fields->received_ns    = cyk_message_received_ns(message);
        fields->timestamp      = rkm->rkm_timestamp;
        fields->timestamp_type = rkm->rkm_tstype;
        fields->leader_epoch   = rkm->rkm_u.consumer.leader_epoch;
}

/* ---- Producing ---- */

void cyk_report_fields(const rd_kafka_message_t *message, int64_t now_us, cyk_report_fields_t *fields) {
        const rd_kafka_msg_t *rkm = (const rd_kafka_msg_t *)message;
        fields->timestamp         = message->err ? -1 : rkm->rkm_timestamp;
        fields->timestamp_type    = message->err ? RD_KAFKA_TIMESTAMP_NOT_AVAILABLE : (int)rkm->rkm_tstype;
        fields->status            = (int)rkm->rkm_status;
        fields->latency_us        = rkm->rkm_ts_enq ? now_us - rkm->rkm_ts_enq : -1;
}

void cyk_report_stamps(const rd_kafka_event_t *reports, int64_t *sent_ns, int64_t *received_ns) {
        const rd_kafka_Produce_result_t *result = reports->rko_u.dr.presult;
        *received_ns                            = result ? result->received_ns : 0;
        *sent_ns                                = *received_ns ? *received_ns - result->rtt * 1000 : 0;
}


void cyk_flush_begin(rd_kafka_t *rk) {
        rd_atomic32_add(&rk->rk_flushing, 1);
        cyk_flush_again(rk);
}

void cyk_flush_again(rd_kafka_t *rk) {
        rd_kafka_all_brokers_wakeup(rk, RD_KAFKA_BROKER_STATE_UP, "flushing");
}

void cyk_flush_end(rd_kafka_t *rk) {
        rd_atomic32_sub(&rk->rk_flushing, 1);
}

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
                                void *opaque) {
        rd_kafka_vu_t vus[9];
        rd_kafka_error_t *error;
        rd_kafka_resp_err_t err;
        size_t cnt = 0;

        if (!timestamp && !headers && !deadline_us) {
                if (rd_kafka_produce(rkt, partition, msgflags, payload, len, key, key_len, opaque) == -1)
                        return rd_kafka_last_error();
                return RD_KAFKA_RESP_ERR_NO_ERROR;
        }

        vus[cnt].vtype        = RD_KAFKA_VTYPE_RKT;
        vus[cnt++].u.rkt      = rkt;
        vus[cnt].vtype        = RD_KAFKA_VTYPE_PARTITION;
        vus[cnt++].u.i32      = partition;
        vus[cnt].vtype        = RD_KAFKA_VTYPE_MSGFLAGS;
        vus[cnt++].u.i        = msgflags;
        vus[cnt].vtype        = RD_KAFKA_VTYPE_VALUE;
        vus[cnt].u.mem.ptr    = payload;
        vus[cnt++].u.mem.size = len;
        vus[cnt].vtype        = RD_KAFKA_VTYPE_KEY;
        vus[cnt].u.mem.ptr    = (void *)key;
        vus[cnt++].u.mem.size = key_len;
        vus[cnt].vtype        = RD_KAFKA_VTYPE_OPAQUE;
        vus[cnt++].u.ptr      = opaque;
        if (timestamp) {
                vus[cnt].vtype   = RD_KAFKA_VTYPE_TIMESTAMP;
                vus[cnt++].u.i64 = timestamp;
        }
        if (deadline_us) {
                vus[cnt].vtype   = RD_KAFKA_VTYPE_DEADLINE;
                vus[cnt++].u.i64 = deadline_us;
        }
        if (headers) {
                vus[cnt].vtype       = RD_KAFKA_VTYPE_HEADERS;
                vus[cnt++].u.headers = headers;
        }
        error = rd_kafka_produceva(rk, vus, cnt);
        if (likely(!error))
                return RD_KAFKA_RESP_ERR_NO_ERROR;
        err = rd_kafka_error_code(error);
        rd_kafka_error_destroy(error);
        return err;
}

/* ---- Consuming ---- */

int cyk_message_has_headers(const rd_kafka_message_t *message) {
        const rd_kafka_msg_t *rkm      = rd_kafka_message2msg((rd_kafka_message_t *)message);
        const rd_kafkap_bytes_t *bytes = &rkm->rkm_u.consumer.binhdrs;
        if (rkm->rkm_headers)
                return 1;
        /* No headers is an empty list: its count, a varint of one byte. */
        return RD_KAFKAP_BYTES_LEN(bytes) > 1 ||
               (RD_KAFKAP_BYTES_LEN(bytes) == 1 && *(const char *)bytes->data != 0);
}

/* ---- The mock cluster ---- */

void cyk_mock_set_defaults(struct rd_kafka_mock_cluster_s *mcluster, int partition_cnt, int replication_factor) {
        mtx_lock(&mcluster->lock);
        mcluster->defaults.partition_cnt      = partition_cnt;
        mcluster->defaults.replication_factor = replication_factor;
        mtx_unlock(&mcluster->lock);
}
