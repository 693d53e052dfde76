"""Getting and building librdkafka: every way it can fail names its cure."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "librdkafka"))

import requirements
import vendor

import build

pytestmark = pytest.mark.unit


@pytest.fixture
def patches(tmp_path, monkeypatch):
    """A folder for the patches of the tree below, to which the real ones would not apply."""
    folder = tmp_path / "patches"
    folder.mkdir()
    monkeypatch.setattr(vendor, "PATCHES", folder)
    return folder


@pytest.fixture
def tree(tmp_path, patches):
    """A small tree that looks like librdkafka's."""
    root = tmp_path / "package" / "deps" / "librdkafka"
    (root / "src").mkdir(parents=True)
    (root / "src" / "rdkafka.h").write_text("#define RD_KAFKA_VERSION 0x020f01ff\n")
    (root / "configure").write_text("#!/bin/sh\n")
    return root


@pytest.fixture
def pin(tree):
    return vendor.Pin("2.15.1", "package", "1.0.0", "deps/librdkafka", "", vendor.tree_hash(tree))


def test_the_pin_is_complete():
    pin = vendor.Pin.load()
    assert re.fullmatch(r"\d+\.\d+\.\d+", pin.version)
    assert len(pin.tree_sha256) == len(pin.tarball_sha256) == 64


def test_the_hash_depends_on_names_and_contents_only(tree, tmp_path):
    before = vendor.tree_hash(tree)
    (tree / "configure").chmod(0o700)
    assert vendor.tree_hash(tree) == before
    (tree / "src" / "rdkafka.h").rename(tree / "src" / "other.h")
    assert vendor.tree_hash(tree) != before


def pack(tree, tarball):
    """Pack a tree as npm does."""
    with tarfile.open(tarball, "w:gz") as archive:
        archive.add(tree.parents[1], "package")
    return tarball


@pytest.mark.parametrize("packed", [False, True])
def test_sources_that_are_there_already_are_taken(tree, pin, tmp_path, monkeypatch, packed):
    source = pack(tree, tmp_path / "sources.tgz") if packed else tree
    monkeypatch.setenv(vendor.SOURCE_VARIABLE, str(source))
    out = tmp_path / "out"
    out.mkdir()
    target = vendor.unpack(pin, out)
    assert target == out / "src-2.15.1"
    assert (target / "src" / "rdkafka.h").is_file()
    monkeypatch.setenv(vendor.SOURCE_VARIABLE, "/nonexistent")
    assert vendor.unpack(pin, out) == target


def test_a_wrong_hash_stops_the_build(tree, pin, tmp_path, monkeypatch):
    monkeypatch.setenv(vendor.SOURCE_VARIABLE, str(tree))
    (tree / "configure").write_text("echo something else\n")
    with pytest.raises(vendor.VendorError, match=r"not what .*pin.json pins.*--update"):
        vendor.unpack(pin, tmp_path)
    assert not (tmp_path / "src-2.15.1").exists()


def test_sources_changed_by_hand_stop_the_build(tree, pin, tmp_path, monkeypatch):
    monkeypatch.setenv(vendor.SOURCE_VARIABLE, str(tree))
    target = vendor.unpack(pin, tmp_path)
    with (target / "src" / "rdkafka.h").open("a") as header:
        header.write("/* mine */\n")
    with pytest.raises(vendor.VendorError, match=r"src-2.15.1 was changed .* patch in librdkafka/patches"):
        vendor.unpack(pin, tmp_path)
    shutil.rmtree(target)
    assert "mine" not in (vendor.unpack(pin, tmp_path) / "src" / "rdkafka.h").read_text()


def test_another_pin_is_unpacked_anew(tree, pin, tmp_path, monkeypatch):
    monkeypatch.setenv(vendor.SOURCE_VARIABLE, str(tree))
    vendor.unpack(pin, tmp_path)
    (tree / "configure").write_text("#!/bin/bash\n")
    pin.tree_sha256 = vendor.tree_hash(tree)
    assert (vendor.unpack(pin, tmp_path) / "configure").read_text() == "#!/bin/bash\n"


def test_a_wrong_tarball_stops_the_build(tree, pin, tmp_path, monkeypatch):
    monkeypatch.delenv(vendor.SOURCE_VARIABLE, raising=False)
    monkeypatch.setattr(vendor, "npm_pack", lambda *_: pack(tree, tmp_path / "package.tgz"))
    pin.tarball_sha256 = "0" * 64
    with pytest.raises(vendor.VendorError, match=r"package 1.0.0 is not what .*pin.json pins"):
        vendor.unpack(pin, tmp_path)


def test_a_failing_npm_is_reported(tmp_path, monkeypatch):
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho 'no such package' >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(vendor.VendorError, match=r"no such package\. Check that npm reaches its registry"):
        vendor.npm_pack("package", "1.0.0", tmp_path)


