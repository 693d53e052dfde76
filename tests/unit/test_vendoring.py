"""Getting and building librdkafka: every way it can fail names its cure."""

import json
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "librdkafka"))

import vendor

import build

pytestmark = pytest.mark.unit


@pytest.fixture
def tree(tmp_path):
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
    assert pin.version == "2.15.1"
    assert len(pin.tree_sha256) == len(pin.tarball_sha256) == 64


def test_the_hash_depends_on_names_and_contents_only(tree, tmp_path):
    before = vendor.tree_hash(tree)
    (tree / "configure").chmod(0o700)
    assert vendor.tree_hash(tree) == before
    (tree / "src" / "rdkafka.h").rename(tree / "src" / "other.h")
    assert vendor.tree_hash(tree) != before


@pytest.mark.parametrize("packed", [False, True])
def test_sources_that_are_there_already_are_taken(tree, pin, tmp_path, monkeypatch, packed):
    source = tree
    if packed:
        source = tmp_path / "sources.tgz"
        with tarfile.open(source, "w:gz") as archive:
            archive.add(tmp_path / "package", "package")
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


def test_missing_npm_is_named_with_its_cure(pin, tmp_path, monkeypatch):
    monkeypatch.delenv(vendor.SOURCE_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(vendor.VendorError, match=r"npm is needed.*apt-get install npm"):
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


def test_patches_are_applied_in_order_and_a_bad_one_is_named(tree, tmp_path):
    patches = tmp_path / "patches"
    patches.mkdir()
    (patches / "0001-first.patch").write_text(
        "--- a/configure\n+++ b/configure\n@@ -1 +1 @@\n-#!/bin/sh\n+#!/bin/first\n"
    )
    (patches / "0002-second.patch").write_text(
        "--- a/configure\n+++ b/configure\n@@ -1 +1 @@\n-#!/bin/first\n+#!/bin/second\n"
    )
    assert vendor.apply_patches(tree, patches) == ["0001-first.patch", "0002-second.patch"]
    assert (tree / "configure").read_text() == "#!/bin/second\n"
    for name in ("0001-first.patch", "0002-second.patch"):
        (patches / name).unlink()
    (patches / "0003-bad.patch").write_text(
        "--- a/configure\n+++ b/configure\n@@ -1 +1 @@\n-#!/bin/other\n+#!/bin/third\n"
    )
    with pytest.raises(vendor.VendorError, match="0003-bad.patch"):
        vendor.apply_patches(tree, patches)


def test_update_writes_version_and_hashes(tree, tmp_path, monkeypatch):
    path = tmp_path / "pin.json"
    vendor.Pin("1.0.0", "package", "1.0.0", "deps/librdkafka", "", "").save(path)
    monkeypatch.setenv(vendor.SOURCE_VARIABLE, str(tree))
    vendor.update("1.2.3", path)
    written = json.loads(path.read_text())
    assert (written["version"], written["npm_version"], written["tree_sha256"]) == (
        "2.15.1",
        "1.2.3",
        vendor.tree_hash(tree),
    )


def test_missing_headers_are_named_with_the_command_that_installs_them():
    with pytest.raises(build.BuildError, match=r"zstd.h \(zstd\), sasl/sasl.h"):
        build.check_requirements(lambda header: header not in ("zstd.h", "sasl/sasl.h"))
    missing = [r for r in build.REQUIREMENTS if r.name in ("zstd", "curl")]

    def only(program):
        return lambda name: program if name == program else None

    assert build.install_command(missing, only("apt-get")) == "apt-get install -y libzstd-dev libcurl4-openssl-dev"
    assert build.install_command(missing, only("dnf")) == "dnf install -y libzstd-devel libcurl-devel"
    assert build.install_command(missing, only("apk")) == "apk add zstd-dev curl-dev"
    assert build.install_command(missing, only("brew")) == "brew install zstd curl"
    assert "zstd, curl" in build.install_command(missing, lambda _: None)


def test_a_missing_feature_is_named():
    build.check_features(build.FEATURES)
    with pytest.raises(build.BuildError, match="without oidc, zstd"):
        build.check_features(set(build.FEATURES) - {"zstd", "oidc"})


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(build.BuildError, match="no C compiler"):
        build.has_header("zlib.h")


def test_assertions_are_never_compiled_out():
    assert not any("NDEBUG" in flag for flag in build.cflags(""))
    assert "-UNDEBUG" in (ROOT / "setup.py").read_text()


def test_only_the_init_function_is_exported():
    import shutil
    import subprocess

    from cykafka._rdkafka import core

    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("needs nm (binutils)")
    symbols = subprocess.run(
        [nm, "-D", "--defined-only", core.__file__], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1] for line in symbols.splitlines() if line.split()}
    assert {name for name in names if not name.startswith(("_init", "_fini", "__asan", "__odr"))} == {"PyInit_core"}
