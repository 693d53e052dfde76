"""The command line, run as people run it: processes, pipes, signals, exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cykafka import Consumer, Producer, TopicPartition

pytest.importorskip("click", reason="needs click: pip install cykafka[cli]")
pytest.importorskip("rich", reason="needs rich: pip install cykafka[cli]")

SOURCES = Path(__file__).resolve().parents[2] / "src"


def environment(**more):
    paths = [str(SOURCES), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {name: value for name, value in os.environ.items() if name != "CYKAFKA_BOOTSTRAP_SERVERS"}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDEVMODE": "", **more}


def command(*arguments):
    return [sys.executable, "-m", "cykafka.cli", *map(str, arguments)]


def run(*arguments, data=b"", **more):
    return subprocess.run(
        command(*arguments), input=data, capture_output=True, timeout=120, env=environment(**more), check=False
    )


@pytest.fixture
def servers(mock_cluster):
    mock_cluster.create_topic("cli", 2, 1)
    return mock_cluster.bootstrap_servers


def ok(result):
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


def test_lines_go_in_and_come_out(servers):
    result = run("produce", "-b", servers, "cli", "-p", 0, "-k", "key", data=b"one\ntwo\n\nlast without end")
    assert ok(result) == b""
    assert result.stderr == b"4 delivered\n"
    assert ok(run("consume", "-b", servers, "cli", "-e")) == b"one\ntwo\n\nlast without end\n"
    assert ok(run("consume", "cli", "-c", 2, "-K", ":", CYKAFKA_BOOTSTRAP_SERVERS=servers)) == b"key:one\nkey:two\n"


def test_keys_headers_delimiters_and_nulls(servers):
    options = ("-K", "=", "-D", ";", "-H", "a=1", "-H", "b", "-Z", "-p", 1, "-T", 1234)
    ok(run("produce", "-b", servers, "cli", *options, data=b"k1=v1;k2=;v3"))
    form = r"%t/%p/%o %k %s %S %K %h %T 100%%\n"
    assert ok(run("consume", "-b", servers, "cli", "-e", "-f", form)).splitlines() == [
        b"cli/1/0 k1 v1 2 2 a=1,b= 1234 100%",
        b"cli/1/1 k2  -1 2 a=1,b= 1234 100%",
        b"cli/1/2  v3 2 -1 a=1,b= 1234 100%",
    ]


def test_files_are_messages(servers, tmp_path):
    path = tmp_path / "message"
    path.write_bytes(bytes(range(256)))
    ok(run("produce", "-b", servers, "cli", path, "-p", 0))
    with Consumer({"bootstrap.servers": servers, "group.id": "g"}) as consumer:
        consumer.assign([TopicPartition("cli", 0, 0)])
        assert consumer.poll(30).value() == bytes(range(256))


def test_json_lines_survive_the_way_back(servers, mock_cluster):
    mock_cluster.create_topic("copy", 2, 1)
    with Producer({"bootstrap.servers": servers}) as producer:
        producer.produce("cli", "ä", "k", 1, timestamp=5, headers=[("h", b"\xff"), ("n", None)])
        producer.produce("cli", b"\xff\x00", None, 1, timestamp=6)
        producer.produce("cli", None, "tombstone", 1, timestamp=7)
    lines = ok(run("consume", "-b", servers, "cli", "-e", "--json"))
    messages = [json.loads(line) for line in lines.splitlines()]
    assert messages[0] == {
        "topic": "cli",
        "partition": 1,
        "offset": 0,
        "timestamp": 5,
        "key": "k",
        "value": "ä",
        "headers": [{"name": "h", "value_base64": "/w=="}, {"name": "n", "value": None}],
    }
    assert (messages[1]["value_base64"], messages[1]["key"]) == ("/wA=", None)
    assert messages[2]["value"] is None
    result = run("produce", "-b", servers, "copy", "-f", "json", "--json", data=lines)
    assert json.loads(ok(result)) == {"delivered": 3}
    copied = [json.loads(line) for line in ok(run("consume", "-b", servers, "copy", "-e", "--json")).splitlines()]
    assert [{**each, "topic": "cli"} for each in copied] == messages


@pytest.mark.parametrize(
    ("offset", "expected"),
    [("beginning", "0123456789"), ("3", "3456789"), ("-2", "89"), ("-100", "0123456789")],
)
def test_offsets_to_begin_at(servers, offset, expected):
    with Producer({"bootstrap.servers": servers}) as producer:
        for number in range(10):
            producer.produce("cli", str(number), partition=0, timestamp=1000 + number)
            producer.flush()
    got = ok(run("consume", "-b", servers, "cli", "-p", 0, "-o", offset, "-e", "-f", "%s"))
    assert got.decode() == expected


def test_a_group_goes_on_where_it_was(servers):
    ok(run("produce", "-b", servers, "cli", "-p", 0, data=b"a\nb\nc\n"))
    assert ok(run("consume", "-b", servers, "-G", "group", "-c", 2, "cli")) == b"a\nb\n"
    assert ok(run("consume", "-b", servers, "-G", "group", "-c", 1, "cli")) == b"c\n"


def test_ctrl_c_ends_with_130_after_what_was_printed_is_out(servers):
    ok(run("produce", "-b", servers, "cli", "-p", 0, data=b"a\n"))
    child = subprocess.Popen(
        command("consume", "-b", servers, "cli", "-u"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    with child:
        assert child.stdout.readline() == b"a\n"
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors.strip()) == (130, b"")


def test_a_reader_that_goes_away_is_no_error(servers):
    ok(run("produce", "-b", servers, "cli", "-p", 0, data=b"x" * 1000 + b"\n" + b"y\n" * 50_000))
    child = subprocess.Popen(
        command("consume", "-b", servers, "cli", "-e"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    with child:
        child.stdout.readline()
        child.stdout.close()
        errors = child.stderr.read()
        child.wait(60)
    assert (child.returncode, errors) == (141, b"")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("consume", "cli"), 2, "no servers: give -b HOST:PORT"),
        (("consume", "-b", "SERVERS", "absent"), 1, "Unknown topic or partition"),
        (("consume", "-b", "SERVERS", "cli", "-p", "9"), 1, "cli has no partition 9: it has 2"),
        (("consume", "-b", "SERVERS", "cli", "-o", "soon"), 2, "'soon' is not beginning, end, stored, a number"),
        (("consume", "-b", "SERVERS", "cli", "-f", "%q"), 2, "%q is unknown; there are %t topic"),
        (("consume", "-b", "SERVERS", "cli", "-G", "g", "-p", "0"), 2, "-p and -G do not go together"),
        (("consume", "-b", "SERVERS", "cli", "-X", "nonsense=1"), 1, 'No such configuration property: "nonsense"'),
        (("consume", "-b", "SERVERS", "cli", "-X", "nonsense"), 2, "'nonsense' is not NAME=VALUE"),
        (("consume", "-b", "SERVERS", "cli", "--nonsense"), 2, "No such option"),
        (("produce", "-b", "127.0.0.1:1", "--timeout", "0.5", "cli"), 1, "error: "),
        (("produce", "-b", "SERVERS", "cli", "-f", "json"), 1, "line 1 is not a message"),
        (("produce", "-b", "SERVERS", "cli", "-p", "9"), 1, "partition"),
        (("consume", "-b", "SERVERS", "cli", "-X", "sasl.password=env:NO_SUCH"), 2, "no environment variable NO_SUCH"),
    ],
)
def test_mistakes_are_named(servers, arguments, code, text):
    result = run(*(servers if each == "SERVERS" else each for each in arguments), data=b"[}\n")
    assert text in result.stderr.decode()
    assert "Traceback" not in result.stderr.decode()
    assert result.returncode == code
    assert result.stdout == b""


def test_a_password_on_the_command_line_is_refused_and_not_shown(servers, tmp_path):
    result = run("topics", "list", "-b", servers, "-X", "sasl.password=Geheim123")
    assert result.returncode == 2
    assert b"every user of this machine" in result.stderr
    assert b"Geheim123" not in result.stdout + result.stderr
    file = tmp_path / "client.properties"
    file.write_text(f"# mine\nbootstrap.servers = {servers}\nsasl.password=Geheim123\n")
    assert b"cli" in ok(run("topics", "list", "-F", file))
    assert b"cli" in ok(run("topics", "list", "-b", servers, "-X", "sasl.password=env:SECRET", SECRET="Geheim123"))


def test_topics_in_a_pipe_and_as_json(servers):
    assert ok(run("topics", "list", "-b", servers)) == b"cli\t2\t1\n"
    rows = [json.loads(line) for line in ok(run("topics", "list", "-b", servers, "--json")).splitlines()]
    assert rows == [{"topic": "cli", "partitions": 2, "replicas": 1}]


def test_perf_measures_and_draws(servers, tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install cykafka[plot]")
    picture = tmp_path / "latency.png"
    facts = json.loads(ok(run("perf", "produce", "-b", servers, "cli", "-c", 500, "--json", "--plot", picture)))
    assert facts["messages"] == 500
    assert 0 < facts["p50_us"] <= facts["p99_us"] <= facts["max_us"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    facts = json.loads(ok(run("perf", "consume", "-b", servers, "cli", "--json")))
    assert facts["messages"] == 500
    facts = json.loads(ok(run("perf", "latency", "-b", servers, "cli", "-c", 20, "--json")))
    assert 0 < facts["p50_us"] <= facts["max_us"]
    assert b"messages per second" in ok(run("perf", "produce", "-b", servers, "cli", "-c", 100, "-r", 5000))


def test_the_cluster_to_play_with(tmp_path):
    child = subprocess.Popen(
        command("mock", "--json", "-t", "ticks:3"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    with child:
        told = json.loads(child.stdout.readline())
        assert told["topics"] == {"ticks": 3}
        assert ok(run("topics", "list", "-b", told["bootstrap_servers"])) == b"ticks\t3\t1\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 0
        child.communicate()
    assert run("mock", "-t", "ticks:none").returncode == 2


def test_info_and_completion():
    told = json.loads(ok(run("info", "--json")))
    assert told["librdkafka"] == "2.15.1"
    assert {"OpenSSL", "zstd"} <= {library["name"] for library in told["libraries"]}
    assert b"librdkafka" in ok(run("info"))
    for shell in ("bash", "zsh", "fish"):
        assert b"_CYKAFKA_COMPLETE" in ok(run("completion", shell))
    assert ok(run("--version")).startswith(b"cykafka, version ")


def test_people_see_tables(servers):
    pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")
    main, child = pty.openpty()
    result = subprocess.Popen(command("topics", "list", "-b", servers), stdout=child, env=environment(TERM="xterm"))
    os.close(child)
    shown = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            chunk = os.read(main, 4096)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    os.close(main)
    assert result.wait(60) == 0
    assert b"partitions" in shown
    assert "│".encode() in shown or b"|" in shown
