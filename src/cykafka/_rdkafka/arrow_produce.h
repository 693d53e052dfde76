/*
 * Rows of Arrow arrays to messages: readers of columns in all layouts that hold bytes, and the produce loop.
 *
 * Called without the GIL. The arrays are borrowed, and trusted to be what their schema says, as the Arrow C Data
 * Interface has it.
 */
#ifndef CYKAFKA_ARROW_PRODUCE_H
#define CYKAFKA_ARROW_PRODUCE_H

#include "arrow_native.h"

typedef enum {
        CYK_CELLS_NONE = 0, /* there is no such column */
        CYK_CELLS_NULL,     /* every cell is null */
        CYK_CELLS_BINARY,   /* int32 offsets */
        CYK_CELLS_LARGE,    /* int64 offsets */
        CYK_CELLS_VIEW,
        CYK_CELLS_FIXED,
        CYK_CELLS_DICTIONARY,
        CYK_CELLS_INTEGER,
        CYK_CELLS_TIMESTAMP,
        CYK_CELLS_LIST,      /* int32 offsets; also maps */
        CYK_CELLS_LARGE_LIST /* int64 offsets */
} cyk_cells_kind_t;

/* A column that is read cell by cell. */
typedef struct cyk_cells_s {
        cyk_cells_kind_t kind;
        char number;           /* format letter of an integer, or of a dictionary's indices */
        int64_t width;         /* of fixed-size binary */
        int64_t per_ms;        /* timestamps: ticks a millisecond, or negative: milliseconds a tick */
        int64_t offset;
        const uint8_t *validity;
        const void **buffers;
        struct cyk_cells_s *children; /* owned: a dictionary's values, or a list's structs' key and value */
} cyk_cells_t;

typedef enum { CYK_WANT_BYTES, CYK_WANT_INTEGER, CYK_WANT_TIMESTAMP, CYK_WANT_HEADERS } cyk_want_t;

/* Opens a column; offset is that of its parent. Returns 0, 1 if its type cannot be used for this, -1 when out of
 * memory. */
int cyk_cells_open(cyk_cells_t *cells,
                   const struct ArrowSchema *schema,
                   const struct ArrowArray *array,
                   int64_t offset,
                   cyk_want_t want);
void cyk_cells_close(cyk_cells_t *cells);

/* Topics of the rows, by name. */
typedef struct cyk_topic_slot_s {
        char *name;
        size_t len;
        rd_kafka_topic_t *rkt; /* borrowed */
} cyk_topic_slot_t;

typedef enum {
        CYK_ROWS_DONE = 0,
        CYK_ROWS_FULL,          /* the queue is full: wait, and go on */
        CYK_ROWS_NEW_TOPIC,     /* add it by cyk_rows_add_topic(), and go on */
        CYK_ROWS_REFUSED,       /* the row in turn was refused with `err`; skip it to go on */
        CYK_ROWS_NO_TOPIC,      /* what is wrong with the row in turn: */
        CYK_ROWS_BAD_PARTITION,
        CYK_ROWS_BAD_TIMESTAMP,
        CYK_ROWS_NO_HEADER_KEY,
        CYK_ROWS_NULL
} cyk_rows_status_t;

typedef struct cyk_rows_s {
        rd_kafka_t *rk;
        rd_kafka_topic_t *rkt; /* borrowed; NULL: the rows say it */
        int32_t partition;     /* of rows that say none */
        cyk_cells_t key;
        cyk_cells_t value;
        cyk_cells_t headers;
        cyk_cells_t partitions;
        cyk_cells_t timestamps;
        cyk_cells_t topics;
        cyk_cells_t whole; /* the rows themselves, of which none may be null */
        /* The message's opaque is base + 2 * (number of the row over all batches). */
        uint64_t opaque_base;
        int64_t first;  /* number of the batch's first row */
        int64_t row;    /* in turn, within the batch */
        int64_t length; /* of the batch */
        int64_t enqueued;
        rd_kafka_resp_err_t err;
        /* The topic that is missing, or the number that is out of range. */
        const char *topic;
        size_t topic_len;
        int64_t number;
        cyk_topic_slot_t *slots;
        size_t slot_cnt; /* a power of two, or 0 */
        size_t slot_used;
} cyk_rows_t;

/* Starts with a batch, whose columns the caller then opens. */
void cyk_rows_begin(cyk_rows_t *rows, const struct ArrowArray *batch);
/* Enqueues rows until it has to stop; at most so many. */
cyk_rows_status_t cyk_rows_produce(cyk_rows_t *rows, int64_t most);
/* Returns 0 or -1 (out of memory). */
int cyk_rows_add_topic(cyk_rows_t *rows, const char *name, size_t len, rd_kafka_topic_t *rkt);
void cyk_rows_clear(cyk_rows_t *rows);

/* ---- Delivery of a batch ---- */

typedef struct cyk_failure_s {
        int64_t row;
        rd_kafka_resp_err_t err;
} cyk_failure_t;

typedef struct cyk_delivery_s cyk_delivery_t;

cyk_delivery_t *cyk_delivery_new(void);
void cyk_delivery_destroy(cyk_delivery_t *delivery);
/* All of these may be called by any thread, and return true if the batch is complete by that, once. */
int cyk_delivery_report(cyk_delivery_t *delivery, int64_t row, rd_kafka_resp_err_t err);
/* No more rows will be enqueued. */
int cyk_delivery_close(cyk_delivery_t *delivery);
/* A row that could not be enqueued. */
void cyk_delivery_refuse(cyk_delivery_t *delivery, int64_t row, rd_kafka_resp_err_t err);
void cyk_delivery_add(cyk_delivery_t *delivery, int64_t enqueued);
void cyk_delivery_read(cyk_delivery_t *delivery, int64_t *enqueued, int64_t *delivered, int64_t *failed, int *complete);
/* Copies failures from `first` on; returns how many were copied. */
size_t cyk_delivery_failures(cyk_delivery_t *delivery, size_t first, cyk_failure_t *out, size_t cnt);

#endif
