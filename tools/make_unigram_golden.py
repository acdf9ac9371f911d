#!/usr/bin/env python3
"""make_unigram_golden.py [TOKENIZER.JSON [DATA]] - token ids of unigram models.

Reference: SentencePiece itself (Debian's python3-sentencepiece, 0.1.97), given the pieces, scores and
table of replacements of a tokenizer.json as a model of its own format, written here by hand.

Writes into tests/golden/tokens
  scripts.jsonl             hard strings in more than 30 scripts
  unigram/tokenizer.json    a small model trained on them by SentencePiece, with rules of its own
  unigram_bytes/            the same with byte fallback, and white space that only separates
  unigram.ids, unigram_bytes.ids    ids of the strings by these
and, given the tokenizer.json of an XLM-R model,
  xlmr.ids                  ids of the strings by that
and, given the benchmark sets too,
  xlmr_sets.tsv             for each file the number of rows and the sha256 of their ids, a line each

Where tokenizer.json and SentencePiece differ, the file counts: it has no rule that drops a space at the
end of a text, so such a text has one more piece.
"""
import base64
import hashlib
import io
import json
import pathlib
import struct
import sys
import unicodedata

import sentencepiece as spm

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/tokens"
META = "\u2581"

# One phrase or a few words for each script; what they say does not matter.
PHRASES = """
Where is my new bank card?
Grüße aus Köln, die Überweisung fehlt größtenteils!
¿Por qué me cobraron dos veces la misma compra?
Tôi muốn đổi mật khẩu của tài khoản này
İstanbul'da ığdır ağacı öğretmenliği çöktü
Zażółć gęślą jaźń, łódź źrebię
Příliš žluťoučký kůň úpěl ďábelské ódy
Où est passée l'œuvre naïve du garçon
Где моя карта и почему перевод отменён?
Їжак ґрунтовно з'їв щедру їжу
Πού είναι η κάρτα μου; Ὀδυσσεύς καὶ ΣΊΣΥΦΟΣ
Որտե՞ղ է իմ քարտը
სად არის ჩემი ბარათი
איפה הכרטיס החדש שלי בְּרֵאשִׁית
أين بطاقتي الجديدة؟ اَلْعَرَبِيَّةُ
کارت من کجاست؟ می‌خواهم
میرا کارڈ کہاں ہے
ܫܠܡܐ ܥܠܡܐ
ދިވެހި ބަސް
मेरा नया कार्ड कहाँ है क्षत्रिय
আমার কার্ড কোথায় বাংলা
ਮੇਰਾ ਕਾਰਡ ਕਿੱਥੇ ਹੈ
મારું કાર્ડ ક્યાં છે
ମୋର କାର୍ଡ କେଉଁଠାରେ
என் அட்டை எங்கே ஸ்ரீ
నా కార్డు ఎక్కడ ఉంది
ನನ್ನ ಕಾರ್ಡ್ ಎಲ್ಲಿದೆ
എന്റെ കാർഡ് എവിടെയാണ്
මගේ කාඩ්පත කොහෙද ශ්‍රී
บัตรของฉันอยู่ที่ไหน น้ำ
ບັດຂອງຂ້ອຍຢູ່ໃສ
ངའི་བྱང་བུ་ག་པར་ཡོད
ကျွန်ုပ်၏ကတ်ဘယ်မှာလဲ
កាតរបស់ខ្ញុំនៅឯណា
ካርዴ የት ነው ሰላም
ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ
ᐃᓄᒃᑎᑐᑦ ᓄᓇᕗᑦ
ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ
제 카드는 어디에 있나요? 각
私のカードはどこですか。ガギグｶﾞｷﾞ
我的新卡在哪里？為什麼轉賬被取消了
ⵜⴰⵎⴰⵣⵉⵖⵜ ⵉⴼⵉⵏⴰⵖ
ߒߞߏ ߞߊ߲
ꦧꦱꦗꦮ
𐌲𐌿𐍄𐌹𐍃𐌺 𐍂𐌰𐌶𐌳𐌰
𒀭𒂗𒆤 𒌷
᚛ᚑᚌᚐᚋ᚜ ᚠᚢᚦᚨᚱᚲ
𝓜𝔂 𝕔𝕒𝕣𝕕 ℌ𝔢𝔩𝔩𝔬 ①②③ ㌔㍍ ﬁﬀ ½ ™
👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 ☎️ 👍🏽 ♥
ﷺ ﷲ ㈱ ㍿ Ⅷ ℃ Å Ω ſ
""".strip().split("\n")

