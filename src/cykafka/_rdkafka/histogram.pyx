# Histogram: counts of durations in native memory, shared with the threads that record them. Any thread may use it.

cdef class Histogram:
    """Histogram(lowest=1, highest=3600000000, significant_digits=3)\n--\n
    Counts values, such as durations in microseconds, keeping each to a number of significant digits.

    The buckets follow HdrHistogram's rule. Recording takes some nanoseconds and never allocates.

    Args:
        lowest: Smallest value to be told apart, at least 1.
        highest: Largest value, at least 2 * lowest.
        significant_digits: Digits that are kept of a value, 1 to 5.

    Raises:
        TypeError, ValueError: If an argument is wrong.
        MemoryError: If there is no memory for so many digits and values.

    Thread-safe: what is read while others record is at most a few values behind.
    """

    def __init__(self, lowest=1, highest=3600000000, significant_digits=3):
        cdef int64_t native_lowest = lowest
        cdef int64_t native_highest = highest
        cdef int digits = significant_digits
        if not 1 <= native_lowest <= 1 << 40:
            raise ValueError(f"lowest must be between 1 and 2**40, not {lowest}")
        if native_highest < 2 * native_lowest:
            raise ValueError(f"highest must be at least 2 * lowest ({2 * native_lowest}), not {highest}")
        if not 1 <= digits <= 5:
            raise ValueError(f"significant_digits must be between 1 and 5, not {significant_digits}")
        if self.native is not NULL:
            raise RuntimeError("Histogram is already initialised")
        self.native = cyk_histogram_new(native_lowest, native_highest, digits)
        if self.native is NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.native is not NULL:
            cyk_histogram_release(self.native)

    cdef cyk_histogram_t *_get(self) except NULL:
        if self.native is NULL:
            raise RuntimeError("Histogram.__init__() has not been called")
        return self.native

    @property
    def lowest(self):
        """Smallest value that is told apart."""
        return self._get().lowest

    @property
    def highest(self):
        """Largest value; larger ones that clients measure are counted as this one."""
        return self._get().highest

    @property
    def significant_digits(self):
        """Digits that are kept of a value."""
        return self._get().significant_digits

    def record(self, value, count=1):
        """Count a value.

        Args:
            value: Value, 0 to `highest`.
            count: How often it occurred.

        Raises:
            ValueError: If the value is out of range or the count is negative.
        """
        cdef cyk_histogram_t *native = self._get()
        cdef int64_t native_value = value
        cdef int64_t native_count = count
        if not 0 <= native_value <= native.highest:
            raise ValueError(f"value must be between 0 and {native.highest}, not {value}")
        if native_count < 0:
            raise ValueError(f"count must be >= 0, not {count}")
        if native_count:
            cyk_histogram_record(native, native_value, native_count)

    def percentile(self, percentile):
        """Return the value below or at which so many percent of the values are.

        Args:
            percentile: 0 to 100, such as 99.9.

        Returns:
            int: The largest value that cannot be told from it; 0 if nothing was recorded.

        Raises:
            ValueError: If it is not between 0 and 100.
        """
        cdef double wanted = percentile
        if not 0 <= wanted <= 100:
            raise ValueError(f"percentile must be between 0 and 100, not {percentile}")
        return cyk_histogram_percentile(self._get(), wanted)

    def percentiles(self, percentiles=(50, 90, 99, 99.9, 99.99)):
        """Return several percentiles as a dict from each to its value; see `percentile`.

        Args:
            percentiles: Numbers from 0 to 100.

        Raises:
            ValueError: If one is not between 0 and 100.
        """
        return {wanted: self.percentile(wanted) for wanted in percentiles}

    @property
    def count(self):
        """How many values were recorded."""
        return cyk_histogram_total(self._get())

    @property
    def min(self):
        """Smallest recorded value, 0 if there is none."""
        cdef cyk_histogram_t *native = self._get()
        return 0 if native.smallest > native.highest else native.smallest

    @property
    def max(self):
        """Largest recorded value, 0 if there is none."""
        return self._get().largest

    @property
    def mean(self):
        """Mean of the values, 0.0 if there is none."""
        cdef double mean, deviation
        cyk_histogram_moments(self._get(), &mean, &deviation)
        return mean

    @property
    def stddev(self):
        """Standard deviation of the values, 0.0 if there is none."""
        cdef double mean, deviation
        cyk_histogram_moments(self._get(), &mean, &deviation)
        return deviation

    def buckets(self):
        """Return what was recorded, as a list of (smallest value, largest value, count), in order, without zeros."""
        cdef cyk_histogram_t *native = self._get()
        cdef size_t i
        return [(cyk_histogram_from(native, i), cyk_histogram_to(native, i), native.counts[i])
                for i in range(native.length) if native.counts[i]]

    def reset(self):
        """Forget all values; what others record meanwhile may be kept or lost."""
        cyk_histogram_reset(self._get())

    def __repr__(self):
        return (f"<Histogram count={self.count} p50={self.percentile(50)} p99={self.percentile(99)} "
                f"max={self.max}>")

    def __reduce__(self):
        raise TypeError("Histogram cannot be pickled: other threads record into it. Send its percentiles() or buckets()")


cdef Histogram share_histogram(cyk_histogram_t *native):
    """Make a Histogram of one that others record into."""
    cdef Histogram histogram = Histogram.__new__(Histogram)
    cyk_histogram_keep(native)
    histogram.native = native
    return histogram
