/* Columns, batches, and their export; see arrow_native.h. What fills them is in arrow_messages.c. */
#include "native_int.h"

#include <string.h>

#include "arrow_native.h"

/* What an empty buffer points to: some importers refuse NULL. */
static const uint64_t cyk_nothing[8];

struct cyk_batch_s {
        rd_atomic32_t refcnt;
        cyk_column_t *root;
};

/* What an exported array owns. */
typedef struct cyk_export_s {
        cyk_batch_t *batch;
        const void *buffers[3];
        struct ArrowArray **children;
} cyk_export_t;

/* ---- Columns ---- */

int cyk_buffer_reserve(cyk_buffer_t *buffer, size_t more) {
        size_t needed = buffer->len + more;
        size_t cap    = buffer->cap * 2;
        uint8_t *data;
        if (likely(needed <= buffer->cap))
                return 0;
        if (cap < needed)
                cap = needed;
        cap  = (cap + 63) & ~(size_t)63;
        data = realloc(buffer->data, cap);
        if (!data)
                return -1;
        buffer->data = data;
        buffer->cap  = cap;
        return 0;
}

cyk_column_t *cyk_column_new(const char *name, const char *format, cyk_layout_t layout, size_t width, int nullable) {
        cyk_column_t *column = calloc(1, sizeof(*column));
        if (!column)
                return NULL;
        column->name     = strdup(name);
        column->format   = strdup(format);
        column->layout   = layout;
        column->width    = width;
        column->nullable = nullable;
        if (!column->name || !column->format || cyk_column_reserve(column, 0, 0) == -1) {
                cyk_column_destroy(column);
                return NULL;
        }
        if (layout == CYK_LAYOUT_BINARY || layout == CYK_LAYOUT_LIST) {
                memset(column->offsets.data, 0, sizeof(int32_t));
                column->offsets.len = sizeof(int32_t);
        }
        return column;
}

int cyk_column_adopt(cyk_column_t *parent, cyk_column_t *child) {
        cyk_column_t **children;
        if (!child)
                return -1;
        children = realloc(parent->children, (parent->child_cnt + 1) * sizeof(*children));
        if (!children) {
                cyk_column_destroy(child);
                return -1;
        }
        parent->children                      = children;
        parent->children[parent->child_cnt++] = child;
        return 0;
}

void cyk_column_destroy(cyk_column_t *column) {
        size_t i;
        if (!column)
                return;
        for (i = 0; i < column->child_cnt; i++)
                cyk_column_destroy(column->children[i]);
        free(column->children);
        free(column->name);
        free(column->format);
        free(column->validity.data);
        free(column->offsets.data);
        free(column->data.data);
        free(column);
}

int cyk_column_reserve(cyk_column_t *column, size_t rows, size_t bytes) {
        size_t bitmap = (column->length + rows + 8) / 8;

        if (column->nullable) {
                size_t had = column->validity.cap;
                if (bitmap > column->validity.len && cyk_buffer_reserve(&column->validity, bitmap - column->validity.len) == -1)
                        return -1;
                /* Bits are cleared for nulls only. */
                memset(column->validity.data + had, 0xff, column->validity.cap - had);
                column->validity.len = bitmap;
        }

        switch (column->layout) {
        case CYK_LAYOUT_FIXED:
                return cyk_buffer_reserve(&column->data, rows * column->width);
        case CYK_LAYOUT_BITS:
                if (bitmap > column->data.len) {
                        size_t had = column->data.cap;
                        if (cyk_buffer_reserve(&column->data, bitmap - column->data.len) == -1)
                                return -1;
                        memset(column->data.data + had, 0, column->data.cap - had);
                        column->data.len = bitmap;
                }
                return 0;
        case CYK_LAYOUT_BINARY:
                if (cyk_buffer_reserve(&column->data, bytes) == -1)
                        return -1;
                /* fall through: it has offsets too */
        case CYK_LAYOUT_LIST:
                return cyk_buffer_reserve(&column->offsets, (rows + 1) * sizeof(int32_t));
        default:
                return 0;
        }
}

void cyk_column_append_bit(cyk_column_t *column, int bit) {
        if (bit)
                column->data.data[column->length >> 3] |= (uint8_t)(1u << (column->length & 7));
        column->length++;
}

void cyk_column_end_row(cyk_column_t *column) {
        if (column->layout == CYK_LAYOUT_LIST)
                cyk_column_end_offset(column, column->children[0]->length);
        column->length++;
}

/* ---- UTF-8 ---- */

/* Length of the valid sequence that the text begins with, 0 if there is none (RFC 3629, section 4). */
static size_t cyk_utf8_sequence(const unsigned char *s, size_t left) {
        unsigned char low = 0x80, high = 0xbf;
        size_t len, i;
        if (s[0] < 0x80)
                return 1;
        if (s[0] < 0xc2 || s[0] > 0xf4)
                return 0;
        len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
        if (len > left)
                return 0;
        if (s[0] == 0xe0)
                low = 0xa0;
        else if (s[0] == 0xed)
                high = 0x9f;
        else if (s[0] == 0xf0)
                low = 0x90;
        else if (s[0] == 0xf4)
                high = 0x8f;
        if (s[1] < low || s[1] > high)
                return 0;
        for (i = 2; i < len; i++)
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
        return len;
}

int cyk_utf8_valid(const char *text, size_t len) {
        size_t i = 0, sequence;
        while (i < len) {
                sequence = cyk_utf8_sequence((const unsigned char *)text + i, len - i);
                if (!sequence)
                        return 0;
                i += sequence;
        }
        return 1;
}

