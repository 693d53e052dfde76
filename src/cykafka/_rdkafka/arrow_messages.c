/* Consumed messages into columns: one pass over the fetch buffers, a chunk of messages at a time. */
#include "native_int.h"

#include <string.h>

#include "arrow_decode.h"

/* No more than this is reserved for messages that are not yet in hand. */
#define CYK_AHEAD_BYTES (16 << 20)

static cyk_column_t *cyk_headers_column(void) {
        cyk_column_t *list   = cyk_column_new("headers", "+l", CYK_LAYOUT_LIST, 0, 1);
        cyk_column_t *header = cyk_column_new("item", "+s", CYK_LAYOUT_STRUCT, 0, 0);
        if (!list || cyk_column_adopt(list, header) == -1)
                goto fail;
        if (cyk_column_adopt(header, cyk_column_new("key", "u", CYK_LAYOUT_BINARY, 0, 0)) == -1 ||
            cyk_column_adopt(header, cyk_column_new("value", "z", CYK_LAYOUT_BINARY, 0, 1)) == -1)
                goto fail;
        return list;
fail:
        if (!list)
                cyk_column_destroy(header);
        cyk_column_destroy(list);
        return NULL;
}

static cyk_column_t *cyk_message_column(int which) {
        switch (which) {
        case CYK_MESSAGE_KEY:
                return cyk_column_new("key", "z", CYK_LAYOUT_BINARY, 0, 1);
        case CYK_MESSAGE_VALUE:
                return cyk_column_new("value", "z", CYK_LAYOUT_BINARY, 0, 1);
        case CYK_MESSAGE_TOPIC:
                return cyk_column_new("topic", "u", CYK_LAYOUT_BINARY, 0, 0);
        case CYK_MESSAGE_PARTITION:
                return cyk_column_new("partition", "i", CYK_LAYOUT_FIXED, sizeof(int32_t), 0);
        case CYK_MESSAGE_OFFSET:
                return cyk_column_new("offset", "l", CYK_LAYOUT_FIXED, sizeof(int64_t), 0);
        case CYK_MESSAGE_TIMESTAMP:
                return cyk_column_new("timestamp", "tsu:UTC", CYK_LAYOUT_FIXED, sizeof(int64_t), 1);
        case CYK_MESSAGE_TIMESTAMP_TYPE:
                return cyk_column_new("timestamp_type", "i", CYK_LAYOUT_FIXED, sizeof(int32_t), 0);
        default:
                return cyk_headers_column();
        }
}

static int cyk_init_decoding(cyk_message_batch_t *mb, cyk_column_t *root, const cyk_decoder_t *decoder) {
        size_t i;

        mb->scratch = calloc(1, sizeof(*mb->scratch));
        mb->decoded = calloc(decoder->field_cnt, sizeof(*mb->decoded));
        if (!mb->scratch || !mb->decoded || cyk_scratch_init(mb->scratch, decoder) == -1)
                return -1;
        mb->decoder = decoder;
        for (i = 0; i < decoder->field_cnt; i++) {
                if (decoder->fields[i].type == CYK_TYPE_PADDING)
                        continue;
                mb->decoded[i] = cyk_field_column(&decoder->fields[i]);
                if (cyk_column_adopt(root, mb->decoded[i]) == -1)
                        return -1;
        }
        if (decoder->keep_corrupt) {
                mb->corrupt = cyk_column_new("corrupt", "z", CYK_LAYOUT_BINARY, 0, 1);
                return cyk_column_adopt(root, mb->corrupt);
        }
        return 0;
}

int cyk_message_batch_init(cyk_message_batch_t *mb,
                           const int *columns,
                           size_t column_cnt,
                           int64_t max_bytes,
                           const cyk_decoder_t *decoder) {
        cyk_column_t *root = cyk_column_new("", "+s", CYK_LAYOUT_STRUCT, 0, 0);
        size_t i;

        memset(mb, 0, sizeof(*mb));
        mb->max_bytes = max_bytes;
        mb->batch     = cyk_batch_new(root);
        if (!mb->batch)
                return -1;
        for (i = 0; i < column_cnt; i++) {
                cyk_column_t *column = cyk_message_column(columns[i]);
                if (cyk_column_adopt(root, column) == -1)
                        return -1;
                mb->columns[columns[i]] = column;
        }
        return decoder ? cyk_init_decoding(mb, root, decoder) : 0;
}

