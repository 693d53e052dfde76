"""The top level of the command line: its groups, and what becomes of errors."""

from __future__ import annotations

import os
import sys

import click

from cykafka import KafkaException, version
from cykafka.cli import cluster, local, messages, perf

#: Exit codes: 0 done, 1 the cluster or a client refused, 2 wrong options; as a shell tells the signals' else.
FAILED = 1
INTERRUPTED = 130
BROKEN_PIPE = 141


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(version(), prog_name="cykafka")
def cli() -> None:
    """Talk to Apache Kafka: produce, consume, look after topics and groups, measure.

    Every command has --help, and takes connection options: -b HOST:PORT, -X NAME=VALUE for any librdkafka property,
    -F FILE for many. --json prints what programs read.
    """


for command in (
    messages.produce,
    messages.consume,
    cluster.topics,
    cluster.groups,
    cluster.configs,
    cluster.acls,
    perf.perf,
    local.mock,
    local.info,
    local.completion,
):
    cli.add_command(command)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: The arguments; those of the process if None.
    """
    try:
        cli.main(arguments, prog_name="cykafka", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # Who reads has gone, as head does (click makes that a SystemExit): nothing is wrong, and the interpreter
        # shall not complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KafkaException as error:
        print(f"error: {error.args[0].str()}", file=sys.stderr)
        return FAILED
    except (OSError, ValueError, TypeError, RuntimeError, BufferError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    return 0
