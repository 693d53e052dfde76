/* Message values to typed columns; see arrow_decode.h. JSON is parsed by yyjson. */
#include "native_int.h"

#include <string.h>

#include "arrow_decode.h"
#include "yyjson.h"

/* Values up to this size are parsed in memory that is used again for the next one. */
#define CYK_POOLED_BYTES (1 << 18)

cyk_column_t *cyk_field_column(const cyk_field_t *field) {
        static const struct {
                const char *format;
                cyk_layout_t layout;
                size_t width;
        } layouts[] = {
            [CYK_TYPE_BOOL]    = {"b", CYK_LAYOUT_BITS, 0},     [CYK_TYPE_INT8]    = {"c", CYK_LAYOUT_FIXED, 1},
            [CYK_TYPE_INT16]   = {"s", CYK_LAYOUT_FIXED, 2},    [CYK_TYPE_INT32]   = {"i", CYK_LAYOUT_FIXED, 4},
            [CYK_TYPE_INT64]   = {"l", CYK_LAYOUT_FIXED, 8},    [CYK_TYPE_UINT8]   = {"C", CYK_LAYOUT_FIXED, 1},
            [CYK_TYPE_UINT16]  = {"S", CYK_LAYOUT_FIXED, 2},    [CYK_TYPE_UINT32]  = {"I", CYK_LAYOUT_FIXED, 4},
            [CYK_TYPE_UINT64]  = {"L", CYK_LAYOUT_FIXED, 8},    [CYK_TYPE_FLOAT32] = {"f", CYK_LAYOUT_FIXED, 4},
            [CYK_TYPE_FLOAT64] = {"g", CYK_LAYOUT_FIXED, 8},    [CYK_TYPE_UTF8]    = {"u", CYK_LAYOUT_BINARY, 0},
            [CYK_TYPE_BINARY]  = {"z", CYK_LAYOUT_BINARY, 0},   [CYK_TYPE_TIMESTAMP] = {"ts?:UTC", CYK_LAYOUT_FIXED, 8},
        };
        char format[16];
        snprintf(format, sizeof(format), "%s", layouts[field->type].format);
        if (field->type == CYK_TYPE_TIMESTAMP)
                format[2] = field->unit;
        return cyk_column_new(field->name, format, layouts[field->type].layout, layouts[field->type].width, 1);
}

int cyk_scratch_init(cyk_scratch_t *scratch, const cyk_decoder_t *decoder) {
        memset(scratch, 0, sizeof(*scratch));
        scratch->cells = calloc(decoder->field_cnt, sizeof(*scratch->cells));
        return scratch->cells ? 0 : -1;
}

static void cyk_scratch_drop_document(cyk_scratch_t *scratch) {
        yyjson_doc_free(scratch->document);
        scratch->document = NULL;
}

void cyk_scratch_clear(cyk_scratch_t *scratch) {
        cyk_scratch_drop_document(scratch);
        free(scratch->cells);
        free(scratch->memory);
        memset(scratch, 0, sizeof(*scratch));
}

/* ---- Timestamps in text ---- */