void cyk_message_batch_clear(cyk_message_batch_t *mb) {
        size_t i;
        for (i = 0; i < mb->event_cnt; i++)
                rd_kafka_message_destroy(mb->events[i]);
        free(mb->events);
        if (mb->scratch)
                cyk_scratch_clear(mb->scratch);
        free(mb->scratch);
        free(mb->decoded);
        if (mb->batch)
                cyk_batch_release(mb->batch);
        memset(mb, 0, sizeof(*mb));
}

/* ---- How much fits ---- */

/* Bytes and items that a chunk adds to the columns of variable length. */
typedef struct cyk_need_s {
        size_t rows;
        size_t key;
        size_t value;
        size_t topic;
        size_t header_cnt;
        size_t header_key;
        size_t header_value;
} cyk_need_t;

/* NULL if it has none. */
static const rd_kafka_headers_t *cyk_message_headers(const rd_kafka_message_t *message) {
        rd_kafka_headers_t *headers;
        if (!cyk_message_has_headers(message))
                return NULL;
        return rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR ? headers : NULL;
}

static void cyk_add_headers(cyk_need_t *need, const rd_kafka_headers_t *headers) {
        const char *name;
        const void *value;
        size_t size, i;
        if (!headers)
                return;
        for (i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &size); i++) {
                need->header_cnt++;
                need->header_key += strlen(name);
                need->header_value += value ? size : 0;
        }
}

static inline int cyk_exceeds(const cyk_column_t *column, size_t more, int64_t max_bytes) {
        return (int64_t)(column->data.len + more) > max_bytes;
}

/* Whether a column would become larger than allowed. */
static int cyk_too_large(const cyk_message_batch_t *mb, const cyk_need_t *need) {
        cyk_column_t *const *columns = mb->columns;
        const cyk_column_t *header;
        size_t i;
        if (columns[CYK_MESSAGE_KEY] && cyk_exceeds(columns[CYK_MESSAGE_KEY], need->key, mb->max_bytes))
                return 1;
        if (columns[CYK_MESSAGE_VALUE] && cyk_exceeds(columns[CYK_MESSAGE_VALUE], need->value, mb->max_bytes))
                return 1;
        if (columns[CYK_MESSAGE_TOPIC] && cyk_exceeds(columns[CYK_MESSAGE_TOPIC], need->topic, mb->max_bytes))
                return 1;
        if (columns[CYK_MESSAGE_HEADERS]) {
                header = columns[CYK_MESSAGE_HEADERS]->children[0];
                if (header->length + (int64_t)need->header_cnt > mb->max_bytes ||
                    cyk_exceeds(header->children[0], need->header_key, mb->max_bytes) ||
                    cyk_exceeds(header->children[1], need->header_value, mb->max_bytes))
                        return 1;
        }
        if (mb->corrupt && cyk_exceeds(mb->corrupt, need->value, mb->max_bytes))
                return 1;
        for (i = 0; mb->decoder && i < mb->decoder->field_cnt; i++) {
                /* No decoded text is longer than the value it is in. */
                if (mb->decoded[i] && cyk_exceeds(mb->decoded[i], need->value, mb->max_bytes))
                        return 1;
        }
        return 0;
}

