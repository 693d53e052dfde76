/* Arrow rows to messages; see arrow_produce.h. */
#include "native_int.h"

#include <string.h>

#include "arrow_produce.h"

/* ---- Opening columns ---- */

static int cyk_is_integer(const char *format) {
        return format[0] && strchr("cCsSiIlL", format[0]) && !format[1];
}

static int cyk_cells_open_bytes(cyk_cells_t *cells, const struct ArrowSchema *schema, const struct ArrowArray *array) {
        const char *format = schema->format;
        if (schema->dictionary) {
                if (!cyk_is_integer(format))
                        return 1;
                cells->kind     = CYK_CELLS_DICTIONARY;
                cells->number   = format[0];
                cells->children = calloc(1, sizeof(*cells->children));
                if (!cells->children)
                        return -1;
                return cyk_cells_open(cells->children, schema->dictionary, array->dictionary, 0, CYK_WANT_BYTES);
        }
        if (!strcmp(format, "n")) {
                cells->kind = CYK_CELLS_NULL;
        } else if (!strcmp(format, "z") || !strcmp(format, "u")) {
                cells->kind = CYK_CELLS_BINARY;
        } else if (!strcmp(format, "Z") || !strcmp(format, "U")) {
                cells->kind = CYK_CELLS_LARGE;
        } else if (!strcmp(format, "vz") || !strcmp(format, "vu")) {
                cells->kind = CYK_CELLS_VIEW;
        } else if (!strncmp(format, "w:", 2)) {
                cells->kind  = CYK_CELLS_FIXED;
                cells->width = strtoll(format + 2, NULL, 10);
        } else {
                return 1;
        }
        return 0;
}

static int cyk_cells_open_timestamp(cyk_cells_t *cells, const struct ArrowSchema *schema) {
        const char *format = schema->format;
        if (schema->dictionary)
                return 1;
        cells->kind   = CYK_CELLS_TIMESTAMP;
        cells->number = 'l';
        if (!strcmp(format, "n"))
                cells->kind = CYK_CELLS_NULL;
        else if (!strcmp(format, "l") || !strncmp(format, "tsm:", 4))
                cells->per_ms = 1;
        else if (!strncmp(format, "tss:", 4))
                cells->per_ms = -1000;
        else if (!strncmp(format, "tsu:", 4))
                cells->per_ms = 1000;
        else if (!strncmp(format, "tsn:", 4))
                cells->per_ms = 1000000;
        else
                return 1;
        return 0;
}

static int cyk_cells_open_headers(cyk_cells_t *cells, const struct ArrowSchema *schema, const struct ArrowArray *array) {
        const struct ArrowSchema *item;
        const struct ArrowArray *items;
        int64_t key = 0, value = 1, i;
        int result;

        if (schema->dictionary)
                return 1;
        if (!strcmp(schema->format, "n")) {
                cells->kind = CYK_CELLS_NULL;
                return 0;
        }
        if (!strcmp(schema->format, "+l") || !strcmp(schema->format, "+m"))
                cells->kind = CYK_CELLS_LIST;
        else if (!strcmp(schema->format, "+L"))
                cells->kind = CYK_CELLS_LARGE_LIST;
        else
                return 1;

        item  = schema->children[0];
        items = array->children[0];
        if (strcmp(item->format, "+s") || item->n_children != 2)
                return 1;
        for (i = 0; i < 2; i++) {
                if (item->children[i]->name && !strcmp(item->children[i]->name, "key")) {
                        key   = i;
                        value = 1 - i;
                }
        }
        cells->children = calloc(2, sizeof(*cells->children));
        if (!cells->children)
                return -1;
        if ((result = cyk_cells_open(&cells->children[0], item->children[key], items->children[key], items->offset,
                                     CYK_WANT_BYTES)))
                return result;
        return cyk_cells_open(&cells->children[1], item->children[value], items->children[value], items->offset,
                              CYK_WANT_BYTES);
}

