"""Java servers for the tests, fetched once by Maven into a cache folder.

`python -m tests.support.jars` fetches Apache Kafka ahead of a test run and shows the progress.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from tests.support.errors import MissingToolError, ServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTALL_HINT = "install with: apt-get install openjdk-17-jdk-headless maven"
_OLDEST_JAVA = 17
_LOG_TAIL_LINES = 15


@dataclass(frozen=True)
class Artifact:
    """Maven coordinates of one library, without a repository.

    Attributes:
        group: Group id.
        name: Artifact id.
        version: Exact version.
        without: Transitive dependencies to leave out, as `group:name` (either may be `*`).
        classifier: Classifier, or an empty string.
    """

    group: str
    name: str
    version: str
    without: tuple[str, ...] = ()
    classifier: str = ""

    def xml(self) -> str:
        """The `dependency` element of a pom."""
        exclusions = "".join(
            f"<exclusion><groupId>{escape(group)}</groupId><artifactId>{escape(name)}</artifactId></exclusion>"
            for group, name in (entry.split(":") for entry in self.without)
        )
        return (
            f"<dependency><groupId>{escape(self.group)}</groupId><artifactId>{escape(self.name)}</artifactId>"
            f"<version>{escape(self.version)}</version>"
            + (f"<classifier>{escape(self.classifier)}</classifier>" if self.classifier else "")
            + f"<exclusions>{exclusions}</exclusions></dependency>"
        )


@dataclass(frozen=True)
class Bundle:
    """The jars of one server.

    Attributes:
        name: Name and version, used for the folder and in messages.
        artifacts: What to resolve, with every transitive run-time dependency.
    """

    name: str
    artifacts: tuple[Artifact, ...]

    def pom(self) -> str:
        """A pom with the artifacts and no repository: Maven's own settings decide where they come from."""
        dependencies = "".join(artifact.xml() for artifact in self.artifacts)
        return (
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>cykafka.tests</groupId><artifactId>server</artifactId><version>1</version>"
            f"<packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>"
        )


KAFKA_VERSION = "4.3.1"
KAFKA = Bundle(
    f"kafka-{KAFKA_VERSION}",
    (
        Artifact("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
        # The command-line tools pull all of Kafka Connect, which no test uses.
        Artifact("org.apache.kafka", "kafka-tools", KAFKA_VERSION, without=("org.apache.kafka:connect-runtime",)),
        Artifact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
        Artifact("org.apache.logging.log4j", "log4j-core", "2.25.4"),
    ),
)


def cache_folder() -> Path:
    """Where servers are kept: `CYKAFKA_SERVERS_DIR`, or `.servers` in the root of the repository."""
    chosen = os.environ.get("CYKAFKA_SERVERS_DIR")
    folder = Path(chosen).expanduser() if chosen else Path(__file__).resolve().parents[2] / ".servers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


@contextlib.contextmanager
def cache_lock() -> Iterator[None]:
    """Keep other processes from changing the cache folder; threads of one process are not kept apart."""
    with (cache_folder() / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def java() -> Path:
    """The Java launcher: that of `JAVA_HOME`, or the first on the search path.

    Raises:
        MissingToolError: There is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if found is None:
        raise MissingToolError(f"test servers need Java {_OLDEST_JAVA} or later; {_INSTALL_HINT}")
    return Path(found).resolve()


def fetch(bundle: Bundle) -> list[Path]:
    """Get the jars of a server, from the cache folder when they are there.

    Args:
        bundle: What to fetch.

    Returns:
        The jars, sorted, so that the class path is the same in every run.

    Raises:
        MissingToolError: Java or Maven is not installed.
        ServerError: Maven failed; the message has its last lines.
    """
    pom = bundle.pom()
    folder = cache_folder() / f"{bundle.name}-{hashlib.sha256(pom.encode()).hexdigest()[:8]}"
    if not folder.is_dir():
        _check_java_version()
        with cache_lock():
            if not folder.is_dir():
                _download(bundle.name, pom, folder)
    return sorted(folder.glob("*.jar"))


def _check_java_version() -> None:
    launcher = java()
    text = subprocess.run([launcher, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', text)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        said = text.splitlines()[0] if text else "nothing"
        found = f"but {launcher} -version says {said}"
        raise MissingToolError(f"test servers need Java {_OLDEST_JAVA} or later, {found}; {_INSTALL_HINT}")


def _download(name: str, pom: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingToolError(f"fetching test servers needs Maven; {_INSTALL_HINT}")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{name}.partial-") as partial:
        pom_file = Path(partial) / "pom.xml"
        pom_file.write_text(pom)
        jars = Path(partial) / "jars"
        command = [maven, "-B", "-f", str(pom_file), "dependency:copy-dependencies"]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
        _run_maven(name, command)
        jars.rename(folder)


def _run_maven(name: str, command: list[str]) -> None:
    output: list[str] = []
    files = 0
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if " Downloaded from " in line:
                files += 1
                _progress(f"fetching {name}: {files} files")
            elif " Downloading from " not in line:
                output.append(line.rstrip())
    if process.returncode != 0:
        errors = [line for line in output if line.startswith("[ERROR]")] or output
        raise ServerError("\n".join([f"Maven could not fetch {name}:", *errors[:_LOG_TAIL_LINES]]))
    _progress(f"fetched {name}", last=True)


def _progress(text: str, *, last: bool = False) -> None:
    if sys.stderr.isatty():
        print(f"\r{text}", end="\n" if last else "", file=sys.stderr, flush=True)
    elif last:
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        print(f"{len(fetch(KAFKA))} jars of {KAFKA.name} are in {cache_folder()}", file=sys.stderr)
    except ServerError as error:
        raise SystemExit(str(error)) from None