static int cyk_reserve(cyk_message_batch_t *mb, const cyk_need_t *need) {
        cyk_column_t *const *columns = mb->columns;
        cyk_column_t *header;
        size_t i;
        int which;
        for (which = 0; which < CYK_MESSAGE_COLUMNS; which++) {
                size_t bytes = which == CYK_MESSAGE_KEY     ? need->key
                               : which == CYK_MESSAGE_VALUE ? need->value
                               : which == CYK_MESSAGE_TOPIC ? need->topic
                                                            : 0;
                if (columns[which] && cyk_column_reserve(columns[which], need->rows, bytes) == -1)
                        return -1;
        }
        if (columns[CYK_MESSAGE_HEADERS]) {
                header = columns[CYK_MESSAGE_HEADERS]->children[0];
                if (cyk_column_reserve(header, need->header_cnt, 0) == -1 ||
                    cyk_column_reserve(header->children[0], need->header_cnt, need->header_key) == -1 ||
                    cyk_column_reserve(header->children[1], need->header_cnt, need->header_value) == -1)
                        return -1;
        }
        if (mb->corrupt && cyk_column_reserve(mb->corrupt, need->rows, need->value) == -1)
                return -1;
        for (i = 0; mb->decoder && i < mb->decoder->field_cnt; i++) {
                if (mb->decoded[i] && cyk_column_reserve(mb->decoded[i], need->rows, need->value) == -1)
                        return -1;
        }
        return 0;
}

/* Makes room for as many rows as are expected, if they are all like the first ones, so that buffers are not moved
 * while they grow. */
static int cyk_reserve_ahead(cyk_message_batch_t *mb, const cyk_need_t *need) {
        size_t bytes = need->key + need->value + need->topic + need->header_key + need->header_value;
        size_t times = mb->expected / need->rows + 1;
        cyk_need_t ahead;
        if (cyk_batch_root(mb->batch)->length > 0 || times == 1 || bytes * times > CYK_AHEAD_BYTES)
                return cyk_reserve(mb, need);
        ahead.rows         = need->rows * times;
        ahead.key          = need->key * times;
        ahead.value        = need->value * times;
        ahead.topic        = need->topic * times;
        ahead.header_cnt   = need->header_cnt * times;
        ahead.header_key   = need->header_key * times;
        ahead.header_value = need->header_value * times;
        return cyk_reserve(mb, &ahead);
}

/* ---- One column of a chunk ---- */

static inline void cyk_append_binary(cyk_column_t *column, const void *bytes, size_t len) {
        if (bytes)
                cyk_column_append_bytes(column, bytes, len);
        else
                cyk_column_append_null(column);
}

static void cyk_append_timestamp(cyk_column_t *column, int64_t ms, int type) {
        /* A producer may claim a time that microseconds cannot hold. */
        if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || ms < 0 || ms > INT64_MAX / 1000) {
                cyk_column_append_null(column);
        } else {
                int64_t us = ms * 1000;
                cyk_column_append_fixed(column, &us);
        }
}

static void cyk_append_headers(cyk_column_t *column, const rd_kafka_headers_t *headers) {
        cyk_column_t *header = column->children[0];
        const char *name;
        const void *value;
        size_t size, i;
        if (!headers) {
                cyk_column_append_null(column);
                return;
        }
        for (i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &size); i++) {
                cyk_column_append_utf8(header->children[0], name, strlen(name));
                cyk_append_binary(header->children[1], value, size);
                cyk_column_end_row(header);
        }
        cyk_column_end_row(column);
}

static void cyk_append_topics(cyk_column_t *column, rd_kafka_message_t *const *messages, size_t cnt) {
        const rd_kafka_topic_t *last = NULL;
        const char *name             = NULL;
        size_t len                   = 0, i;
        for (i = 0; i < cnt; i++) {
                if (messages[i]->rkt != last) {
                        last = messages[i]->rkt;
                        name = rd_kafka_topic_name(last);
                        len  = strlen(name);
                }
                cyk_column_append_bytes(column, name, len);
        }
}

/* Where so many more values of fixed width go. */
static void *cyk_column_extend(cyk_column_t *column, size_t cnt) {
        void *out = column->data.data + column->data.len;
        column->data.len += cnt * column->width;
        column->length += (int64_t)cnt;
        return out;
}

