"""Builds the wheel and the source distribution, with nothing but the standard library.

    pip install .                     any PEP 517 front end, without an index
    python3 backend.py DIRECTORY      a wheel for other machines, and the sdist

The first makes a wheel for this machine: the package and ``libringfence.so.0``, which uses
libraries of the system. The second also takes along what that library needs beyond the
C library, so that the wheel runs on any Linux with a C library at least as new; it needs
patchelf and binutils. The same sources give the same bytes.

In the source tree the library is that of ``build/``; an sdist contains its sources and
compiles them, for which it needs cmake, a C compiler and the headers listed in
docs/INSTALL.md.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = (HERE / "pyproject.toml").read_text()
NAME, VERSION = (re.search(rf'^{key} = "(.*)"', PROJECT, re.M)[1] for key in ("name", "version"))
IN_TREE = (HERE.parents[1] / "include" / "ringfence.h").is_file()
SOURCES = HERE.parents[1] if IN_TREE else HERE / "native"
NATIVE = ("CMakeLists.txt", "LICENSE", "include/*.h", "src/*/*.[ch]")
DATE = (1980, 1, 1, 0, 0, 0)

# What PEP 600 allows a wheel to expect of every system.
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|util|gcc_s|stdc\+\+|z)\.so\..*)$")


def run(*command: object) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


# ---- The library ---------------------------------------------------------------------


def library(scratch: Path) -> Path:
    """The compiled library."""
    built = SOURCES / "build" / "libringfence.so"
    if IN_TREE and built.is_file():
        return built
    run("cmake", "-S", SOURCES, "-B", scratch, "-DRF_PROGRAM=OFF", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", scratch, "--parallel", "--target", "ringfence_shared")
    return scratch / "libringfence.so"


def dependencies(binary: Path) -> dict[str, Path]:
    """Libraries that a binary needs, at any depth, and that not every system has."""
    found = re.findall(r"(\S+) => (/\S+) \(", run("ldd", binary))
    return {name: Path(path) for name, path in found if not SYSTEM.match(name)}


def own_name(name: str, path: Path) -> str:
    """libjansson.so.4 -> libjansson-0123abcd.so.4: another copy in the process is not ours."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    stem, dot, rest = name.partition(".so")
    return f"{stem}-{digest}{dot}{rest}"


def c_library(binaries: list[Path]) -> int:
    """The minor version of glibc 2 that all of them need."""
    versions = [re.findall(r"GLIBC_2\.(\d+)", run("objdump", "-T", b)) for b in binaries]
    return max(int(v) for found in versions for v in found)


def licences(libraries: list[Path]) -> dict[str, Path]:
    """What Debian says about the packages that the libraries are from."""
    found = {}
    for path in libraries:
        # By name: /lib is a link to /usr/lib, and packages name either.
        package = run("dpkg", "-S", f"*/{path.resolve().name}").split(":")[0]
        found[f"{package}.txt"] = Path("/usr/share/doc") / package / "copyright"
    return found


def graft(scratch: Path) -> tuple[dict[str, bytes], int]:
    """The library with what it needs: files of the package, and the glibc they want."""
    main = scratch / "libringfence.so.0"
    shutil.copy(library(scratch / "cmake"), main)
    run("strip", "--strip-debug", main)
    needed = dependencies(main)
    names = {name: own_name(name, path) for name, path in needed.items()}
    (scratch / "_libs").mkdir()
    for name, path in needed.items():
        shutil.copy(path, scratch / "_libs" / names[name])
    binaries = [main, *sorted((scratch / "_libs").iterdir())]
    for binary in binaries:
        binary.chmod(0o755)
        # One change per call: patchelf 0.14 mixes up the names if it makes several at once.
        if binary is not main:
            run("patchelf", "--set-soname", binary.name, binary)
        for old in run("patchelf", "--print-needed", binary).split():
            if old in names:
                run("patchelf", "--replace-needed", old, names[old], binary)
        run("patchelf", "--set-rpath", "$ORIGIN/_libs" if binary is main else "$ORIGIN", binary)
    files = {f"ringfence/{b.relative_to(scratch)}": b.read_bytes() for b in binaries}
    for name, path in sorted(licences(list(needed.values())).items()):
        files[f"{info()}/licenses/{name}"] = path.read_bytes()
    return files, c_library(binaries)