def test_missing_npm_is_named_with_its_cure(pin, tmp_path, monkeypatch):
    monkeypatch.delenv(vendor.SOURCE_VARIABLE, raising=False)
    (tmp_path / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(vendor.VendorError, match=r"npm is needed.*apt-get install -y npm"):
        vendor.obtain(pin, tmp_path)


def test_a_missing_source_folder_is_named(pin, tmp_path, monkeypatch):
    monkeypatch.setenv(vendor.SOURCE_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(vendor.VendorError, match="nowhere"):
        vendor.obtain(pin, tmp_path)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv(vendor.SOURCE_VARIABLE, str(tmp_path / "empty"))
    with pytest.raises(vendor.VendorError, match="no librdkafka sources"):
        vendor.obtain(pin, tmp_path)


def test_unsafe_tarballs_are_refused(tmp_path):
    evil = tmp_path / "evil"
    evil.write_text("x")
    with tarfile.open(tmp_path / "evil.tgz", "w:gz") as archive:
        archive.add(evil, "../outside")
    with pytest.raises(vendor.VendorError, match="unsafe"):
        vendor.extract(tmp_path / "evil.tgz", tmp_path / "in")
    assert not (tmp_path / "outside").exists()


def test_patches_are_applied_in_order_and_a_bad_one_is_named(tree, patches):
    (patches / "0001-first.patch").write_text(
        "--- a/configure\n+++ b/configure\n@@ -1 +1 @@\n-#!/bin/sh\n+#!/bin/first\n"
    )
    (patches / "0002-second.patch").write_text(
        "--- a/configure\n+++ b/configure\n@@ -1 +1 @@\n-#!/bin/first\n+#!/bin/second\n"
    )
    assert vendor.apply_patches(tree) == ["0001-first.patch", "0002-second.patch"]
    assert (tree / "configure").read_text() == "#!/bin/second\n"
    for name in ("0001-first.patch", "0002-second.patch"):
        (patches / name).unlink()
    (patches / "0003-bad.patch").write_text(
        "--- a/configure\n+++ b/configure\n@@ -1 +1 @@\n-#!/bin/other\n+#!/bin/third\n"
    )
    with pytest.raises(vendor.VendorError, match="0003-bad.patch"):
        vendor.apply_patches(tree)


def test_update_writes_version_and_hashes(tree, tmp_path, monkeypatch):
    path = tmp_path / "pin.json"
    vendor.Pin("1.0.0", "package", "1.0.0", "deps/librdkafka", "", "").save(path)
    tarball = pack(tree, tmp_path / "package.tgz")
    monkeypatch.setenv(vendor.SOURCE_VARIABLE, str(tarball))
    pin = vendor.update("1.2.3", path)
    assert json.loads(path.read_text()) == {
        "version": "2.15.1",
        "npm_package": "package",
        "npm_version": "1.2.3",
        "folder": "deps/librdkafka",
        "tarball_sha256": vendor.file_hash(tarball),
        "tree_sha256": vendor.tree_hash(tree),
    }
    assert (vendor.unpack(pin, tmp_path) / "configure").is_file()


def test_update_refuses_a_tree_as_it_has_no_tarball_hash(tree, tmp_path, monkeypatch):
    path = tmp_path / "pin.json"
    vendor.Pin("1.0.0", "package", "1.0.0", "deps/librdkafka", "", "").save(path)
    before = path.read_text()
    monkeypatch.setenv(vendor.SOURCE_VARIABLE, str(tree))
    with pytest.raises(vendor.VendorError, match="needs the npm package's tarball"):
        vendor.update("1.2.3", path)
    assert path.read_text() == before


def only(*programs):
    """A search path with nothing but these programs."""
    return lambda name: name if name in programs else None


def test_missing_headers_are_named_with_the_command_that_installs_them():
    wanted = requirements.GROUPS["build"]
    with pytest.raises(build.BuildError, match=r"zstd.h \(zstd\), sasl/sasl.h \(Cyrus SASL\)\. Install with: "):
        requirements.check(wanted, lambda requirement: requirement.header not in ("zstd.h", "sasl/sasl.h"))
    lacking = [requirement for requirement in wanted if requirement.name in ("zstd", "curl")]
    command = requirements.install_command
    assert command(lacking, only("apt-get")) == "apt-get install -y libzstd-dev libcurl4-openssl-dev"
    assert command(lacking, only("dnf")) == "dnf install -y libzstd-devel libcurl-devel"
    assert command(lacking, only("apk")) == "apk add zstd-dev curl-dev"
    assert command(lacking, only("brew")) == "brew install zstd curl"
    assert "zstd, curl" in command(lacking, only())


def test_a_header_that_is_not_there_is_not_found():
    assert requirements.has_header("stdio.h")
    assert not requirements.has_header("no/such/header.h")


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(build.BuildError, match=r"cc \(C compiler\).* \(CC names no-such-compiler\)"):
        requirements.check(requirements.GROUPS["build"])


def test_what_cannot_be_installed_is_named(monkeypatch):
    monkeypatch.setattr(requirements, "is_there", lambda _: False)
    monkeypatch.setattr(requirements.missing, "__defaults__", (lambda _: False,))
    monkeypatch.setattr(requirements.check, "__defaults__", (lambda _: False,))
    monkeypatch.setattr(requirements.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(requirements.shutil, "which", only("apt-get"))
    monkeypatch.setattr(requirements.install_command, "__defaults__", (only("apt-get"),))
    with pytest.raises(build.BuildError, match=r"mvn \(Maven\).*apt-get install -y default-jdk-headless maven"):
        requirements.install(requirements.GROUPS["servers"])


def test_nothing_is_installed_when_nothing_is_missing(monkeypatch):
    monkeypatch.setattr(requirements.missing, "__defaults__", (lambda _: True,))
    monkeypatch.setattr(requirements.check, "__defaults__", (lambda _: True,))
    monkeypatch.setattr(requirements.subprocess, "run", lambda *_, **__: pytest.fail("ran a command"))
    requirements.install(requirements.GROUPS["servers"])


def test_a_missing_feature_is_named():
    build.check_features(build.FEATURES)
    with pytest.raises(build.BuildError, match="without oidc, zstd"):
        build.check_features(set(build.FEATURES) - {"zstd", "oidc"})


def test_a_failing_step_shows_the_end_of_its_log(tmp_path):
    with pytest.raises(build.BuildError, match=r"failed at: sh -c (?s:.*)\nwhy it failed\n\(whole log: .*log\)"):
        build.run(["sh", "-c", "echo why it failed; exit 3"], tmp_path, dict(os.environ), tmp_path / "log")


def test_the_cache_distinguishes_what_changes_the_library(monkeypatch):
    for name in ("CC", "CFLAGS", "CPPFLAGS"):
        monkeypatch.delenv(name, raising=False)
    pin = vendor.Pin.load()
    keys = {build.cache_key(pin, ""), build.cache_key(pin, "address")}
    monkeypatch.setenv("CFLAGS", "-march=native")
    keys.add(build.cache_key(pin, ""))
    pin.tree_sha256 = "0"
    keys.add(build.cache_key(pin, ""))
    assert len(keys) == 4


def test_assertions_are_never_compiled_out(monkeypatch):
    monkeypatch.setenv("CFLAGS", "-DNDEBUG -march=native -DNDEBUG=1")
    assert build.cflags("")[0] == "-march=native"
    assert not any("NDEBUG" in flag for flag in build.cflags(""))
    assert "-UNDEBUG" in (ROOT / "setup.py").read_text()


def test_every_licence_of_the_sources_is_listed():
    sources = vendor.HERE / f"src-{vendor.Pin.load().version}"
    if not sources.is_dir():
        pytest.skip("needs the unpacked sources of librdkafka: python librdkafka/vendor.py")
    listed = set(re.findall(r"\bLICENSE[.\w]*\b", (vendor.HERE / "LICENCES.md").read_text()))
    assert {path.name for path in sources.glob("LICENSE*")} <= listed


def test_the_sdist_has_all_that_building_needs(tmp_path):
    pytest.importorskip("setuptools", reason="needs setuptools to make an sdist")
    sources = vendor.HERE / f"src-{vendor.Pin.load().version}"
    if not sources.is_dir():
        pytest.skip("needs the unpacked sources of librdkafka: python librdkafka/vendor.py")
    command = [sys.executable, "setup.py", "-q", "egg_info", "-e", str(tmp_path), "sdist", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (tarball,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(tarball) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    core = ROOT / "src" / "cykafka" / "_rdkafka"
    needed = {path for ending in ("pyx", "pxd", "pxi", "h", "c", "pyi") for path in core.glob(f"*.{ending}")}
    needed |= {ROOT / "librdkafka" / name for name in ("build.py", "vendor.py", "requirements.py", "pin.json")}
    needed |= {ROOT / "librdkafka" / f"sasl_loader.{ending}" for ending in ("c", "h")}
    needed |= {ROOT / "yyjson" / name for name in ("vendor.py", "pin.json")}
    needed |= {path for path in sources.rglob("*") if path.is_file()}
    needed |= set((ROOT / "yyjson").glob("src-*/*"))
    needed = {path.relative_to(ROOT).as_posix() for path in needed if path.name != "core.c"}
    assert needed <= packed
    assert not {name for name in packed if name.endswith((".so", "/core.c", ".pyc"))}


def test_only_the_init_function_is_exported():
    from cykafka._rdkafka import core

    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("needs nm (binutils)")
    symbols = subprocess.run(
        [nm, "-D", "--defined-only", core.__file__], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1] for line in symbols.splitlines() if line.split()}
    assert {name for name in names if not name.startswith(("_init", "_fini", "__asan", "__odr"))} == {"PyInit_core"}