static void cyk_append_columns(
    cyk_message_batch_t *mb, rd_kafka_message_t *const *messages, size_t cnt, int has_headers) {
        rd_kafka_timestamp_type_t type;
        cyk_column_t *column;
        size_t i;

        if ((column = mb->columns[CYK_MESSAGE_VALUE])) {
                for (i = 0; i < cnt; i++)
                        cyk_append_binary(column, messages[i]->payload, messages[i]->len);
        }
        if ((column = mb->columns[CYK_MESSAGE_KEY])) {
                for (i = 0; i < cnt; i++)
                        cyk_append_binary(column, messages[i]->key, messages[i]->key_len);
        }
        if ((column = mb->columns[CYK_MESSAGE_TOPIC]))
                cyk_append_topics(column, messages, cnt);
        if ((column = mb->columns[CYK_MESSAGE_PARTITION])) {
                int32_t *out = cyk_column_extend(column, cnt);
                for (i = 0; i < cnt; i++)
                        out[i] = messages[i]->partition;
        }
        if ((column = mb->columns[CYK_MESSAGE_OFFSET])) {
                int64_t *out = cyk_column_extend(column, cnt);
                for (i = 0; i < cnt; i++)
                        out[i] = messages[i]->offset;
        }
        if ((column = mb->columns[CYK_MESSAGE_TIMESTAMP])) {
                for (i = 0; i < cnt; i++) {
                        int64_t ms = rd_kafka_message_timestamp(messages[i], &type);
                        cyk_append_timestamp(column, ms, type);
                }
        }
        if ((column = mb->columns[CYK_MESSAGE_TIMESTAMP_TYPE])) {
                int32_t *out = cyk_column_extend(column, cnt);
                for (i = 0; i < cnt; i++) {
                        rd_kafka_message_timestamp(messages[i], &type);
                        out[i] = (int32_t)type;
                }
        }
        if ((column = mb->columns[CYK_MESSAGE_HEADERS])) {
                for (i = 0; i < cnt; i++)
                        cyk_append_headers(column, has_headers ? cyk_message_headers(messages[i]) : NULL);
        }
        cyk_batch_root(mb->batch)->length += (int64_t)cnt;
}

/* ---- Decoding ---- */

/* Appends a value to the decoded columns. Returns 1, 0 if it is corrupt and nothing was appended, -1 when out of
 * memory. */
static int cyk_append_decoded(cyk_message_batch_t *mb, const void *value, size_t len) {
        const cyk_decoder_t *decoder = mb->decoder;
        int result                   = value ? cyk_decode(decoder, mb->scratch, value, len) : 0;
        size_t i;

        if (result == -1)
                return -1;
        if (!result && value && decoder->stop_at_corrupt) {
                mb->stopped = 1;
                return 0;
        }
        for (i = 0; i < decoder->field_cnt; i++) {
                if (!mb->decoded[i])
                        continue;
                if (result)
                        cyk_append_cell(&decoder->fields[i], mb->decoded[i], &mb->scratch->cells[i]);
                else
                        cyk_column_append_null(mb->decoded[i]);
        }
        if (mb->corrupt)
                cyk_append_binary(mb->corrupt, result ? NULL : value, len);
        return 1;
}

/* ---- Chunks ---- */

static int cyk_keep_event(cyk_message_batch_t *mb, rd_kafka_message_t *message) {
        if (mb->event_cnt == mb->event_cap) {
                size_t cap                  = mb->event_cap ? mb->event_cap * 2 : 8;
                rd_kafka_message_t **events = realloc(mb->events, cap * sizeof(*events));
                if (!events)
                        return -1;
                mb->events    = events;
                mb->event_cap = cap;
        }
        mb->events[mb->event_cnt++] = message;
        return 0;
}

/* What the messages up to the next event need; last and topic_len remember the length of the last topic's name. */
static void cyk_sum_up(const cyk_message_batch_t *mb,
                       rd_kafka_message_t *const *messages,
                       size_t cnt,
                       cyk_need_t *need) {
        const rd_kafka_topic_t *last = NULL;
        size_t topic_len             = 0, i;
        memset(need, 0, sizeof(*need));
        for (i = 0; i < cnt && !messages[i]->err; i++) {
                if (messages[i]->rkt != last) {
                        last      = messages[i]->rkt;
                        topic_len = strlen(rd_kafka_topic_name(last));
                }
                need->key += messages[i]->key_len;
                need->value += messages[i]->len;
                need->topic += topic_len;
                if (mb->columns[CYK_MESSAGE_HEADERS])
                        cyk_add_headers(need, cyk_message_headers(messages[i]));
        }
        need->rows = i;
}

