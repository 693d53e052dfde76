/*
 * Blocking calls of librdkafka on a thread of their own.
 *
 * rd_kafka_metadata() and its like cannot be interrupted. Run on a helper thread, the caller can give up at any
 * moment: the call then holds the handle until librdkafka returns, frees its own results and lets go.
 */
#include "native_int.h"

#include <limits.h>

#ifndef _WIN32
#include <signal.h>
#endif

/* An unlimited call is made in pieces, so that an abandoned one ends soon. Long enough for a slow broker to
 * answer, since a piece that timed out sends its request again. */
#define CYK_PIECE_MS 10000
/* Transactional calls resume where they were, so their pieces may be short. */
#define CYK_RESUMABLE_PIECE_MS 500
/* Some of them fail at once: no busy loop until the time is over. */
#define CYK_RESUME_PAUSE_US 20000

typedef struct cyk_sync_s {
        mtx_t lock;
        cnd_t cond;
        int done;
        int refcnt;
        int abandoned;
} cyk_sync_t;

cyk_call_t *cyk_call_new(cyk_handle_t *h, cyk_call_op_t op, int64_t timeout_us) {
        cyk_call_t *call = rd_calloc(1, sizeof(*call));
        cyk_sync_t *sync = rd_calloc(1, sizeof(*sync));
        mtx_init(&sync->lock, mtx_plain);
        cnd_init(&sync->cond);
        sync->refcnt     = 1;
        call->sync       = sync;
        call->op         = op;
        call->timeout_us = timeout_us;
        call->handle     = h;
        cyk_handle_keep(h);
        return call;
}

static void cyk_call_destroy(cyk_call_t *call) {
        cyk_sync_t *sync = call->sync;
        free(call->topic);
        if (call->partitions)
                rd_kafka_topic_partition_list_destroy(call->partitions);
        if (call->cgmetadata)
                rd_kafka_consumer_group_metadata_destroy(call->cgmetadata);
        if (call->error)
                rd_kafka_error_destroy(call->error);
        if (call->metadata)
                rd_kafka_metadata_destroy(call->metadata);
        if (call->brokers)
                rd_kafka_topic_partition_list_destroy(call->brokers);
        if (call->groups)
                rd_kafka_group_list_destroy(call->groups);
        if (call->text)
                rd_kafka_mem_free(NULL, call->text);
        if (call->handle)
                cyk_handle_release(call->handle);
        cnd_destroy(&sync->cond);
        mtx_destroy(&sync->lock);
        free(sync);
        free(call);
}

void cyk_call_release(cyk_call_t *call) {
        cyk_sync_t *sync = call->sync;
        int left;
        mtx_lock(&sync->lock);
        sync->abandoned = 1;
        left            = --sync->refcnt;
        mtx_unlock(&sync->lock);
        if (!left)
                cyk_call_destroy(call);
}

void cyk_call_abandon(cyk_call_t *call) {
        cyk_sync_t *sync = call->sync;
        mtx_lock(&sync->lock);
        sync->abandoned = 1;
        mtx_unlock(&sync->lock);
}

static int cyk_call_abandoned(cyk_call_t *call) {
        cyk_sync_t *sync = call->sync;
        int abandoned;
        mtx_lock(&sync->lock);
        abandoned = sync->abandoned;
        mtx_unlock(&sync->lock);
        return abandoned;
}

/* On librdkafka's main thread, which owns part of what is read. */
static rd_kafka_op_res_t cyk_statistics_op(rd_kafka_t *rk, rd_kafka_q_t *rkq, rd_kafka_op_t *rko) {
        (void)rkq;
        if (rko->rko_err == RD_KAFKA_RESP_ERR__DESTROY)
                return RD_KAFKA_OP_RES_HANDLED;
        rko->rko_u.stats.json = rd_kafka_stats_json(rk, &rko->rko_u.stats.json_len);
        /* The op is its own reply, and shall not come back here when that is taken from its queue. */
        rko->rko_type &= ~RD_KAFKA_OP_CB;
        rko->rko_op_cb = NULL;
        rd_kafka_replyq_enq(&rko->rko_replyq, rko, 0);
        return RD_KAFKA_OP_RES_KEEP;
}

