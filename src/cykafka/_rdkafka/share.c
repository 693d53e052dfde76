/* Share consumers: what differs from other clients. See native.h for the rules. */
#include "native_int.h"

rd_kafka_t *cyk_share_consumer_new(rd_kafka_conf_t *conf, char *errstr, size_t errstr_size) {
        rd_kafka_share_t *rkshare = rd_kafka_share_consumer_new(conf, errstr, errstr_size);
        return rkshare ? rkshare->rkshare_rk : NULL;
}

rd_kafka_share_t *cyk_handle_share(const cyk_handle_t *h) {
        return h->rk->rk_rkshare;
}

static void cyk_collect_acknowledged(rd_kafka_share_t *rkshare,
                                     rd_kafka_share_partition_offsets_list_t *list,
                                     rd_kafka_resp_err_t err,
                                     void *opaque) {
        cyk_event_t *event = cyk_event_new(CYK_EVENT_ACKNOWLEDGED, NULL, 0);
        size_t i, j;
        (void)rkshare;
        event->err        = err;
        event->partitions = rd_kafka_topic_partition_list_new(8);
        for (i = 0; i < rd_kafka_share_partition_offsets_list_count(list); i++) {
                const rd_kafka_share_partition_offsets_t *entry = rd_kafka_share_partition_offsets_list_get(list, i);
                const rd_kafka_topic_partition_t *partition     = rd_kafka_share_partition_offsets_partition(entry);
                const int64_t *offsets                          = rd_kafka_share_partition_offsets_offsets(entry);
                for (j = 0; j < rd_kafka_share_partition_offsets_offsets_cnt(entry); j++)
                        rd_kafka_topic_partition_list_add(event->partitions, partition->topic, partition->partition)
                            ->offset = offsets[j];
        }
        cyk_handle_push(opaque, event);
}

rd_kafka_error_t *cyk_share_collect_acknowledgements(cyk_handle_t *h, int collect) {
        return rd_kafka_share_set_acknowledgement_commit_cb(cyk_handle_share(h),
                                                            collect ? cyk_collect_acknowledged : NULL, h);
}
