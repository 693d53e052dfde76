"""The connection, on brokers that misbehave: a clear error in time, nothing left open, the next request works."""

import gc
import os
import re
import socket
import threading
import time

import pytest

from cykafka import KafkaError, KafkaException
from cykafka.admin._operator_groups import OperatorMixin
from tests.support.fake_broker import FakeBroker, frame
from tests.support.ports import LOOPBACK

pytestmark = pytest.mark.unit

VERSIONS = {"ApiVersions": (0, 4), "DescribeCluster": (0, 2), "ListTransactions": (0, 0), "UnregisterBroker": (0, 0)}


class Client(OperatorMixin):
    """The operations alone, without librdkafka's client."""

    def __init__(self, config):
        self._given = config

    def _operator_config(self):
        return self._given

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self._close_operator()


class Misbehaving(FakeBroker):
    """Answers one request of a name wrongly, then all rightly."""

    def __init__(self, wrong, name="DescribeCluster", times=1, versions=VERSIONS):
        super().__init__(self._choose, versions)
        self.wrong, self.name, self.times = wrong, name, times

    def _choose(self, row, version, correlation, data):
        if row.name == self.name and self.times > 0:
            self.times -= 1
            return self.wrong(self, row, version, correlation)
        if row.name == "ApiVersions":
            return self.api_versions(min(version, 4), correlation)
        return self.reply(row, version, correlation, {"cluster_id": "fake"} if row.name == "DescribeCluster" else {})


@pytest.fixture(autouse=True)
def nothing_left_open():
    """Threads and descriptors are as they were before."""
    gc.collect()
    descriptors = len(os.listdir("/proc/self/fd"))
    yield
    for thread in threading.enumerate():
        if thread.name == "cykafka-operator":
            thread.join(10)
            assert not thread.is_alive()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == descriptors


def client(broker, **more):
    return Client({"bootstrap.servers": broker.bootstrap_servers, "socket.timeout.ms": 5000, **more})


def code_of(future):
    with pytest.raises(KafkaException) as caught:
        future.result(30)
    return caught.value.args[0].code(), str(caught.value)


WRONG_ONCE = {
    "garbage": (lambda b, r, v, c: frame(b"\xff" * 64), KafkaError._BAD_MSG, "answers request -1"),
    "truncated": (lambda b, r, v, c: frame(b.reply(r, v, c, {})[4:-9]), KafkaError._BAD_MSG, "ends early|names a"),
    "left over": (lambda b, r, v, c: frame(b.reply(r, v, c, {})[4:] + b"xx"), KafkaError._BAD_MSG, "left over"),
    "correlation": (lambda b, r, v, c: b.reply(r, v, c + 1, {}), KafkaError._BAD_MSG, "answers request"),
    "two gigabytes": (lambda b, r, v, c: b"\x7f\xff\xff\xff", KafkaError._BAD_MSG, "length of 2147483647"),
    "negative": (lambda b, r, v, c: b"\xff\xff\xff\xff", KafkaError._BAD_MSG, "length of -1"),
    "http": (lambda b, r, v, c: b"HTTP/1.1 400 Bad Request\r\n\r\n", KafkaError._BAD_MSG, "no Kafka listener"),
}


@pytest.mark.parametrize("name", WRONG_ONCE)
@pytest.mark.parametrize("request_name", ["DescribeCluster", "ApiVersions"])
def test_a_wrong_answer_is_an_error_and_the_next_request_works(name, request_name):
    wrong, code, text = WRONG_ONCE[name]
    with Misbehaving(wrong, request_name) as broker, client(broker) as admin:
        got, message = code_of(admin.request("DescribeCluster", {}))
        assert got == code
        assert broker.bootstrap_servers in message
        if request_name == "DescribeCluster":
            assert re.search(text, message)
        assert admin.request("DescribeCluster", {}).result(30)["cluster_id"] == "fake"
        assert broker.connections == 2


def test_a_connection_closed_in_mid_request_is_tried_again_if_that_is_harmless():
    with Misbehaving(lambda b, r, v, c: b"") as broker, client(broker) as admin:
        assert admin.request("DescribeCluster", {}).result(30)["cluster_id"] == "fake"
        assert broker.requests.count("DescribeCluster") == 2


