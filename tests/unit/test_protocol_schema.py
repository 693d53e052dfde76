"""The table of requests, and what bytes it makes and reads."""

import contextlib
import random
import uuid

import pytest

from cykafka.admin.protocol import api, names
from cykafka.admin.protocol._codec import MalformedError
from cykafka.admin.protocol._schema import UnsupportedFieldError

pytestmark = pytest.mark.unit

EVERY = [
    (name, version) for name in names() for version in range(api(name).versions.lowest, api(name).versions.highest + 1)
]


def sample(fields, version, rng):
    """A value for every field that the version has."""
    return {field.name: value(field, version, rng) for field in fields if version in field.versions}


def value(field, version, rng):
    if field.may_be_null(version) and rng.random() < 0.2:
        return None
    if field.array:
        return [one(field, version, rng) for _ in range(rng.randrange(3))]
    return one(field, version, rng)


def one(field, version, rng):
    if field.type is None:
        return sample(field.fields, version, rng)
    return {
        "int8": lambda: rng.randrange(-128, 128),
        "int16": lambda: rng.randrange(-(2**15), 2**15),
        "uint16": lambda: rng.randrange(2**16),
        "int32": lambda: rng.randrange(-(2**31), 2**31),
        "int64": lambda: rng.randrange(-(2**63), 2**63),
        "float64": lambda: rng.uniform(-1e9, 1e9),
        "bool": lambda: rng.random() < 0.5,
        "string": lambda: "Kafká"[: rng.randrange(6)],
        "bytes": lambda: rng.randbytes(rng.randrange(200)),
        "records": lambda: rng.randbytes(rng.randrange(200)),
        "uuid": lambda: "A0_-" * 5 + "AQ",
    }[field.type]()


def present(fields, body, version):
    """The part of a decoded body that the version has."""
    return {field.name: nested(field, body[field.name], version) for field in fields if version in field.versions}


def nested(field, got, version):
    if field.type is not None or got is None:
        return got
    if field.array:
        return [present(field.fields, item, version) for item in got]
    return present(field.fields, got, version)


@pytest.mark.parametrize(("name", "version"), EVERY, ids=lambda part: str(part))
def test_what_is_written_is_read_back(name, version):
    row = api(name)
    rng = random.Random(f"{name} {version}")
    for _ in range(3):
        request = sample(row.request, version, rng)
        data = row.encode_request(request, version, 7, None)
        header = 11 if row.is_flexible(version) else 10
        assert present(row.request, row.decode_request(data[header:], version), version) == request
        response = sample(row.response, version, rng)
        head = b"\0\0\0\7" + (b"\0" if row.is_flexible(version) and row.name != "ApiVersions" else b"")
        read = row.decode_response(head + row.encode_response(response, version), version, 7)
        assert present(row.response, read, version) == response


