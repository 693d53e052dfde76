"""The histogram keeps HdrHistogram's bucket rule: checked against the package hdrhistogram."""

import pickle
import random
import threading

import pytest

from cykafka import Histogram

PERCENTILES = (0, 1, 25, 50, 75, 90, 99, 99.9, 99.99, 100)


@pytest.fixture(params=[(1, 3_600_000_000, 3), (1, 100_000, 1), (1000, 10**12, 2), (7, 10**6, 4), (1, 2**62, 3)])
def both(request):
    """A histogram of ours and one of the reference, with the same limits."""
    hdrh = pytest.importorskip("hdrh.histogram", reason="needs the package hdrhistogram")
    return Histogram(*request.param), hdrh.HdrHistogram(*request.param)


def test_agrees_with_the_reference(both):
    ours, reference = both
    numbers = random.Random(4)
    highest = ours.highest
    values = [
        0,
        1,
        2,
        highest,
        highest // 2,
        2**11,
        2**11 - 1,
        *(int(highest ** numbers.random()) for _ in range(3000)),
    ]
    for value in values:
        count = numbers.choice((1, 1, 1, 5))
        ours.record(value, count)
        reference.record_value(value, count)
    assert ours.count == reference.get_total_count()
    for percentile in PERCENTILES:
        assert ours.percentile(percentile) == reference.get_value_at_percentile(percentile), percentile
    assert ours.mean == pytest.approx(reference.get_mean_value())
    assert ours.stddev == pytest.approx(reference.get_stddev())
    buckets = [
        (
            reference.get_lowest_equivalent_value(item.value_iterated_to),
            reference.get_highest_equivalent_value(item.value_iterated_to),
            item.count_at_value_iterated_to,
        )
        for item in reference.get_recorded_iterator()
    ]
    assert ours.buckets() == buckets


def test_keeps_the_promised_digits():
    numbers = random.Random(5)
    for digits in range(1, 6):
        for _ in range(300):
            value = int(10 ** (9 * numbers.random()))
            histogram = Histogram(1, 10**9, digits)
            histogram.record(value)
            assert value <= histogram.percentile(50) < value + max(value / 10**digits, 1)
            assert (histogram.min, histogram.max) == (value, value)


def test_empty():
    histogram = Histogram()
    assert (histogram.count, histogram.min, histogram.max, histogram.mean, histogram.stddev) == (0, 0, 0, 0.0, 0.0)
    assert histogram.percentile(99) == 0
    assert histogram.buckets() == []


def test_reset():
    histogram = Histogram()
    histogram.record(1000, 3)
    assert repr(histogram) == "<Histogram count=3 p50=1000 p99=1000 max=1000>"
    histogram.reset()
    assert (histogram.count, histogram.max) == (0, 0)
    histogram.record(5)
    assert histogram.percentiles((0, 50, 100)) == {0: 5, 50: 5, 100: 5}


def test_threads_lose_no_value():
    histogram = Histogram()

    def record():
        for value in range(20_000):
            histogram.record(value)

    threads = [threading.Thread(target=record) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert histogram.count == 80_000


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0,), "lowest must be between 1"),
        ((10, 19), r"highest must be at least 2 \* lowest \(20\)"),
        ((1, 1000, 0), "significant_digits must be between 1 and 5"),
        ((1, 1000, 6), "significant_digits must be between 1 and 5"),
    ],
)
def test_refuses_wrong_limits(arguments, text):
    with pytest.raises(ValueError, match=text):
        Histogram(*arguments)


def test_refuses_wrong_values():
    histogram = Histogram(1, 1000)
    with pytest.raises(ValueError, match="value must be between 0 and 1000, not 1001"):
        histogram.record(1001)
    with pytest.raises(ValueError, match="value must be between 0 and 1000, not -1"):
        histogram.record(-1)
    with pytest.raises(ValueError, match="count must be >= 0"):
        histogram.record(1, -1)
    with pytest.raises(TypeError):
        histogram.record("1")
    for percentile in (-1, 101, float("nan")):
        with pytest.raises(ValueError, match="percentile must be between 0 and 100"):
            histogram.percentile(percentile)
    assert histogram.count == 0


def test_cannot_be_pickled_and_says_why():
    with pytest.raises(TypeError, match="percentiles"):
        pickle.dumps(Histogram())
