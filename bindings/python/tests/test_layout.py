"""The structs and functions that we declare are those of the headers."""

import ctypes
import re
import subprocess

from conftest import ROOT

from ringfence import __version__, _native, _structs

HEADERS = ["ringfence.h", "ringfence_improve.h", "ringfence_review.h", "ringfence_encoder.h"]


def structs():
    for name, kind in vars(_structs).items():
        if name.startswith("rf_"):
            yield name, kind


def ours():
    for name, kind in structs():
        yield f"{name} {ctypes.sizeof(kind)}"
        for field in kind._fields_:
            place = getattr(kind, field[0])
            yield f"{name}.{field[0]} {place.offset} {place.size}"


def test_structs_are_laid_out_as_the_compiler_does(tmp_path):
    lines = [f"#include <{header}>" for header in HEADERS]
    lines += ["#include <stdio.h>", "int main(void)", "{"]
    for name, kind in structs():
        lines.append(f'    printf("{name} %zu\\n", sizeof({name}));')
        for field in kind._fields_:
            f = field[0]
            lines.append(
                f'    printf("{name}.{f} %zu %zu\\n", offsetof({name}, {f}), '
                f"sizeof((({name} *)0)->{f}));"
            )
    (tmp_path / "layout.c").write_text("\n".join([*lines, "}", ""]))
    binary = tmp_path / "layout"
    subprocess.run(["cc", f"-I{ROOT}/include", tmp_path / "layout.c", "-o", binary], check=True)
    theirs = subprocess.run([binary], capture_output=True, text=True, check=True).stdout
    assert theirs.splitlines() == list(ours())


def test_no_field_is_left_out():
    text = "".join((ROOT / "include" / header).read_text() for header in HEADERS)
    for name, kind in structs():
        body = re.search(r"typedef struct %s \{(.*?)\n\} %s;" % (name, name), text, re.S)
        code = re.sub(r"/\*.*?\*/", "", body[1], flags=re.S)
        found = [re.sub(r"\[.*?\]", "", part).split()[-1].lstrip("*")
                 for line in code.split(";") if line.strip() for part in line.split(",")]
        assert found == [field[0] for field in kind._fields_], name


def declared():
    """Name: (result, arguments) of every function in the headers, as plain words."""
    text = "".join((ROOT / "include" / header).read_text() for header in HEADERS)
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for found in re.finditer(r"RF_API\s+([^;(]*?)(rf_\w+)\(([^;]*)\);", code):
        arguments = [a.strip() for a in found[3].replace("\n", " ").split(",")]
        yield found[2], found[1].strip(), [] if arguments == ["void"] else arguments


def word(c_type):
    """The kind of a value, as the machine passes it."""
    if "*" in c_type or re.search(r"rf_\w*progress\b|\[\d\]$", c_type):
        return "pointer"
    for known in ("size_t", "int32_t", "float", "double", "bool", "uint64_t", "void"):
        if re.search(rf"\b{known}\b", c_type):
            return known
    named = re.search(r"\brf_\w+", c_type)
    if named and hasattr(_structs, named[0]):
        return named[0]
    return "int"  # and enums


def our_word(kind):
    if kind is None:
        return "void"
    if kind in (ctypes.c_char_p, ctypes.c_void_p) or hasattr(kind, "contents") or issubclass(
        kind, ctypes._CFuncPtr
    ):
        return "pointer"
    if issubclass(kind, ctypes.Structure):
        return kind.__name__
    return {ctypes.c_size_t: "size_t", ctypes.c_int: "int", ctypes.c_float: "float"}.get(kind)


def test_functions_take_and_return_what_the_headers_say():
    known = {name: (result, arguments) for name, result, arguments in declared()}
    assert len(known) > 100
    for name, result, arguments in _native._FUNCTIONS:
        theirs = known[name]
        assert our_word(result) == word(theirs[0]), name
        got = [our_word(a) for a in arguments]
        want = [{"int32_t": "int"}.get(w, w) for w in map(word, theirs[1])]
        assert got == want, name


def test_one_version():
    header = (ROOT / "include" / "ringfence.h").read_text()
    assert f'#define RF_VERSION "{__version__}"' in header
