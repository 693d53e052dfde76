"""A wheel from beginning to end: made from the sdist, repaired, verified, and tried on another system."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "librdkafka"), str(ROOT / "wheels")]

import chroots
import interpreters

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.timeout(5400)]


def run(*command):
    """Run a command of the project and return what it printed; fail with its output."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel():
    """The path of a portable wheel for this Python, made anew."""
    if sys.platform != "linux":
        pytest.skip("portable wheels are made here on Linux only")
    lacking = [module for module in ("auditwheel", "elftools", "ziglang") if importlib.util.find_spec(module) is None]
    lacking += [program for program in ("cargo", "cmake", "perl") if shutil.which(program) is None]
    interpreter = interpreters.ask(Path(sys.executable))
    if interpreter is None:
        lacking.append("this Python's headers")
    if lacking:
        pytest.skip(f"making wheels needs {', '.join(lacking)} (make wheel installs them)")
    assert interpreter is not None
    printed = run("wheels/make.py", "--python", interpreter.tag)
    return printed.splitlines()[0].partition(":")[0]


def test_a_wheel_is_made_and_fit_to_be_published(wheel):
    assert run("wheels/verify.py", wheel).strip().endswith(": good")


def test_a_wheel_works_on_another_system(wheel):
    reason = chroots.cannot()
    if reason:
        pytest.skip(reason)
    printed = run("wheels/smoke.py", wheel)
    if "were not tried" in printed:
        pytest.skip(printed.strip())
    for done in ("embedded cluster: good", "TLS and SCRAM-SHA-512: good", "TLS by the system's certificates: good"):
        assert done in printed
    for refused in ("SSL_EXPIRED", "SSL_WRONG_HOST", "SSL_SELF_SIGNED", "an authority that is not trusted"):
        assert f"{refused}: refused: " in printed