static char *cyk_statistics(rd_kafka_t *rk, int timeout_ms) {
        rd_kafka_op_t *reply =
            rd_kafka_op_req(rk->rk_ops, rd_kafka_op_new_cb(rk, RD_KAFKA_OP_STATS, cyk_statistics_op), timeout_ms);
        char *json;

        if (!reply)
                return NULL;
        json                    = reply->rko_u.stats.json;
        reply->rko_u.stats.json = NULL;
        rd_kafka_op_destroy(reply);
        return json;
}

/* One attempt of at most timeout_ms. Returns true if it is worth another piece of the caller's time. */
static int cyk_call_attempt(cyk_call_t *call, int timeout_ms) {
        rd_kafka_t *rk        = call->handle->rk;
        rd_kafka_topic_t *rkt = NULL;
        rd_kafka_error_t *error;

        switch (call->op) {
        case CYK_CALL_METADATA:
                if (call->topic && !(rkt = rd_kafka_topic_new(rk, call->topic, NULL))) {
                        call->err = rd_kafka_last_error();
                        return 0;
                }
                call->err = rd_kafka_metadata(rk, !rkt, rkt, &call->metadata, timeout_ms);
                if (rkt)
                        rd_kafka_topic_destroy(rkt);
                /* Without any broker up librdkafka gives up at once with _TRANSPORT. */
                return call->err == RD_KAFKA_RESP_ERR__TIMED_OUT;
        case CYK_CALL_COMMITTED:
                call->err = rd_kafka_committed(rk, call->partitions, timeout_ms);
                return call->err == RD_KAFKA_RESP_ERR__TIMED_OUT;
        case CYK_CALL_WATERMARKS:
                call->err = rd_kafka_query_watermark_offsets(rk, call->topic, call->partition, &call->low,
                                                             &call->high, timeout_ms);
                return call->err == RD_KAFKA_RESP_ERR__TIMED_OUT;
        case CYK_CALL_OFFSETS_FOR_TIMES:
                call->err = rd_kafka_offsets_for_times(rk, call->partitions, timeout_ms);
                return call->err == RD_KAFKA_RESP_ERR__TIMED_OUT;
        case CYK_CALL_SEEK:
                call->error = rd_kafka_seek_partitions(rk, call->partitions, timeout_ms);
                return 0;
        case CYK_CALL_CLUSTERID:
                call->text = rd_kafka_clusterid(rk, timeout_ms);
                return !call->text;
        case CYK_CALL_STATISTICS:
                call->text = cyk_statistics(rk, timeout_ms);
                return 0;
        case CYK_CALL_LIST_GROUPS:
                call->err = rd_kafka_list_groups(rk, call->topic, &call->groups, timeout_ms);
                return call->err == RD_KAFKA_RESP_ERR__TIMED_OUT;
        case CYK_CALL_INIT_TRANSACTIONS:
                error = rd_kafka_init_transactions(rk, timeout_ms);
                break;
        case CYK_CALL_SEND_OFFSETS:
                error = rd_kafka_send_offsets_to_transaction(rk, call->partitions, call->cgmetadata, timeout_ms);
                break;
        case CYK_CALL_COMMIT_TRANSACTION:
                error = rd_kafka_commit_transaction(rk, timeout_ms);
                break;
        case CYK_CALL_ABORT_TRANSACTION:
                error = rd_kafka_abort_transaction(rk, timeout_ms);
                break;
        case CYK_CALL_SHARE_COMMIT:
                call->error = rd_kafka_share_commit_sync(cyk_handle_share(call->handle), timeout_ms, &call->partitions);
                return 0;
        case CYK_CALL_SHARE_CLOSE:
                error = rd_kafka_share_consumer_close(cyk_handle_share(call->handle));
                if (call->error)
                        rd_kafka_error_destroy(call->error);
                call->error = error;
                /* A commit that the user gave up is still waiting on its own thread. */
                return error && rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__CONFLICT;
        case CYK_CALL_WARMUP:
                return cyk_call_warm_up(call, timeout_ms);
        case CYK_CALL_DESTROY:
                cyk_handle_release(call->handle);
                call->handle = NULL;
                return 0;
        default:
                rd_assert(!*"unknown blocking call");
                return 0;
        }

        if (call->error)
                rd_kafka_error_destroy(call->error);
        call->error = error;
        /* A piece that is too short ends in any retriable error: a previous transaction that is still being ended, a
         * coordinator that is moving. */
        return error && rd_kafka_error_is_retriable(error);
}