@pytest.mark.parametrize(("name", "version"), EVERY, ids=lambda part: str(part))
def test_broken_responses_are_malformed_and_nothing_else(name, version):
    row = api(name)
    rng = random.Random(f"{version} {name}")
    head = b"\0\0\0\7" + (b"\0" if row.is_flexible(version) and row.name != "ApiVersions" else b"")
    data = head + row.encode_response(sample(row.response, version, rng), version)
    for end in range(0, len(data), max(1, len(data) // 40)):
        with pytest.raises(MalformedError):
            row.decode_response(data[:end], version, 7)
    with pytest.raises(MalformedError):
        row.decode_response(data + b"\0", version, 7)
    for _ in range(40):
        broken = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        with contextlib.suppress(MalformedError):
            row.decode_response(bytes(broken), version, 7)


def test_a_length_of_gigabytes_is_refused_before_memory_is_taken():
    row = api("ListGroups")
    with pytest.raises(MalformedError, match="2147483647"):
        row.decode_response(b"\0\0\0\1" + b"\0\0" + b"\x7f\xff\xff\xff", 0, 1)
    with pytest.raises(MalformedError, match="more than 5 bytes"):
        row.decode_response(b"\0\0\0\1" + b"\xff" * 20, 5, 1)


def test_another_correlation_id_is_refused():
    row = api("ListGroups")
    body = row.encode_response({}, 0)
    with pytest.raises(MalformedError, match="answers request 2 instead of 1"):
        row.decode_response(b"\0\0\0\2" + body, 0, 1)


def test_unknown_tagged_fields_are_passed_over():
    row = api("ListPartitionReassignments")
    data = row.encode_response({"error_message": "x"}, 0)
    assert data.endswith(b"\0")
    read = row.decode_response(b"\0\0\0\1\0" + data[:-1] + b"\x01\x63\x02hi", 0, 1)
    assert read["error_message"] == "x"


def test_known_bytes():
    # Worked out by hand from the protocol guide: header version 2, then compact arrays, then no tagged fields.
    data = api("DescribeQuorum").encode_request(
        {"topics": [{"topic_name": "ab", "partitions": [{"partition_index": 3}]}]}, 0, 5, "me"
    )
    expected = "0037 0000 00000005 0002 6d65 00 02 03 6162 02 00000003 00 00 00"
    assert data == bytes.fromhex(expected.replace(" ", ""))
    # Header version 1, classic strings and arrays.
    data = api("DescribeClientQuotas").encode_request(
        {"components": [{"entity_type": "ip", "match_type": 1, "match": None}], "strict": True}, 0, 1, None
    )
    expected = "0030 0000 00000001 ffff 00000001 0002 6970 01 ffff 01"
    assert data == bytes.fromhex(expected.replace(" ", ""))


def test_requests_are_found_by_name_and_key():
    assert api("describe_quorum") is api("DescribeQuorum") is api(55)
    assert len(names()) == len(set(names())) == 77
    with pytest.raises(ValueError, match="Unknown request 'Nonsense'"):
        api("Nonsense")
    with pytest.raises(TypeError, match="named by str or API key"):
        api(None)


@pytest.mark.parametrize(
    ("body", "error", "text"),
    [
        ({"topics": 5}, TypeError, r"DescribeQuorum.topics must be a list, not int"),
        ({"topics": None}, TypeError, r"DescribeQuorum.topics must not be None"),
        ({"topics": [7]}, TypeError, r"DescribeQuorum.topics\[0\] must be a mapping"),
        ({"topics": [{"topic_name": b"x"}]}, TypeError, r"topics\[0\].topic_name must be str, not bytes"),
        ({"topics": [{"topic_name": "x" * 40000}]}, ValueError, r"topic_name is too long"),
        ({"topic": []}, ValueError, r"has no field 'topic': it has topics"),
        (
            {"topics": [{"topic_name": "x", "partitions": [{"partition_index": 2**31}]}]},
            ValueError,
            r"partitions\[0\].partition_index is out of range",
        ),
        ([], TypeError, r"DescribeQuorum must be a mapping"),
    ],
)
def test_wrong_bodies_name_the_field(body, error, text):
    with pytest.raises(error, match=text):
        api("DescribeQuorum").encode_request(body, 0, 1, None)


def test_a_field_of_another_version_is_refused_unless_it_has_its_default():
    row = api("ListTransactions")
    row.encode_request({"transactional_id_pattern": None}, 1, 1, None)
    with pytest.raises(UnsupportedFieldError, match="transactional_id_pattern"):
        row.encode_request({"transactional_id_pattern": "x"}, 1, 1, None)


def test_ids_are_taken_in_both_forms():
    row = api("RemoveRaftVoter")
    wanted = uuid.UUID(int=1)
    by_text = row.encode_request({"voter_directory_id": "AAAAAAAAAAAAAAAAAAAAAQ"}, 0, 1, None)
    assert row.encode_request({"voter_directory_id": wanted}, 0, 1, None) == by_text
    with pytest.raises(ValueError, match="22 characters"):
        row.encode_request({"voter_directory_id": "short"}, 0, 1, None)
