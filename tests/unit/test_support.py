"""The test support where it needs no server: fetching jars, missing tools, a cluster from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from tests.support import jars
from tests.support.errors import MissingToolError, ServerError
from tests.support.fixtures import ExternalKafka, running
from tests.support.kafka import KafkaServer
from tests.support.process import ServerProcess

pytestmark = pytest.mark.unit

BUNDLE = jars.Bundle("some-server-1", (jars.Artifact("a.group", "name", "1.0", without=("b.group:*",)),))
JAVA = """
    #!/bin/sh
    echo 'openjdk version "21.0.1" 2023-10-17' >&2
"""
MAVEN = """
    #!/bin/sh
    echo run >> "$MAVEN_RUNS"
    for argument; do
        case $argument in -DoutputDirectory=*) folder=${argument#*=};; esac
    done
    sleep 0.3
    mkdir -p "$folder"
    touch "$folder/b.jar" "$folder/a.jar"
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder that takes the place of the search path, besides the system's own commands."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for command in ("sh", "sleep", "mkdir", "touch"):
        (folder / command).symlink_to(f"/bin/{command}")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("CYKAFKA_SERVERS_DIR", str(tmp_path / "servers"))
    monkeypatch.setenv("MAVEN_RUNS", str(tmp_path / "runs"))
    return folder


def put(tools: Path, name: str, script: str) -> None:
    path = tools / name
    path.write_text(textwrap.dedent(script).lstrip())
    path.chmod(0o755)


def test_pom_names_artifacts_and_no_repository() -> None:
    pom = BUNDLE.pom()
    assert "<artifactId>name</artifactId><version>1.0</version>" in pom
    assert "<exclusion><groupId>b.group</groupId><artifactId>*</artifactId></exclusion>" in pom
    assert "repositor" not in pom


def test_missing_java_is_named_with_the_cure(tools: Path) -> None:
    assert tools.is_dir()
    with pytest.raises(MissingToolError, match=r"Java 17 or later; install with: apt-get install openjdk-17"):
        jars.fetch(BUNDLE)


def test_old_java_is_named_with_its_version(tools: Path) -> None:
    put(tools, "java", JAVA.replace("21.0.1", "11.0.2"))
    with pytest.raises(MissingToolError, match=r'17 or later, but .*java -version says openjdk version "11\.0\.2"'):
        jars.fetch(BUNDLE)


def test_missing_maven_is_named_with_the_cure(tools: Path) -> None:
    put(tools, "java", JAVA)
    with pytest.raises(MissingToolError, match=r"needs Maven; install with: apt-get install .*maven"):
        jars.fetch(BUNDLE)


def test_test_is_skipped_when_java_is_missing(tools: Path) -> None:
    assert tools.is_dir()
    with pytest.raises(pytest.skip.Exception, match="need Java"), running(KafkaServer()):
        pass


def test_failed_fetch_says_why_and_leaves_nothing(tools: Path) -> None:
    put(tools, "java", JAVA)
    put(tools, "mvn", "#!/bin/sh\necho '[INFO] noise'\necho '[ERROR] no such artifact'\nexit 1\n")
    with pytest.raises(ServerError, match=r"could not fetch some-server-1:\n\[ERROR\] no such artifact$"):
        jars.fetch(BUNDLE)
    assert [path.name for path in jars.cache_folder().iterdir()] == ["lock"]


def test_two_processes_fetch_once(tools: Path) -> None:
    put(tools, "java", JAVA)
    put(tools, "mvn", MAVEN)
    script = f"from tests.support.jars import *; print([path.name for path in fetch({BUNDLE!r})])"
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", script]
    both = [
        subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(2)
    ]
    assert [process.communicate(timeout=60)[0].strip() for process in both] == ["['a.jar', 'b.jar']"] * 2
    assert Path(os.environ["MAVEN_RUNS"]).read_text() == "run\n"


def test_faults_on_a_cluster_from_outside_skip_the_test() -> None:
    kafka = ExternalKafka("broker.example:9092")
    assert kafka.bootstrap_servers == "broker.example:9092"
    with pytest.raises(pytest.skip.Exception, match="kill needs a Kafka server that the tests start"):
        kafka.kill()


def test_cluster_id_never_starts_with_a_dash() -> None:
    ids = [KafkaServer().cluster_id for _ in range(300)]
    assert {len(each) for each in ids} == {22}
    assert not [each for each in ids if each.startswith("-")]


def test_server_that_ends_early_is_reported_with_its_output(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no port'); raise SystemExit(3)"]
    server = ServerProcess("A server", command, log=tmp_path / "log", ready="ready", folder=tmp_path)
    server.start()
    with pytest.raises(ServerError, match=r"A server ended with code 3 before it was ready; log: .*log; .*\nno port"):
        server.wait_ready()
    assert not server.is_running


def test_server_that_is_never_ready_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    server = ServerProcess("A server", command, log=tmp_path / "log", ready="ready", folder=tmp_path)
    server.start()
    with pytest.raises(ServerError, match=r"was not ready after 0\.1 s"):
        server.wait_ready(0.1)
    assert not server.is_running


def test_server_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(60)"]
    server = ServerProcess("A server", command, log=tmp_path / "log", ready="ready", folder=tmp_path)
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join()
    server.wait_ready()
    assert server.is_running
    server.kill()


def test_server_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    command = [sys.executable, "-c", f"{ignore}; print('ready', flush=True); time.sleep(60)"]
    server = ServerProcess("A server", command, log=tmp_path / "log", ready="ready", folder=tmp_path)
    server.start()
    server.wait_ready()
    server.stop(0.1)
    assert not server.is_running
    with pytest.raises(ServerError, match="does not run"):
        server.pause()
