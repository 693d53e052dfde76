/* Connecting a producer to the brokers that it will need, before its first message. See native.h for the rules. */
#include "native_int.h"

#include "rdkafka_broker.h"
#include "rdkafka_idempotence.h"
#include "rdkafka_partition.h"
#include "rdkafka_topic.h"

/* How long a look at the brokers lasts at most, so that an abandoned call ends soon. */
#define CYK_WARMUP_PAUSE_MS 50

/* Asks for a topic's partitions and their leaders. Returns true once it is known, with call->err if that is an error.
 * What an earlier question was answered says more than that the last one was not. */
static int cyk_topic_known(cyk_call_t *call, rd_kafka_resp_err_t *last, rd_kafka_topic_t *rkt, int timeout_ms) {
        const struct rd_kafka_metadata *metadata;
        const rd_kafka_metadata_topic_t *topic;
        int i;

        call->err = rd_kafka_metadata(call->handle->rk, 0, rkt, &metadata, timeout_ms);
        if (call->err) {
                call->err = *last ? *last : call->err;
                return 0;
        }
        topic     = metadata->topic_cnt ? &metadata->topics[0] : NULL;
        call->err = topic ? topic->err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
        for (i = 0; !call->err && i < topic->partition_cnt; i++) {
                if (topic->partitions[i].leader < 0)
                        call->err = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
        }
        rd_kafka_metadata_destroy(metadata);
        *last = call->err;
        /* A topic that is just being made is unknown for a while, then without leaders. */
        return call->err != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART &&
               call->err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
}

static void cyk_add_broker(rd_kafka_topic_partition_list_t *brokers, int32_t id) {
        if (!rd_kafka_topic_partition_list_find(brokers, "", id))
                rd_kafka_topic_partition_list_add(brokers, "", id);
}

/* Has every leader of a topic connected to. Returns how many partitions have no leader that is up and serves them. */
static int cyk_connect_leaders(rd_kafka_topic_t *rkt, rd_kafka_topic_partition_list_t *brokers) {
        int missing = 0;
        int32_t i;

        rd_kafka_topic_rdlock(rkt);
        for (i = 0; i < rkt->rkt_partition_cnt; i++) {
                rd_kafka_toppar_t *rktp = rkt->rkt_p[i];
                rd_kafka_broker_t *rkb;
                int delegated;
                rd_kafka_toppar_lock(rktp);
                rkb = rktp->rktp_leader;
                if (rkb)
                        rd_kafka_broker_keep(rkb);
                delegated = rkb && rktp->rktp_broker == rkb;
                rd_kafka_toppar_unlock(rktp);
                if (!rkb) {
                        missing++;
                        continue;
                }
                if (!rd_kafka_broker_is_up(rkb)) {
                        rd_kafka_broker_schedule_connection(rkb);
                        missing++;
                } else if (!delegated) {
                        missing++;
                } else {
                        cyk_add_broker(brokers, rd_kafka_broker_id(rkb));
                }
                rd_kafka_broker_destroy(rkb);
        }
        missing += !rkt->rkt_partition_cnt;
        rd_kafka_topic_rdunlock(rkt);
        return missing;
}

/* An idempotent producer sends nothing before it has its id; a transactional one gets it in init_transactions(). */
static int cyk_lacks_producer_id(rd_kafka_t *rk) {
        return rd_kafka_is_idempotent(rk) && !rd_kafka_is_transactional(rk) &&
               !rd_kafka_pid_valid(rd_kafka_idemp_get_pid(rk));
}

int cyk_call_warm_up(cyk_call_t *call, int timeout_ms) {
        rd_kafka_t *rk = call->handle->rk;
        rd_ts_t end    = rd_clock() + (rd_ts_t)timeout_ms * 1000;
        int i, missing, version, left_ms;

        for (i = 0; i < call->partitions->cnt; i++) {
                rd_kafka_topic_partition_t *elem = &call->partitions->elems[i];
                rd_kafka_topic_t *rkt;
                /* The offset marks a topic that an earlier piece of the call has got to know. */
                if (elem->offset >= 0)
                        continue;
                if (!(rkt = rd_kafka_topic_new(rk, elem->topic, NULL))) {
                        call->err = rd_kafka_last_error();
                        return 0;
                }
                left_ms = (int)((end - rd_clock()) / 1000);
                missing = !cyk_topic_known(call, &elem->err, rkt, RD_MAX(left_ms, 1));
                rd_kafka_topic_destroy(rkt);
                if (missing)
                        return 1;
                if (call->err)
                        return 0;
                elem->offset = 0;
        }

        for (;;) {
                if (call->brokers)
                        rd_kafka_topic_partition_list_destroy(call->brokers);
                call->brokers = rd_kafka_topic_partition_list_new(8);
                if ((call->err = rd_kafka_fatal_error_code(rk)))
                        return 0;
                version = rd_kafka_brokers_get_state_version(rk);
                missing = cyk_lacks_producer_id(rk);
                for (i = 0; i < call->partitions->cnt; i++) {
                        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, call->partitions->elems[i].topic, NULL);
                        missing += rkt ? cyk_connect_leaders(rkt, call->brokers) : 1;
                        if (rkt)
                                rd_kafka_topic_destroy(rkt);
                }
                if (!missing)
                        return 0;
                left_ms = (int)((end - rd_clock()) / 1000);
                if (left_ms <= 0) {
                        call->err = RD_KAFKA_RESP_ERR__TIMED_OUT;
                        return 1;
                }
                rd_kafka_brokers_wait_state_change(rk, version, RD_MIN(left_ms, CYK_WARMUP_PAUSE_MS));
        }
}