int cyk_cells_open(cyk_cells_t *cells,
                   const struct ArrowSchema *schema,
                   const struct ArrowArray *array,
                   int64_t offset,
                   cyk_want_t want) {
        int result = 0;
        memset(cells, 0, sizeof(*cells));
        switch (want) {
        case CYK_WANT_BYTES:
                result = cyk_cells_open_bytes(cells, schema, array);
                break;
        case CYK_WANT_INTEGER:
                if (!strcmp(schema->format, "n"))
                        cells->kind = CYK_CELLS_NULL;
                else if (schema->dictionary || !cyk_is_integer(schema->format))
                        result = 1;
                else
                        cells->kind = CYK_CELLS_INTEGER;
                cells->number = schema->format[0];
                break;
        case CYK_WANT_TIMESTAMP:
                result = cyk_cells_open_timestamp(cells, schema);
                break;
        case CYK_WANT_HEADERS:
                result = cyk_cells_open_headers(cells, schema, array);
                break;
        }
        if (result) {
                cyk_cells_close(cells);
                return result;
        }
        cells->offset  = offset + array->offset;
        cells->buffers = array->buffers;
        if (cells->kind != CYK_CELLS_NULL && array->null_count != 0)
                cells->validity = array->buffers[0];
        return 0;
}

void cyk_cells_close(cyk_cells_t *cells) {
        if (cells->children) {
                cyk_cells_close(&cells->children[0]);
                if (cells->kind == CYK_CELLS_LIST || cells->kind == CYK_CELLS_LARGE_LIST)
                        cyk_cells_close(&cells->children[1]);
                free(cells->children);
        }
        memset(cells, 0, sizeof(*cells));
}

/* ---- Reading cells ---- */

static inline int cyk_cell_is_null(const cyk_cells_t *cells, int64_t at) {
        return cells->kind <= CYK_CELLS_NULL || (cells->validity && !(cells->validity[at >> 3] >> (at & 7) & 1));
}

static int64_t cyk_number(const void *numbers, char format, int64_t at) {
        switch (format) {
        case 'c':
                return ((const int8_t *)numbers)[at];
        case 'C':
                return ((const uint8_t *)numbers)[at];
        case 's':
                return ((const int16_t *)numbers)[at];
        case 'S':
                return ((const uint16_t *)numbers)[at];
        case 'i':
                return ((const int32_t *)numbers)[at];
        case 'I':
                return ((const uint32_t *)numbers)[at];
        default:
                return ((const int64_t *)numbers)[at];
        }
}

/* Bytes of a cell, NULL if it is null; never NULL if it is empty. */
static const void *cyk_cell_bytes(const cyk_cells_t *cells, int64_t row, size_t *len) {
        int64_t at         = cells->offset + row;
        const char *bytes  = NULL;
        const int32_t *view;

        *len = 0;
        if (cyk_cell_is_null(cells, at))
                return NULL;
        switch (cells->kind) {
        case CYK_CELLS_BINARY: {
                const int32_t *offsets = cells->buffers[1];
                *len                   = (size_t)(offsets[at + 1] - offsets[at]);
                bytes                  = (const char *)cells->buffers[2];
                if (bytes)
                        bytes += offsets[at];
                break;
        }
        case CYK_CELLS_LARGE: {
                const int64_t *offsets = cells->buffers[1];
                *len                   = (size_t)(offsets[at + 1] - offsets[at]);
                bytes                  = (const char *)cells->buffers[2];
                if (bytes)
                        bytes += offsets[at];
                break;
        }
        case CYK_CELLS_VIEW:
                /* Length, then up to 12 bytes in place, or a prefix, a buffer's number and an offset into it. */
                view  = (const int32_t *)cells->buffers[1] + at * 4;
                *len  = (size_t)view[0];
                bytes = view[0] <= 12 ? (const char *)(view + 1) : (const char *)cells->buffers[2 + view[2]] + view[3];
                break;
        case CYK_CELLS_FIXED:
                *len  = (size_t)cells->width;
                bytes = (const char *)cells->buffers[1];
                if (bytes)
                        bytes += at * cells->width;
                break;
        case CYK_CELLS_DICTIONARY:
                return cyk_cell_bytes(cells->children, cyk_number(cells->buffers[1], cells->number, at), len);
        default:
                break;
        }
        return bytes ? bytes : "";
}

