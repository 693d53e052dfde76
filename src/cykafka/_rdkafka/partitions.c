/* What librdkafka knows about partitions and does not tell by a public function. See native.h for the rules. */
#include "native_int.h"

#include "rdkafka_offset.h"
#include "rdkafka_partition.h"
#include "rdkafka_topic.h"

int32_t cyk_topic_partition_count(rd_kafka_topic_t *app_rkt, rd_kafka_resp_err_t *err) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_proper(app_rkt);
        int32_t count         = 0;
        *err                  = RD_KAFKA_RESP_ERR_NO_ERROR;
        rd_kafka_topic_rdlock(rkt);
        switch (rkt->rkt_state) {
        case RD_KAFKA_TOPIC_S_EXISTS:
                /* 0 for a moment while a topic is being created. */
                count = rkt->rkt_partition_cnt;
                break;
        case RD_KAFKA_TOPIC_S_NOTEXISTS:
                *err = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
                break;
        case RD_KAFKA_TOPIC_S_ERROR:
                *err = rkt->rkt_err;
                break;
        default:
                break;
        }
        rd_kafka_topic_rdunlock(rkt);
        return count;
}

int32_t cyk_topic_await_partitions(rd_kafka_topic_t *rkt, int64_t timeout_us, rd_kafka_resp_err_t *err) {
        rd_ts_t end = rd_clock() + timeout_us;
        /* librdkafka tells nobody when the metadata of a topic has come; asking takes one short lock. */
        for (;;) {
                int32_t count = cyk_topic_partition_count(rkt, err);
                if (count > 0 || *err || rd_clock() >= end)
                        return count;
                rd_usleep(500, NULL);
        }
}

int cyk_topic_partition_available(rd_kafka_topic_t *app_rkt, int32_t partition) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_proper(app_rkt);
        int available;
        rd_kafka_topic_rdlock(rkt);
        available = rd_kafka_topic_partition_available(rkt, partition);
        rd_kafka_topic_rdunlock(rkt);
        return available;
}

void cyk_partition_progress(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *position, int64_t *end) {
        rd_kafka_toppar_t *rktp = rd_kafka_toppar_get2(rk, topic, partition, 0, 0);
        int read_committed      = rk->rk_conf.isolation_level == RD_KAFKA_READ_COMMITTED;
        *position = *end = -1;
        if (!rktp)
                return;
        rd_kafka_toppar_lock(rktp);
        *end      = RD_MAX(-1, read_committed ? rktp->rktp_ls_offset : rktp->rktp_hi_offset);
        *position = rktp->rktp_app_pos.offset;
        /* Fetching has begun at the position that was asked for last. */
        if (rktp->rktp_fetch_version == rktp->rktp_op_version) {
                if (*position < 0)
                        *position = rktp->rktp_last_next_fetch_start.offset;
                /* With nothing fetched left to be consumed, offsets without a message (markers of transactions, what
                 * compaction has removed) are behind as well. */
                if (rd_kafka_q_len(rktp->rktp_fetchq) == 0)
                        *position = RD_MAX(*position, rktp->rktp_offsets_fin.fetch_pos.offset);
        }
        *position = RD_MAX(-1, *position);
        rd_kafka_toppar_unlock(rktp);
        rd_kafka_toppar_destroy(rktp);
}

void cyk_consumer_alive(cyk_handle_t *h) {
        /* A poll() without limit on another thread has switched the check off, and it stays off. */
        if (rd_atomic64_get(&h->rk->rk_ts_last_poll) != INT64_MAX)
                rd_kafka_app_polled(h->rk, h->queue->rkqu_q);
}