SPECIAL = [
    "", " ", "   ", "\n", "\t\t", META, META + META, " " + META, META + "a", "a" + META + "b", "\u200b",
    "\ufeff", "\ufffd", "\u00ad", "\u0000", "\u0001\u0002", "\u007f", "a\u0000b", "a\u200bb", "a\u200db",
    "<s>", "</s>", "<unk>", "<pad>", "<mask>", "a<s>b</s>c <mask> <unk>", "<0x41>", "[CLS] [SEP]",
    "\u0301", "e\u0301", "e\u0323\u0301", "e\u0301\u0323", "a\u0300\u0301\u0302\u0303\u0304\u0305\u0306",
    "\u1100\u1161\u11a8", "\uac00\u11a8", "\u0958", "\u0344", "\u2126", "\u212b", "\ufb03", "\ufdfa",
    "\U0001d15e", "\U0002f800", "\U000e0041", "\U0010ffff", "\ue000", "\ufdd0", "a" * 300, "ab" * 200,
    "漢" * 200, "あ" * 150, "\U00010330" * 120, "x " * 80, " x" * 80, "  x  " * 40, "." * 100, "1234567890" * 12,
    "http://example.org/a?b=c&d=%20#e", "user.name+tag@example.co.uk", "C:\\Users\\x\\y.txt", "£1,234.56 €7 ¥8 ₹9",
    "don't can't I'm we'll O'Neil’s ‘x’ “y”", "e\u0301" * 60, "\u0e19\u0e49\u0e33" * 30, "ｆｕｌｌ　ｗｉｄｔｈ！",
    "\u202eright to left\u202c", "a\u0085b\u2028c\u2029d", "a\u00a0b\u3000c\u2003d\u202fe", "\r\nline\r\n",
    "ǅ ǆ Ǆ ß ẞ ı İ ŉ", "x²y³ H₂O ½⅓", "𐐀𐐨 𞤀𞤢", "\u1e9b\u0323", "\u0e33 \u0eb3", "ا\u0654 أ", "か\u3099 が",
]


def variants(phrase, other):
    yield phrase
    yield unicodedata.normalize("NFD", phrase)
    yield unicodedata.normalize("NFKC", phrase).upper()
    yield phrase.replace(" ", "")
    yield "  " + phrase.replace(" ", "   ") + "  "
    yield phrase.replace(" ", "\u00a0") + "\n"
    yield phrase[::-1]
    yield "\u200b".join(phrase)
    yield phrase + "!!! 123 " + other
    yield other[: len(other) // 2] + phrase + other[len(other) // 2:]
    yield "".join(c + "\u0301" for c in phrase[:20])


def hard_strings():
    strings = list(SPECIAL)
    for i, phrase in enumerate(PHRASES):
        strings += variants(phrase, PHRASES[(i * 7 + 3) % len(PHRASES)])
    seen = dict.fromkeys(strings)
    return list(seen)


# ---- SentencePiece's own model format ------------------------------------------------


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, payload):
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    if isinstance(payload, float):
        return varint(number << 3 | 5) + struct.pack("<f", payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6


def kind_of(index, piece, model, special):
    if index == model["unk_id"]:
        return UNKNOWN
    if piece in special:
        return CONTROL
    if model.get("byte_fallback") and piece.startswith("<0x") and len(piece) == 6:
        return BYTE
    return NORMAL


def charsmap(tokenizer):
    parts = tokenizer["normalizer"]
    parts = parts.get("normalizers", [parts])
    return base64.b64decode(next(p["precompiled_charsmap"] for p in parts if p["type"] == "Precompiled"))


def model_of(tokenizer, strip):
    """The bytes of a .model: ModelProto with pieces, TrainerSpec and NormalizerSpec."""
    special = {t["content"] for t in tokenizer["added_tokens"]}
    out = []
    for i, (piece, score) in enumerate(tokenizer["model"]["vocab"]):
        kind = kind_of(i, piece, tokenizer["model"], special)
        out.append(field(1, field(1, piece.encode()) + field(2, float(score)) + field(3, kind)))
    byte_fallback = bool(tokenizer["model"].get("byte_fallback"))
    trainer = field(3, 1) + field(35, int(byte_fallback)) + field(40, tokenizer["model"]["unk_id"])
    trainer += field(41, 0) + field(42, 2) + field(43, 1)
    trainer += field(45, b"<unk>") + field(46, b"<s>") + field(47, b"</s>") + field(48, b"<pad>")
    normalizer = field(1, b"given") + field(2, charsmap(tokenizer))
    normalizer += field(3, 1) + field(4, int(strip)) + field(5, 1)
    return b"".join(out) + field(2, trainer) + field(3, normalizer)


class Reference:
    def __init__(self, tokenizer):
        self.strip = spm.SentencePieceProcessor(model_proto=model_of(tokenizer, True))
        self.keep = spm.SentencePieceProcessor(model_proto=model_of(tokenizer, False))
        self.space = self.strip.piece_to_id(META)
        self.separates = tokenizer["pre_tokenizer"]["type"] == "Sequence"

    def ids(self, text):
        ids = self.strip.encode(text, out_type=int)
        kept = "".join(self.keep.encode(text, out_type=str))[1:]  # without the space before it
        if not self.separates and kept.endswith(META):
            ids.append(self.space)
        return [0] + ids + [2]

    def line(self, text):
        return " ".join(map(str, self.ids(text)))


# ---- The small models ----------------------------------------------------------------

# Pairs of texts: composition, decomposition, longer and shorter keys, removal, white space.
RULES = [("ａ", "a"), ("ｆ", "f"), ("ｕ", "u"), ("ｌ", "l"), ("ｗ", "w"), ("ｉ", "i"), ("ｄ", "d"), ("ｔ", "t"), ("ｈ", "h"),
         ("！", "!"), ("ﬁ", "fi"), ("ﬀ", "ff"), ("ﬃ", "ffi"), ("½", "1⁄2"), ("™", "TM"), ("①", "1"), ("②", "2"),
         ("e\u0301", "é"), ("e\u0323\u0301", "ẹ\u0301"), ("a\u0308", "ä"), ("o\u0308", "ö"), ("u\u0308", "ü"),
         ("a\u0300", "à"), ("a\u0300\u0301", "à\u0301"), ("か\u3099", "が"), ("\u1100\u1161", "가"),
         ("\u1100\u1161\u11a8", "각"), ("ﷺ", "صلى الله عليه وسلم"), ("\u00a0", " "), ("\u3000", " "), ("\u2003", " "),
         ("\u202f", " "), ("\t", " "), ("\n", " "), ("\r", " "), ("\u2028", " "), ("\u2029", " "), ("\u0085", " "),
         (META, " "), ("\u200b", ""), ("\ufeff", ""), ("\u00ad", ""), ("\u0001", ""), ("\u0002", ""), ("\ufffd", " "),
         ("Å", "Å"), ("Ω", "Ω"), ("ſ", "s"), ("㍿", "株式会社"), ("₂", "2"), ("²", "2"), ("³", "3")]


def train(strings, byte_fallback, directory):
    rules = directory / "rules.tsv"
    directory.mkdir(exist_ok=True)
    lines = []
    for source, target in RULES:
        hexes = [" ".join("%X" % ord(c) for c in text) for text in (source, target)]
        lines.append("\t".join(hexes))
    rules.write_text("\n".join(lines) + "\n")
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(s for s in strings if s.strip() and len(s) < 200 and "\0" not in s), model_writer=model,
        model_type="unigram", vocab_size=1400 if byte_fallback else 1200, character_coverage=0.98,
        normalization_rule_tsv=str(rules), byte_fallback=byte_fallback, bos_id=0, pad_id=1, eos_id=2, unk_id=3,
        hard_vocab_limit=False, num_threads=1, minloglevel=2)
    rules.unlink()
    return model.getvalue()