/* Milliseconds of a timestamp, rounded down. Returns 0, or 1 if it cannot be a message's. */
static int cyk_cell_timestamp(const cyk_cells_t *cells, int64_t at, int64_t *ms) {
        int64_t ticks = ((const int64_t *)cells->buffers[1])[at];
        *ms           = ticks;
        if (ticks < 0 || (cells->per_ms < 0 && ticks > INT64_MAX / -cells->per_ms))
                return 1;
        *ms = cells->per_ms < 0 ? ticks * -cells->per_ms : ticks / cells->per_ms;
        return 0;
}

/* Native headers of a row: NULL if it has none. Returns 0, or 1 if a header has no key. */
static int cyk_cell_headers(const cyk_cells_t *cells, int64_t row, rd_kafka_headers_t **headers) {
        int64_t at = cells->offset + row, first, last, i;
        const void *name, *value;
        size_t name_len, value_len;

        *headers = NULL;
        if (cyk_cell_is_null(cells, at))
                return 0;
        if (cells->kind == CYK_CELLS_LIST) {
                first = ((const int32_t *)cells->buffers[1])[at];
                last  = ((const int32_t *)cells->buffers[1])[at + 1];
        } else {
                first = ((const int64_t *)cells->buffers[1])[at];
                last  = ((const int64_t *)cells->buffers[1])[at + 1];
        }
        if (first == last)
                return 0;
        *headers = rd_kafka_headers_new((size_t)(last - first));
        for (i = first; i < last; i++) {
                name  = cyk_cell_bytes(&cells->children[0], i, &name_len);
                value = cyk_cell_bytes(&cells->children[1], i, &value_len);
                if (!name) {
                        rd_kafka_headers_destroy(*headers);
                        *headers = NULL;
                        return 1;
                }
                rd_kafka_header_add(*headers, name, (ssize_t)name_len, value, (ssize_t)value_len);
        }
        return 0;
}

/* ---- Topics ---- */

static cyk_topic_slot_t *cyk_find_slot(cyk_topic_slot_t *slots, size_t cnt, const char *name, size_t len) {
        uint64_t hash = 14695981039346656037u;
        size_t i;
        for (i = 0; i < len; i++)
                hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
        for (i = (size_t)hash & (cnt - 1); slots[i].name; i = (i + 1) & (cnt - 1))
                if (slots[i].len == len && !memcmp(slots[i].name, name, len))
                        break;
        return &slots[i];
}

int cyk_rows_add_topic(cyk_rows_t *rows, const char *name, size_t len, rd_kafka_topic_t *rkt) {
        cyk_topic_slot_t *slot;
        size_t i;
        if (rows->slot_used * 2 >= rows->slot_cnt) {
                size_t cnt              = rows->slot_cnt ? rows->slot_cnt * 2 : 16;
                cyk_topic_slot_t *slots = calloc(cnt, sizeof(*slots));
                if (!slots)
                        return -1;
                for (i = 0; i < rows->slot_cnt; i++)
                        if (rows->slots[i].name)
                                *cyk_find_slot(slots, cnt, rows->slots[i].name, rows->slots[i].len) = rows->slots[i];
                free(rows->slots);
                rows->slots    = slots;
                rows->slot_cnt = cnt;
        }
        slot       = cyk_find_slot(rows->slots, rows->slot_cnt, name, len);
        slot->name = malloc(len + 1);
        if (!slot->name)
                return -1;
        memcpy(slot->name, name, len);
        slot->len = len;
        slot->rkt = rkt;
        rows->slot_used++;
        return 0;
}

