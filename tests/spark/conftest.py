"""Spark sessions for the tests, with Spark's own Kafka connector beside ours as the yardstick."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING

import pytest

from tests.spark.support import CONNECTOR, environment
from tests.support import jars
from tests.support.errors import MissingToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def connector() -> str:
    """Jars of Spark's own Kafka connector, as `spark.jars` takes them."""
    pytest.importorskip("pyspark", reason="needs PySpark 4.2 or later: pip install cykafka[spark]")
    try:
        return ",".join(map(str, jars.fetch(CONNECTOR)))
    except MissingToolError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark(connector: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark session that knows the formats ``cykafka`` and ``kafka`` (Spark's own)."""
    environment()
    with warnings.catch_warnings():
        # PySpark warns of the newest pandas, which nothing here uses.
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        folder = tmp_path_factory.mktemp("spark")
        session = (
            SparkSession.builder.master("local[2]")
            .appName("cykafka tests")
            .config("spark.jars", connector)
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            # Each query runs once over a few rows: compiling costs more than it saves.
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.streaming.metricsEnabled", "false")
            # The native library of the default, Snappy, does not load where Debian's package musl is installed.
            .config("spark.sql.parquet.compression.codec", "zstd")
            .config("spark.sql.warehouse.dir", str(folder))
            .config("spark.local.dir", str(folder))
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    yield session
    for query in session.streams.active:
        query.stop()
    session.stop()


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Let PySpark's own warnings pass."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="pyspark")
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield
