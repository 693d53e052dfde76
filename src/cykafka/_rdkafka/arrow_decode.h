/*
 * Message values to typed columns: JSON objects and fixed-width binary structs.
 *
 * A value is read into cells first and appended only if all of it is as the fields say, so a corrupt one leaves no
 * half a row. Called without the GIL; a decoder is not changed by decoding, a scratch belongs to one batch.
 */
#ifndef CYKAFKA_ARROW_DECODE_H
#define CYKAFKA_ARROW_DECODE_H

#include "arrow_native.h"

typedef enum {
        CYK_TYPE_BOOL = 0,
        CYK_TYPE_INT8,
        CYK_TYPE_INT16,
        CYK_TYPE_INT32,
        CYK_TYPE_INT64,
        CYK_TYPE_UINT8,
        CYK_TYPE_UINT16,
        CYK_TYPE_UINT32,
        CYK_TYPE_UINT64,
        CYK_TYPE_FLOAT32,
        CYK_TYPE_FLOAT64,
        CYK_TYPE_UTF8,
        CYK_TYPE_BINARY,
        CYK_TYPE_TIMESTAMP,
        CYK_TYPE_PADDING /* bytes of a struct that make no column */
} cyk_type_t;

typedef struct cyk_field_s {
        char *name;
        size_t name_len;
        cyk_type_t type;
        char unit;   /* of timestamps: s, m, u, n */
        size_t size; /* in a struct */
} cyk_field_t;

typedef struct cyk_decoder_s {
        int json; /* else structs */
        int big_endian;
        int keep_corrupt; /* in a column of their own */
        int stop_at_corrupt;
        cyk_field_t *fields;
        size_t field_cnt;
        size_t size; /* of a struct */
} cyk_decoder_t;

/* A value of a field. */
typedef struct cyk_cell_s {
        int null;
        union {
                int64_t i64;
                uint64_t u64;
                double f64;
                float f32;
                int bit;
                struct {
                        const char *bytes;
                        size_t len;
                } text;
        } u;
} cyk_cell_t;

typedef struct cyk_scratch_s {
        cyk_cell_t *cells;
        char *memory; /* of the JSON parser */
        size_t memory_size;
        void *document; /* that the cells point into */
} cyk_scratch_t;

/* The column of a field; NULL when out of memory. */
cyk_column_t *cyk_field_column(const cyk_field_t *field);
int cyk_scratch_init(cyk_scratch_t *scratch, const cyk_decoder_t *decoder);
void cyk_scratch_clear(cyk_scratch_t *scratch);
/* Reads a value into the scratch's cells. Returns 1, 0 if it is corrupt, -1 when out of memory. */
int cyk_decode(const cyk_decoder_t *decoder, cyk_scratch_t *scratch, const char *value, size_t len);
/* Appends a cell to the column of its field, which has room. */
void cyk_append_cell(const cyk_field_t *field, cyk_column_t *column, const cyk_cell_t *cell);

#endif
