"""The source distribution: installing it needs a compiler and the libraries' headers, but no network and no npm."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.unit, pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from cykafka import Producer, Consumer
from cykafka.testing import MockCluster
with MockCluster() as cluster:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce("t", b"value")
    assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    message = consumer.poll(60)
    consumer.close()
    print(message.value().decode())
"""


def run(command, **options):
    """Run a command and return what it printed; fail with its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def offline():
    """The start of a command that runs without a network, empty where namespaces are not to be had."""
    unshare = shutil.which("unshare")
    if unshare and subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode == 0:
        # The loopback interface of a new namespace is down: the mock cluster needs it.
        up = "import socket, fcntl, struct; s = socket.socket(); fcntl.ioctl(s, 0x8914, struct.pack('16sh', b'lo', 0x41))"
        return [unshare, "-rn", "sh", "-c", f'{sys.executable} -c "{up}" && exec "$@"', "sh"]
    return []


@pytest.fixture
def search_path(tmp_path):
    """A PATH with every program that this one has but npm, pip and cargo."""
    folder = tmp_path / "bin"
    folder.mkdir()
    refused = ("npm", "npx", "pip", "cargo", "python")
    for place in os.get_exec_path():
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / program.name
            if not program.name.startswith(refused) and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def test_the_sdist_installs_into_an_empty_environment_without_network_and_npm(tmp_path, offline, search_path):
    wanted = tmp_path / "wheels"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--dest",
        str(wanted),
        "setuptools>=77",
        "Cython>=3.1,<4",
    ]
    fetched = subprocess.run(command, capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"needs a package index for setuptools and Cython: {fetched.stderr.strip()[-200:]}")
    run([sys.executable, "setup.py", "-q", "egg_info", "-e", str(tmp_path), "sdist", "-d", str(tmp_path)], cwd=ROOT)
    (sdist,) = tmp_path.glob("*.tar.gz")
    run([sys.executable, "-m", "venv", str(tmp_path / "env")])
    python = tmp_path / "env" / "bin" / "python"
    environment = {
        "PATH": search_path,
        "HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wanted),
        "CYKAFKA_DEV": "1",
    }
    run([*offline, str(python), "-m", "pip", "install", "--quiet", str(sdist)], env=environment, cwd=tmp_path)
    assert run([*offline, str(python), "-c", PROGRAM], env=environment, cwd=tmp_path).strip() == "value"
    licences = {
        path.name for path in (tmp_path / "env").glob("lib/python*/site-packages/cykafka-*.dist-info/licenses/**/*")
    }
    assert {"LICENSE", "LICENCES.md", "LICENSES.txt", "yyjson.txt"} <= licences
