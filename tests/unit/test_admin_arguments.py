"""What AdminClient refuses before anything is sent, and of which class the error is."""

import gc
import threading
import time
import weakref

import pytest

from cykafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from cykafka.admin import (
    AclBinding,
    AclBindingFilter,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

pytestmark = pytest.mark.unit

TP = TopicPartition("topic", 0, 5)
INFO = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
RULE = AclBinding("topic", "a", "literal", "User:a", "*", "read", "allow")
FILTER = AclBindingFilter("any", None, "any", None, None, "any", "any")


def topic(**arguments):
    return [NewTopic("topic", **arguments)]


def change(**arguments):
    return [ConfigResource("topic", "topic", incremental_configs=[ConfigEntry(**arguments)])]


def group(partitions=None, group_id="group"):
    return [ConsumerGroupTopicPartitions(group_id, partitions)]


@pytest.fixture(scope="module")
def admin():
    with AdminClient({"bootstrap.servers": "127.0.0.1:9", "log_level": 0}) as client:
        yield client


REFUSED = [
    # Options
    (lambda a: a.create_topics(topic(), foo=1), TypeError, "'foo' is an invalid keyword argument"),
    (lambda a: a.list_offsets({}, operation_timeout=1), TypeError, "it takes isolation_level, request_timeout"),
    (lambda a: a.create_topics(topic(), request_timeout="x"), TypeError, "number of seconds"),
    (lambda a: a.create_topics(topic(), request_timeout=True), TypeError, "number of seconds"),
    (lambda a: a.create_topics(topic(), request_timeout=-1), ValueError, "between 0 and 3600"),
    (lambda a: a.create_topics(topic(), operation_timeout=3601), ValueError, "between 0 and 3600"),
    (lambda a: a.create_topics(topic(), request_timeout=float("nan")), ValueError, "between 0 and 3600"),
    (lambda a: a.create_topics(topic(), validate_only=1), TypeError, "validate_only must be bool"),
    (lambda a: a.describe_cluster(include_authorized_operations="x"), TypeError, "must be bool"),
    (lambda a: a.list_consumer_group_offsets(group(), require_stable=1), TypeError, "must be bool"),
    (lambda a: a.describe_cluster(broker="1"), TypeError, "broker id"),
    (lambda a: a.describe_cluster(broker=-1), ValueError, "broker id"),
    (lambda a: a.describe_cluster(broker=2**31), ValueError, "broker id"),
    (lambda a: a.list_offsets({TP: OffsetSpec.latest()}, isolation_level=1), TypeError, "IsolationLevel"),
    # Topics
    (lambda a: a.create_topics(None), TypeError, "list of NewTopic"),
    (lambda a: a.create_topics(["x"]), TypeError, "contains str"),
    (lambda a: a.create_topics([]), ValueError, "non-empty"),
    (lambda a: a.create_topics([NewTopic("")]), ValueError, "topic must not be empty"),
    (lambda a: a.create_topics([NewTopic("a\0b")]), ValueError, "NUL"),
    (lambda a: a.create_topics(topic(replica_assignment=5)), ValueError, "list of lists of broker ids"),
    (lambda a: a.create_topics(topic(replica_assignment=[["a"]])), ValueError, "contains"),
    (lambda a: a.create_topics(topic(replica_assignment=[])), ValueError, "each partition"),
    (
        lambda a: a.create_topics(topic(num_partitions=1, replica_assignment=[[1], [2]])),
        ValueError,
        "num_partitions is 1",
    ),
    (
        lambda a: a.create_topics(topic(replication_factor=2, replica_assignment=[[1]])),
        ValueError,
        "mutually exclusive",
    ),
    (lambda a: a.create_topics(topic(num_partitions=-5)), ValueError, "num_partitions"),
    (lambda a: a.create_topics(topic(config={5: "x"})), TypeError, "configuration"),
    (lambda a: a.create_topics(topic(config=["x"])), TypeError, "config must be a dict"),
    (lambda a: a.delete_topics("topic"), TypeError, "list of str"),
    (lambda a: a.delete_topics([""]), ValueError, "empty name"),
    (lambda a: a.create_partitions([NewPartitions("topic", 0)]), ValueError, "out of expected range"),
    (lambda a: a.create_partitions([NewPartitions("topic", 1, [[1], [2]])]), ValueError, "new_total_count is 1"),
    (lambda a: a.describe_topics(["topic"]), TypeError, "TopicCollection"),
    (lambda a: a.describe_topics(TopicCollection("topic")), TypeError, "list of str"),
    (lambda a: a.describe_topics(TopicCollection([""])), ValueError, "empty name"),
    (lambda a: a.delete_records([5]), TypeError, "list of TopicPartition"),
    (lambda a: a.delete_records([TopicPartition("topic")]), ValueError, "negative partition"),
    (lambda a: a.delete_records([TopicPartition("", 0)]), ValueError, "empty topic"),
    (lambda a: a.list_offsets([TP]), TypeError, "dict of TopicPartition"),
    (lambda a: a.list_offsets({TP: 5}), TypeError, "list of OffsetSpec"),
    (lambda a: a.list_offsets({TopicPartition("topic"): OffsetSpec.latest()}), ValueError, "negative partition"),
    (lambda a: OffsetSpec.for_timestamp("x"), TypeError, "milliseconds"),
    (lambda a: OffsetSpec.for_timestamp(-1), ValueError, "milliseconds"),
    (lambda a: a.elect_leaders("preferred"), TypeError, "ElectionType"),
    (lambda a: a.elect_leaders(ElectionType.PREFERRED, 5), TypeError, "list of TopicPartition"),
    (lambda a: a.elect_leaders(ElectionType.UNCLEAN, [TopicPartition("topic")]), ValueError, "negative partition"),
    # Configuration
    (lambda a: a.describe_configs([5]), TypeError, "list of ConfigResource"),
    (lambda a: a.describe_configs([ConfigResource("topic", "")]), ValueError, "Invalid resource"),
    (lambda a: a.alter_configs([]), ValueError, "non-empty"),
    (lambda a: a.alter_configs([ConfigResource("topic", "a", {"x": None})]), TypeError, "configuration value"),
    (
        lambda a: a.incremental_alter_configs([ConfigResource("topic", "a")]),
        ValueError,
        "non-empty list of ConfigEntry",
    ),
    (lambda a: a.incremental_alter_configs(change(name="a", value=None)), ValueError, "unless it is deleted"),
    (
        lambda a: a.incremental_alter_configs(change(name="a", value="b", incremental_operation=3)),
        TypeError,
        "AlterConfigOpType",
    ),
    (lambda a: ConfigResource("nothing", "a"), ValueError, 'Unknown resource type "nothing"'),
    (lambda a: ConfigResource(99, "a"), ValueError, 'Unknown resource type "99"'),
    (lambda a: ConfigResource("topic", 5), ValueError, "resource name to be a string"),
    # Groups
    (lambda a: a.list_consumer_groups(states=["x"]), TypeError, "set of ConsumerGroupState"),
    (lambda a: a.list_consumer_groups(states={5}), TypeError, "contains int"),
    (lambda a: a.list_consumer_groups(types={ConsumerGroupType.UNKNOWN}), ValueError, "UNKNOWN"),
    (lambda a: a.describe_consumer_groups("group"), TypeError, "list of str"),
    (lambda a: a.describe_consumer_groups([]), ValueError, "non-empty"),
    (lambda a: a.delete_consumer_groups([""]), ValueError, "empty name"),
    (lambda a: a.list_consumer_group_offsets(["group"]), TypeError, "list of ConsumerGroupTopicPartitions"),
    (lambda a: a.list_consumer_group_offsets(group(group_id=5)), TypeError, "group_id must be str"),
    (lambda a: a.list_consumer_group_offsets(group(group_id="")), ValueError, "group_id must not be empty"),
    (lambda a: a.list_consumer_group_offsets(group([])), ValueError, "non-empty"),
    (lambda a: a.list_consumer_group_offsets(group() + group()), ValueError, "named twice"),
    (lambda a: a.alter_consumer_group_offsets(group()), ValueError, "must not be None"),
    (lambda a: a.alter_consumer_group_offsets(group([TopicPartition("topic", 0)])), ValueError, "offsets >= 0"),
    (lambda a: a.delete_consumer_group_offsets(group()), ValueError, "must not be None"),
    # Access rules and users
    (lambda a: a.create_acls(["x"]), TypeError, "list of AclBinding"),
    (lambda a: a.create_acls([RULE, RULE]), ValueError, "twice"),
    (lambda a: a.create_acls([FILTER]), ValueError, "Invalid resource"),
    (lambda a: a.describe_acls(RULE), TypeError, "AclBindingFilter"),
    (lambda a: a.delete_acls([RULE]), TypeError, "list of AclBindingFilter"),
    (lambda a: a.delete_acls([FILTER, FILTER]), ValueError, "twice"),
    (lambda a: AclBinding("any", "a", "literal", "User:a", "*", "read", "allow"), ValueError, "good for filters only"),
    (lambda a: AclBinding("topic", None, "literal", "User:a", "*", "read", "allow"), ValueError, "only filters"),
    (lambda a: AclBinding(None, "a", "literal", "User:a", "*", "read", "allow"), ValueError, "not None"),
    (lambda a: AclBinding(3.5, "a", "literal", "User:a", "*", "read", "allow"), TypeError, "its name or its number"),
    (lambda a: AclBindingFilter(0, None, "any", None, None, "any", "any"), ValueError, "use ANY"),
    (lambda a: a.describe_user_scram_credentials("alice"), TypeError, "list of str"),
    (lambda a: a.describe_user_scram_credentials([""]), ValueError, "empty name"),
    (lambda a: a.alter_user_scram_credentials([UserScramCredentialAlteration("alice")]), TypeError, "Upsertion or"),
    (
        lambda a: a.alter_user_scram_credentials([UserScramCredentialDeletion("", INFO.mechanism)]),
        ValueError,
        "user must not be empty",
    ),
    (
        lambda a: a.alter_user_scram_credentials([UserScramCredentialDeletion("alice", 1)]),
        TypeError,
        "ScramMechanism",
    ),
    (
        lambda a: a.alter_user_scram_credentials([UserScramCredentialUpsertion("alice", None, b"secret")]),
        TypeError,
        "ScramCredentialInfo",
    ),
    (
        lambda a: a.alter_user_scram_credentials([UserScramCredentialUpsertion("alice", INFO, "secret")]),
        TypeError,
        "password must be bytes",
    ),
    (
        lambda a: a.alter_user_scram_credentials([UserScramCredentialUpsertion("alice", INFO, b"")]),
        ValueError,
        "password must not be empty",
    ),
    (
        lambda a: a.alter_user_scram_credentials([UserScramCredentialUpsertion("alice", INFO, b"secret", b"")]),
        ValueError,
        "salt must not be empty",
    ),
    (
        lambda a: a.alter_user_scram_credentials(
            [UserScramCredentialUpsertion("alice", ScramCredentialInfo(INFO.mechanism, 0), b"secret")]
        ),
        ValueError,
        "iterations must be positive",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED, ids=[text for _, _, text in REFUSED])
def test_refused_before_anything_is_sent(admin, call, error, text):
    with pytest.raises(error) as raised:
        call(admin)
    assert text in str(raised.value)
    assert len(admin) == 0


def test_nothing_to_ask_for_is_an_empty_answer(admin):
    assert admin.describe_topics(TopicCollection([])) == {}
    assert admin.list_offsets({}) == {}
    assert admin.delete_records([]) == {}
    assert admin.describe_user_scram_credentials([]) == {}
    assert len(admin) == 0


def test_none_is_an_options_default_and_names_may_stand_twice():
    with AdminClient({"bootstrap.servers": "127.0.0.1:9", "log_level": 0}) as admin:
        futures = admin.delete_topics(["a", "a", "b"], request_timeout=None, operation_timeout=None, broker=None)
        assert sorted(futures) == ["a", "b"]
        assert sorted(admin.describe_consumer_groups(["a", "a"], request_timeout=5)) == ["a"]
        assert not admin.list_consumer_groups(states={ConsumerGroupState.STABLE}, request_timeout=5).done()


def test_futures_cannot_be_cancelled_and_run_their_callbacks_on_a_thread_of_the_client():
    threads = []
    done = threading.Event()
    with AdminClient({"bootstrap.servers": "127.0.0.1:9", "log_level": 0}) as admin:
        future = admin.describe_cluster(request_timeout=0.2)
        assert not future.cancel()
        assert future.running()
        future.add_done_callback(lambda _: (threads.append(threading.current_thread().name), done.set()))
        assert done.wait(20)
    assert threads == [f"cykafka-admin {admin.name}"]


def test_a_client_that_was_dropped_still_answers():
    reference = []

    def ask():
        admin = AdminClient({"bootstrap.servers": "127.0.0.1:9", "log_level": 0})
        reference.append(weakref.ref(admin))
        return admin.describe_cluster(request_timeout=0.3)

    future = ask()
    gc.collect()
    exception = future.exception(20)
    assert isinstance(exception, KafkaException)
    assert exception.args[0] == KafkaError._TIMED_OUT
    for thread in threading.enumerate():
        if thread.name.startswith("cykafka-admin"):
            thread.join(20)
    gc.collect()
    assert reference[0]() is None


def test_closing_in_a_futures_callback():
    closed = threading.Event()
    admin = AdminClient({"bootstrap.servers": "127.0.0.1:9", "log_level": 0})
    other = admin.describe_cluster(request_timeout=60)
    future = admin.list_consumer_groups(request_timeout=0.2)
    future.add_done_callback(lambda _: (admin.close(), closed.set()))
    assert closed.wait(20)
    exception = other.exception(20)
    assert exception.args[0] == KafkaError._DESTROY
    with pytest.raises(RuntimeError, match="closed"):
        admin.describe_cluster()


def test_a_token_callback_that_fails_does_not_end_the_thread(monkeypatch):
    unraisable = []
    failed = threading.Event()
    monkeypatch.setattr("sys.unraisablehook", lambda args: unraisable.append(str(args.exc_value)))
    calls = []

    def token_once(config):
        calls.append(config)
        if len(calls) == 1:
            return ("token", time.time() + 1)
        failed.set()
        raise RuntimeError("no token today")

    properties = {
        "bootstrap.servers": "127.0.0.1:9",
        "log_level": 0,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": token_once,
    }
    with AdminClient(properties) as admin:
        future = admin.describe_cluster(request_timeout=3)
        assert failed.wait(20)
        exception = future.exception(20)
        assert exception.args[0] == KafkaError._TIMED_OUT
    assert "no token today" in unraisable


def test_secrets_do_not_show():
    upsertion = UserScramCredentialUpsertion("alice", INFO, b"hunter2", b"hunter3")
    entry = ConfigEntry("ssl.keystore.password", "hunter2", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource("broker", "1", {"sasl.jaas.config": "hunter2"}, incremental_configs=[entry])
    for text in (repr(upsertion), str(upsertion), repr(entry), str(entry), repr(resource), str(resource)):
        assert "hunter" not in text
    assert "alice" in repr(upsertion)
    assert str(ConfigEntry("retention.ms", "5")) == 'retention.ms="5"'
