"""Verifies wheels: policy, exported symbols, run paths, what is linked, size, licences, and no trace of the builder.

python wheels/verify.py dist/*.whl
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

#: What a module may need of the system: the C library, and nothing else.
SYSTEM_LIBRARIES = re.compile(
    r"lib(c|m|pthread|dl|rt)\.so(\.\d+)?|ld-linux[-\w]*\.so\.\d|libc\.musl-\w+\.so\.1|ld-musl-\w+\.so\.1"
)
#: Bytes; of the wheel and, unpacked, of the module in it.
WHEEL_LIMIT = 8_000_000
MODULE_LIMIT = 10_000_000
LICENCES = {"LICENSE", "LICENCES.md", "LICENSES.txt", "yyjson.txt", "OpenSSL.txt", "curl.txt", "zstd.txt", "zlib.txt"}


def module_problems(module: Path, traces: Iterable[str]) -> list[str]:
    """Return what is wrong with the compiled module."""
    found = []
    with module.open("rb") as file:
        elf = ELFFile(file)
        dynamic = next(section for section in elf.iter_sections() if isinstance(section, DynamicSection))
        for tag in dynamic.iter_tags():
            # pyelftools gives each kind of entry an attribute of its own.
            needed = getattr(tag, "needed", None)
            if needed and not SYSTEM_LIBRARIES.fullmatch(needed):
                found.append(f"needs {needed} of the system")
            if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                found.append("has a run path")
        symbols = elf.get_section_by_name(".dynsym")
        assert isinstance(symbols, SymbolTableSection)
        exported = sorted(s.name for s in symbols.iter_symbols() if s.name and s.entry.st_shndx != "SHN_UNDEF")
        if exported != ["PyInit_core"]:
            found.append(f"exports {', '.join(exported[:5])} ({len(exported)} in all) instead of only PyInit_core")
        if not any(segment.header.p_type == "PT_GNU_RELRO" for segment in elf.iter_segments()):
            found.append("has no read-only relocations")
    content = module.read_bytes()
    found += [
        f"names {trace}, a folder of the machine it was built on" for trace in traces if trace.encode() in content
    ]
    if len(content) > MODULE_LIMIT:
        found.append(f"module of {len(content) / 1e6:.1f} MB, more than {MODULE_LIMIT / 1e6:.0f}")
    return found


def policy_problems(wheel: Path) -> list[str]:
    """Return what auditwheel says against the platform tag of a wheel."""
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return [f"auditwheel cannot read it: {done.stderr.strip()}"]
    text = " ".join(done.stdout.split())
    granted = re.findall(r'consistent with the following platform tag: "(\w+)"', text)
    claimed = wheel.stem.split("-")[-1].split(".")
    return [] if granted and granted[0] in claimed else [f"claims {claimed}, auditwheel grants {granted or text}"]


def problems(wheel: Path, traces: Iterable[str] = ()) -> list[str]:
    """Return what is wrong with a wheel: nothing, if it may be published.

    Args:
        wheel: The wheel.
        traces: Folders of the building machine, which must not show in the module.
    """
    found = policy_problems(wheel)
    size = wheel.stat().st_size
    if size > WHEEL_LIMIT:
        found.append(f"{size / 1e6:.1f} MB, more than {WHEEL_LIMIT / 1e6:.0f}")
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        names = archive.namelist()
        found += [f"lacks the licence {name}" for name in sorted(LICENCES - {Path(name).name for name in names})]
        modules = [name for name in names if name.endswith(".so")]
        if len(modules) != 1:
            return [*found, f"has {len(modules)} compiled modules instead of one: {modules}"]
        found += [f"has {name}" for name in names if name.endswith((".c", ".pyx", ".a"))]
        found += module_problems(Path(archive.extract(modules[0], folder)), traces)
    return found


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Verify wheels.")
    parser.add_argument("wheels", nargs="+", type=Path)
    failed = False
    for wheel in parser.parse_args().wheels:
        found = problems(wheel)
        failed |= bool(found)
        print(f"{wheel.name}: {'; '.join(found) or 'good'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