def test_a_connection_closed_in_mid_request_is_an_error_if_something_may_have_changed():
    with Misbehaving(lambda b, r, v, c: b"", "UnregisterBroker") as broker, client(broker) as admin:
        code, message = code_of(admin.request("UnregisterBroker", {"broker_id": 1}))
        assert code == KafkaError._TRANSPORT
        assert "closed the connection" in message
        assert broker.requests.count("UnregisterBroker") == 1
        assert admin.request("UnregisterBroker", {"broker_id": 1}).result(30)["error_code"] == 0


def test_an_answer_cut_off_in_the_middle():
    def half(broker, row, version, correlation):
        whole = broker.reply(row, version, correlation, {})
        return whole[:-3]

    with Misbehaving(half) as broker, client(broker) as admin:
        assert code_of(admin.request("DescribeCluster", {}, timeout=0.3))[0] == KafkaError._TIMED_OUT
        assert admin.request("DescribeCluster", {}).result(30)["cluster_id"] == "fake"


@pytest.mark.parametrize("name", ["DescribeCluster", "ApiVersions"])
def test_a_broker_that_hangs_ends_by_the_deadline(name):
    with Misbehaving(lambda b, r, v, c: None, name) as broker, client(broker) as admin:
        started = time.monotonic()
        assert code_of(admin.request("DescribeCluster", {}, timeout=0.3))[0] == KafkaError._TIMED_OUT
        assert time.monotonic() - started >= 0.3
        assert admin.request("DescribeCluster", {}).result(30)["cluster_id"] == "fake"


def test_a_broker_that_refuses_the_version_of_api_versions_is_asked_again_in_version_0():
    def refuse(broker, row, version, correlation):
        body = row.encode_response({"error_code": 35, "api_keys": [{"api_key": 18, "max_version": 2}]}, 0)
        return frame(correlation.to_bytes(4, "big") + body)

    with Misbehaving(refuse, "ApiVersions") as broker, client(broker) as admin:
        assert admin.request("DescribeCluster", {}).result(30)["cluster_id"] == "fake"
        assert broker.requests == ["ApiVersions", "ApiVersions", "DescribeCluster"]


def test_versions_that_the_broker_does_not_have():
    with Misbehaving(None, times=0) as broker, client(broker) as admin:
        code, message = code_of(admin.request("DescribeCluster", {}, version=9))
        assert (code, "versions 0-2" in message) == (KafkaError._UNSUPPORTED_FEATURE, True)
        code, message = code_of(admin.request("DescribeQuorum", {}))
        assert (code, "does not answer DescribeQuorum" in message) == (KafkaError._UNSUPPORTED_FEATURE, True)
        code, message = code_of(admin.request("ListTransactions", {"duration_filter": 5}))
        assert (code, "duration_filter" in message) == (KafkaError._UNSUPPORTED_FEATURE, True)
        with pytest.raises(ValueError, match="no field 'x'"):
            admin.request("DescribeCluster", {"x": 1}).result(30)
        assert broker.connections == 1


def test_wrong_arguments_are_refused_at_once():
    with Client({"bootstrap.servers": "127.0.0.1:1"}) as admin:
        with pytest.raises(ValueError, match="Unknown request"):
            admin.request("Nonsense", {})
        with pytest.raises(TypeError, match="request_timeout must be a number"):
            admin.request("DescribeCluster", {}, timeout="soon")


def test_nobody_listens():
    with socket.create_server((LOOPBACK, 0)) as server:
        address = f"{LOOPBACK}:{server.getsockname()[1]}"
    with Client({"bootstrap.servers": address}) as admin:
        code, message = code_of(admin.request("DescribeCluster", {}, timeout=0.5))
        assert code == KafkaError._TRANSPORT
        assert address in message


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({}, "bootstrap.servers"),
        ({"bootstrap.servers": "a:b:c"}, "bootstrap.servers"),
        ({"bootstrap.servers": "a:70000"}, "bootstrap.servers"),
        ({"bootstrap.servers": "a", "security.protocol": "tls"}, "security.protocol"),
        ({"bootstrap.servers": "a", "socket.timeout.ms": "soon"}, "socket.timeout.ms"),
    ],
)
def test_wrong_properties_are_named(config, name):
    with Client(config) as admin, pytest.raises(KafkaException) as caught:
        admin.request("DescribeCluster", {})
    assert caught.value.args[0].code() == KafkaError._INVALID_ARG
    assert name in str(caught.value)


