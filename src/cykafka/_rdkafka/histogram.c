/* See histogram.h; the rule is that of https://github.com/HdrHistogram. */
#include "histogram.h"

#include <math.h>
#include <stdlib.h>

static int log2_floor(uint64_t value) {
        return 63 - __builtin_clzll(value);
}

static size_t index_of(const cyk_histogram_t *h, int64_t value) {
        int bucket = log2_floor((uint64_t)(value | h->part_mask)) - h->unit_magnitude - h->half_magnitude;
        int64_t part = value >> (bucket + h->unit_magnitude);
        /* The lower half of every bucket but the first is covered by the buckets before it. */
        return (size_t)(((int64_t)bucket << h->half_magnitude) + part);
}

/* The bucket of a place, whose parts are 2 to the power of this, times 2 to the unit_magnitude, wide. */
static int bucket_at(const cyk_histogram_t *h, size_t index) {
        int bucket = (int)(index >> h->half_magnitude) - 1;
        return bucket < 0 ? 0 : bucket;
}

int64_t cyk_histogram_from(const cyk_histogram_t *h, size_t index) {
        int bucket   = bucket_at(h, index);
        int64_t part = (int64_t)index - ((int64_t)bucket << h->half_magnitude);
        return part << (bucket + h->unit_magnitude);
}

int64_t cyk_histogram_to(const cyk_histogram_t *h, size_t index) {
        return cyk_histogram_from(h, index) + (((int64_t)1 << (bucket_at(h, index) + h->unit_magnitude)) - 1);
}

cyk_histogram_t *cyk_histogram_new(int64_t lowest, int64_t highest, int significant_digits) {
        cyk_histogram_t *h;
        int64_t single = 2;
        int64_t untrackable;
        int buckets = 1;
        int unit_magnitude = log2_floor((uint64_t)lowest);
        int half_magnitude, i;
        size_t length;

        /* Up to 2 * 10^digits values differ by one unit. */
        for (i = 0; i < significant_digits; i++)
                single *= 10;
        half_magnitude = log2_floor((uint64_t)single - 1);
        untrackable    = (int64_t)1 << (half_magnitude + 1 + unit_magnitude);
        while (untrackable <= highest) {
                buckets++;
                if (untrackable > INT64_MAX / 2)
                        break;
                untrackable *= 2;
        }
        length = (size_t)(buckets + 1) << half_magnitude;

        h = calloc(1, sizeof(*h) + length * sizeof(h->counts[0]));
        if (!h)
                return NULL;
        h->refcnt             = 1;
        h->lowest             = lowest;
        h->highest            = highest;
        h->significant_digits = significant_digits;
        h->unit_magnitude     = unit_magnitude;
        h->half_magnitude     = half_magnitude;
        h->part_mask          = (((int64_t)1 << (half_magnitude + 1)) - 1) << unit_magnitude;
        h->length             = length;
        h->smallest           = INT64_MAX;
        return h;
}

void cyk_histogram_keep(cyk_histogram_t *h) {
        __atomic_add_fetch(&h->refcnt, 1, __ATOMIC_RELAXED);
}

void cyk_histogram_release(cyk_histogram_t *h) {
        if (__atomic_sub_fetch(&h->refcnt, 1, __ATOMIC_ACQ_REL) == 0)
                free(h);
}

static int64_t load(const int64_t *counter) {
        return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void cyk_histogram_record(cyk_histogram_t *h, int64_t value, int64_t count) {
        int64_t seen;
        if (value < 0)
                value = 0;
        else if (value > h->highest)
                value = h->highest;
        __atomic_add_fetch(&h->counts[index_of(h, value)], count, __ATOMIC_RELAXED);
        for (seen = load(&h->smallest); value < seen;) {
                if (__atomic_compare_exchange_n(&h->smallest, &seen, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                        break;
        }
        for (seen = load(&h->largest); value > seen;) {
                if (__atomic_compare_exchange_n(&h->largest, &seen, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                        break;
        }
}

void cyk_histogram_reset(cyk_histogram_t *h) {
        size_t i;
        for (i = 0; i < h->length; i++)
                __atomic_store_n(&h->counts[i], 0, __ATOMIC_RELAXED);
        __atomic_store_n(&h->smallest, INT64_MAX, __ATOMIC_RELAXED);
        __atomic_store_n(&h->largest, 0, __ATOMIC_RELAXED);
}

int64_t cyk_histogram_total(const cyk_histogram_t *h) {
        int64_t total = 0;
        size_t i;
        for (i = 0; i < h->length; i++)
                total += load(&h->counts[i]);
        return total;
}

int64_t cyk_histogram_percentile(const cyk_histogram_t *h, double percentile) {
        int64_t total = cyk_histogram_total(h);
        int64_t wanted = (int64_t)(percentile * (double)total / 100.0 + 0.5);
        int64_t passed = 0;
        size_t i;
        if (wanted < 1)
                wanted = 1;
        for (i = 0; i < h->length; i++) {
                passed += load(&h->counts[i]);
                if (passed >= wanted)
                        return percentile == 0 ? cyk_histogram_from(h, i) : cyk_histogram_to(h, i);
        }
        return 0;
}

static double middle_of(const cyk_histogram_t *h, size_t index) {
        int64_t from = cyk_histogram_from(h, index);
        return (double)(from + (cyk_histogram_to(h, index) - from + 1) / 2);
}

void cyk_histogram_moments(const cyk_histogram_t *h, double *mean, double *deviation) {
        double sum = 0, squares = 0;
        int64_t total = 0;
        size_t i;
        *mean = *deviation = 0;
        for (i = 0; i < h->length; i++) {
                int64_t count = load(&h->counts[i]);
                if (!count)
                        continue;
                total += count;
                sum += (double)count * middle_of(h, i);
        }
        if (!total)
                return;
        *mean = sum / (double)total;
        for (i = 0; i < h->length; i++) {
                int64_t count = load(&h->counts[i]);
                double distance;
                if (!count)
                        continue;
                distance = middle_of(h, i) - *mean;
                squares += (double)count * distance * distance;
        }
        *deviation = sqrt(squares / (double)total);
}
