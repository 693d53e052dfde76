"""Which offsets batches and tasks read."""

import itertools

import pytest

from cykafka.spark.offsets import TopicPartition
from cykafka.spark.planning import (
    OffsetRange,
    TriggerDelay,
    group_ranges,
    offsets_behind,
    plan_ranges,
    rate_limit,
)

pytestmark = pytest.mark.unit


def ranges(*sizes):
    return [OffsetRange("t", number, 100, 100 + size) for number, size in enumerate(sizes)]


def sizes(planned):
    return [(each.partition, each.size) for each in planned]


def partitions(*offsets):
    return {TopicPartition("t", number): offset for number, offset in enumerate(offsets)}


def assert_covers(planned, whole):
    """Check that the parts of each partition follow on each other and make up the whole."""
    for each in whole:
        parts = [part for part in planned if part.partition == each.partition]
        if each.size <= 0:
            assert parts == []
            continue
        assert parts[0].start == each.start
        assert parts[-1].end == each.end
        assert all(before.end == after.start for before, after in itertools.pairwise(parts))


def test_one_task_for_each_partition_that_has_something():
    assert sizes(plan_ranges(ranges(5, 0, 7))) == [(0, 5), (2, 7)]


def test_inverted_range_reads_nothing():
    assert plan_ranges([OffsetRange("t", 0, 9, 3)]) == []


def test_order_does_not_matter():
    whole = ranges(50, 3, 20, 7)
    assert plan_ranges(whole, min_partitions=9) == plan_ranges(reversed(whole), min_partitions=9)


@pytest.mark.parametrize(
    ("of", "least", "expected"),
    [
        ((100,), 4, [(0, 25)] * 4),
        ((10,), 3, [(0, 3), (0, 3), (0, 4)]),
        ((100, 100), 2, [(0, 100), (1, 100)]),
        ((100, 10), 4, [(0, 33), (0, 33), (0, 34), (1, 10)]),
        ((1, 1, 1), 5, [(0, 1), (1, 1), (2, 1)]),
        ((1000, 1, 1), 5, [(0, 333), (0, 333), (0, 334), (1, 1), (2, 1)]),
    ],
)
def test_min_partitions_splits_large_ranges_in_proportion(of, least, expected):
    whole = ranges(*of)
    planned = plan_ranges(whole, min_partitions=least)
    assert sizes(planned) == expected
    assert_covers(planned, whole)


@pytest.mark.parametrize(("size", "most"), [(10, 3), (10, 10), (10, 1), (11, 100), (1_000_003, 1000)])
def test_max_records_per_partition(size, most):
    whole = ranges(size, 2)
    planned = plan_ranges(whole, max_records_per_partition=most)
    assert max(each.size for each in planned) <= most
    assert_covers(planned, whole)


def test_both_limits():
    whole = ranges(100, 10, 0)
    planned = plan_ranges(whole, min_partitions=20, max_records_per_partition=30)
    assert max(each.size for each in planned) <= 30
    assert len(planned) >= 15
    assert_covers(planned, whole)


def test_small_ranges_share_a_task():
    groups = group_ranges([*ranges(400, 500, 200, 5000, 1), OffsetRange("u", 0, 0, 1)], 1000)
    assert [sizes(each) for each in groups] == [[(0, 400), (1, 500)], [(2, 200)], [(3, 5000)], [(4, 1)], [(0, 1)]]
    assert [len(each) for each in group_ranges(ranges(1, 1), 0)] == [1, 1]


def test_rate_limit_is_shared_out_by_backlog():
    end = rate_limit(100, partitions(0, 0), partitions(900, 100))
    assert end == partitions(90, 10)


def test_rate_limit_rounds_down_but_starves_nobody():
    end = rate_limit(10, partitions(0, 0, 5), partitions(995, 5, 5))
    assert end == partitions(9, 1, 5)


def test_rate_limit_never_goes_past_the_end():
    assert rate_limit(1000, partitions(0, 3), partitions(4, 5)) == partitions(4, 5)


def test_rate_limit_without_backlog_changes_nothing():
    assert rate_limit(10, partitions(4, 5), partitions(4, 5)) == partitions(4, 5)


def test_rate_limit_leaves_partitions_that_went_back_for_the_check_of_lost_data():
    assert rate_limit(10, partitions(50), partitions(4)) == partitions(4)


class TestTriggerDelay:
    def test_first_batch_is_not_held_back(self):
        assert not TriggerDelay(100, 60, clock=lambda: 5.0).holds_back(partitions(0), partitions(1))

    def test_waits_for_enough_or_for_long_enough(self):
        now = 0.0
        delay = TriggerDelay(10, 60, clock=lambda: now)
        delay.holds_back(partitions(0), partitions(0))
        now = 59.0
        assert delay.holds_back(partitions(0, 0), partitions(4, 5))
        assert not delay.holds_back(partitions(0, 0), partitions(5, 5))
        now = 118.0
        assert delay.holds_back(partitions(5, 5), partitions(6, 5))
        now = 119.0
        assert not delay.holds_back(partitions(5, 5), partitions(6, 5))


def test_offsets_behind_latest():
    assert offsets_behind(partitions(1, 5), partitions(4, 5)) == {
        "minOffsetsBehindLatest": "0",
        "maxOffsetsBehindLatest": "3",
        "avgOffsetsBehindLatest": "1.5",
    }
    assert offsets_behind({}, {}) == {}


def test_a_thousand_partitions_with_a_billion_records():
    whole = [OffsetRange("t", number, 0, 1_000_000) for number in range(1000)]
    planned = plan_ranges(whole, min_partitions=4000, max_records_per_partition=500_000)
    assert_covers(planned, whole)
    assert sum(each.size for each in planned) == 1_000_000_000
