"""Kerberos with a real key distribution centre and a real Kafka, by the Cyrus SASL library of the system."""

import json
import os
import subprocess
import sys

import pytest

from cykafka import build_info
from tests.support.errors import MissingToolError
from tests.support.fixtures import running
from tests.support.kerberos import REALM, KerberosKafkaServer, KerberosRealm

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.timeout(600)]

# In a process of its own: Kerberos libraries keep what they once read of configuration and tickets.
PROGRAM = """
import json, sys
from cykafka import Consumer, Producer
config, topic = json.loads(sys.argv[1]), sys.argv[2]
errors, delivered = [], []
producer = Producer({**config, "error_cb": lambda error: errors.append([error.name(), error.str()])})
producer.produce(topic, b"by ticket", on_delivery=lambda error, message: delivered.append(error is None))
if sys.argv[3] == "refused":
    import time
    deadline = time.monotonic() + 60
    while not errors and time.monotonic() < deadline:
        producer.poll(1)
    producer.purge()
    producer.close(10)
    print(json.dumps(errors))
else:
    assert producer.flush(60) == 0 and delivered == [True], (errors, delivered)
    producer.close()
    consumer = Consumer({**config, "group.id": "kerberos", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = consumer.poll(60)
    consumer.close()
    print(json.dumps(message.value().decode()))
"""


@pytest.fixture(scope="module")
def realm():
    problem = build_info().kerberos_problem
    if problem:
        pytest.skip(f"needs Kerberos: {problem}")
    realm = KerberosRealm()
    try:
        with realm:
            yield realm
    except MissingToolError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def server(realm):
    with running(KerberosKafkaServer(realm)) as server:
        yield server


@pytest.fixture(scope="module")
def alice(realm):
    return realm.add("alice")


def config(server, **more):
    return {
        "bootstrap.servers": server.addresses("GSSAPI"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def run(realm, properties, topic, expected="served"):
    """Run the program and return what it printed."""
    environment = {**os.environ, **realm.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, json.dumps(properties), topic, expected]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_key_table_lets_the_client_in_and_kinit_is_run_by_it(realm, server, alice, topic):
    properties = config(server) | {"sasl.kerberos.keytab": str(alice), "sasl.kerberos.principal": f"alice@{REALM}"}
    assert run(realm, properties, topic(cluster=server)) == "by ticket"
    assert (realm.folder / "tickets").is_file()


def test_a_ticket_that_is_there_lets_the_client_in(realm, server, alice, topic):
    (realm.folder / "tickets").unlink(missing_ok=True)
    realm.log_in("alice", alice)
    properties = config(server) | {"sasl.kerberos.min.time.before.relogin": 0}
    assert run(realm, properties, topic(cluster=server)) == "by ticket"


def test_without_a_ticket_the_client_is_told(realm, server, topic):
    (realm.folder / "tickets").unlink(missing_ok=True)
    properties = config(server) | {"sasl.kerberos.min.time.before.relogin": 0}
    errors = run(realm, properties, topic(cluster=server), "refused")
    assert any("GSSAPI" in text or "Kerberos" in text or "credentials" in text for _, text in errors), errors


def test_a_service_that_the_realm_does_not_know_is_named(realm, server, alice, topic):
    realm.log_in("alice", alice)
    properties = config(server) | {
        "sasl.kerberos.min.time.before.relogin": 0,
        "sasl.kerberos.service.name": "another",
    }
    errors = run(realm, properties, topic(cluster=server), "refused")
    assert any("another/127.0.0.1" in text or "not found in Kerberos database" in text for _, text in errors), errors
