"""The wheel is what PEP 427 and 600 ask for, and it runs without this tree."""

import base64
import csv
import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bindings" / "python"))
import backend  # noqa: E402

INFO = "ringfence-0.1.0.dist-info"
# PEP 600: what a wheel may take from the system.
ALLOWED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1", "ld-linux-x86-64.so.2"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    place = tmp_path_factory.mktemp("wheel")
    return place / backend.portable_wheel(place, packed=False)


@pytest.fixture(scope="module")
def unpacked(wheel):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "site")
    return wheel.parent / "site"


def test_the_record_lists_every_file_with_its_hash(wheel):
    with zipfile.ZipFile(wheel) as archive:
        rows = list(csv.reader(archive.read(f"{INFO}/RECORD").decode().splitlines()))
        assert sorted(row[0] for row in rows) == sorted(archive.namelist())
        for name, digest, size in rows:
            if name != f"{INFO}/RECORD":
                data = archive.read(name)
                want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
                assert (digest, int(size)) == (f"sha256={want.decode()}", len(data))
        names = set(archive.namelist())
        assert {"ringfence/py.typed", "ringfence/libringfence.so.0", f"{INFO}/licenses/LICENSE"} <= names
        assert {p.name for p in (ROOT / "bindings/python/ringfence").glob("*.py")} <= {
            n[len("ringfence/"):] for n in names}
        described = archive.read(f"{INFO}/METADATA").decode()
        assert "\nName: ringfence\nVersion: 0.1.0\n" in described and "\n\n# ringfence" in described
        assert f"Tag: {wheel.stem.split('-', 2)[2]}\n" in archive.read(f"{INFO}/WHEEL").decode()


def test_it_needs_nothing_but_what_every_system_has(wheel, unpacked):
    libraries = [unpacked / "ringfence" / "libringfence.so.0", *(unpacked / "ringfence" / "_libs").iterdir()]
    ours = {path.name for path in libraries}
    newest = int(re.search(r"manylinux_2_(\d+)_", wheel.name)[1])
    for path in libraries:
        dynamic = subprocess.run(["readelf", "-dV", path], capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
        assert needed <= ours | ALLOWED, path
        assert re.search(r"SONAME.*\[(.*)\]", dynamic)[1] == path.name
        assert re.search(r"RUNPATH.*\[(.*)\]", dynamic)[1].startswith("$ORIGIN")
        assert max([0, *map(int, re.findall(r"GLIBC_2\.(\d+)", dynamic))]) <= newest
        files = set(re.findall(r"File: (\S+)", dynamic))
        assert files <= needed  # versions are asked of libraries that are needed
    for package in (unpacked / INFO / "licenses").iterdir():
        assert package.stat().st_size > 500


def test_it_runs_by_itself(unpacked, model, model_file):
    script = (
        "import sys, ringfence\n"
        "print(*ringfence.load(sys.argv[1]).predict(['where is my parcel', '9 8 7']))\n"
        "print(*{line.split()[-1] for line in open('/proc/self/maps') if '.so' in line})\n"
    )
    done = subprocess.run([sys.executable, "-S", "-c", script, model_file], env={"PYTHONPATH": str(unpacked)},
                          capture_output=True, text=True, check=True, cwd=unpacked)
    answers, loaded = done.stdout.splitlines()
    assert answers.split() == model.predict(["where is my parcel", "9 8 7"])
    for library in (unpacked / "ringfence").rglob("*.so*"):
        assert str(library) in loaded.split()


def test_the_source_distribution_has_what_it_compiles(tmp_path):
    name = backend.build_sdist(tmp_path)
    first = (tmp_path / name).read_bytes()
    with tarfile.open(tmp_path / name) as archive:
        archive.extractall(tmp_path)
        names = archive.getnames()
    assert all(n.startswith("ringfence-0.1.0/") for n in names)
    top = tmp_path / "ringfence-0.1.0"
    subprocess.run(["cmake", "-G", "Ninja", "-S", top / "native", "-B", tmp_path / "b", "-DRF_PROGRAM=OFF"],
                   check=True, stdout=subprocess.DEVNULL)
    compiled = (tmp_path / "b" / "compile_commands.json").read_text()
    sources = {str(p.relative_to(ROOT)) for p in (ROOT / "src").glob("*/*.c")}
    assert {f"src/{s}" for s in re.findall(r'"file": ".*?/native/src/(.*?)"', compiled)} == sources
    headers = {p.relative_to(ROOT) for p in [*(ROOT / "src").glob("*/*.h"), *(ROOT / "include").glob("*.h")]}
    assert all((top / "native" / h).is_file() for h in headers)
    backend.build_sdist(tmp_path)
    assert (tmp_path / name).read_bytes() == first


def test_a_wheel_for_this_machine(tmp_path):
    """What pip asks for."""
    name = backend.build_wheel(tmp_path)
    assert re.fullmatch(r"ringfence-0\.1\.0-py3-none-linux_\w+\.whl", name)
    with zipfile.ZipFile(tmp_path / name) as archive:
        library = archive.read("ringfence/libringfence.so.0")
        assert not any("_libs" in n for n in archive.namelist())
    assert library == (ROOT / "build" / "libringfence.so").read_bytes()
