"""tokenizer.json without the library, if that is exact."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.formats.samples import TEXT, trained
from tests.oracles.nasty import texts
from tests.profiles import examples
from tokviz.errors import FormatError
from tokviz.formats.draft import build
from tokviz.formats.hf_native import read_native
from tokviz.formats.hf_pattern import NotNativeError, means_the_same, split_pattern_of
from tokviz.formats.huggingface import to_tokenizer_json
from tokviz.live.document import LiveDocument
from tokviz.tokenizer.encoding.normalization import Normalizer
from tokviz.tokenizer.pretokenize.alternatives import cut_of
from tokviz.tokenizer.pretokenize.guard import guarded_cut
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tokenizer.pretokenize.split import split as split_text

tokenizers = pytest.importorskip("tokenizers")

CONTENT = json.loads(to_tokenizer_json(trained("gpt4", ("<|endoftext|>",))))
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
GPT2 = BYTES | {"use_regex": True}


def split(regex, behavior="Isolated", invert=False):
    return {
        "type": "Split",
        "pattern": {"Regex": regex},
        "behavior": behavior,
        "invert": invert,
    }


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def literal(text, behavior="Isolated", invert=False):
    return split("", behavior, invert) | {"pattern": {"String": text}}


def digits(individual):
    return {"type": "Digits", "individual_digits": individual}


NATIVE = {
    "gpt2": GPT2,
    "none": BYTES,
    "digits": sequence(digits(True), GPT2),
    "numbers": sequence(digits(False), GPT2),
    "nested": sequence(sequence(split(SPLIT_PATTERNS["gpt4o"].regex)), BYTES),
    "removed and inverted": sequence(
        split(SPLIT_PATTERNS["gpt4"].regex, "Removed", invert=True), BYTES
    ),
    "bloom": sequence(split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), BYTES),
    "deepseek coder": sequence(
        split("[\r\n]"),
        split(r"\s?\p{L}+"),
        split(r"\s?\p{P}+"),
        split("[一-龥ࠀ-一가-퟿]+"),
        digits(True),
        BYTES,
    ),
    "several steps": sequence(
        digits(False), split(r"[a-n]", "MergedWithNext"), split(r"\s?\p{L}+", "Contiguous"), GPT2
    ),
    "plain text": sequence(literal("e", "MergedWithPrevious"), literal("\n"), GPT2),
    "plain period": sequence(literal(".", "Contiguous", invert=True), BYTES),
    "prefix space": GPT2 | {"add_prefix_space": True},
    **{
        f"{behavior} {invert}": sequence(split(r"[aeiou ]", behavior, invert), BYTES)
        for behavior in ("Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext")
        for invert in (False, True)
    },
    "own": sequence(split(r"\p{Lu}+|[a-z0-9]{2,3}| ?[^\s\p{L}]++|\s+(?!\S)"), BYTES),
    "cases": sequence(split(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|\p{M}?\p{L}{1,2}|\P{N}"), BYTES),
    **{
        name: sequence(split(pattern.regex), BYTES)
        for name, pattern in SPLIT_PATTERNS.items()
        if name != "none"
    },
}


def pair(pre_tokenizer, normalizer=None, **options):
    content = CONTENT | {"pre_tokenizer": pre_tokenizer, "normalizer": normalizer}
    content["model"] = content["model"] | options
    ours = build(read_native(content, "t"), "t")
    return ours, tokenizers.Tokenizer.from_str(json.dumps(content))


PAIRS = {name: pair(part) for name, part in NATIVE.items()}
PAIRS |= {form: pair(NATIVE["gpt4"], {"type": form}) for form in ("NFC", "NFD", "NFKC", "NFKD")}
PAIRS["no normalizer"] = pair(NATIVE["gpt4"], {"type": "Sequence", "normalizers": []})
PAIRS["two forms"] = pair(
    NATIVE["gpt4"], {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "NFC"}]}
)
PAIRS["composed prefix"] = pair(NATIVE["prefix space"], {"type": "NFKC"})
PAIRS["whole pre-tokens"] = pair(NATIVE["gpt4"], ignore_merges=True)


@pytest.mark.parametrize("name", PAIRS)
@given(text=texts)
def test_ids_are_the_librarys(name, text):
    ours, theirs = PAIRS[name]
    assert ours.encode(text) == theirs.encode(text).ids
    assert ours.byte_text.changes(text) or ours.decode(ours.encode(text)) == text
    made = ours.tokenize(text)
    assert made.ids == ours.encode(text)
    ends = [0, *made.byte_spans[:, 1].tolist()]
    assert made.byte_spans[:, 0].tolist() == ends[:-1] and ends[-1] == len(text.encode())


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_every_character_is_normalized_as_by_the_library(form):
    theirs, ours = getattr(tokenizers.normalizers, form)(), Normalizer(form)
    for first in range(0, 0x110000, 256):
        codes = [code for code in range(first, first + 256) if not 0xD800 <= code < 0xE000]
        text = "\n".join(f"{chr(code)}\ne\u0323{chr(code)}\u0301" for code in codes)
        assert ours.apply(text) == theirs.normalize_str(text), hex(first)


@pytest.mark.parametrize("regex", [r"\p{N}", r"\p{N}+"])
def test_digits_are_the_librarys(regex):
    part = digits(not regex.endswith("+"))
    theirs = tokenizers.pre_tokenizers.Digits(part["individual_digits"])
    (step,) = split_pattern_of(sequence(part, BYTES)).steps
    assert step.regex == regex
    text = "".join(f"a{chr(code)}" for code in range(0x20000) if not 0xD800 <= code < 0xE000)
    found = split_text(split_pattern_of(sequence(part, BYTES)), text)
    assert [span for _, span in theirs.pre_tokenize_str(text)] == list(found.spans())


@pytest.mark.parametrize("text", ["''", "|||EMAIL_ADDRESS|||", " " * 8])
def test_added_tokens_of_normalized_text_are_native_if_exact(text):
    content = changed(
        normalizer={"type": "NFC"},
        added_tokens=[
            ADDED | {"content": text, "id": len(CONTENT["model"]["vocab"]), "normalized": True}
        ],
    )
    ours = build(read_native(content, "t"), "t")
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    for part in (f"a{text}\u0338b", f"e\u0301{text}{text}", f"\u037e{text} "):
        assert ours.encode(part) == theirs.encode(part).ids


@pytest.mark.parametrize("text", ["K1;", "x<", "xé", "xa"])
def test_other_added_tokens_of_normalized_text_are_left_to_the_library(text):
    content = changed(
        normalizer={"type": "NFC"},
        added_tokens=[
            ADDED | {"content": text, "id": len(CONTENT["model"]["vocab"]), "normalized": True}
        ],
    )
    with pytest.raises(NotNativeError, match="found in normalized text"):
        read_native(content, "t")


@pytest.mark.parametrize(
    ("pre_tokenizer", "words"),
    [
        (None, "its pre-tokenizer is none"),
        ({"type": "Whitespace"}, "its pre-tokenizer is Whitespace"),
        (sequence(digits(True), GPT2 | {"add_prefix_space": True}), "puts a space before"),
        (sequence(split(r"\d+"), BYTES), "may mean something else"),
        (sequence(split(r"\p{N}{1,3}+|.+"), BYTES), "may mean something else"),
        (sequence(split(r"^a|\s"), BYTES), "may mean something else"),
        (sequence(split(r"(?i:ss)"), BYTES), "may mean something else"),
        (sequence(split(r"[a&&b]"), BYTES), "may mean something else"),
        (sequence(split("[一-\U0003ffff]|\\p{L}"), BYTES), "names characters"),
        (sequence(split(r"b|(?=a)"), BYTES), "matches the empty text"),
        (sequence(split(r"a?(?!(?:b))"), BYTES), "matches the empty text"),
        (sequence(split(r"a*"), BYTES), "matches the empty text"),
        (sequence(split(r"a+", "Removed"), BYTES), "treats matches as Removed"),
        (sequence(literal(""), BYTES), "splits by plain text"),
        (sequence({"type": "Punctuation"}, BYTES), "has the step Punctuation"),
        (sequence(BYTES, GPT2), "has the step ByteLevel"),
        (sequence(BYTES, digits(True)), "not plain bytes after splits"),
    ],
    ids=range(17),
)
def test_what_might_differ_is_left_to_the_library(pre_tokenizer, words):
    with pytest.raises(NotNativeError, match=words):
        split_pattern_of(pre_tokenizer)


def changed(**parts):
    content = json.loads(json.dumps(CONTENT))
    for key, value in parts.items():
        (content if key in content else content["model"])[key] = value
    return content


ADDED = CONTENT["added_tokens"][0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (changed(normalizer={"type": "Lowercase"}), "it normalizes text"),
        (changed(dropout=0.1), "sets dropout"),
        (changed(continuing_subword_prefix="##"), "sets continuing_subword_prefix"),
        (changed(added_tokens=[ADDED | {"lstrip": True}]), "sets lstrip"),
        (changed(added_tokens=[ADDED | {"rstrip": True}]), "sets rstrip"),
        (changed(added_tokens=[ADDED | {"single_word": True}]), "sets single_word"),
        (changed(added_tokens=[ADDED | {"id": 77}]), "another id when loaded"),
        (changed(added_tokens=[ADDED, ADDED]), "is listed twice"),
        (changed(merges=["t h", "t h"]), "one of its merges is listed twice"),
        (changed(vocab={"a": 0}, merges=[]), "another id when loaded"),
        (changed(vocab={"a": 0}, merges=[], added_tokens=[]), "255 of the 256 single bytes"),
    ],
    ids=range(11),
)
def test_options_that_change_tokens_are_left_to_the_library(content, words):
    with pytest.raises(NotNativeError, match=words):
        read_native(content, "t")


def test_added_tokens_outside_the_vocabulary_get_the_librarys_ids():
    size = len(CONTENT["model"]["vocab"])
    more = [ADDED | {"content": f"<{i}>", "id": size + i, "special": i > 0} for i in range(3)]
    content = changed(added_tokens=[ADDED, *more])
    ours = build(read_native(content, "t"), "t")
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    text = "a<0><1><|endoftext|><2>b"
    assert ours.encode(text) == theirs.encode(text).ids
    assert ours.load_report is not None
    assert "not called special" in str(ours.load_report.findings)


@pytest.mark.parametrize(
    "regex",
    [
        named.regex
        for named in SPLIT_PATTERNS.values()
        if named.unicode_of_tiktoken and not named.steps and r"\p{Han}" not in named.regex
    ]
    + [r"a{2}|b{2,}|c?+", r"[^\r\n/]"],
)
def test_published_regexes_mean_the_same_in_both_engines(regex):
    assert means_the_same(regex)


@pytest.mark.parametrize(
    "regex",
    [r"\w", r"\d", r"\h", r"\b", r"$", r".", r"(a)(?P<x>b)", r"a{1,2}+", r"a{2}?", r"a??",
     r"[[:a:]]", r"\p{Han}", r"(?<=a)b", r"(?i)a", r"(?>a)", r"\1", r"[a-é]", r"\u0041", r"a**"],
)  # fmt: skip
def test_anything_else_may_not(regex):
    assert not means_the_same(regex)


def test_loading_a_file_takes_the_short_way(tmp_path):
    path = tmp_path / "any.name"
    path.write_text(json.dumps(CONTENT))
    tok = tokviz.load(path)
    assert not tok.remote and not tok.lossy
    assert tok.encode(TEXT) == trained("gpt4", ("<|endoftext|>",)).encode(TEXT)
    assert tok.source.startswith("Hugging Face tokenizer ")


@pytest.mark.parametrize(
    "name", ["bloom", "deepseek coder", "several steps", "prefix space", "digits", "NFKC", "NFD"]
)
@examples(20)
@given(text=texts)
def test_a_saved_tokenizer_is_native_again(name, text):
    ours = PAIRS[name][0]
    content = json.loads(to_tokenizer_json(ours))
    again = build(read_native(content, "t"), "t")
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    assert again.split_pattern.regex == ours.split_pattern.regex
    assert again.normalizer == ours.normalizer
    assert again.encode(text) == ours.encode(text) == theirs.encode(text).ids


def test_steps_do_not_fit_into_other_formats(tmp_path):
    for form in ("tiktoken", "gpt2", "minbpe"):
        with pytest.raises(FormatError):
            PAIRS["digits"][0].save(tmp_path / form, form)


@pytest.mark.parametrize("name", ["NFC", "NFD", "NFKC", "composed prefix", "digits", "bloom"])
@examples(15)
@given(text=texts, at=st.floats(0, 1), removed=st.integers(0, 9), put=texts)
def test_edited_documents_have_the_tokens_of_the_whole_text(name, text, at, removed, put):
    ours = PAIRS[name][0]
    document = LiveDocument(f"{text} e\u0301 1a", ours)
    start = int(at * document.n_chars)
    document.edit(start, min(removed, document.n_chars - start), put)
    while not document.encode_pending(1.0):
        pass
    assert document.ids().tolist() == ours.byte_text.encode(document.text).tolist()


@pytest.mark.parametrize(
    ("name", "pre_token", "step", "ended_by"),
    [("digits", "1", 1, 1), ("digits", " ", 2, 1), ("deepseek coder", "中文", 4, 2)],
)
def test_the_step_that_made_a_pre_token_is_known(name, pre_token, step, ended_by):
    text, pattern = "Hello, world 123 中文!", PAIRS[name][0].split_pattern
    start = text.index(" 1" if pre_token == " " else pre_token)
    end = start + len(pre_token)
    found = cut_of(pattern, text, start, end)
    assert (found.step, found.ended_by) == (step, ended_by)
    assert guarded_cut(pattern, text, start, end) == found
