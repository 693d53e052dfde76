"""Commands that need no cluster: one to play with, what this installation is, shell completion."""

from __future__ import annotations

import dataclasses
import signal
import sys
import threading

import click
from click.shell_completion import get_completion_class

from cykafka import build_info
from cykafka.cli.output import Output
from cykafka.testing import MockCluster


def parse_topic(text: str) -> tuple[str, int]:
    """Split NAME[:PARTITIONS]."""
    name, _, partitions = text.partition(":")
    if not name or (partitions and not partitions.isdigit()) or partitions == "0":
        raise click.BadParameter(f"{text!r} is not NAME or NAME:PARTITIONS", param_hint="--topic")
    return name, int(partitions or 1)


@click.command()
@click.option("--brokers", type=click.IntRange(1, 100), default=1, show_default=True, help="How many brokers.")
@click.option("-t", "--topic", "topics", multiple=True, metavar="NAME[:PARTITIONS]", help="Topic to create.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def mock(brokers: int, topics: tuple[str, ...], as_json: bool) -> None:
    """Run an embedded cluster to play with, until Ctrl-C.

    It listens on loopback ports, creates topics as they are used, and keeps messages in memory.
    """
    wanted = [parse_topic(text) for text in topics]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    output = Output(as_json)
    with MockCluster(brokers) as cluster:
        for name, partitions in wanted:
            cluster.create_topic(name, partitions)
        if as_json:
            output.json({"bootstrap_servers": cluster.bootstrap_servers, "topics": dict(wanted)})
        else:
            print(cluster.bootstrap_servers)
            output.note(f"try: cykafka produce -b {cluster.bootstrap_servers} TOPIC     (Ctrl-C ends the cluster)")
        sys.stdout.flush()
        while not stop.wait(0.5):
            pass


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(as_json: bool) -> None:
    """Show versions, features, and where everything came from; for bug reports."""
    built = build_info()
    output = Output(as_json)
    libraries = [{**dataclasses.asdict(library), "linking": library.linking.value} for library in built.libraries]
    if as_json:
        output.json({**dataclasses.asdict(built), "libraries": libraries})
        return
    facts = {name: value for name, value in dataclasses.asdict(built).items() if name != "libraries"}
    facts["kerberos_problem"] = facts["kerberos_problem"] or "none"
    output.facts(facts)
    print()
    columns = ("name", "version", "linking", "licence", "source")
    output.rows(columns, [[library[column] for column in columns] for library in libraries], "Libraries")


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete this command: eval "$(cykafka completion bash)"."""
    from cykafka.cli.app import cli

    complete = get_completion_class(shell)
    if complete is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    print(complete(cli, {}, "cykafka", "_CYKAFKA_COMPLETE").source())
