"""What access control denies is a clear error, and granting it helps at once."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from cykafka import (
    AbortableException,
    Consumer,
    FatalException,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from cykafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramMechanism,
    UserScramCredentialDeletion,
)
from tests.support.clients import wait_until

pytest.importorskip("cryptography", reason="certificates for the tests need the package cryptography")

from tests.support.security import ADMIN, User

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.fixtures import TopicFactory
    from tests.support.security import SecureKafkaServer

    Grant = Callable[[ResourceType, str, AclOperation], None]

pytestmark = pytest.mark.broker


@pytest.fixture
def admin(kafka_secure: SecureKafkaServer) -> Iterator[AdminClient]:
    with AdminClient(kafka_secure.client_config("SASL_SSL", user=ADMIN)) as client:
        yield client


@pytest.fixture
def user() -> User:
    """A user without rights, who is nobody else's: PLAIN knows only a few users, but any token's subject is one."""
    return User(f"user-{uuid.uuid4().hex[:8]}", "")


@pytest.fixture
def config(kafka_secure: SecureKafkaServer, user: User) -> dict[str, Any]:
    return kafka_secure.client_config("SASL_SSL", mechanism="OAUTHBEARER", user=user) | {"log_level": "0"}


@pytest.fixture
def grant(admin: AdminClient, user: User) -> Grant:
    def grant(kind: ResourceType, name: str, operation: AclOperation) -> None:
        binding = AclBinding(
            kind, name, ResourcePatternType.LITERAL, user.principal, "*", operation, AclPermissionType.ALLOW
        )
        admin.create_acls([binding])[binding].result(30)

    return grant


def test_producing(kafka_secure: SecureKafkaServer, topic: TopicFactory, config: dict[str, Any], grant: Grant) -> None:
    name = topic(cluster=kafka_secure)
    errors: list[KafkaError | None] = []

    def deliver(producer: Producer) -> KafkaError | None:
        try:
            producer.produce(name, b"v", on_delivery=lambda error, message: errors.append(error))
        except KafkaException as exception:
            # Once the metadata has told of the denial.
            return exception.args[0]
        assert producer.flush(30) == 0
        return errors.pop()

    # Idempotent producers need no right of their own (Kafka 3.0 and later), only that to write.
    producer = Producer(config)
    error = deliver(producer)
    assert error == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert "authorization" in error.str().lower()
    grant(ResourceType.TOPIC, name, AclOperation.WRITE)
    wait_until(lambda: deliver(producer) is None)
    producer.close()


def consumed(consumer: Consumer) -> KafkaError | Message | None:
    message = consumer.poll(0.5)
    return None if message is None else message.error() or message


def test_consuming(kafka_secure: SecureKafkaServer, topic: TopicFactory, config: dict[str, Any], grant: Grant) -> None:
    name, group = topic(cluster=kafka_secure), f"group-{uuid.uuid4().hex[:8]}"
    with Producer(kafka_secure.client_config("PLAINTEXT")) as producer:
        producer.produce(name, b"v")
    consumer = Consumer({**config, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([name])
    found = wait_until(lambda: consumed(consumer), timeout=60)
    assert found in {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}
    with pytest.raises(KafkaException, match=f"group {group}: Broker: Group authorization failed"):
        consumer.committed([TopicPartition(name, 0)], timeout=1)
    grant(ResourceType.GROUP, group, AclOperation.READ)
    grant(ResourceType.TOPIC, name, AclOperation.READ)

    def message() -> Message | None:
        found = consumed(consumer)
        return found if isinstance(found, Message) else None

    assert wait_until(message, timeout=60).value() == b"v"
    consumer.close()


def test_a_share_group(
    kafka_secure: SecureKafkaServer, topic: TopicFactory, config: dict[str, Any], grant: Grant
) -> None:
    name, group = topic(cluster=kafka_secure), f"share-{uuid.uuid4().hex[:8]}"
    errors: list[KafkaError] = []
    consumer = ShareConsumer({**config, "group.id": group, "error_cb": errors.append})
    consumer.subscribe([name])

    def denied() -> bool:
        try:
            consumer.poll(0.2)
        except KafkaException as exception:
            errors.append(exception.args[0])
        return bool(
            {KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED}
            & {error.code() for error in errors}
        )

    wait_until(denied, timeout=60)
    consumer.close()


def test_a_transactional_id(
    kafka_secure: SecureKafkaServer, topic: TopicFactory, config: dict[str, Any], grant: Grant
) -> None:
    name, transactional_id = topic(cluster=kafka_secure), f"transaction-{uuid.uuid4().hex[:8]}"
    producer = Producer({**config, "transactional.id": transactional_id})
    with pytest.raises(FatalException) as caught:
        producer.init_transactions(30)
    assert caught.value.args[0] == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    producer.close()
    grant(ResourceType.TRANSACTIONAL_ID, transactional_id, AclOperation.WRITE)
    grant(ResourceType.TOPIC, name, AclOperation.WRITE)
    producer = Producer({**config, "transactional.id": transactional_id})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(name, b"v")
    producer.commit_transaction(30)
    producer.close()


def test_a_topic_that_a_transaction_may_not_write_to(
    kafka_secure: SecureKafkaServer, topic: TopicFactory, config: dict[str, Any], grant: Grant
) -> None:
    name, transactional_id = topic(cluster=kafka_secure), f"transaction-{uuid.uuid4().hex[:8]}"
    grant(ResourceType.TRANSACTIONAL_ID, transactional_id, AclOperation.WRITE)
    producer = Producer({**config, "transactional.id": transactional_id})
    producer.init_transactions(30)
    producer.begin_transaction()
    errors: list[KafkaError | None] = []
    producer.produce(name, b"v", on_delivery=lambda error, message: errors.append(error))
    with pytest.raises(AbortableException, match="see individual delivery reports"):
        producer.commit_transaction(30)
    assert errors == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
    producer.abort_transaction(30)
    producer.close()


TOPIC = KafkaError.TOPIC_AUTHORIZATION_FAILED
GROUP = KafkaError.GROUP_AUTHORIZATION_FAILED
CLUSTER = KafkaError.CLUSTER_AUTHORIZATION_FAILED
OPERATIONS: dict[str, tuple[Callable[[AdminClient, str], Any], int]] = {
    "create topic": (lambda admin, name: admin.create_topics([NewTopic("denied", 1)])["denied"], TOPIC),
    "delete topic": (lambda admin, name: admin.delete_topics([name])[name], TOPIC),
    "describe configuration": (lambda admin, name: admin.describe_configs([resource(name)])[resource(name)], TOPIC),
    "delete group": (lambda admin, name: admin.delete_consumer_groups(["g"])["g"], GROUP),
    "describe group": (lambda admin, name: admin.describe_consumer_groups(["g"])["g"], GROUP),
    "create ACL": (lambda admin, name: admin.create_acls([binding()])[binding()], CLUSTER),
    "describe ACLs": (lambda admin, name: admin.describe_acls(binding_filter()), CLUSTER),
    "delete ACLs": (lambda admin, name: admin.delete_acls([binding_filter()])[binding_filter()], CLUSTER),
    "describe SCRAM user": (lambda admin, name: admin.describe_user_scram_credentials(["a"])["a"], CLUSTER),
    "describe SCRAM users": (lambda admin, name: admin.describe_user_scram_credentials(), CLUSTER),
    "delete SCRAM user": (lambda admin, name: delete_scram_user(admin), CLUSTER),
    "describe quotas": (lambda admin, name: admin.describe_client_quotas(), CLUSTER),
    "describe quorum": (lambda admin, name: admin.describe_metadata_quorum(), CLUSTER),
}


@pytest.mark.parametrize(("operation", "code"), OPERATIONS.values(), ids=OPERATIONS)
def test_admin_operations(
    kafka_secure: SecureKafkaServer,
    topic: TopicFactory,
    config: dict[str, Any],
    operation: Callable[[AdminClient, str], Any],
    code: int,
) -> None:
    with AdminClient(config) as admin:
        with pytest.raises(KafkaException) as caught:
            operation(admin, topic(cluster=kafka_secure)).result(30)
        error = caught.value.args[0]
        assert error == code
        assert "authoriz" in error.str().lower() or "permission" in error.str()
        assert admin.describe_cluster(request_timeout=20).result(30).cluster_id == kafka_secure.cluster_id


def resource(name: str) -> ConfigResource:
    return ConfigResource(ConfigResource.Type.TOPIC, name)


def binding() -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC, "t", ResourcePatternType.LITERAL, "User:x", "*", AclOperation.READ, AclPermissionType.ALLOW
    )


def binding_filter() -> AclBindingFilter:
    any_operation, any_permission = AclOperation.ANY, AclPermissionType.ANY
    return AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, None, None, any_operation, any_permission)


def delete_scram_user(admin: AdminClient) -> Any:
    return admin.alter_user_scram_credentials([UserScramCredentialDeletion("a", ScramMechanism.SCRAM_SHA_256)])["a"]