/* The topic of a row. Returns CYK_ROWS_DONE if there is one. */
static cyk_rows_status_t cyk_row_topic(cyk_rows_t *rows, int64_t row, rd_kafka_topic_t **rkt) {
        cyk_topic_slot_t *slot;
        if (rows->rkt) {
                *rkt = rows->rkt;
                return CYK_ROWS_DONE;
        }
        rows->topic = cyk_cell_bytes(&rows->topics, row, &rows->topic_len);
        if (!rows->topic || !rows->topic_len)
                return CYK_ROWS_NO_TOPIC;
        slot = rows->slot_cnt ? cyk_find_slot(rows->slots, rows->slot_cnt, rows->topic, rows->topic_len) : NULL;
        if (!slot || !slot->name)
                return CYK_ROWS_NEW_TOPIC;
        *rkt = slot->rkt;
        return CYK_ROWS_DONE;
}

/* ---- Rows ---- */

static cyk_rows_status_t cyk_row_produce(cyk_rows_t *rows) {
        int64_t row                 = rows->row;
        int64_t timestamp           = 0;
        int32_t partition           = rows->partition;
        rd_kafka_headers_t *headers = NULL;
        rd_kafka_topic_t *rkt;
        const void *key, *value;
        size_t key_len, value_len;
        cyk_rows_status_t status;
        uint64_t opaque = rows->opaque_base + 2 * (uint64_t)(rows->first + row);

        if (cyk_cell_is_null(&rows->whole, rows->whole.offset + row))
                return CYK_ROWS_NULL;
        if ((status = cyk_row_topic(rows, row, &rkt)))
                return status;
        if (!cyk_cell_is_null(&rows->partitions, rows->partitions.offset + row)) {
                rows->number = cyk_number(rows->partitions.buffers[1], rows->partitions.number,
                                          rows->partitions.offset + row);
                if (rows->number < -1 || rows->number > INT32_MAX)
                        return CYK_ROWS_BAD_PARTITION;
                partition = (int32_t)rows->number;
        }
        if (!cyk_cell_is_null(&rows->timestamps, rows->timestamps.offset + row) &&
            cyk_cell_timestamp(&rows->timestamps, rows->timestamps.offset + row, &timestamp)) {
                rows->number = timestamp;
                return CYK_ROWS_BAD_TIMESTAMP;
        }
        if (rows->headers.kind != CYK_CELLS_NONE && cyk_cell_headers(&rows->headers, row, &headers))
                return CYK_ROWS_NO_HEADER_KEY;
        key       = cyk_cell_bytes(&rows->key, row, &key_len);
        value     = cyk_cell_bytes(&rows->value, row, &value_len);
        rows->err = cyk_produce(rows->rk, rkt, partition, RD_KAFKA_MSG_F_COPY, (void *)value, value_len, key, key_len,
                                timestamp, 0, headers, (void *)(uintptr_t)opaque);
        if (likely(!rows->err))
                return CYK_ROWS_DONE;
        if (headers)
                rd_kafka_headers_destroy(headers);
        return rows->err == RD_KAFKA_RESP_ERR__QUEUE_FULL ? CYK_ROWS_FULL : CYK_ROWS_REFUSED;
}

cyk_rows_status_t cyk_rows_produce(cyk_rows_t *rows, int64_t most) {
        int64_t end = RD_MIN(rows->length, rows->row + most);
        cyk_rows_status_t status;
        rows->enqueued = 0;
        while (rows->row < end) {
                if ((status = cyk_row_produce(rows)))
                        return status;
                rows->row++;
                rows->enqueued++;
        }
        return CYK_ROWS_DONE;
}

static void cyk_rows_close_columns(cyk_rows_t *rows) {
        cyk_cells_close(&rows->key);
        cyk_cells_close(&rows->value);
        cyk_cells_close(&rows->headers);
        cyk_cells_close(&rows->partitions);
        cyk_cells_close(&rows->timestamps);
        cyk_cells_close(&rows->topics);
}

void cyk_rows_begin(cyk_rows_t *rows, const struct ArrowArray *batch) {
        cyk_rows_close_columns(rows);
        rows->first += rows->length;
        rows->length         = batch->length;
        rows->row            = 0;
        rows->whole.kind     = CYK_CELLS_FIXED;
        rows->whole.offset   = batch->offset;
        rows->whole.validity = batch->null_count != 0 && batch->n_buffers ? batch->buffers[0] : NULL;
}