ptrdiff_t cyk_message_batch_append(cyk_message_batch_t *mb, rd_kafka_message_t **messages, size_t cnt) {
        size_t taken = 0;

        /* Runs of messages between events. */
        while (taken < cnt) {
                cyk_need_t need;
                size_t i;

                cyk_sum_up(mb, messages + taken, cnt - taken, &need);
                /* A message that is too large by itself makes a batch of its own. */
                while (unlikely(cyk_too_large(mb, &need)) &&
                       (need.rows > 1 || cyk_batch_root(mb->batch)->length > 0)) {
                        if (need.rows <= 1)
                                return (ptrdiff_t)taken;
                        cyk_sum_up(mb, messages + taken, need.rows - 1, &need);
                }
                if (need.rows) {
                        if (cyk_reserve_ahead(mb, &need) == -1)
                                return taken ? (ptrdiff_t)taken : -1;
                        for (i = 0; mb->decoder && i < need.rows; i++) {
                                const rd_kafka_message_t *message = messages[taken + i];
                                int result = cyk_append_decoded(mb, message->payload, message->len);
                                if (result == -1 && !(taken + i))
                                        return -1;
                                if (result != 1)
                                        need.rows = i;
                        }
                        cyk_append_columns(mb, messages + taken, need.rows, need.header_cnt > 0);
                        for (i = taken; i < taken + need.rows; i++)
                                rd_kafka_message_destroy(messages[i]);
                        taken += need.rows;
                }
                if (taken == cnt)
                        break;
                if (!messages[taken]->err) {
                        if (!need.rows || mb->stopped)
                                break;
                        continue;
                }
                if (cyk_keep_event(mb, messages[taken]) == -1)
                        return taken ? (ptrdiff_t)taken : -1;
                taken++;
        }
        return (ptrdiff_t)taken;
}

int cyk_message_batch_append_row(cyk_message_batch_t *mb, const cyk_row_t *row) {
        cyk_column_t *const *columns = mb->columns;
        int32_t type                 = row->timestamp_type;
        int result;
        cyk_need_t need              = {
                             .rows = 1, .key = row->key_len, .value = row->value_len, .topic = row->topic_len};

        cyk_add_headers(&need, row->headers);
        if (cyk_too_large(mb, &need) && cyk_batch_root(mb->batch)->length > 0)
                return 0;
        if (cyk_reserve(mb, &need) == -1)
                return -1;
        if (mb->decoder && (result = cyk_append_decoded(mb, row->value, row->value_len)) != 1)
                return result;
        if (columns[CYK_MESSAGE_KEY])
                cyk_append_binary(columns[CYK_MESSAGE_KEY], row->key, row->key_len);
        if (columns[CYK_MESSAGE_VALUE])
                cyk_append_binary(columns[CYK_MESSAGE_VALUE], row->value, row->value_len);
        if (columns[CYK_MESSAGE_TOPIC])
                cyk_column_append_bytes(columns[CYK_MESSAGE_TOPIC], row->topic, row->topic_len);
        if (columns[CYK_MESSAGE_PARTITION])
                cyk_column_append_fixed(columns[CYK_MESSAGE_PARTITION], &row->partition);
        if (columns[CYK_MESSAGE_OFFSET])
                cyk_column_append_fixed(columns[CYK_MESSAGE_OFFSET], &row->offset);
        if (columns[CYK_MESSAGE_TIMESTAMP])
                cyk_append_timestamp(columns[CYK_MESSAGE_TIMESTAMP], row->timestamp, row->timestamp_type);
        if (columns[CYK_MESSAGE_TIMESTAMP_TYPE])
                cyk_column_append_fixed(columns[CYK_MESSAGE_TIMESTAMP_TYPE], &type);
        if (columns[CYK_MESSAGE_HEADERS])
                cyk_append_headers(columns[CYK_MESSAGE_HEADERS], row->headers);
        cyk_batch_root(mb->batch)->length++;
        return 1;
}