void cyk_column_append_utf8(cyk_column_t *column, const char *text, size_t len) {
        const unsigned char *s = (const unsigned char *)text;
        uint8_t *out           = column->data.data + column->data.len;
        size_t i               = 0, sequence;
        while (i < len) {
                sequence = cyk_utf8_sequence(s + i, len - i);
                if (sequence) {
                        memcpy(out, s + i, sequence);
                        out += sequence;
                        i += sequence;
                } else {
                        *out++ = '?';
                        i++;
                }
        }
        column->data.len = out - column->data.data;
        cyk_column_end_offset(column, column->data.len);
        column->length++;
}

/* ---- Batches ---- */

cyk_batch_t *cyk_batch_new(cyk_column_t *root) {
        cyk_batch_t *batch = root ? calloc(1, sizeof(*batch)) : NULL;
        if (!batch) {
                cyk_column_destroy(root);
                return NULL;
        }
        rd_atomic32_init(&batch->refcnt, 1);
        batch->root = root;
        return batch;
}

void cyk_batch_keep(cyk_batch_t *batch) {
        rd_atomic32_add(&batch->refcnt, 1);
}

void cyk_batch_release(cyk_batch_t *batch) {
        if (rd_atomic32_sub(&batch->refcnt, 1) > 0)
                return;
        cyk_column_destroy(batch->root);
        free(batch);
}

cyk_column_t *cyk_batch_root(cyk_batch_t *batch) {
        return batch->root;
}

static size_t cyk_column_size(const cyk_column_t *column) {
        size_t size = column->validity.len + column->offsets.len + column->data.len, i;
        for (i = 0; i < column->child_cnt; i++)
                size += cyk_column_size(column->children[i]);
        return size;
}

size_t cyk_batch_size(const cyk_batch_t *batch) {
        return cyk_column_size(batch->root);
}

/* ---- Export ---- */

/* An importer may have moved a child away: its release is NULL then, and its struct still ours to free. */
static void cyk_release_array(struct ArrowArray *array) {
        cyk_export_t *private = array->private_data;
        int64_t i;
        for (i = 0; i < array->n_children; i++) {
                struct ArrowArray *child = private->children[i];
                if (child && child->release)
                        child->release(child);
                free(child);
        }
        cyk_batch_release(private->batch);
        free(private->children);
        free(private);
        array->release = NULL;
}

static const void *cyk_buffer_ptr(const cyk_buffer_t *buffer) {
        return buffer->data ? (const void *)buffer->data : (const void *)cyk_nothing;
}

static int cyk_column_export_array(const cyk_column_t *column, cyk_batch_t *batch, struct ArrowArray *out) {
        cyk_export_t *private = calloc(1, sizeof(*private));
        size_t i;

        memset(out, 0, sizeof(*out));
        if (!private)
                return -1;
        private->batch    = batch;
        private->children = calloc(column->child_cnt + 1, sizeof(*private->children));
        if (!private->children) {
                free(private);
                return -1;
        }
        cyk_batch_keep(batch);

        private->buffers[0] = column->null_count ? column->validity.data : NULL;
        switch (column->layout) {
        case CYK_LAYOUT_FIXED:
        case CYK_LAYOUT_BITS:
                private->buffers[1] = cyk_buffer_ptr(&column->data);
                out->n_buffers      = 2;
                break;
        case CYK_LAYOUT_BINARY:
                private->buffers[1] = cyk_buffer_ptr(&column->offsets);
                private->buffers[2] = cyk_buffer_ptr(&column->data);
                out->n_buffers      = 3;
                break;
        case CYK_LAYOUT_LIST:
                private->buffers[1] = cyk_buffer_ptr(&column->offsets);
                out->n_buffers      = 2;
                break;
        default:
                out->n_buffers = 1;
                break;
        }
        out->length       = column->length;
        out->null_count   = column->null_count;
        out->buffers      = private->buffers;
        out->children     = private->children;
        out->n_children   = (int64_t)column->child_cnt;
        out->private_data = private;
        out->release      = cyk_release_array;

        for (i = 0; i < column->child_cnt; i++) {
                private->children[i] = calloc(1, sizeof(*private->children[i]));
                if (!private->children[i] ||
                    cyk_column_export_array(column->children[i], batch, private->children[i]) == -1) {
                        out->release(out);
                        return -1;
                }
        }
        return 0;
}

int cyk_batch_export_array(cyk_batch_t *batch, struct ArrowArray *out) {
        return cyk_column_export_array(batch->root, batch, out);
}

static void cyk_release_schema(struct ArrowSchema *schema) {
        int64_t i;
        for (i = 0; i < schema->n_children; i++) {
                struct ArrowSchema *child = schema->children[i];
                if (child && child->release)
                        child->release(child);
                free(child);
        }
        free(schema->children);
        free((void *)schema->format);
        free((void *)schema->name);
        schema->release = NULL;
}

int cyk_column_export_schema(const cyk_column_t *column, struct ArrowSchema *out) {
        size_t i;
        memset(out, 0, sizeof(*out));
        out->format   = strdup(column->format);
        out->name     = strdup(column->name);
        out->flags    = column->nullable ? ARROW_FLAG_NULLABLE : 0;
        out->children = calloc(column->child_cnt + 1, sizeof(*out->children));
        out->release  = cyk_release_schema;
        if (!out->format || !out->name || !out->children) {
                out->release(out);
                return -1;
        }
        out->n_children = (int64_t)column->child_cnt;
        for (i = 0; i < column->child_cnt; i++) {
                out->children[i] = calloc(1, sizeof(*out->children[i]));
                if (!out->children[i] || cyk_column_export_schema(column->children[i], out->children[i]) == -1) {
                        out->release(out);
                        return -1;
                }
        }
        return 0;
}
