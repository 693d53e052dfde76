"""The recipe of the wheels: its pins, its rules, and what is written down about it."""

import re
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "librdkafka"), str(ROOT / "wheels")]

import interpreters
import report
import sources
import targets

import build

pytestmark = pytest.mark.unit


def test_every_library_is_pinned_by_version_and_hashes():
    pinned = {source.name: source for source in sources.load()}
    assert set(pinned) == {"OpenSSL", "curl", "zstd", "zlib", "Cyrus SASL"}
    for source in pinned.values():
        assert re.fullmatch(r"\d+\.\d+(\.\d+)*", source.version)
        assert re.fullmatch(r"[0-9a-f]{64}", source.crate_sha256)
        assert re.fullmatch(r"[0-9a-f]{64}", source.tree_sha256)
    assert tuple(map(int, pinned["OpenSSL"].version.split("."))) >= (3, 5)


def test_sources_that_are_not_the_pinned_ones_are_refused(tmp_path, monkeypatch):
    (source, *_) = sources.load()
    crate = tmp_path / source.crate
    (crate / source.folder).mkdir(parents=True)
    (crate / source.folder / "file").write_text("something else")
    (crate / ".cargo-checksum.json").write_text(f'{{"package": "{source.crate_sha256}"}}')
    monkeypatch.setattr(sources, "HERE", tmp_path)
    monkeypatch.setattr(sources, "fetch", lambda *_: tmp_path)
    with pytest.raises(sources.BuildError, match=r"source tree of OpenSSL is not what wheels/pins\.json pins"):
        sources.unpack([source])
    (crate / ".cargo-checksum.json").write_text('{"package": "0"}')
    with pytest.raises(sources.BuildError, match=r"crate openssl-src .* is not what wheels/pins\.json pins"):
        sources.unpack([source])


def test_the_report_names_what_is_compiled_in():
    assert set(report.compiled()) <= set(report.REPORT.read_text().splitlines()), "run: python wheels/report.py"


def test_this_python_is_found():
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    found = interpreters.find()
    usable = interpreters.ask(Path(sys.executable))
    if usable is None:
        pytest.skip("needs this Python's headers")
    assert usable.tag.startswith(tag)
    assert usable.tag in found


def test_a_program_that_is_no_python_is_passed_over(tmp_path):
    program = tmp_path / "python3.13"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    assert interpreters.ask(program) is None


def test_each_target_compiles_for_its_own_system():
    for name, target in targets.TARGETS.items():
        libc = "musl" if name.startswith("musllinux") else "gnu.2.28"
        assert target.zig.startswith(target.machine)
        assert target.zig.endswith(libc)
        assert name.endswith(target.machine)
        assert target.triplet == f"{target.machine}-linux-{libc.partition('.')[0]}"


def test_a_module_that_needs_the_system_is_not_fit_to_be_published(tmp_path):
    pytest.importorskip("elftools", reason="needs pyelftools (dependency group wheel)")
    pytest.importorskip("auditwheel", reason="needs auditwheel (dependency group wheel)")
    import verify

    from cykafka._rdkafka import core

    module = Path(core.__file__)
    wheel = tmp_path / f"cykafka-0-{interpreters.ask(Path(sys.executable)).tag}-none-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(module, f"cykafka/_rdkafka/{module.name}")
        archive.writestr("cykafka/leftover.c", "")
    found = "; ".join(verify.problems(wheel, [str(ROOT / "src")]))
    assert "needs libssl.so" in found
    assert "lacks the licence OpenSSL.txt" in found
    assert "has cykafka/leftover.c" in found
    assert "exports" not in found


def test_static_libraries_are_linked_by_their_path(tmp_path, monkeypatch):
    """A wheel once took zlib from the system: Python's own options named a folder that had it, too."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libz.a").touch()
    monkeypatch.setenv(build.STATIC_VARIABLE, str(tmp_path))
    linked = build.link_libraries(tmp_path / "loader")
    assert str(tmp_path / "lib" / "libz.a") in linked
    assert "-lz" not in linked
    assert linked[0] == str(tmp_path / "loader" / "libsasl2.a")


@pytest.mark.parametrize("name", ["test", "wheels"])
def test_the_hosted_builds_run_what_is_there(name):
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake ([a-z-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for script in re.findall(r"(?:wheels|librdkafka|yyjson)/\w+\.py", text):
        assert (ROOT / script).is_file(), script
