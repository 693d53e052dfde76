"""Options that every command has, and the configuration that they make."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from cykafka import Consumer, KafkaException
from cykafka.admin import AdminClient, TopicMetadata
from cykafka.cli.output import Output

F = TypeVar("F", bound=Callable[..., Any])

#: Properties whose values nobody else shall see, and command lines can be seen by every user of a machine.
SECRETS = frozenset(
    {
        "sasl.password",
        "ssl.key.password",
        "ssl.keystore.password",
        "ssl.key.pem",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem",
    }
)
ENVIRONMENT = "CYKAFKA_BOOTSTRAP_SERVERS"


@dataclass
class Connection:
    """How to reach the cluster, and how to print.

    Attributes:
        properties: Configuration properties.
        output: Where results go.
        timeout: Seconds to wait for the cluster's answers.
    """

    properties: dict[str, str] = field(default_factory=dict)
    output: Output = field(default_factory=lambda: Output(as_json=False))
    timeout: float = 10.0

    def config(self, **more: Any) -> dict[str, Any]:
        """Return the configuration of a client; the user's properties go before ours.

        Raises:
            click.UsageError: If no servers are known.
        """
        if not self.properties.get("bootstrap.servers"):
            raise click.UsageError(
                f"no servers: give -b HOST:PORT, set {ENVIRONMENT}, or put bootstrap.servers into a file for -F. "
                "'cykafka mock' starts a cluster to play with"
            )
        ours = {name.replace("_", "."): value for name, value in more.items()}
        return {"log_level": 3, **ours, **self.properties}

    def topic(self, client: Consumer | AdminClient, name: str) -> TopicMetadata:
        """Return what the cluster says of a topic.

        Raises:
            KafkaException: If there is no such topic, or it may not be seen.
        """
        metadata = client.list_topics(name, self.timeout).topics[name]
        if metadata.error is not None:
            raise KafkaException(metadata.error)
        return metadata


def read_properties(path: Path) -> dict[str, str]:
    """Read a properties file: lines of NAME=VALUE, empty ones and those that begin with # left out."""
    properties = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if not text or text.startswith(("#", "!")):
            continue
        name, separator, value = text.partition("=")
        if not separator:
            raise click.UsageError(f"{path}, line {number}: not NAME=VALUE")
        properties[name.strip()] = value.strip()
    return properties


def parse_time(text: str, param_hint: str | None = None) -> int:
    """Return milliseconds since the epoch from milliseconds or ISO 8601."""
    if text.isdigit():
        return int(text)
    try:
        return int(dt.datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither milliseconds nor an ISO 8601 time", param_hint=param_hint
        ) from None


def parse_property(text: str) -> tuple[str, str]:
    """Split NAME=VALUE; a value ``env:NAME`` is that of an environment variable."""
    name, separator, value = text.partition("=")
    name = name.strip()
    if not separator or not name:
        raise click.BadParameter(f"{name!r} is not NAME=VALUE", param_hint="-X")
    if value.startswith("env:"):
        variable = value[len("env:") :]
        if variable not in os.environ:
            raise click.BadParameter(f"{name}: there is no environment variable {variable}", param_hint="-X")
        return name, os.environ[variable]
    if name in SECRETS:
        raise click.BadParameter(
            f"{name} on the command line can be read by every user of this machine: put it into a file for -F, or "
            f"into an environment variable and give {name}=env:VARIABLE",
            param_hint="-X",
        )
    return name, value


def connected(function: F) -> F:
    """Give a command the options of a connection, and the `Connection` as its first argument."""

    def make(
        bootstrap_servers: str | None,
        properties: tuple[str, ...],
        config_files: tuple[Path, ...],
        timeout: float,
        as_json: bool,
        **arguments: Any,
    ) -> Any:
        merged: dict[str, str] = {}
        for path in config_files:
            merged.update(read_properties(path))
        merged.update(parse_property(text) for text in properties)
        if bootstrap_servers:
            merged["bootstrap.servers"] = bootstrap_servers
        elif "bootstrap.servers" not in merged and os.environ.get(ENVIRONMENT):
            merged["bootstrap.servers"] = os.environ[ENVIRONMENT]
        return function(Connection(merged, Output(as_json), timeout), **arguments)

    make.__name__ = function.__name__
    make.__doc__ = function.__doc__
    make.__click_params__ = list(getattr(function, "__click_params__", []))  # type: ignore[attr-defined]
    options = [
        click.option("-b", "--bootstrap-servers", metavar="HOST:PORT,...", help=f"Servers [env: {ENVIRONMENT}]."),
        click.option("-X", "properties", metavar="NAME=VALUE", multiple=True, help="Configuration property."),
        click.option(
            "-F",
            "--config",
            "config_files",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            multiple=True,
            help="File of NAME=VALUE lines.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(min=0.001),
            default=10.0,
            show_default=True,
            metavar="SECONDS",
            help="How long to wait for the cluster.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ]
    for option in reversed(options):
        make = option(make)
    return make  # type: ignore[return-value]
