/* What native.c, blocking.c, diagnostics.c, latency.c, share.c and warmup.c share and nobody else sees; needs librdkafka's
 * internal headers. */
#ifndef CYKAFKA_NATIVE_INT_H
#define CYKAFKA_NATIVE_INT_H

/* librdkafka's headers expect it (IOV_MAX, GNU strerror_r). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "rd.h"
#include "rdkafka_int.h"

#include "native.h"

typedef struct cyk_threads_s cyk_threads_t;
typedef struct cyk_stages_s cyk_stages_t;

/* A token and what it is encoded as, and the one before; or a changed password. */
#define CYK_RECENT_SECRETS 8

struct cyk_handle_s {
        rd_kafka_t *rk;
        rd_kafka_queue_t *queue;
        rd_kafka_queue_t *sasl_queue;
        rd_kafka_queue_t *own_queue;
        int destroy_flags;
        int event_fd; /* told of what comes, see cyk_handle_notify(); -1: none */
        /* One for the Python object, one for each call that is inside librdkafka. */
        rd_atomic32_t refcnt;
        rd_atomic32_t wakeups;
        mtx_t lock; /* protects the list below; nothing else is locked while it is held */
        cyk_event_t *head;
        cyk_event_t *tail;
        volatile int pending; /* read without the lock as a hint */
        /* What the interceptors need, NULL if nobody asked for it; set before the client is made. */
        cyk_threads_t *threads;
        cyk_stages_t *stages;
        /* What logs and errors must not show, also under the lock: of the configuration, and set since. */
        char **secrets;
        size_t secret_cnt;
        char *recent_secrets[CYK_RECENT_SECRETS];
        size_t next_secret;
};

/* Of a fetched message. */
int64_t cyk_message_received_ns(const rd_kafka_message_t *message);

/* Destroys the queues and the client, leaving the collected events. */
void cyk_handle_destroy_client(cyk_handle_t *h);

/* Looks for timeout_ms whether all leaders are connected, and has them connected to. As cyk_call_attempt(). */
int cyk_call_warm_up(cyk_call_t *call, int timeout_ms);

void cyk_handle_forget_interceptors(cyk_handle_t *h);

/* An event, with a copy of the text if there is one, and how it gets to those that wait to be served. */
cyk_event_t *cyk_event_new(cyk_event_type_t type, const char *text, size_t text_len);
void cyk_handle_push(cyk_handle_t *h, cyk_event_t *event);

/* A copy of a text without the secrets, to be freed by free(). */
char *cyk_redact(cyk_handle_t *h, const char *text);
void cyk_secrets_destroy(cyk_handle_t *h);
/* Writes a log line to the standard error, as librdkafka does, without the secrets. */
void cyk_print_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf);

#endif