def test_close_fails_what_is_under_way_and_refuses_more():
    with Misbehaving(lambda b, r, v, c: None) as broker:
        admin = client(broker)
        future = admin.request("DescribeCluster", {})
        deadline = time.monotonic() + 10
        while "DescribeCluster" not in broker.requests and time.monotonic() < deadline:
            time.sleep(0.01)
        admin._close_operator()
        assert code_of(future)[0] == KafkaError._DESTROY
        admin._close_operator()
        with pytest.raises(RuntimeError, match="closed"):
            admin.request("DescribeCluster", {})


def test_a_client_that_is_dropped_closes_its_connections():
    with Misbehaving(None, times=0) as broker:
        admin = client(broker)
        admin.request("DescribeCluster", {}).result(30)
        operator = admin._operator
        del admin
        gc.collect()
        with pytest.raises(RuntimeError, match="closed"):
            operator.run(lambda call: None, None)


def test_many_threads_share_a_client():
    with Misbehaving(None, times=0) as broker, client(broker) as admin:
        results = []

        def ask():
            results.extend(admin.request("DescribeCluster", {}).result(30)["cluster_id"] for _ in range(20))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == ["fake"] * 160
        assert broker.connections < 40


def test_a_request_for_the_wrong_broker_is_sent_again():
    versions = {**VERSIONS, "Metadata": (0, 13)}
    refused = []

    class Moving(Misbehaving):
        def _choose(self, row, version, correlation, data):
            if row.name == "Metadata":
                host, port = self.bootstrap_servers.split(":")
                brokers = [{"node_id": 1, "host": host, "port": int(port)}]
                return self.reply(row, version, correlation, {"brokers": brokers, "controller_id": 1})
            if row.name == "UnregisterBroker" and not refused:
                refused.append(correlation)
                return self.reply(row, version, correlation, {"error_code": KafkaError.NOT_CONTROLLER})
            return super()._choose(row, version, correlation, data)

    with Moving(None, times=0, versions=versions) as broker, client(broker) as admin:
        admin.unregister_broker(7).result(30)
        assert broker.requests.count("UnregisterBroker") == 2
        assert broker.requests.count("Metadata") == 2
        code, message = code_of(admin.request("DescribeCluster", {}, broker=5))
        assert (code, "no broker 5" in message) == (KafkaError._UNKNOWN_BROKER, True)


def test_a_broker_of_the_callers_choice_is_not_asked_again():
    versions = {**VERSIONS, "DescribeProducers": (0, 0)}
    moved = {"topics": [{"name": "t", "partitions": [{"error_code": KafkaError.NOT_LEADER_FOR_PARTITION}]}]}

    class Other(Misbehaving):
        def _choose(self, row, version, correlation, data):
            if row.name == "DescribeProducers":
                return self.reply(row, version, correlation, moved)
            return super()._choose(row, version, correlation, data)

    with Other(None, times=0, versions=versions) as broker, client(broker) as admin:
        answer = admin.request("DescribeProducers", {}).result(30)
        assert answer["topics"][0]["partitions"][0]["error_code"] == KafkaError.NOT_LEADER_FOR_PARTITION
        assert broker.requests.count("DescribeProducers") == 1


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_process_says_what_to_do():
    with Misbehaving(None, times=0) as broker, client(broker) as admin:
        admin.request("DescribeCluster", {}).result(30)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                admin.request("DescribeCluster", {})
            except RuntimeError as error:
                os.write(write, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        with os.fdopen(read) as told:
            assert "make a new one in the child" in told.read()
        assert admin.request("DescribeCluster", {}).result(30)["cluster_id"] == "fake"
