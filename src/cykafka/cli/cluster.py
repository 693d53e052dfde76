"""Look after a cluster: topics, groups, configurations, ACLs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

import click

from cykafka import ConsumerGroupTopicPartitions, KafkaException, TopicCollection, TopicPartition
from cykafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)
from cykafka.cli.connection import Connection, connected, parse_time

T = TypeVar("T")
K = TypeVar("K")


@contextlib.contextmanager
def administering(connection: Connection) -> Iterator[AdminClient]:
    """Give an admin client, closed at the end."""
    with AdminClient(connection.config()) as admin:
        yield admin


def results(futures: Mapping[K, Future[T]], timeout: float) -> dict[K, T]:
    """Return all results; raise one error that names everything that failed."""
    failed = {key: future.exception(timeout) for key, future in futures.items()}
    refused = [
        f"{key}: {error.args[0].str() if isinstance(error, KafkaException) else error}"
        for key, error in failed.items()
        if error is not None
    ]
    if refused:
        raise click.ClickException("; ".join(refused))
    return {key: future.result() for key, future in futures.items()}


def parse_settings(texts: tuple[str, ...]) -> dict[str, str]:
    """Split NAME=VALUE settings of topics or brokers."""
    settings = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE")
        settings[name] = value
    return settings


@click.group()
def topics() -> None:
    """List, describe, create and delete topics."""


@topics.command("list")
@click.option("-a", "--all", "internal", is_flag=True, help="Internal ones too.")
@connected
def list_topics(connection: Connection, internal: bool) -> None:
    """List the topics."""
    with administering(connection) as admin:
        found = admin.list_topics(timeout=connection.timeout).topics
    rows = [
        (name, len(topic.partitions), max((len(each.replicas) for each in topic.partitions.values()), default=0))
        for name, topic in sorted(found.items())
        if internal or not name.startswith("__")
    ]
    connection.output.rows(("topic", "partitions", "replicas"), rows)


@topics.command("describe")
@click.argument("names", nargs=-1, required=True)
@connected
def describe_topics(connection: Connection, names: tuple[str, ...]) -> None:
    """Show the partitions of topics with their offsets."""
    with administering(connection) as admin:
        described = results(
            admin.describe_topics(TopicCollection(list(names)), request_timeout=connection.timeout), connection.timeout
        )
        partitions = [TopicPartition(name, partition.id) for name in names for partition in described[name].partitions]
        low, high = (
            results(
                admin.list_offsets({each: spec() for each in partitions}, request_timeout=connection.timeout),
                connection.timeout,
            )
            for spec in (OffsetSpec.earliest, OffsetSpec.latest)
        )
    first = {(each.topic, each.partition): info.offset for each, info in low.items()}
    last = {(each.topic, each.partition): info.offset for each, info in high.items()}
    rows = [
        (
            name,
            partition.id,
            partition.leader.id if partition.leader else None,
            " ".join(str(node.id) for node in partition.replicas),
            " ".join(str(node.id) for node in partition.isr),
            first[name, partition.id],
            last[name, partition.id],
        )
        for name in names
        for partition in described[name].partitions
    ]
    connection.output.rows(("topic", "partition", "leader", "replicas", "in_sync", "first", "end"), rows)


@topics.command("create")
@click.argument("names", nargs=-1, required=True)
@click.option("-p", "--partitions", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("-r", "--replication-factor", type=click.IntRange(min=1), help="The broker's default if not given.")
@click.option("-c", "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Topic configuration.")
@connected
def create_topics(
    connection: Connection,
    names: tuple[str, ...],
    partitions: int,
    replication_factor: int | None,
    settings: tuple[str, ...],
) -> None:
    """Create topics."""
    config = parse_settings(settings)
    new = [NewTopic(name, partitions, replication_factor or -1, config=config) for name in names]
    with administering(connection) as admin:
        results(admin.create_topics(new, request_timeout=connection.timeout), connection.timeout)
    connection.output.done(f"created {', '.join(names)}", created=list(names))


@topics.command("grow")
@click.argument("name")
@click.argument("partitions", type=click.IntRange(min=1))
@connected
def grow_topic(connection: Connection, name: str, partitions: int) -> None:
    """Give topic NAME so many PARTITIONS in all."""
    with administering(connection) as admin:
        results(
            admin.create_partitions([NewPartitions(name, partitions)], request_timeout=connection.timeout),
            connection.timeout,
        )
    connection.output.done(f"{name} has {partitions} partitions", topic=name, partitions=partitions)


@topics.command("delete")
@click.argument("names", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@connected
def delete_topics(connection: Connection, names: tuple[str, ...], yes: bool) -> None:
    """Delete topics with all their messages."""
    if not yes:
        click.confirm(f"Delete {', '.join(names)} with all messages?", abort=True, err=True)
    with administering(connection) as admin:
        results(admin.delete_topics(list(names), request_timeout=connection.timeout), connection.timeout)
    connection.output.done(f"deleted {', '.join(names)}", deleted=list(names))


@click.group()
def groups() -> None:
    """List and describe consumer groups with their lag, reset offsets, delete."""


@groups.command("list")
@connected
def list_groups(connection: Connection) -> None:
    """List the consumer groups."""
    with administering(connection) as admin:
        found = admin.list_consumer_groups(request_timeout=connection.timeout).result(connection.timeout)
    rows = [
        (
            group.group_id,
            group.state.name.lower() if group.state else None,
            group.type.name.lower() if group.type else None,
        )
        for group in sorted(found.valid or [], key=lambda each: str(each.group_id))
    ]
    connection.output.rows(("group", "state", "type"), rows)
    if found.errors:
        raise KafkaException(found.errors[0].args[0])


def committed_offsets(admin: AdminClient, group: str, timeout: float) -> list[TopicPartition]:
    """Return the committed offsets of a group."""
    futures = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=timeout)
    return list(results(futures, timeout)[group].topic_partitions or [])


def end_offsets(
    admin: AdminClient, partitions: list[TopicPartition], spec: OffsetSpec, timeout: float
) -> dict[tuple[str, int], int]:
    """Return the offsets that a specification stands for."""
    if not partitions:
        return {}
    asked = {TopicPartition(each.topic, each.partition): spec for each in partitions}
    found = results(admin.list_offsets(asked, request_timeout=timeout), timeout)
    return {(each.topic, each.partition): info.offset for each, info in found.items()}


@groups.command("describe")
@click.argument("name")
@connected
def describe_group(connection: Connection, name: str) -> None:
    """Show the offsets, the lag and the members of group NAME."""
    timeout = connection.timeout
    with administering(connection) as admin:
        described = results(admin.describe_consumer_groups([name], request_timeout=timeout), timeout)[name]
        committed = committed_offsets(admin, name, timeout)
        ends = end_offsets(admin, committed, OffsetSpec.latest(), timeout)
    owners = {
        (each.topic, each.partition): member
        for member in described.members
        for each in (member.assignment.topic_partitions if member.assignment else [])
    }
    rows: list[tuple[Any, ...]] = []
    offsets = {(each.topic, each.partition): each.offset for each in committed}
    for key in sorted({*offsets, *owners}):
        offset, end, owner = offsets.get(key), ends.get(key), owners.get(key)
        known = offset is not None and offset >= 0 and end is not None
        rows.append(
            (
                *key,
                offset if known else None,
                end,
                max(0, int(end or 0) - int(offset or 0)) if known else None,
                owner.client_id if owner else None,
                owner.host if owner else None,
            )
        )
    if not connection.output.as_json:
        state = described.state.name.lower() if described.state else "unknown"
        connection.output.note(f"{name}: {state}, {len(described.members)} members")
    connection.output.rows(("topic", "partition", "committed", "end", "lag", "client_id", "host"), rows)


@groups.command("delete")
@click.argument("names", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@connected
def delete_groups(connection: Connection, names: tuple[str, ...], yes: bool) -> None:
    """Delete groups with their offsets; they must have no members."""
    if not yes:
        click.confirm(f"Delete {', '.join(names)} with all offsets?", abort=True, err=True)
    with administering(connection) as admin:
        results(admin.delete_consumer_groups(list(names), request_timeout=connection.timeout), connection.timeout)
    connection.output.done(f"deleted {', '.join(names)}", deleted=list(names))


@groups.command("reset-offsets")
@click.argument("name")
@click.option("-t", "--topic", "topics_", multiple=True, help="Only this topic; else all that have been committed.")
@click.option("--to-earliest", is_flag=True)
@click.option("--to-latest", is_flag=True)
@click.option("--to-offset", type=click.IntRange(min=0))
@click.option("--to-time", metavar="TIME", help="Milliseconds since the epoch, or ISO 8601.")
@click.option("--shift-by", type=int, metavar="N", help="Forwards, or with a negative number backwards.")
@click.option("--execute", is_flag=True, help="Do it; else only show what would be done.")
@connected
def reset_offsets(
    connection: Connection,
    name: str,
    topics_: tuple[str, ...],
    to_earliest: bool,
    to_latest: bool,
    to_offset: int | None,
    to_time: str | None,
    shift_by: int | None,
    execute: bool,
) -> None:
    """Set the committed offsets of group NAME, which must have no members. Without --execute a dry run."""
    chosen = [to_earliest, to_latest, to_offset is not None, to_time is not None, shift_by is not None]
    if sum(chosen) != 1:
        raise click.UsageError("give one of --to-earliest, --to-latest, --to-offset, --to-time, --shift-by")
    timeout = connection.timeout
    with administering(connection) as admin:
        old = {(each.topic, each.partition): each.offset for each in committed_offsets(admin, name, timeout)}
        partitions = [TopicPartition(*key) for key in old if not topics_ or key[0] in topics_]
        known = {topic for topic, _ in old}
        for topic in sorted(set(topics_) - known):
            partitions += [TopicPartition(topic, number) for number in connection.topic(admin, topic).partitions]
        if not partitions:
            raise click.ClickException(f"{name} has committed nothing: name topics with -t")
        low = end_offsets(admin, partitions, OffsetSpec.earliest(), timeout)
        high = end_offsets(admin, partitions, OffsetSpec.latest(), timeout)
        if to_time is not None:
            target = end_offsets(admin, partitions, OffsetSpec.for_timestamp(parse_time(to_time, "--to-time")), timeout)
            target = {key: high[key] if offset < 0 else offset for key, offset in target.items()}
        elif shift_by is not None:
            target = {key: (old[key] if old.get(key, -1) >= 0 else low[key]) + shift_by for key in low}
        elif to_offset is not None:
            target = dict.fromkeys(low, to_offset)
        else:
            target = low if to_earliest else high
        new = {key: min(max(offset, low[key]), high[key]) for key, offset in target.items()}
        if execute:
            asked = [TopicPartition(*key, offset) for key, offset in new.items()]
            changed = results(
                admin.alter_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(name, asked)], request_timeout=timeout
                ),
                timeout,
            )[name]
            for each in changed.topic_partitions or []:
                if each.error is not None:
                    raise KafkaException(each.error)
    rows = [(*key, old.get(key), new[key]) for key in sorted(new)]
    connection.output.rows(("topic", "partition", "old", "new"), rows)
    if not execute and not connection.output.as_json:
        connection.output.note("nothing was changed: --execute does it")


@click.group()
def configs() -> None:
    """Describe and set the configuration of topics, brokers and groups."""


RESOURCES = click.Choice(["topic", "broker", "group"])


@configs.command("describe")
@click.argument("kind", type=RESOURCES)
@click.argument("name")
@click.option("-a", "--all", "defaults", is_flag=True, help="What has its default too.")
@connected
def describe_config(connection: Connection, kind: str, name: str, defaults: bool) -> None:
    """Show the configuration of a topic, broker or group."""
    resource = ConfigResource(ResourceType[kind.upper()], name)
    with administering(connection) as admin:
        futures = admin.describe_configs([resource], request_timeout=connection.timeout)
        entries = results(futures, connection.timeout)[resource]
    rows = [
        (
            entry.name,
            None if entry.is_sensitive else entry.value,
            entry.source.name.lower() if hasattr(entry.source, "name") else entry.source,
            entry.is_read_only,
        )
        for entry in sorted(entries.values(), key=lambda each: each.name)
        if defaults or not entry.is_default
    ]
    connection.output.rows(("name", "value", "source", "read_only"), rows)


@configs.command("set")
@click.argument("kind", type=RESOURCES)
@click.argument("name")
@click.argument("settings", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Let the cluster check it only.")
@connected
def set_config(connection: Connection, kind: str, name: str, settings: tuple[str, ...], dry_run: bool) -> None:
    """Set NAME=VALUE; NAME alone gives it its default again."""
    entries = []
    for text in settings:
        key, separator, value = text.partition("=")
        operation = AlterConfigOpType.SET if separator else AlterConfigOpType.DELETE
        entries.append(ConfigEntry(key, value if separator else None, incremental_operation=operation))
    resource = ConfigResource(ResourceType[kind.upper()], name, incremental_configs=entries)
    with administering(connection) as admin:
        futures = admin.incremental_alter_configs([resource], validate_only=dry_run, request_timeout=connection.timeout)
        results(futures, connection.timeout)
    connection.output.done("valid" if dry_run else "set", kind=kind, name=name, changed=not dry_run)


@click.group()
def acls() -> None:
    """List, create and delete access control lists."""


ACL_COLUMNS = ("resource", "name", "pattern", "principal", "host", "operation", "permission")


def acl_row(acl: AclBinding) -> tuple[Any, ...]:
    """Return an ACL as a row."""
    return (
        acl.restype.name.lower(),
        acl.name,
        acl.resource_pattern_type.name.lower(),
        acl.principal,
        acl.host,
        acl.operation.name.lower(),
        acl.permission_type.name.lower(),
    )


def acl_options(function: Any) -> Any:
    """Give a command the options that describe ACLs."""
    operations = [each.name.lower() for each in AclOperation if each.name != "UNKNOWN"]
    kinds = ["any", "topic", "group", "broker", "transactional_id"]
    for option in (
        click.option("--resource", type=click.Choice(kinds), help="Kind of resource."),
        click.option("--name", help="Its name."),
        click.option("--pattern", type=click.Choice(["literal", "prefixed", "match", "any"]), help="How it matches."),
        click.option("--principal", help="For example User:alice."),
        click.option("--host", help="Host that it applies to."),
        click.option("--operation", type=click.Choice(operations)),
        click.option("--permission", type=click.Choice(["allow", "deny", "any"])),
    ):
        function = option(function)
    return function


def acl_filter(options: dict[str, str | None]) -> AclBindingFilter:
    """Return a filter; what was not given matches all."""
    return AclBindingFilter(
        ResourceType[(options["resource"] or "any").upper()],
        options["name"],  # type: ignore[arg-type]
        ResourcePatternType[(options["pattern"] or "any").upper()],
        options["principal"],  # type: ignore[arg-type]
        options["host"],  # type: ignore[arg-type]
        AclOperation[(options["operation"] or "any").upper()],
        AclPermissionType[(options["permission"] or "any").upper()],
    )


@acls.command("list")
@acl_options
@connected
def list_acls(connection: Connection, **options: str | None) -> None:
    """List the ACLs that match."""
    with administering(connection) as admin:
        found = admin.describe_acls(acl_filter(options), request_timeout=connection.timeout).result(connection.timeout)
    connection.output.rows(ACL_COLUMNS, sorted(acl_row(each) for each in found))


@acls.command("create")
@acl_options
@connected
def create_acl(connection: Connection, **options: str | None) -> None:
    """Create an ACL."""
    missing = [f"--{name}" for name in ("resource", "name", "principal", "operation") if not options[name]]
    if missing:
        raise click.UsageError(f"give {', '.join(missing)}")
    acl = AclBinding(
        ResourceType[str(options["resource"]).upper()],
        str(options["name"]),
        ResourcePatternType[(options["pattern"] or "literal").upper()],
        str(options["principal"]),
        options["host"] or "*",
        AclOperation[str(options["operation"]).upper()],
        AclPermissionType[(options["permission"] or "allow").upper()],
    )
    with administering(connection) as admin:
        results(admin.create_acls([acl], request_timeout=connection.timeout), connection.timeout)
    connection.output.rows(ACL_COLUMNS, [acl_row(acl)])


@acls.command("delete")
@acl_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@connected
def delete_acls(connection: Connection, yes: bool, **options: str | None) -> None:
    """Delete the ACLs that match; shows them first."""
    wanted = acl_filter(options)
    with administering(connection) as admin:
        found = admin.describe_acls(wanted, request_timeout=connection.timeout).result(connection.timeout)
        connection.output.rows(ACL_COLUMNS, sorted(acl_row(each) for each in found))
        if not found:
            return
        if not yes:
            click.confirm(f"Delete {len(found)} ACLs?", abort=True, err=True)
        results(admin.delete_acls([wanted], request_timeout=connection.timeout), connection.timeout)