# ---- Metadata ------------------------------------------------------------------------


def info() -> str:
    return f"{NAME}-{VERSION}.dist-info"


def listed(key: str) -> list[str]:
    block = re.search(rf"^{key} = \[(.*?)\]", PROJECT, re.M | re.S)[1]
    return re.findall(r'"(.*?)"', block)


def field(key: str) -> str:
    return re.search(rf'^{key} = .*?"(.*)"', PROJECT, re.M)[1]


def metadata() -> str:
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {NAME}",
        f"Version: {VERSION}",
        f"Summary: {field('description')}",
        f"License: {field('license')}",
        f"Keywords: {','.join(listed('keywords'))}",
        f"Requires-Python: {field('requires-python')}",
        "Description-Content-Type: text/markdown",
        *(f"Classifier: {name}" for name in listed("classifiers")),
        "Provides-Extra: sklearn",
        *(f"Requires-Dist: {name} ; extra == 'sklearn'" for name in listed("sklearn")),
    ]
    return "\n".join(lines) + "\n\n" + (HERE / "README.md").read_text()


def package() -> dict[str, bytes]:
    """The files of the package that are in the tree."""
    found = [*HERE.glob("ringfence/*.py"), HERE / "ringfence" / "py.typed"]
    return {f"ringfence/{path.name}": path.read_bytes() for path in sorted(found)}


# ---- The wheel -----------------------------------------------------------------------


def write_wheel(directory: str, system: str, files: dict[str, bytes], packed: bool = True) -> str:
    tag = f"py3-none-{system}_{platform.machine()}"
    files = {**package(), **files}
    files[f"{info()}/licenses/LICENSE"] = (SOURCES / "LICENSE").read_bytes()
    files[f"{info()}/METADATA"] = metadata().encode()
    files[f"{info()}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: ringfence\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info()}/RECORD"] = f"{record}{info()}/RECORD,,\n".encode()
    name = f"{NAME}-{VERSION}-{tag}.whl"
    kind = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with zipfile.ZipFile(Path(directory) / name, "w", kind) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, DATE)
            entry.compress_type = kind
            entry.external_attr = (0o100755 if ".so" in path else 0o100644) << 16
            archive.writestr(entry, data)
    return name


def portable_wheel(directory: str, packed: bool = True) -> str:
    """A wheel for any Linux with a C library as new as the one that it was built with."""
    with tempfile.TemporaryDirectory() as scratch:
        files, glibc = graft(Path(scratch))
    return write_wheel(directory, f"manylinux_2_{glibc}", files, packed)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517: a wheel for this machine."""
    with tempfile.TemporaryDirectory() as scratch:
        data = library(Path(scratch)).read_bytes()
    return write_wheel(wheel_directory, "linux", {"ringfence/libringfence.so.0": data})


# ---- The source distribution ---------------------------------------------------------


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517: the package with the sources of the library."""
    top = f"{NAME}-{VERSION}"
    files = package()
    for name in ("pyproject.toml", "backend.py", "README.md"):
        files[name] = (HERE / name).read_bytes()
    files["PKG-INFO"] = metadata().encode()
    for pattern in NATIVE:
        for path in sorted(SOURCES.glob(pattern)):
            files[f"native/{path.relative_to(SOURCES)}"] = path.read_bytes()
    target = Path(sdist_directory) / f"{top}.tar.gz"
    with gzip.GzipFile(target, "w", mtime=0) as packed, tarfile.open(
        fileobj=packed, mode="w", format=tarfile.PAX_FORMAT
    ) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return target.name


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: backend.py DIRECTORY")
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    for made in (portable_wheel(sys.argv[1]), build_sdist(sys.argv[1])):
        size = (Path(sys.argv[1]) / made).stat().st_size
        print(f"{sys.argv[1]}/{made}: {size / 1e6:.1f} MB")