static int cyk_digits(const char **p, const char *end, int cnt, int *number) {
        *number = 0;
        if (end - *p < cnt)
                return 0;
        while (cnt--) {
                if (**p < '0' || **p > '9')
                        return 0;
                *number = *number * 10 + (*(*p)++ - '0');
        }
        return 1;
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar. */
static int64_t cyk_days(int year, int month, int day) {
        int64_t y = year - (month <= 2);
        int64_t era = (y >= 0 ? y : y - 399) / 400, year_of_era = y - era * 400;
        int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
        return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int64_t cyk_ticks(char unit) {
        return unit == 's' ? 1 : unit == 'm' ? 1000 : unit == 'u' ? 1000000 : 1000000000;
}

/* RFC 3339, also with a space for the T, without seconds' fraction or zone (then UTC), or a date alone. */
static int cyk_parse_timestamp(const char *p, size_t len, char unit, int64_t *ticks) {
        static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        const char *end               = p + len;
        int64_t per_second            = cyk_ticks(unit), part, seconds, fraction = 0;
        int year, month, day, hour = 0, minute = 0, second = 0, zone_hour, zone_minute, leap;

        if (!cyk_digits(&p, end, 4, &year) || p == end || *p++ != '-' || !cyk_digits(&p, end, 2, &month) || p == end ||
            *p++ != '-' || !cyk_digits(&p, end, 2, &day))
                return 0;
        leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        if (month < 1 || month > 12 || day < 1 || day > month_days[month - 1] || (month == 2 && day == 29 && !leap))
                return 0;
        seconds = cyk_days(year, month, day) * 86400;
        if (p < end) {
                if ((*p != 'T' && *p != 't' && *p != ' ') || (p++, !cyk_digits(&p, end, 2, &hour)) || p == end ||
                    *p++ != ':' || !cyk_digits(&p, end, 2, &minute) || p == end || *p++ != ':' ||
                    !cyk_digits(&p, end, 2, &second) || hour > 23 || minute > 59 || second > 59)
                        return 0;
                seconds += hour * 3600 + minute * 60 + second;
                if (p < end && *p == '.') {
                        p++;
                        if (p == end || *p < '0' || *p > '9')
                                return 0;
                        for (part = per_second / 10; p < end && *p >= '0' && *p <= '9'; p++, part /= 10)
                                fraction += part * (*p - '0');
                }
                if (p < end && (*p == 'Z' || *p == 'z')) {
                        p++;
                } else if (p < end && (*p == '+' || *p == '-')) {
                        int sign = *p++ == '+' ? 1 : -1;
                        if (!cyk_digits(&p, end, 2, &zone_hour) || p == end || *p++ != ':' ||
                            !cyk_digits(&p, end, 2, &zone_minute) || zone_hour > 23 || zone_minute > 59)
                                return 0;
                        seconds -= sign * (zone_hour * 3600 + zone_minute * 60);
                }
        }
        if (p != end || seconds > (INT64_MAX - fraction) / per_second || seconds < INT64_MIN / per_second)
                return 0;
        *ticks = seconds * per_second + fraction;
        return 1;
}

/* ---- JSON ---- */

static int cyk_json_integer(yyjson_val *value, int64_t low, int64_t high, cyk_cell_t *cell) {
        if (yyjson_is_uint(value)) {
                if (yyjson_get_uint(value) > (uint64_t)high)
                        return 0;
        } else if (!yyjson_is_sint(value) || yyjson_get_sint(value) < low) {
                return 0;
        }
        cell->u.i64 = yyjson_get_sint(value);
        return 1;
}

static int cyk_json_unsigned(yyjson_val *value, uint64_t high, cyk_cell_t *cell) {
        cell->u.u64 = yyjson_get_uint(value);
        return yyjson_is_uint(value) && cell->u.u64 <= high;
}

/* Whether the value is what the field says. */
static int cyk_json_cell(const cyk_field_t *field, yyjson_val *value, cyk_cell_t *cell) {
        cell->null = !value || yyjson_is_null(value);
        if (cell->null)
                return 1;
        switch (field->type) {
        case CYK_TYPE_BOOL:
                cell->u.bit = yyjson_get_bool(value);
                return yyjson_is_bool(value);
        case CYK_TYPE_INT8:
                return cyk_json_integer(value, INT8_MIN, INT8_MAX, cell);
        case CYK_TYPE_INT16:
                return cyk_json_integer(value, INT16_MIN, INT16_MAX, cell);
        case CYK_TYPE_INT32:
                return cyk_json_integer(value, INT32_MIN, INT32_MAX, cell);
        case CYK_TYPE_INT64:
                return cyk_json_integer(value, INT64_MIN, INT64_MAX, cell);
        case CYK_TYPE_UINT8:
                return cyk_json_unsigned(value, UINT8_MAX, cell);
        case CYK_TYPE_UINT16:
                return cyk_json_unsigned(value, UINT16_MAX, cell);
        case CYK_TYPE_UINT32:
                return cyk_json_unsigned(value, UINT32_MAX, cell);
        case CYK_TYPE_UINT64:
                return cyk_json_unsigned(value, UINT64_MAX, cell);
        case CYK_TYPE_FLOAT32:
                cell->u.f32 = (float)yyjson_get_num(value);
                return yyjson_is_num(value);
        case CYK_TYPE_FLOAT64:
                cell->u.f64 = yyjson_get_num(value);
                return yyjson_is_num(value);
        case CYK_TYPE_TIMESTAMP:
                if (yyjson_is_str(value))
                        return cyk_parse_timestamp(yyjson_get_str(value), yyjson_get_len(value), field->unit,
                                                   &cell->u.i64);
                return cyk_json_integer(value, INT64_MIN, INT64_MAX, cell);
        default:
                cell->u.text.bytes = yyjson_get_str(value);
                cell->u.text.len   = yyjson_get_len(value);
                return yyjson_is_str(value);
        }
}

static int cyk_decode_json(const cyk_decoder_t *decoder, cyk_scratch_t *scratch, const char *value, size_t len) {
        yyjson_alc alc;
        yyjson_read_err err;
        yyjson_obj_iter iter;
        yyjson_val *root;
        size_t i;

        cyk_scratch_drop_document(scratch);
        if (len <= CYK_POOLED_BYTES) {
                size_t needed = yyjson_read_max_memory_usage(len, YYJSON_READ_NOFLAG);
                if (needed > scratch->memory_size) {
                        free(scratch->memory);
                        scratch->memory_size = 0;
                        scratch->memory      = malloc(needed * 2);
                        if (!scratch->memory)
                                return -1;
                        scratch->memory_size = needed * 2;
                }
                yyjson_alc_pool_init(&alc, scratch->memory, scratch->memory_size);
        }
        scratch->document = yyjson_read_opts((char *)value, len, YYJSON_READ_NOFLAG,
                                             len <= CYK_POOLED_BYTES ? &alc : NULL, &err);
        if (!scratch->document)
                return err.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION ? -1 : 0;
        root = yyjson_doc_get_root(scratch->document);
        if (!yyjson_is_obj(root))
                return 0;
        yyjson_obj_iter_init(root, &iter);
        for (i = 0; i < decoder->field_cnt; i++) {
                const cyk_field_t *field = &decoder->fields[i];
                if (!cyk_json_cell(field, yyjson_obj_iter_getn(&iter, field->name, field->name_len), &scratch->cells[i]))
                        return 0;
        }
        return 1;
}

/* ---- Structs ---- */

static uint64_t cyk_load(const unsigned char *p, size_t size, int big_endian) {
        uint64_t number = 0;
        size_t i;
        for (i = 0; i < size; i++)
                number |= (uint64_t)p[i] << 8 * (big_endian ? size - 1 - i : i);
        return number;
}

static int cyk_decode_struct(const cyk_decoder_t *decoder, cyk_scratch_t *scratch, const char *value, size_t len) {
        const unsigned char *p = (const unsigned char *)value;
        size_t i;

        if (len != decoder->size)
                return 0;
        for (i = 0; i < decoder->field_cnt; i++) {
                const cyk_field_t *field = &decoder->fields[i];
                cyk_cell_t *cell         = &scratch->cells[i];
                uint64_t number          = field->size <= 8 ? cyk_load(p, field->size, decoder->big_endian) : 0;
                uint32_t low             = (uint32_t)number;

                cell->null = 0;
                switch (field->type) {
                case CYK_TYPE_BOOL:
                        if (number > 1)
                                return 0;
                        cell->u.bit = (int)number;
                        break;
                case CYK_TYPE_FLOAT32:
                        memcpy(&cell->u.f32, &low, sizeof(low));
                        break;
                case CYK_TYPE_FLOAT64:
                        memcpy(&cell->u.f64, &number, sizeof(number));
                        break;
                case CYK_TYPE_UTF8:
                case CYK_TYPE_BINARY:
                        cell->u.text.bytes = (const char *)p;
                        cell->u.text.len   = field->size;
                        if (field->type == CYK_TYPE_BINARY)
                                break;
                        while (cell->u.text.len && !p[cell->u.text.len - 1])
                                cell->u.text.len--;
                        if (!cyk_utf8_valid(cell->u.text.bytes, cell->u.text.len))
                                return 0;
                        break;
                default:
                        cell->u.u64 = number;
                        break;
                }
                p += field->size;
        }
        return 1;
}

int cyk_decode(const cyk_decoder_t *decoder, cyk_scratch_t *scratch, const char *value, size_t len) {
        return decoder->json ? cyk_decode_json(decoder, scratch, value, len)
                             : cyk_decode_struct(decoder, scratch, value, len);
}

void cyk_append_cell(const cyk_field_t *field, cyk_column_t *column, const cyk_cell_t *cell) {
        int8_t i8;
        int16_t i16;
        int32_t i32;

        if (cell->null) {
                cyk_column_append_null(column);
                return;
        }
        switch (field->type) {
        case CYK_TYPE_BOOL:
                cyk_column_append_bit(column, cell->u.bit);
                break;
        case CYK_TYPE_INT8:
        case CYK_TYPE_UINT8:
                i8 = (int8_t)cell->u.u64;
                cyk_column_append_fixed(column, &i8);
                break;
        case CYK_TYPE_INT16:
        case CYK_TYPE_UINT16:
                i16 = (int16_t)cell->u.u64;
                cyk_column_append_fixed(column, &i16);
                break;
        case CYK_TYPE_INT32:
        case CYK_TYPE_UINT32:
                i32 = (int32_t)cell->u.u64;
                cyk_column_append_fixed(column, &i32);
                break;
        case CYK_TYPE_FLOAT32:
                cyk_column_append_fixed(column, &cell->u.f32);
                break;
        case CYK_TYPE_UTF8:
        case CYK_TYPE_BINARY:
                cyk_column_append_bytes(column, cell->u.text.bytes, cell->u.text.len);
                break;
        default:
                cyk_column_append_fixed(column, &cell->u.u64);
                break;
        }
}
