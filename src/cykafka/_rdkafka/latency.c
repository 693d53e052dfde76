/*
 * What is done for latency's sake, if it was asked for: affinity and names of librdkafka's threads, by an interceptor
 * that runs on them, and measuring the stages of a message's way. See native.h for the rules.
 */
#include "native_int.h"

#include <string.h>

#include "rdkafka_event.h"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

#include "histogram.h"

/* Linux keeps 15 characters of a thread's name. */
#define CYK_THREAD_NAME_SIZE 16

struct cyk_threads_s {
        char prefix[CYK_THREAD_NAME_SIZE];
#ifdef __linux__
        cpu_set_t cpus[CYK_THREAD_KINDS];
#endif
};

struct cyk_stages_s {
        cyk_histogram_t *histograms[CYK_STAGE_COUNT];
};

/* ---- Threads ---- */

/* Restricts the calling thread to a CPU and back again: the only way to learn whether the kernel lets us. */
int cyk_cpu_usable(int cpu) {
#ifdef __linux__
        cpu_set_t before, one;
        int usable;
        if (cpu < 0 || cpu >= CPU_SETSIZE || pthread_getaffinity_np(pthread_self(), sizeof(before), &before))
                return 0;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        usable = pthread_setaffinity_np(pthread_self(), sizeof(one), &one) == 0;
        pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
        return usable;
#else
        (void)cpu;
        return 0;
#endif
}

static cyk_threads_t *cyk_handle_threads(cyk_handle_t *h) {
        if (!h->threads)
                h->threads = rd_calloc(1, sizeof(*h->threads));
        return h->threads;
}

void cyk_handle_add_cpu(cyk_handle_t *h, cyk_thread_kind_t kind, int cpu) {
        cyk_threads_t *threads = cyk_handle_threads(h);
#ifdef __linux__
        CPU_SET(cpu, &threads->cpus[kind]);
#else
        (void)threads;
        (void)kind;
        (void)cpu;
#endif
}

void cyk_handle_name_threads(cyk_handle_t *h, const char *prefix) {
        cyk_threads_t *threads = cyk_handle_threads(h);
        rd_snprintf(threads->prefix, sizeof(threads->prefix), "%s", prefix);
}

#ifdef __linux__
static void cyk_rename_thread(const char *prefix) {
        char name[CYK_THREAD_NAME_SIZE], renamed[2 * CYK_THREAD_NAME_SIZE];
        const char *kind;
        size_t room;
        /* What librdkafka has called it: rdk:main, rdk:bg, rdk:broker1. */
        if (pthread_getname_np(pthread_self(), name, sizeof(name)) || !(kind = strchr(name, ':')))
                return;
        room = CYK_THREAD_NAME_SIZE - 1 - strlen(kind);
        rd_snprintf(renamed, sizeof(renamed), "%.*s%s", (int)room, prefix, kind);
        pthread_setname_np(pthread_self(), renamed);
}
#endif

static rd_kafka_resp_err_t cyk_on_thread_start(rd_kafka_t *rk,
                                               rd_kafka_thread_type_t type,
                                               const char *name,
                                               void *opaque) {
#ifdef __linux__
        const cyk_threads_t *threads = ((cyk_handle_t *)opaque)->threads;
        cyk_thread_kind_t kind       = type == RD_KAFKA_THREAD_MAIN         ? CYK_THREAD_MAIN
                                       : type == RD_KAFKA_THREAD_BACKGROUND ? CYK_THREAD_BACKGROUND
                                                                            : CYK_THREAD_BROKER;
        if (CPU_COUNT(&threads->cpus[kind]))
                pthread_setaffinity_np(pthread_self(), sizeof(threads->cpus[kind]), &threads->cpus[kind]);
        if (*threads->prefix)
                cyk_rename_thread(threads->prefix);
#endif
        (void)rk;
        (void)type;
        (void)name;
        (void)opaque;
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* ---- Stages ---- */

int cyk_handle_measure(cyk_handle_t *h) {
        int i;
        h->stages = rd_calloc(1, sizeof(*h->stages));
        for (i = 0; i < CYK_STAGE_COUNT; i++) {
                /* 1 us to an hour. */
                h->stages->histograms[i] = cyk_histogram_new(1, INT64_C(3600000000), 3);
                if (!h->stages->histograms[i])
                        return -1;
        }
        return 0;
}

struct cyk_histogram_s *cyk_handle_histogram(const cyk_handle_t *h, cyk_stage_t stage) {
        return h->stages ? h->stages->histograms[stage] : NULL;
}

void cyk_handle_measure_reports(const cyk_handle_t *h, const rd_kafka_event_t *reports) {
        const rd_kafka_msg_t *rkm;
        int64_t sent_ns, received_ns;
        rd_ts_t received, delivery, wire;
        if (likely(!h->stages) || reports->rko_err)
                return;
        cyk_report_stamps(reports, &sent_ns, &received_ns);
        if (!received_ns)
                return;
        received = received_ns / 1000;
        wire     = (received_ns - sent_ns) / 1000;
        delivery = (rd_clock_ns() - received_ns) / 1000;
        TAILQ_FOREACH(rkm, &reports->rko_u.dr.msgq.rkmq_msgs, rkm_link) {
                if (rkm->rkm_err)
                        continue;
                cyk_histogram_record(h->stages->histograms[CYK_STAGE_ENQUEUE], received - wire - rkm->rkm_ts_enq, 1);
                cyk_histogram_record(h->stages->histograms[CYK_STAGE_WIRE], wire, 1);
                cyk_histogram_record(h->stages->histograms[CYK_STAGE_ACKNOWLEDGEMENT], received - rkm->rkm_ts_enq, 1);
                cyk_histogram_record(h->stages->histograms[CYK_STAGE_DELIVERY], delivery, 1);
        }
}

void cyk_handle_measure_messages(const cyk_handle_t *h, rd_kafka_message_t **messages, size_t count) {
        int64_t now_ns = rd_clock_ns();
        size_t i;
        for (i = 0; i < count; i++) {
                if (!messages[i]->err)
                        cyk_histogram_record(h->stages->histograms[CYK_STAGE_DELIVERY],
                                             (now_ns - cyk_message_received_ns(messages[i])) / 1000, 1);
        }
}

/* ---- Setting up ---- */

static rd_kafka_resp_err_t cyk_on_new(
    rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque, char *errstr, size_t errstr_size) {
        rd_kafka_interceptor_add_on_thread_start(rk, "cykafka", cyk_on_thread_start, opaque);
        (void)conf;
        (void)errstr;
        (void)errstr_size;
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void cyk_conf_intercept(rd_kafka_conf_t *conf, cyk_handle_t *h) {
        if (h->threads)
                rd_kafka_conf_interceptor_add_on_new(conf, "cykafka", cyk_on_new, h);
}

void cyk_handle_forget_interceptors(cyk_handle_t *h) {
        int i;
        if (h->stages) {
                for (i = 0; i < CYK_STAGE_COUNT; i++) {
                        if (h->stages->histograms[i])
                                cyk_histogram_release(h->stages->histograms[i]);
                }
        }
        free(h->stages);
        free(h->threads);
}
