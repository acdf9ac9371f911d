#!/usr/bin/env python3
"""Reference BERT WordPiece tokenizer; writes the golden files of the tokenizer tests.

    python3 tools/make_token_golden.py VOCAB
    python3 tools/make_token_golden.py VOCAB --check STRINGS IDS [--cased]
        [--strip-accents true|false]

VOCAB is a vocab.txt, a tokenizer.json or a directory that contains one of them.
The golden files need the 30522 entries of bert-base-uncased.

The first form reads, in tests/golden/tokens:
    hard.jsonl        one JSON string per line
    malformed.tsv     first column: a byte string in hexadecimal
    small_vocab.txt   a small vocabulary, so that tests can run without a download
and writes there:
    hard.ids          ids of hard.jsonl: VOCAB, lower-cased, accents stripped
    hard_cased.ids    the same with VOCAB, case and accents kept
    hard_small.ids    the same with small_vocab.txt, lower-cased, accents stripped
    malformed.tsv     second and third column: lower-cased ids by VOCAB and by small_vocab.txt

The second form writes nothing. It compares the ids of STRINGS with the file IDS and exits with
status 1 at any difference. A STRINGS named *.tsv has text TAB label rows below a header (no
quoting; rows with a different number of fields are dropped), and its IDS has label TAB ids.

It is independent of the C tokenizer, written from the published rules of BERT, and takes all character
properties from Python's unicodedata. The golden strings use only code points whose properties
are the same in Unicode 14 and 15 (Python 3.11 and 3.12).
"""

import argparse
import json
import sys
import unicodedata
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden" / "tokens"
MAX_WORD = 100  # longer words, counted in code points, are one [UNK]

CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)
ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def read_lines(path):
    """The lines of a UTF-8 file. Only LF ends a line: U+0085 or U+2028 can be part of one."""
    lines = Path(path).read_bytes().decode("utf-8").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def write_lines(path, lines):
    Path(path).write_bytes("".join(line + "\n" for line in lines).encode("ascii"))
    print(f"{path.name}: {len(lines)} lines")


def read_vocab(path):
    """Token -> id, from a vocab.txt, a tokenizer.json or a directory with one of the two."""
    path = Path(path)
    if path.is_dir():
        found = [path / name for name in ("vocab.txt", "tokenizer.json") if (path / name).exists()]
        if not found:
            sys.exit(f"{path}: neither vocab.txt nor tokenizer.json in it")
        path = found[0]
    if path.suffix == ".json":
        return json.loads(path.read_bytes())["model"]["vocab"]
    return {line.rstrip("\r"): number for number, line in enumerate(read_lines(path))}


def clean(text):
    """Drops control characters and the like, turns every space into U+0020, separates ideographs."""
    out = []
    for char in text:
        category = unicodedata.category(char)
        if char in "\t\n\r" or category == "Zs":
            out.append(" ")
        elif char == "\ufffd" or category[0] == "C":  # U+0000 has category Cc
            continue
        elif any(first <= ord(char) <= last for first, last in CJK):
            out.append(f" {char} ")
        else:
            out.append(char)
    return "".join(out)


def strip_marks(word):
    return "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")


def split_at_punctuation(word):
    """The runs of other characters and, one by one, the punctuation characters of a word."""
    parts, run = [], ""
    for char in word:
        if char in ASCII_PUNCTUATION or unicodedata.category(char)[0] == "P":
            parts += [run, char]
            run = ""
        else:
            run += char
    return [part for part in parts + [run] if part]


def basic_words(text, lowercase=True, strip_accents=None):
    """The words of a text, before WordPiece. strip_accents None: as lowercase."""
    if strip_accents is None:
        strip_accents = lowercase
    words = []
    for word in clean(text).split():  # str.split() also splits at U+2028 and U+2029
        if lowercase:
            word = "".join(char.lower() for char in word)  # one character at a time: no final sigma
        if strip_accents:
            word = strip_marks(word)
        words += split_at_punctuation(word)
    return words


def wordpiece(word, vocab):
    """The pieces of a word, always the longest in the vocabulary; otherwise [UNK]."""
    if len(word) > MAX_WORD:
        return ["[UNK]"]
    pieces, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            if prefix + word[start:end] in vocab:
                pieces.append(prefix + word[start:end])
                start = end
                break
        else:
            return ["[UNK]"]
    return pieces


def encode(text, vocab, lowercase=True, strip_accents=None):
    """The ids of a text, as one line: [CLS], the pieces, [SEP]."""
    pieces = ["[CLS]"]
    for word in basic_words(text, lowercase, strip_accents):
        pieces += wordpiece(word, vocab)
    return " ".join(str(vocab[piece]) for piece in pieces + ["[SEP]"])


def write_golden(vocab):
    small = read_vocab(GOLDEN / "small_vocab.txt")
    texts = [json.loads(line) for line in read_lines(GOLDEN / "hard.jsonl")]
    write_lines(GOLDEN / "hard.ids", [encode(text, vocab) for text in texts])
    write_lines(GOLDEN / "hard_cased.ids", [encode(text, vocab, lowercase=False) for text in texts])
    write_lines(GOLDEN / "hard_small.ids", [encode(text, small) for text in texts])
    rows = []
    for line in read_lines(GOLDEN / "malformed.tsv"):
        code = line.split("\t")[0]
        text = bytes.fromhex(code).decode("utf-8", "replace")
        rows.append("\t".join([code, encode(text, vocab), encode(text, small)]))
    write_lines(GOLDEN / "malformed.tsv", rows)


def check(vocab, strings, ids, lowercase, strip_accents):
    """True if the file ids has exactly the lines computed from the file strings."""
    if strings.endswith(".tsv"):
        rows = [line.split("\t") for line in read_lines(strings)[1:]]
        pairs = [(row[0], row[1] + "\t") for row in rows if len(row) == 2]
    else:
        pairs = [(json.loads(line), "") for line in read_lines(strings)]
    expected = read_lines(ids)
    got = [label + encode(text, vocab, lowercase, strip_accents) for text, label in pairs]
    wrong = [number for number, lines in enumerate(zip(got, expected)) if lines[0] != lines[1]]
    for number in wrong:
        print(f"line {number + 1}: {ascii(pairs[number][0])}")
        print(f"  here: {got[number]}\n  file: {expected[number]}")
    print(f"{ids}: {len(got)} texts, {len(expected)} lines, {len(wrong)} differ")
    return not wrong and len(got) == len(expected)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocab", metavar="VOCAB")
    parser.add_argument("--check", nargs=2, metavar=("STRINGS", "IDS"))
    parser.add_argument("--cased", action="store_true", help="with --check: keep case")
    parser.add_argument("--strip-accents", choices=("true", "false"),
                        help="with --check; without it accents are stripped unless --cased")
    args = parser.parse_args()
    vocab = read_vocab(args.vocab)
    if args.check is None:
        write_golden(vocab)
        return 0
    accents = {"true": True, "false": False, None: None}[args.strip_accents]
    return 0 if check(vocab, *args.check, not args.cased, accents) else 1


if __name__ == "__main__":
    sys.exit(main())
