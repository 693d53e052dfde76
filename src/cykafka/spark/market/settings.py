"""Settings of the market pipeline, checked once, on the driver."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from cykafka.spark.errors import OptionError
from cykafka.spark.options import Delivery, parse_duration

#: Start of the names by which Spark's configuration holds settings (Declarative Pipelines).
CONFIGURATION_PREFIX = "spark.cykafka.market."

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms"))


class TickFormat(enum.Enum):
    """How ticks are written in the values of their topic."""

    JSON = "json"
    STRUCT = "struct"


@dataclass(frozen=True, order=True)
class Width:
    """Length of the time that a bar covers.

    Attributes:
        milliseconds: Length, more than 0.
    """

    milliseconds: int

    @classmethod
    def parse(cls, text: str, option: str = "widths") -> Width:
        """Read a length such as 1s, 500ms, 5m or 1h.

        Args:
            text: Number and unit; without a unit it is milliseconds, as in Spark.
            option: Name of the option for messages.

        Raises:
            OptionError: It is none.
        """
        milliseconds = round(_seconds(text, option) * 1000)
        if milliseconds <= 0:
            raise OptionError(option, f"must be at least 1 ms, not '{text}'")
        return cls(milliseconds)

    @property
    def label(self) -> str:
        """Shortest way to write it, such as 10s; the column ``width`` of bars."""
        return next(f"{self.milliseconds // unit}{name}" for unit, name in _UNITS if self.milliseconds % unit == 0)

    @property
    def interval(self) -> str:
        """The same as Spark's ``window`` takes it."""
        return f"{self.milliseconds} milliseconds"


@dataclass(frozen=True)
class MarketSettings:
    """What the pipeline reads, how it cleans it, and what it makes of it.

    A tick is accepted if it came to Kafka at most `lateness` after and at most `ahead` before its own time.
    Both are facts of the record, so a stream, its restart and a back-fill accept the same ticks. The
    watermark trails by ``lateness + ahead + slack``, so that no accepted tick falls behind it as long as the
    partitions are read at most `slack` apart.

    Attributes:
        bootstrap_servers: Brokers, ``host:port,...``.
        ticks_topic: Topic of the ticks.
        bars_topic: Topic that gets the bars as JSON, or None.
        tick_format: How ticks are written.
        widths: Lengths of the bars.
        health_width: Length of the intervals over which records are counted and latencies measured.
        lateness: Seconds that a tick may come after its time.
        ahead: Seconds that a tick may come before its time (clocks that differ).
        slack: Seconds that partitions may be read apart.
        delivery: Promise of the bars topic when work is repeated.
        max_offsets_per_trigger: Most ticks in a micro-batch, or None.
        kafka: More properties of the Kafka clients, without the prefix ``kafka.``.
    """

    bootstrap_servers: str
    ticks_topic: str = "ticks"
    bars_topic: str | None = None
    tick_format: TickFormat = TickFormat.JSON
    widths: tuple[Width, ...] = (Width(1_000), Width(10_000), Width(60_000))
    health_width: Width = Width(1_000)
    lateness: float = 5.0
    ahead: float = 1.0
    slack: float = 4.0
    delivery: Delivery = Delivery.EXACTLY_ONCE
    max_offsets_per_trigger: int | None = None
    kafka: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, options: Mapping[str, str | None]) -> MarketSettings:
        """Make settings of texts.

        Args:
            options: Texts by the name of the attribute with dashes, as on the command line; widths are
                separated by commas; ``kafka.*`` are properties of the Kafka clients. None is as if not given.

        Raises:
            OptionError: One is missing, unknown or malformed.
        """
        given = {name: value.strip() for name, value in options.items() if value is not None}
        kafka = {name.removeprefix("kafka."): given.pop(name) for name in list(given) if name.startswith("kafka.")}
        known = {each.name.replace("_", "-") for each in fields(cls)} - {"kafka"}
        for name, value in given.items():
            if name not in known:
                raise OptionError(name, f"is unknown; there are {', '.join(sorted(known))} and kafka.*")
            if not value:
                raise OptionError(name, "must not be empty")
        if "bootstrap-servers" not in given:
            raise OptionError("bootstrap-servers", "must name the brokers: host:port,...")
        made: dict[str, object] = {"bootstrap_servers": given["bootstrap-servers"], "kafka": kafka}
        for name in ("ticks-topic", "bars-topic"):
            if name in given:
                made[name.replace("-", "_")] = given[name]
        for name in ("lateness", "ahead", "slack"):
            if name in given:
                made[name] = _seconds(given[name], name)
        if "widths" in given:
            made["widths"] = parse_widths(given["widths"])
        if "health-width" in given:
            made["health_width"] = Width.parse(given["health-width"], "health-width")
        if "tick-format" in given:
            made["tick_format"] = _choice(TickFormat, "tick-format", given)
        if "delivery" in given:
            made["delivery"] = _choice(Delivery, "delivery", given)
        if "max-offsets-per-trigger" in given:
            made["max_offsets_per_trigger"] = _count("max-offsets-per-trigger", given)
        return cls(**made)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        if self.bars_topic == self.ticks_topic:
            raise OptionError("bars-topic", f"'{self.bars_topic}' is the topic of the ticks too; bars need their own")
        if not self.widths:
            raise OptionError("widths", "names no width; give e.g. 1s,10s,1m")

    @property
    def watermark(self) -> str:
        """How far the watermark of ticks trails, as Spark's ``withWatermark`` takes it."""
        return f"{round((self.lateness + self.ahead + self.slack) * 1000)} milliseconds"

    @property
    def health_watermark(self) -> str:
        """The same for the watermark over times of arrival in Kafka."""
        return f"{round(self.slack * 1000)} milliseconds"

    @property
    def kafka_options(self) -> dict[str, str]:
        """Options of the formats ``cykafka`` that say how to reach the cluster."""
        return {
            "kafka.bootstrap.servers": self.bootstrap_servers,
            **{f"kafka.{name}": value for name, value in self.kafka.items()},
        }


def parse_widths(text: str) -> tuple[Width, ...]:
    """Read widths separated by commas, and sort them.

    Raises:
        OptionError: There is none, one is malformed, or one is given twice.
    """
    widths = [Width.parse(each) for each in text.split(",") if each.strip()]
    if not widths:
        raise OptionError("widths", f"names no width; give e.g. 1s,10s,1m, not '{text}'")
    if len(set(widths)) < len(widths):
        raise OptionError("widths", f"names a width twice: {text}")
    return tuple(sorted(widths))


def configuration(get: Mapping[str, str]) -> dict[str, str]:
    """Pick the settings out of Spark's configuration.

    Args:
        get: Configuration by name.
    """
    return {
        name.removeprefix(CONFIGURATION_PREFIX): value
        for name, value in get.items()
        if name.startswith(CONFIGURATION_PREFIX)
    }


def _seconds(text: str, option: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise OptionError(option, str(error)) from None


def _choice(kind: type[enum.Enum], name: str, given: Mapping[str, str]) -> enum.Enum:
    values: Sequence[str] = [each.value for each in kind]
    if given[name] not in values:
        raise OptionError(name, f"must be {' or '.join(values)}, not '{given[name]}'")
    return kind(given[name])


def _count(name: str, given: Mapping[str, str]) -> int:
    if not given[name].isdigit() or int(given[name]) < 1:
        raise OptionError(name, f"must be a whole number of at least 1, not '{given[name]}'")
    return int(given[name])
