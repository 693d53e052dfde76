"""librdkafka's partitioners as functions, against values that other clients compute."""

import pytest

from cykafka import Producer, partitioners

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "key", "expected"),
    [
        ("murmur2", b"kafka", 0xD067CF64 & 0x7FFFFFFF),
        ("murmur2", b"giberish123456789", 0x8F552B0C & 0x7FFFFFFF),
        ("fnv1a", b"kafka", 0xD33C4E1),
        ("fnv1a", b"giberish123456789", 0x77A58295),
        ("consistent", b"123456789", 0xCBF43926),
    ],
)
def test_hashes_are_those_of_other_clients(name, key, expected):
    assert getattr(partitioners, name)("topic", key, 7) == expected % 7
    if name != "consistent":
        assert getattr(partitioners, f"{name}_random")("topic", key, 1000) == expected % 1000


def test_a_missing_key_is_random_only_where_the_name_says_so():
    for name in ("murmur2", "fnv1a", "consistent"):
        function, drawing = getattr(partitioners, name), getattr(partitioners, f"{name}_random")
        assert len({function("t", None, 50) for _ in range(100)}) == 1
        assert len({drawing("t", None, 50, range(50)) for _ in range(200)}) > 10
    # An empty key is a key, but not for consistent_random.
    assert len({partitioners.murmur2_random("t", b"", 50) for _ in range(100)}) == 1
    assert len({partitioners.consistent_random("t", b"", 50) for _ in range(200)}) > 10


def test_random_prefers_partitions_with_a_leader():
    assert {partitioners.random("t", None, 10, [3, 7]) for _ in range(100)} == {3, 7}
    assert {partitioners.random("t", None, 3, []) for _ in range(200)} == {0, 1, 2}


@pytest.mark.parametrize("name", [name for name in partitioners.__all__ if name.islower()])
def test_a_function_of_the_module_stands_for_the_native_one(name):
    with Producer({"partitioner": getattr(partitioners, name)}) as producer:
        assert producer.name
    with Producer(partitioner=name):
        pass


def test_a_name_that_does_not_exist_is_refused():
    with pytest.raises(Exception, match="partitioner"):
        Producer({"partitioner": "nonsense"})