def fields_of(blob):
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = blob[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(blob):
        key = number()
        if key & 7 == 2:
            length = number()
            yield key >> 3, blob[at: at + length]
            at += length
        elif key & 7 == 5:
            yield key >> 3, struct.unpack("<f", blob[at: at + 4])[0]
            at += 4
        else:
            yield key >> 3, number()


def tokenizer_of(model, byte_fallback):
    pieces, table = [], b""
    for number, value in fields_of(model):
        if number == 1:
            piece = dict(fields_of(value))
            pieces.append([piece[1].decode(), piece.get(2, 0.0)])
        elif number == 3:
            table = dict(fields_of(value))[2]
    added = [{"id": i, "content": pieces[i][0], "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for i in range(4)]
    meta = {"type": "Metaspace", "replacement": META, "prepend_scheme": "always"}
    precompiled = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    both = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, meta]}
    special = {name: {"id": name, "ids": [i], "tokens": [name]} for i, name in ((0, "<s>"), (2, "</s>"))}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": precompiled if byte_fallback
        else {"type": "Sequence", "normalizers": [precompiled, spaces]},
        "pre_tokenizer": both if byte_fallback else meta,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": "</s>", "type_id": 0}}],
            "pair": [], "special_tokens": special},
        "decoder": None,
        "model": {"type": "Unigram", "unk_id": 3, "vocab": pieces, "byte_fallback": byte_fallback}}


def write_lines(path, lines):
    path.write_text("".join(line + "\n" for line in lines))


def set_rows(path):
    """Rows as the published code reads them: lines of two columns after the header."""
    for line in path.read_bytes().decode().split("\n")[1:]:
        if line.count("\t") == 1:
            yield line.split("\t")[0]


def main():
    strings = hard_strings()
    write_lines(OUT / "scripts.jsonl", map(json.dumps, strings))
    for name, byte_fallback in (("unigram", False), ("unigram_bytes", True)):
        directory = OUT / name
        tokenizer = tokenizer_of(train(strings, byte_fallback, directory), byte_fallback)
        (directory / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False, indent=0) + "\n")
        reference = Reference(tokenizer)
        write_lines(OUT / (name + ".ids"), map(reference.line, strings))
    if len(sys.argv) > 1:
        reference = Reference(json.loads(pathlib.Path(sys.argv[1]).read_text()))
        write_lines(OUT / "xlmr.ids", map(reference.line, strings))
    if len(sys.argv) > 2:
        lines = []
        for name in ("banking", "oos", "stackoverflow"):
            for split in ("train", "dev", "test"):
                rows = [reference.line(text) for text in set_rows(pathlib.Path(sys.argv[2]) / name / (split + ".tsv"))]
                digest = hashlib.sha256("".join(r + "\n" for r in rows).encode()).hexdigest()
                lines.append("%s\t%s\t%d\t%s" % (name, split, len(rows), digest))
        write_lines(OUT / "xlmr_sets.tsv", lines)


if __name__ == "__main__":
    main()
