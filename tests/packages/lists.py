"""lists.py INSTALLED - the lists in packaging/ against what cmake --install wrote below INSTALLED.

Every installed file belongs to exactly one Debian package, and every pattern finds a file. Control and changelog
can be read, versions are those of the header, and what the build needs is named. Prints what is wrong.
"""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "packaging" / "debian"
HEADER = (ROOT / "include" / "ringfence.h").read_text()
VERSION = re.search(r'define RF_VERSION "(.*)"', HEADER)[1]
wrong = []


def check(good, words):
    if not good:
        wrong.append(words)


def stanzas(text):
    """Paragraphs of a control file; a field goes on in lines that begin with a space."""
    found = []
    for paragraph in re.split(r"\n{2,}", text.strip()):
        fields = {}
        for line in paragraph.splitlines():
            if line[0] == " ":
                check(fields, f"debian/control: goes on before a field: {line}")
                fields[list(fields)[-1]] += "\n" + line
            else:
                name, colon, value = line.partition(":")
                check(colon and re.fullmatch(r"[A-Za-z-]+", name), f"debian/control: no field: {line}")
                check(name not in fields, f"debian/control: {name} twice")
                fields[name] = value.strip()
        found.append(fields)
    return found


def installed(root):
    """Files as Debian's build sees them: libraries below the name of the architecture, Python beside."""
    found = [str(p.relative_to(root)) for p in Path(root).rglob("*") if not p.is_dir() or p.is_symlink()]
    found = [re.sub(r"^usr/lib/(x86_64-linux-gnu/|aarch64-linux-gnu/)?(?=libringfence|pkgconfig)", "usr/lib/ARCH/", f)
             for f in found]
    python = "usr/lib/python3/dist-packages/ringfence"
    return found + [f"{python}/{p.name}" for p in (ROOT / "bindings/python/ringfence").glob("*.py")] + [
        f"{python}/py.typed", f"{python}-{VERSION}.dist-info/METADATA"]


def matches(name, pattern):
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, pattern + "/*")


def debian_lists(files, packages):
    owners = {name: [] for name in files}
    for package in packages:
        for line in (DEBIAN / f"{package}.install").read_text().splitlines():
            found = [name for name in files if matches(name, line.split()[0])]
            # * of a shell ends at a slash
            found = [n for n in found if n.count("/") == line.split()[0].count("/") or "*" not in line.split()[0]
                     or "dist-packages" in line]
            check(found, f"{package}.install: nothing is installed as {line}")
            for name in found:
                owners[name].append(package)
    for name, owner in owners.items():
        check(len(owner) == 1, f"{name}: in {' and '.join(owner) or 'no package'}")
    for listed in [*DEBIAN.glob("*.docs"), *DEBIAN.glob("*.examples")]:
        for pattern in listed.read_text().split():
            check(list(ROOT.glob(pattern)), f"{listed.name}: no such file: {pattern}")


def rpm_lists(files):
    spec = (ROOT / "packaging" / "ringfence.spec").read_text()
    check(f"\nVersion:        {VERSION}\n" in spec, f"ringfence.spec: not version {VERSION}")
    check(re.search(rf"^\* .* - {re.escape(VERSION)}-\d+$", spec, re.M), f"ringfence.spec: no change for {VERSION}")
    places = {"%{_bindir}": "usr/bin", "%{_unitdir}": "usr/lib/systemd/system", "%{_sysusersdir}": "usr/lib/sysusers.d",
              "%{_mandir}": "usr/share/man", "%{_datadir}": "usr/share", "%{_libdir}": "usr/lib/ARCH",
              "%{_includedir}": "usr/include", "%{python3_sitelib}": "usr/lib/python3/dist-packages",
              "%{version}": VERSION}
    patterns = []
    for section in re.findall(r"^%files.*?$(.*?)(?=^%files|^%changelog)", spec, re.M | re.S):
        for line in section.split("\n"):
            if line.startswith("%{"):
                for macro, place in places.items():
                    line = line.replace(macro, place)
                check("%{" not in line, f"ringfence.spec: macro of unknown meaning: {line}")
                patterns.append(line)
    for name in files:
        owners = [p for p in patterns if matches(name, p)]
        want = 0 if name.endswith(".a") else 1  # static libraries stay out
        if name.endswith("libringfence.so"):
            owners = [p for p in owners if p == name]
        check(len(owners) == want, f"ringfence.spec: {name}: in {owners or 'no package'}")
    for pattern in patterns:
        check(any(matches(name, pattern) for name in files), f"ringfence.spec: nothing is installed as {pattern}")
    return spec


def build_needs(control, spec):
    """The build group of the project's one list of packages."""
    listed = subprocess.run([ROOT / "tools/install-packages.sh", "--list", "build"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.split()
    named = [word.split()[0] for word in control["Build-Depends"].replace("\n", "").split(",")]
    for package in set(listed) - {"gcc", "libc6-dev"}:  # which Debian always has to build with
        check(package in named, f"debian/control: Build-Depends lacks {package}")
    cmake = (ROOT / "CMakeLists.txt").read_text()
    for modules in re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (.*)\)", cmake):
        for module in modules.split():
            check(f"pkgconfig({module})" in spec, f"ringfence.spec: BuildRequires lacks pkgconfig({module})")


def main():
    control = stanzas((DEBIAN / "control").read_text())
    packages = [fields["Package"] for fields in control[1:]]
    check(packages == ["ringfence", "libringfence0", "libringfence-dev", "python3-ringfence"], f"packages: {packages}")
    for fields in control[1:]:
        check({"Architecture", "Depends", "Description"} <= set(fields), f"{fields['Package']}: lacks a field")
    first = (DEBIAN / "changelog").read_text().splitlines()[0]
    check(re.match(rf"ringfence \({re.escape(VERSION)}-\d+\) \w+; urgency=", first), f"debian/changelog: {first}")
    symbols = (DEBIAN / "libringfence0.symbols").read_text()
    check(f' "^rf_[a-z0-9_]+@Base$" {VERSION}\n'.replace(' "', '"') in symbols, f"libringfence0.symbols: not {VERSION}")
    for name in ("pyproject.toml", "ringfence/_version.py"):
        check(f'"{VERSION}"' in (ROOT / "bindings/python" / name).read_text(), f"{name}: not {VERSION}")
    files = installed(sys.argv[1])
    check(len(files) > 40, f"{sys.argv[1]}: only {len(files)} files")
    debian_lists(files, packages)
    build_needs(control[0], rpm_lists(files))
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
