/*
 * The limit: what a plain C program reaches with the same librdkafka.
 *
 * Usage: limit MODE BOOTSTRAP_SERVERS TOPIC MESSAGES SIZE
 * MODE is produce, report, poll, consume or roundtrip. Prints one JSON object: nanoseconds for each message, or for
 * roundtrip an array of nanoseconds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rdkafka.h"

/* CPU time of the calling thread instead of wall time: what else the machine does costs none of it. */
static int cpu_time = 0;

static int64_t now_ns(void) {
        struct timespec ts;
        clock_gettime(cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
        char errstr[512];
        if (rd_kafka_conf_set(conf, name, value, errstr, sizeof(errstr)) != RD_KAFKA_CONF_OK) {
                fprintf(stderr, "%s\n", errstr);
                exit(2);
        }
}

static rd_kafka_t *client(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
        char errstr[512];
        rd_kafka_t *rk = rd_kafka_new(type, conf, errstr, sizeof(errstr));
        if (!rk) {
                fprintf(stderr, "%s\n", errstr);
                exit(2);
        }
        return rk;
}

static size_t reports = 0;

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
        (void)rk;
        (void)opaque;
        if (message->err) {
                fprintf(stderr, "delivery failed: %s\n", rd_kafka_err2str(message->err));
                exit(2);
        }
        reports++;
}

/* A message refused because the queue is full is a mistake of the benchmark's configuration. */
static void produce(rd_kafka_topic_t *rkt, char *payload, size_t size) {
        if (rd_kafka_produce(rkt, 0, RD_KAFKA_MSG_F_COPY, payload, size, NULL, 0, NULL) == -1) {
                fprintf(stderr, "produce: %s\n", rd_kafka_err2str(rd_kafka_last_error()));
                exit(2);
        }
}

static void run_producer(const char *mode, const char *servers, const char *topic, size_t count, size_t size) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        int report            = !strcmp(mode, "report");
        char *payload         = malloc(size);
        rd_kafka_topic_t *rkt;
        rd_kafka_t *rk;
        int64_t start, end;
        size_t i;

        memset(payload, 'x', size);
        set(conf, "bootstrap.servers", servers);
        set(conf, "queue.buffering.max.messages", "10000000");
        set(conf, "queue.buffering.max.kbytes", "2000000");
        set(conf, "linger.ms", report ? "5" : "60000");
        set(conf, "batch.num.messages", "100000");
        if (report)
                rd_kafka_conf_set_dr_msg_cb(conf, on_report);
        rk  = client(RD_KAFKA_PRODUCER, conf);
        rkt = rd_kafka_topic_new(rk, topic, NULL);

        /* Warm up: metadata, connection, memory. */
        for (i = 0; i < count; i++)
                produce(rkt, payload, size);
        if (!report)
                rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_flush(rk, 60000);

        start = now_ns();
        for (i = 0; i < count; i++)
                produce(rkt, payload, size);
        if (report)
                rd_kafka_flush(rk, 60000);
        end = now_ns();
        printf("{\"ns\": %.1f}\n", (double)(end - start) / count);
        rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_flush(rk, 60000);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
        free(payload);
}

/* Fetches first and reads the clock then: the path from the local queue to the program is what is measured. */
static void run_consumer(const char *mode, const char *servers, const char *topic, size_t count) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_topic_partition_list_t *assignment = rd_kafka_topic_partition_list_new(1);
        rd_kafka_message_t **batch = malloc(10000 * sizeof(*batch));
        rd_kafka_message_t *message;
        rd_kafka_queue_t *queue;
        volatile size_t bytes = 0;
        int64_t start, end;
        size_t got = 0;
        rd_kafka_t *rk;

        set(conf, "bootstrap.servers", servers);
        set(conf, "group.id", "limit");
        set(conf, "enable.auto.commit", "false");
        set(conf, "queued.min.messages", "10000000");
        set(conf, "queued.max.messages.kbytes", "2000000");
        set(conf, "fetch.queue.backoff.ms", "1");
        set(conf, "enable.partition.eof", "true");
        rk = client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(rk);
        queue = rd_kafka_queue_get_consumer(rk);
        rd_kafka_topic_partition_list_add(assignment, topic, 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
        rd_kafka_assign(rk, assignment);
        while (rd_kafka_queue_length(queue) < count)
                usleep(1000);
        usleep(50000);

        start = now_ns();
        if (!strcmp(mode, "poll")) {
                while (got < count && (message = rd_kafka_consumer_poll(rk, 1000))) {
                        bytes += message->len;
                        got += !message->err;
                        rd_kafka_message_destroy(message);
                }
        } else {
                while (got < count) {
                        ssize_t n = rd_kafka_consume_batch_queue(queue, 1000, batch, 10000), i;
                        if (n <= 0)
                                break;
                        for (i = 0; i < n; i++) {
                                bytes += batch[i]->len;
                                got += !batch[i]->err;
                                rd_kafka_message_destroy(batch[i]);
                        }
                }
        }
        end = now_ns();
        if (got < count) {
                fprintf(stderr, "only %zu of %zu messages\n", got, count);
                exit(2);
        }
        printf("{\"ns\": %.1f}\n", (double)(end - start) / count);
        rd_kafka_queue_destroy(queue);
        rd_kafka_topic_partition_list_destroy(assignment);
        rd_kafka_consumer_close(rk);
        rd_kafka_destroy(rk);
        free(batch);
}

static void run_roundtrip(const char *servers, const char *topic, size_t count, size_t size) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char *payload         = malloc(size);
        rd_kafka_topic_t *rkt;
        rd_kafka_t *rk;
        size_t i;

        memset(payload, 'x', size);
        set(conf, "bootstrap.servers", servers);
        set(conf, "linger.ms", "0");
        rd_kafka_conf_set_dr_msg_cb(conf, on_report);
        rk  = client(RD_KAFKA_PRODUCER, conf);
        rkt = rd_kafka_topic_new(rk, topic, NULL);
        for (i = 0; i < 100; i++) {
                produce(rkt, payload, size);
                rd_kafka_flush(rk, 10000);
        }
        printf("{\"ns\": [");
        for (i = 0; i < count; i++) {
                size_t before = reports;
                int64_t start = now_ns();
                produce(rkt, payload, size);
                while (reports == before)
                        rd_kafka_poll(rk, 1000);
                printf("%s%lld", i ? ", " : "", (long long)(now_ns() - start));
        }
        printf("]}\n");
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
        free(payload);
}

int main(int argc, char **argv) {
        if (argc != 6) {
                fprintf(stderr, "usage: %s MODE BOOTSTRAP_SERVERS TOPIC MESSAGES SIZE\n", argv[0]);
                return 2;
        }
        cpu_time = getenv("BENCHMARK_CPU_TIME") != NULL;
        size_t count = strtoul(argv[4], NULL, 10), size = strtoul(argv[5], NULL, 10);
        if (!strcmp(argv[1], "produce") || !strcmp(argv[1], "report"))
                run_producer(argv[1], argv[2], argv[3], count, size);
        else if (!strcmp(argv[1], "roundtrip"))
                run_roundtrip(argv[2], argv[3], count, size);
        else
                run_consumer(argv[1], argv[2], argv[3], count);
        return 0;
}
