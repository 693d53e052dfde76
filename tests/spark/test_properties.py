"""Options for the Java client, translated for librdkafka."""

import pytest

from cykafka.spark.errors import OptionError
from cykafka.spark.properties import sink_config, source_config, translate

pytestmark = pytest.mark.unit

SECRET = 's3cret;"quoted'
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="bob" password="%s";'


def test_what_both_clients_know_passes_through():
    given = {"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "client.rack": "r1", "acks": "all"}
    assert translate(given) == given


def test_defaults_of_the_java_client():
    assert source_config({})["isolation.level"] == "read_uncommitted"
    assert source_config({"isolation.level": "read_committed"})["isolation.level"] == "read_committed"
    assert sink_config({})["partitioner"] == "murmur2_random"
    assert sink_config({"partitioner": "random"})["partitioner"] == "random"


@pytest.mark.parametrize(
    ("java", "librdkafka"),
    [
        ({"fetch.max.wait.ms": "5"}, {"fetch.wait.max.ms": "5"}),
        ({"receive.buffer.bytes": "5"}, {"socket.receive.buffer.bytes": "5"}),
        ({"max.request.size": "5000"}, {"message.max.bytes": "5000"}),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca"}, {"ssl.ca.location": "/ca"}),
        ({"ssl.truststore.certificates": "PEM"}, {"ssl.ca.pem": "PEM"}),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/k", "ssl.key.password": "x"},
            {"ssl.certificate.location": "/k", "ssl.key.location": "/k", "ssl.key.password": "x"},
        ),
        (
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/k", "ssl.keystore.password": "x"},
            {"ssl.keystore.location": "/k", "ssl.keystore.password": "x"},
        ),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        (
            {"sasl.jaas.config": PLAIN % "pass"},
            {"sasl.mechanism": "PLAIN", "sasl.username": "bob", "sasl.password": "pass"},
        ),
        (
            {
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required\n"
                f'  username="bob"\n  password="{SECRET.replace(chr(34), chr(92) + chr(34))}" ;',
            },
            {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "bob", "sasl.password": SECRET},
        ),
        (
            {
                "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
                'clientId="me" clientSecret=\'no\' scope="s";'.replace("'", '"')
            },
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "me",
                "sasl.oauthbearer.client.secret": "no",
                "sasl.oauthbearer.scope": "s",
            },
        ),
    ],
)
def test_translation(java, librdkafka):
    assert translate(java) == librdkafka


def test_time_of_a_request_is_that_of_the_socket_in_a_consumer():
    assert source_config({"request.timeout.ms": "7"})["socket.timeout.ms"] == "7"
    assert sink_config({"request.timeout.ms": "7"})["request.timeout.ms"] == "7"


def test_size_of_the_buffer_of_a_producer():
    assert sink_config({"buffer.memory": "33554432"})["queue.buffering.max.kbytes"] == 32768


@pytest.mark.parametrize(
    ("make", "name", "advice"),
    [
        (source_config, "auto.offset.reset", "startingOffsets"),
        (source_config, "key.deserializer", "keyFormat"),
        (source_config, "value.deserializer", "valueFormat"),
        (source_config, "enable.auto.commit", "commitGroupId"),
        (source_config, "interceptor.classes", "Java class"),
        (source_config, "max.poll.records", "maxOffsetsPerTrigger"),
        (sink_config, "key.serializer", "column 'key'"),
        (sink_config, "value.serializer", "column 'value'"),
        (sink_config, "partitioner.class", "kafka.partitioner"),
        (sink_config, "transactional.id", "exactly_once"),
        (source_config, "ssl.enabled.protocols", "OpenSSL"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name_with_advice(make, name, advice):
    with pytest.raises(OptionError, match=advice) as caught:
        make({name: "x"})
    assert caught.value.option == f"kafka.{name}"
    assert f"'kafka.{name}'" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"ssl.truststore.location": "/x.jks"}, "kafka.ssl.truststore.location"),
        ({"ssl.truststore.type": "JKS", "ssl.truststore.location": "/x"}, "kafka.ssl.truststore.location"),
        ({"ssl.keystore.location": "/x.jks"}, "kafka.ssl.keystore.location"),
    ],
)
def test_java_key_stores_are_refused(given, option):
    with pytest.raises(OptionError, match="Java alone") as caught:
        translate(given)
    assert caught.value.option == option


@pytest.mark.parametrize(
    "text",
    [
        'com.sun.security.auth.module.Krb5LoginModule required password="hush";',
        'password="hush"',
        'x.PlainLoginModule required password="hush";',
    ],
)
def test_jaas_errors_do_not_tell_the_password(text):
    with pytest.raises(OptionError) as caught:
        translate({"sasl.jaas.config": text})
    assert "hush" not in str(caught.value)


def test_jaas_contradicts_other_credentials():
    with pytest.raises(OptionError, match="contradicts"):
        translate({"sasl.jaas.config": PLAIN % "a", "sasl.mechanism": "SCRAM-SHA-256"})
