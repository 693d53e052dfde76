"""The samples of the README and the guides run, on a mock cluster; those of security and Spark have tests of their own."""

import ast
import re
import subprocess
import sys

import pytest

from cykafka import Producer
from tests.mock.test_cli import SOURCES, environment

ROOT = SOURCES.parent
ELSEWHERE = {"security.md": "tests/broker/test_security_guide.py", "spark.md": "tests/spark/test_guide.py"}
#: Pages whose samples are fragments of the reader's program: only that they are Python is looked at.
FRAGMENTS = {
    "exactly-once.md": "its transactions and tables are the reader's",
    "interceptors.md": "what it books is the reader's",
    "low-latency.md": "they go on from one another",
    "market.md": "needs Spark; tests/spark/test_market*.py run the pipeline",
    "retries.md": "makes topics by admin requests that mock brokers do not know",
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
SAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
#: What a test cannot wait for: loops without an end have one here.
ENDLESS = (
    (re.compile(r"\bwhile True:"), "for _ in range(3):"),
    (re.compile(r"\basync for message in consumer:"), "async for message in three(consumer):"),
    (re.compile(r"(?<!async )\bfor message in consumer:"), "for message in itertools.islice(consumer, 3):"),
)
HEAD = """
import itertools

async def three(consumer):
    count = 0
    async for message in consumer:
        yield message
        count += 1
        if count == 3:
            return

"""


def samples(page):
    """Return the samples of a page with the servers of a test."""
    found = [code for code in SAMPLE.findall(page.read_text()) if "def test_" not in code and "spark." not in code]
    # Fragments of a coroutine cannot stand alone; that they are Python at least is looked at.
    for code in found:
        compile(code, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return [code for code in found if "await " not in code or "asyncio.run(" in code]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ELSEWHERE], ids=lambda page: page.stem)
def test_samples_run(page, mock_cluster, tmp_path):
    codes = samples(page)
    if page.name in FRAGMENTS:
        return
    for topic in ("topic", "ticks", "orders"):
        mock_cluster.create_topic(topic, 4, 1)
        with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers}) as producer:
            for number in range(40):
                producer.produce(topic, str(number), str(number), number % 4)
    code = "\n".join(codes).replace("localhost:9092", mock_cluster.bootstrap_servers)
    for pattern, replacement in ENDLESS:
        code = pattern.sub(replacement, code)
    file = tmp_path / "sample.py"
    file.write_text(HEAD + code)
    result = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=100, env=environment(), cwd=tmp_path
    )
    assert result.returncode == 0, f"{result.stderr}\n{code}"


def test_the_sample_of_a_test_passes(tmp_path):
    page = (ROOT / "docs" / "guides" / "testing.md").read_text()
    (sample,) = [code for code in SAMPLE.findall(page) if "def test_" in code]
    (tmp_path / "test_sample.py").write_text(sample)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "cykafka.testing.fixtures", "-p", "no:cacheprovider", "."]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment(), cwd=tmp_path)
    assert "1 passed" in result.stdout, result.stdout + result.stderr


def test_pages_with_tests_of_their_own_have_them():
    for page, test in ELSEWHERE.items():
        assert (ROOT / "docs" / "guides" / page).is_file()
        assert (ROOT / test).is_file()
    assert set(FRAGMENTS) <= {page.name for page in PAGES}
