/*
 * Columns in memory as Apache Arrow lays them out, and their hand-over by the Arrow C Data Interface.
 *
 * Nothing here needs the GIL or Python: batches are reference counted, and whoever imported one may release it
 * (or each column by itself) on any thread, also after the client that filled it is gone.
 */
#ifndef CYKAFKA_ARROW_NATIVE_H
#define CYKAFKA_ARROW_NATIVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rdkafka.h"

/* The three structs are the published ABI of Arrow: names and order of the members are given. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
        const char *format;
        const char *name;
        const char *metadata;
        int64_t flags;
        int64_t n_children;
        struct ArrowSchema **children;
        struct ArrowSchema *dictionary;
        void (*release)(struct ArrowSchema *);
        void *private_data;
};

struct ArrowArray {
        int64_t length;
        int64_t null_count;
        int64_t offset;
        int64_t n_buffers;
        int64_t n_children;
        const void **buffers;
        struct ArrowArray **children;
        struct ArrowArray *dictionary;
        void (*release)(struct ArrowArray *);
        void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
        int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
        int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
        const char *(*get_last_error)(struct ArrowArrayStream *);
        void (*release)(struct ArrowArrayStream *);
        void *private_data;
};
#endif

/* ---- Columns ---- */

typedef struct cyk_buffer_s {
        uint8_t *data;
        size_t len;
        size_t cap;
} cyk_buffer_t;

typedef enum {
        CYK_LAYOUT_FIXED = 0, /* validity, values of `width` bytes */
        CYK_LAYOUT_BITS,      /* validity, one bit a value */
        CYK_LAYOUT_BINARY,    /* validity, int32 offsets, bytes */
        CYK_LAYOUT_LIST,      /* validity, int32 offsets; one child */
        CYK_LAYOUT_STRUCT     /* validity; children */
} cyk_layout_t;

typedef struct cyk_column_s {
        char *name;
        char *format;
        cyk_layout_t layout;
        size_t width;
        int nullable;
        int64_t length;
        int64_t null_count;
        cyk_buffer_t validity; /* made at the first null */
        cyk_buffer_t offsets;
        cyk_buffer_t data;
        size_t child_cnt;
        struct cyk_column_s **children;
} cyk_column_t;

/* Makes room for so many more bytes. Returns 0, or -1 when out of memory. */
int cyk_buffer_reserve(cyk_buffer_t *buffer, size_t more);

/* All of these return NULL or -1 when out of memory, and leave what was there. */
cyk_column_t *cyk_column_new(const char *name, const char *format, cyk_layout_t layout, size_t width, int nullable);
int cyk_column_adopt(cyk_column_t *parent, cyk_column_t *child);
void cyk_column_destroy(cyk_column_t *column);
/* Room for so many more rows, and bytes if it is a binary column. The appending functions below need it; those for
 * every cell of every message are here to be inlined. */
int cyk_column_reserve(cyk_column_t *column, size_t rows, size_t bytes);

static inline void cyk_column_end_offset(cyk_column_t *column, size_t end) {
        int32_t offset = (int32_t)end;
        memcpy(column->offsets.data + column->offsets.len, &offset, sizeof(offset));
        column->offsets.len += sizeof(offset);
}

static inline void cyk_column_append_null(cyk_column_t *column) {
        column->validity.data[column->length >> 3] &= (uint8_t)~(1u << (column->length & 7));
        column->null_count++;
        switch (column->layout) {
        case CYK_LAYOUT_FIXED:
                memset(column->data.data + column->data.len, 0, column->width);
                column->data.len += column->width;
                break;
        case CYK_LAYOUT_BINARY:
                cyk_column_end_offset(column, column->data.len);
                break;
        case CYK_LAYOUT_LIST:
                cyk_column_end_offset(column, column->children[0]->length);
                break;
        default:
                break;
        }
        column->length++;
}

static inline void cyk_column_append_bytes(cyk_column_t *column, const void *bytes, size_t len) {
        /* memcpy() from NULL is undefined even for no bytes. */
        if (len)
                memcpy(column->data.data + column->data.len, bytes, len);
        column->data.len += len;
        cyk_column_end_offset(column, column->data.len);
        column->length++;
}

static inline void cyk_column_append_fixed(cyk_column_t *column, const void *value) {
        memcpy(column->data.data + column->data.len, value, column->width);
        column->data.len += column->width;
        column->length++;
}

