/*
 * Histograms of durations by HdrHistogram's bucket rule: buckets whose width doubles, each cut into the same number
 * of parts, so that every value is kept to a given number of significant digits.
 *
 * Any thread may record and read at any time, without locks: counts are added atomically, and what a reader sees is
 * at most a few records behind.
 */
#ifndef CYKAFKA_HISTOGRAM_H
#define CYKAFKA_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

typedef struct cyk_histogram_s {
        int refcnt;
        int64_t lowest;  /* values below it are not told apart */
        int64_t highest; /* larger values are counted as this one */
        int significant_digits;
        int unit_magnitude;      /* log2 of lowest, rounded down */
        int half_magnitude;      /* log2 of half the number of parts of a bucket */
        int64_t part_mask;       /* values within it are in the first bucket */
        size_t length;           /* of counts */
        int64_t smallest, largest; /* as recorded; smallest is INT64_MAX if nothing was */
        int64_t counts[];
} cyk_histogram_t;

/* Returns NULL without memory. 1 <= lowest, 2 * lowest <= highest, 1 <= significant_digits <= 5. */
cyk_histogram_t *cyk_histogram_new(int64_t lowest, int64_t highest, int significant_digits);
void cyk_histogram_keep(cyk_histogram_t *h);
void cyk_histogram_release(cyk_histogram_t *h);

/* Negative values count as 0, those above `highest` as `highest`. */
void cyk_histogram_record(cyk_histogram_t *h, int64_t value, int64_t count);
void cyk_histogram_reset(cyk_histogram_t *h);
int64_t cyk_histogram_total(const cyk_histogram_t *h);
/* The largest value that is counted in the same place as the value at a percentile, 0 to 100; 0 if it is empty. */
int64_t cyk_histogram_percentile(const cyk_histogram_t *h, double percentile);
/* Mean and standard deviation, each value standing for the middle of its place. */
void cyk_histogram_moments(const cyk_histogram_t *h, double *mean, double *deviation);
/* The smallest and the largest value that are counted in a place. */
int64_t cyk_histogram_from(const cyk_histogram_t *h, size_t index);
int64_t cyk_histogram_to(const cyk_histogram_t *h, size_t index);

#endif
