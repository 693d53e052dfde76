"""Clients that a Python worker keeps, and fingerprints of what it writes; without Spark."""

from __future__ import annotations

import os
import random

import pyarrow as pa
import pytest

from cykafka.spark.content import Content, content_of
from cykafka.spark.options import CacheOptions
from cykafka.spark.worker import ClientCache

pytestmark = pytest.mark.unit

KEEP = CacheOptions(capacity=2, timeout=600.0)


class Client:
    def __init__(self):
        self.closed = False

    def close(self):
        self.closed = True


class TestClientCache:
    def borrow(self, cache, name="a", options=KEEP):
        with cache.borrow({"name": name}, Client, options) as client:
            assert not client.closed
            return client

    def test_client_of_the_same_configuration_is_lent_again(self):
        cache = ClientCache()
        first = self.borrow(cache)
        assert self.borrow(cache) is first
        assert self.borrow(cache, "b") is not first
        assert len(cache) == 2

    def test_two_borrowers_at_once_have_two_clients(self):
        cache = ClientCache()
        with cache.borrow({"name": "a"}, Client, KEEP) as first, cache.borrow({"name": "a"}, Client, KEEP) as second:
            assert first is not second
        # One place for one configuration.
        assert [first.closed, second.closed].count(True) == 1

    def test_client_is_thrown_away_after_an_error(self):
        cache = ClientCache()
        with pytest.raises(ValueError), cache.borrow({"name": "a"}, Client, KEEP) as client:
            raise ValueError
        assert client.closed
        assert len(cache) == 0

    def test_client_is_kept_when_a_reader_has_read_enough(self):
        cache = ClientCache()

        def read():
            with cache.borrow({"name": "a"}, Client, KEEP) as client:
                while True:
                    yield client

        reading = read()
        client = next(reading)
        reading.close()
        assert not client.closed
        assert self.borrow(cache) is client

    def test_the_longest_unused_goes_first(self):
        cache = ClientCache()
        first, second, third = (self.borrow(cache, name) for name in "abc")
        assert (first.closed, second.closed, third.closed) == (True, False, False)

    def test_idle_clients_are_closed_after_a_while(self):
        cache = ClientCache()
        old = self.borrow(cache, options=CacheOptions(2, 0.0))
        new = self.borrow(cache, "b", options=CacheOptions(2, 0.0))
        assert old.closed
        assert not new.closed

    def test_no_client_is_kept_with_no_capacity(self):
        cache = ClientCache()
        assert self.borrow(cache, options=CacheOptions(0, 600.0)).closed

    def test_child_process_makes_clients_of_its_own(self):
        cache = ClientCache()
        inherited = self.borrow(cache)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            mine = self.borrow(cache)
            os.write(writing, b"%d%d" % (mine is not inherited, inherited.closed))
            os._exit(0)
        os.waitpid(pid, 0)
        assert os.read(reading, 2) == b"10"
        os.close(reading)
        os.close(writing)
        assert self.borrow(cache) is inherited


class TestContent:
    def batch(self, rows, **columns):
        return pa.record_batch({"key": [k for k, _ in rows], "value": [v for _, v in rows], **columns})

    def test_order_and_division_make_no_difference(self):
        rows = [(b"k%d" % (n % 5), b"v%d" % n) for n in range(100)]
        whole = content_of(self.batch(rows))
        random.Random(1).shuffle(rows)
        assert content_of(self.batch(rows[:30])) + content_of(self.batch(rows[30:])) == whole
        assert whole.rows == 100

    @pytest.mark.parametrize(
        "other",
        [
            [(b"a", b"1"), (b"b", b"2"), (b"b", b"2")],
            [(b"a", b"1"), (b"b", b"3")],
            [(b"a", b"2"), (b"b", b"1")],
            [(b"1", b"a"), (b"2", b"b")],
            [(None, b"1"), (b"b", b"2")],
            [(b"", b"1"), (b"b", b"2")],
            [(b"a", b"1"), (b"b", None)],
            [(b"a", b"1"), (b"a", b"1")],
            [],
        ],
    )
    def test_other_rows_differ(self, other):
        schema = pa.schema({"key": pa.binary(), "value": pa.binary()})
        mine = content_of(self.batch([(b"a", b"1"), (b"b", b"2")]))
        assert content_of(self.batch(other).cast(schema)) != mine

    def test_topic_partition_and_headers_count(self):
        rows = [(b"a", b"1")]
        plain = content_of(self.batch(rows))
        headers = pa.array(
            [[{"key": "h", "value": b"1"}]], pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
        )
        others = [
            content_of(self.batch(rows, topic=["t"])),
            content_of(self.batch(rows, topic=["u"])),
            content_of(self.batch(rows, partition=pa.array([0], pa.int32()))),
            content_of(self.batch(rows, partition=pa.array([1], pa.int32()))),
            content_of(self.batch(rows, headers=headers)),
        ]
        assert len({plain, *others}) == 6

    def test_nothing(self):
        assert content_of(self.batch([]).cast(pa.schema({"key": pa.binary(), "value": pa.binary()}))) == Content()