static void cyk_call_perform(cyk_call_t *call) {
        int resumable = call->op == CYK_CALL_INIT_TRANSACTIONS || call->op == CYK_CALL_COMMIT_TRANSACTION ||
                        call->op == CYK_CALL_ABORT_TRANSACTION || call->op == CYK_CALL_SHARE_CLOSE ||
                        call->op == CYK_CALL_WARMUP;
        /* Sending offsets again is a new request, and seeking again a second seek: one piece only. */
        int single    = call->op == CYK_CALL_SEND_OFFSETS || call->op == CYK_CALL_SEEK ||
                     call->op == CYK_CALL_SHARE_COMMIT || call->op == CYK_CALL_STATISTICS;
        int piece_ms  = resumable ? CYK_RESUMABLE_PIECE_MS : single ? INT_MAX : CYK_PIECE_MS;
        rd_ts_t end   = call->timeout_us < 0 ? INT64_MAX : rd_clock() + call->timeout_us;

        for (;;) {
                int64_t left_ms = end == INT64_MAX ? piece_ms : (end - rd_clock() + 999) / 1000;
                int again       = cyk_call_attempt(call, (int)RD_MAX(0, RD_MIN(left_ms, piece_ms)));
                if (!again || single || cyk_call_abandoned(call) || rd_clock() >= end)
                        return;
                if (resumable)
                        rd_usleep(CYK_RESUME_PAUSE_US, NULL);
        }
}

static int cyk_call_main(void *arg) {
        cyk_call_t *call = arg;
        cyk_sync_t *sync = call->sync;
        int left;

        cyk_call_perform(call);

        mtx_lock(&sync->lock);
        sync->done = 1;
        left       = --sync->refcnt;
        cnd_signal(&sync->cond);
        mtx_unlock(&sync->lock);
        if (!left)
                cyk_call_destroy(call);
        return 0;
}

int cyk_call_start(cyk_call_t *call) {
        cyk_sync_t *sync = call->sync;
        thrd_t thread;
        int result;
#ifndef _WIN32
        /* Signals belong to Python's threads. */
        sigset_t all, previous;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &previous);
#endif
        sync->refcnt++;
        result = thrd_create(&thread, cyk_call_main, call);
#ifndef _WIN32
        pthread_sigmask(SIG_SETMASK, &previous, NULL);
#endif
        if (result != thrd_success) {
                sync->refcnt--;
                return -1;
        }
        thrd_detach(thread);
        return 0;
}

int cyk_call_wait(cyk_call_t *call, int64_t timeout_us) {
        cyk_sync_t *sync  = call->sync;
        rd_ts_t abs_timeout = rd_timeout_init_us(timeout_us);
        int done;
        mtx_lock(&sync->lock);
        while (!sync->done && cnd_timedwait_abs(&sync->cond, &sync->lock, abs_timeout) == thrd_success)
                ;
        done = sync->done;
        mtx_unlock(&sync->lock);
        return done;
}