void cyk_column_append_bit(cyk_column_t *column, int bit);
/* Ends a row of a list whose items are in its child, or of a struct. Rows of structs are never null. */
void cyk_column_end_row(cyk_column_t *column);

int cyk_utf8_valid(const char *text, size_t len);
/* Appends a text in which each byte that is not part of valid UTF-8 becomes a question mark. */
void cyk_column_append_utf8(cyk_column_t *column, const char *text, size_t len);

/* ---- Batches ---- */

typedef struct cyk_batch_s cyk_batch_t;

/* Takes over the root, a struct column, also on failure. */
cyk_batch_t *cyk_batch_new(cyk_column_t *root);
void cyk_batch_keep(cyk_batch_t *batch);
void cyk_batch_release(cyk_batch_t *batch);
cyk_column_t *cyk_batch_root(cyk_batch_t *batch);
/* Bytes held by all buffers. */
size_t cyk_batch_size(const cyk_batch_t *batch);
/* Nothing may be appended to a batch once it was exported. */
int cyk_batch_export_array(cyk_batch_t *batch, struct ArrowArray *out);
int cyk_column_export_schema(const cyk_column_t *column, struct ArrowSchema *out);

/* ---- Messages ---- */

enum {
        CYK_MESSAGE_KEY = 0,
        CYK_MESSAGE_VALUE,
        CYK_MESSAGE_TOPIC,
        CYK_MESSAGE_PARTITION,
        CYK_MESSAGE_OFFSET,
        CYK_MESSAGE_TIMESTAMP,
        CYK_MESSAGE_TIMESTAMP_TYPE,
        CYK_MESSAGE_HEADERS,
        CYK_MESSAGE_COLUMNS
};

/* The largest number of bytes in a column: offsets are int32. */
#define CYK_COLUMN_BYTES_MAX INT32_MAX

struct cyk_decoder_s;
struct cyk_scratch_s;

/* Columns of consumed messages while they are filled. */
typedef struct cyk_message_batch_s {
        cyk_batch_t *batch;
        /* By CYK_MESSAGE_...; NULL if it was not asked for. */
        cyk_column_t *columns[CYK_MESSAGE_COLUMNS];
        int64_t max_bytes; /* of a column */
        const struct cyk_decoder_s *decoder; /* borrowed; NULL if values are not decoded */
        struct cyk_scratch_s *scratch;
        cyk_column_t **decoded; /* by field, NULL for padding */
        cyk_column_t *corrupt;  /* values that could not be decoded; may be NULL */
        size_t expected;        /* rows; 0 if unknown */
        int stopped;            /* the next message's value is corrupt, and the decoder is to stop there */
        /* Errors and partition ends that came between the messages; owned. */
        rd_kafka_message_t **events;
        size_t event_cnt;
        size_t event_cap;
} cyk_message_batch_t;

/* columns: CYK_MESSAGE_... in the order wanted; decoder may be NULL. Returns 0 or -1 (out of memory). */
int cyk_message_batch_init(cyk_message_batch_t *mb,
                           const int *columns,
                           size_t column_cnt,
                           int64_t max_bytes,
                           const struct cyk_decoder_s *decoder);
void cyk_message_batch_clear(cyk_message_batch_t *mb);
/* Appends messages and destroys them. Returns how many were taken: fewer than cnt if a column would become larger
 * than max_bytes (unless it is empty), it stopped at a corrupt value, or memory is short: -1 if not even the first was taken because of that. */
ptrdiff_t cyk_message_batch_append(cyk_message_batch_t *mb, rd_kafka_message_t **messages, size_t cnt);

/* A message that is no longer librdkafka's; everything is borrowed. */
typedef struct cyk_row_s {
        const char *topic;
        size_t topic_len;
        const void *key;
        size_t key_len;
        const void *value;
        size_t value_len;
        int32_t partition;
        int64_t offset;
        int64_t timestamp; /* ms */
        int timestamp_type;
        const rd_kafka_headers_t *headers;
} cyk_row_t;

/* Returns 1 if it was appended, 0 if it does not fit or is corrupt, -1 when out of memory. */
int cyk_message_batch_append_row(cyk_message_batch_t *mb, const cyk_row_t *row);

#endif