void cyk_rows_clear(cyk_rows_t *rows) {
        size_t i;
        cyk_rows_close_columns(rows);
        for (i = 0; i < rows->slot_cnt; i++)
                free(rows->slots[i].name);
        free(rows->slots);
        memset(rows, 0, sizeof(*rows));
}

/* ---- Delivery of a batch ---- */

struct cyk_delivery_s {
        mtx_t lock;
        int64_t enqueued;
        int64_t delivered;
        int64_t failed; /* reports that say so */
        int64_t refused;
        int closed;
        cyk_failure_t *failures;
        size_t failure_cnt;
        size_t failure_cap;
};

cyk_delivery_t *cyk_delivery_new(void) {
        cyk_delivery_t *delivery = calloc(1, sizeof(*delivery));
        if (delivery)
                mtx_init(&delivery->lock, mtx_plain);
        return delivery;
}

void cyk_delivery_destroy(cyk_delivery_t *delivery) {
        mtx_destroy(&delivery->lock);
        free(delivery->failures);
        free(delivery);
}

/* Out of memory a failure is counted, but not listed. */
static void cyk_delivery_fail(cyk_delivery_t *delivery, int64_t row, rd_kafka_resp_err_t err) {
        if (delivery->failure_cnt == delivery->failure_cap) {
                size_t cap              = delivery->failure_cap ? delivery->failure_cap * 2 : 16;
                cyk_failure_t *failures = realloc(delivery->failures, cap * sizeof(*failures));
                if (!failures)
                        return;
                delivery->failures    = failures;
                delivery->failure_cap = cap;
        }
        delivery->failures[delivery->failure_cnt].row   = row;
        delivery->failures[delivery->failure_cnt++].err = err;
}

static int cyk_delivery_complete(const cyk_delivery_t *delivery) {
        return delivery->closed && delivery->delivered + delivery->failed == delivery->enqueued;
}

int cyk_delivery_report(cyk_delivery_t *delivery, int64_t row, rd_kafka_resp_err_t err) {
        int complete;
        mtx_lock(&delivery->lock);
        if (likely(!err)) {
                delivery->delivered++;
        } else {
                delivery->failed++;
                cyk_delivery_fail(delivery, row, err);
        }
        complete = cyk_delivery_complete(delivery);
        mtx_unlock(&delivery->lock);
        return complete;
}

int cyk_delivery_close(cyk_delivery_t *delivery) {
        int complete;
        mtx_lock(&delivery->lock);
        delivery->closed = 1;
        complete         = cyk_delivery_complete(delivery);
        mtx_unlock(&delivery->lock);
        return complete;
}

void cyk_delivery_refuse(cyk_delivery_t *delivery, int64_t row, rd_kafka_resp_err_t err) {
        mtx_lock(&delivery->lock);
        delivery->refused++;
        cyk_delivery_fail(delivery, row, err);
        mtx_unlock(&delivery->lock);
}

void cyk_delivery_add(cyk_delivery_t *delivery, int64_t enqueued) {
        mtx_lock(&delivery->lock);
        delivery->enqueued += enqueued;
        mtx_unlock(&delivery->lock);
}

void cyk_delivery_read(cyk_delivery_t *delivery, int64_t *enqueued, int64_t *delivered, int64_t *failed, int *complete) {
        mtx_lock(&delivery->lock);
        *enqueued  = delivery->enqueued;
        *delivered = delivery->delivered;
        *failed    = delivery->failed + delivery->refused;
        *complete  = cyk_delivery_complete(delivery);
        mtx_unlock(&delivery->lock);
}

size_t cyk_delivery_failures(cyk_delivery_t *delivery, size_t first, cyk_failure_t *out, size_t cnt) {
        size_t copied = 0;
        mtx_lock(&delivery->lock);
        while (copied < cnt && first + copied < delivery->failure_cnt) {
                out[copied] = delivery->failures[first + copied];
                copied++;
        }
        mtx_unlock(&delivery->lock);
        return copied;
}
