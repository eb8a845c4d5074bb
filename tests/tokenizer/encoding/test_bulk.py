"""The compiled encoder gives what tiktoken and the plain merge loop give."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles.bpe import encode_by_merges
from tests.oracles.nasty import byte_texts, texts
from tests.profiles import examples
from tests.reference import PATTERNS, tiktoken_encoding
from tokviz.errors import VocabularyError
from tokviz.text import bytetext
from tokviz.tokenizer.encoding import bulk, bulk_kernels
from tokviz.tokenizer.encoding.bulk import BulkEncoder
from tokviz.tokenizer.encoding.encoded import Encoded
from tokviz.tokenizer.encoding.merging import Merge, merge_pre_token
from tokviz.tokenizer.encoding.packed import PackedMerges, pack_merges
from tokviz.tokenizer.encoding.segment_encoder import SegmentEncoder
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern, get_split_pattern

SINGLE = [bytes([byte]) for byte in range(256)]
CJK = "日本語のテキストも、漢字かなカナ混じり文。世界中の言語モデル한글"
UNITS = ["a", "!", "1", " ", "\n", "世", "\r\n", "é ", "'s", "कि", "👩‍💻", "aaaaaaab", CJK]

cjk_texts = st.lists(st.sampled_from(CJK), max_size=60).map("".join)
any_texts = texts | cjk_texts


def encoder(source, *, whole: bool) -> BulkEncoder:
    made = BulkEncoder.of(source.columns(), whole=whole)
    assert made is not None
    return made


@cache
def of_name(name: str, small: bool = False) -> BulkEncoder:
    """Return the encoder of a built-in tokenizer; a small one often has full arrays."""
    with pytest.MonkeyPatch.context() as patch:
        if small:
            make_small(patch)
        made = encoder(tokviz.load(name).tables, whole=True)
        made.encode(SPLIT_PATTERNS["none"], [("a", False)])
    return made


def make_small(patch: pytest.MonkeyPatch) -> None:
    for constant, value in {"LINES_BITS": 2, "HASH_BITS": 5, "IDS_AT_ONCE": 24}.items():
        patch.setattr(bulk, constant, value)


def ids_of(made: BulkEncoder, pattern: SplitPattern, text: str) -> list[int]:
    return made.encode(pattern, [(text, False)]).ids.tolist()


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("name", PATTERNS)
@given(text=any_texts)
def test_ids_are_tiktokens(name: str, small: bool, text: str) -> None:
    pattern = tokviz.load(name).split_pattern
    ids = ids_of(of_name(name, small), pattern, text)
    assert ids == tiktoken_encoding(name).encode_ordinary(text)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", PATTERNS)
def test_long_runs_are_tiktokens(name: str, unit: str) -> None:
    pattern, reference = tokviz.load(name).split_pattern, tiktoken_encoding(name)
    for n in (*range(14, 18), *range(63, 67), *range(254, 258), 30_000):
        text = (unit * n)[:n] + "x"
        assert ids_of(of_name(name), pattern, text) == reference.encode_ordinary(text), n


def test_a_long_pre_token_takes_no_more_memory_than_a_short_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = encoder(tokviz.load("cl100k_base").tables, whole=True)
    sizes, zeros = [], bulk.zeros

    def noted(n: int, typecode: str) -> memoryview:
        sizes.append(n)
        return zeros(n, typecode)

    monkeypatch.setattr(bulk, "zeros", noted)
    found = made.encode(SPLIT_PATTERNS["gpt4"], [("\n" * 600_001, False)], with_ends=True)
    assert 0 < max(sizes) < 600_000
    assert found.token_borders[-1] == found.pre_token_borders[1] == 600_001


def test_a_million_equal_letters_are_tiktokens() -> None:
    pattern, reference = SPLIT_PATTERNS["gpt4"], tiktoken_encoding("cl100k_base")
    for text in ("a" * 1_000_000, "".join(random.Random(1).choices("abcdefgh", k=300_000))):
        ids = ids_of(of_name("cl100k_base"), pattern, text)
        assert ids == reference.encode_ordinary(text)


@given(text=any_texts | byte_texts)
def test_qwens_ids_follow_the_ranks(text: str) -> None:
    tok = tokviz.load("qwen")
    rank = tok.token_id
    tokens = []
    for start, end in tok.byte_text.split(text, allowed_special=False):
        pre_token = bytetext.to_bytes(text[start:end])
        whole = rank(pre_token) is not None
        tokens += [pre_token] if whole else merge_pre_token(pre_token, lambda a, b: rank(a + b))
    ids = ids_of(of_name("qwen"), tok.split_pattern, text)
    assert ids == [rank(token) for token in tokens]


# -- merge lists


@st.composite
def vocabularies(draw: st.DrawFn) -> PackedMerges:
    """Draw overlapping merges of few letters, with duplicates, unused merges and gaps."""
    letters = [*b"abc", 0xFF, *"世界日".encode()]
    tokens = [bytes([letter]) for letter in dict.fromkeys(letters)]
    merges: list[Merge] = []
    for _ in range(draw(st.integers(0, 24))):
        left, right = (draw(st.sampled_from(tokens)) for _ in range(2))
        merges.append((left, right))
        if left + right not in tokens:
            tokens.append(left + right)
    extra = draw(st.lists(st.binary(min_size=2, max_size=20).filter(lambda t: t not in tokens),
                          unique=True, max_size=3))  # fmt: skip
    listed = [*SINGLE, *extra, *(token for token in tokens if len(token) > 1)]
    # Hypothesis would draw them one by one, which takes most of the time.
    numbers = random.Random(draw(st.integers(0, 2**32)))
    ids = numbers.sample(range(4001), len(listed))
    return pack_merges(zip(ids, numbers.sample(listed, len(listed)), strict=True), merges)


pre_tokens = st.lists(st.sampled_from([*"abc", "世", "界", "日", "\udcff", "\udce4"]), max_size=90)


@examples(200)
@given(source=vocabularies(), parts=pre_tokens, whole=st.booleans(), small=st.booleans())
def test_merge_lists_follow_the_plain_loop(source, parts, whole: bool, small: bool) -> None:
    text = bytetext.from_bytes(bytetext.to_bytes("".join(parts)))
    with pytest.MonkeyPatch.context() as patch:
        if small:
            make_small(patch)
        made = encoder(source, whole=whole)
        for _ in range(2):  # the second time from the cache
            ids = ids_of(made, SPLIT_PATTERNS["none"], text)
            assert ids == merged(source, bytetext.to_bytes(text), whole)


def merged(source: PackedMerges, pre_token: bytes, whole: bool) -> list[int]:
    is_token = whole and source.id_of(pre_token) is not None
    tokens = (
        [pre_token] if is_token or not pre_token else merge_pre_token(pre_token, source.pair_rank)
    )
    return [source.id_of(token) for token in tokens if token]  # type: ignore[misc]


@examples(50)
@given(source=vocabularies(), parts=pre_tokens)
def test_merge_lists_follow_the_textbook(source, parts) -> None:
    pre_token = bytetext.to_bytes("".join(parts)[:12])
    ids = ids_of(
        encoder(source, whole=False), SPLIT_PATTERNS["none"], bytetext.from_bytes(pre_token)
    )
    tokens = encode_by_merges(pre_token, source.merges())
    assert [source.token(token_id) for token_id in ids] == tokens


def test_a_byte_without_token_is_named() -> None:
    tok = tokviz.Tokenizer({0: b"b", 7: b"bb"}, [(b"b", b"b")], split_pattern="gpt2")
    made = encoder(tok.tables, whole=False)
    assert ids_of(made, tok.split_pattern, "bbb") == [7, 0]
    for text in ("a", "b" * 100 + "a", "bbb a"):
        with pytest.raises(VocabularyError, match="has no token"):
            ids_of(made, tok.split_pattern, text)
    assert ids_of(made, tok.split_pattern, "bbb") == [7, 0]


# -- where tokens, pre-tokens and texts end


@pytest.mark.parametrize("name", [*SPLIT_PATTERNS, "[a-z]+|1|\n", "the |(?<=e)\\W"])
@given(parts=st.lists(st.tuples(byte_texts | cjk_texts, st.booleans()), max_size=5))
def test_ends_and_counts_are_those_of_the_plain_way(name: str, parts) -> None:
    tok = tokviz.load("gpt2")
    pattern = get_split_pattern(name, guarded=False)
    plain = SegmentEncoder(tok.tables, whole=True)
    expected = plain.encode(pattern, parts, 0, with_ends=True)
    for small in (False, True):
        found = of_name("gpt2", small).encode(pattern, parts, with_ends=True)
        assert found == expected
        without = of_name("gpt2", small).encode(pattern, parts)
        assert without == Encoded(found.ids, found.after, *without[2:])
        assert len(without.token_borders) == len(without.pre_token_borders) == 1


@pytest.mark.parametrize("n_threads", [1, 3])
@given(
    parts=st.lists(st.tuples(texts | st.just("low lower é lowest"), st.booleans()), max_size=5),
    length=st.integers(1, 20),
)
def test_parts_of_any_length_and_threads_change_nothing(n_threads: int, parts, length: int) -> None:
    made, pattern = of_name("gpt2"), SPLIT_PATTERNS["gpt2"]
    expected = made.encode(pattern, parts, with_ends=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "BATCH_CHARS", length)
        patch.setattr(bulk, "MIN_CHARS_FOR_THREADS", 0)
        patch.setattr(bulk, "n_processors", lambda: n_threads)
        assert made.encode(pattern, parts, with_ends=True) == expected


def test_a_long_text_is_never_all_in_bytes() -> None:
    sizes, to_bytes = [], bytetext.to_bytes

    def noted(text: str) -> bytes:
        sizes.append(len(text))
        return to_bytes(text)

    tok, text = tokviz.load("gpt2"), "low lower 世 " * 100_000
    made = encoder(tok.tables, whole=True)
    found = made.encode(tok.split_pattern, [(text, False)], len(text), to_bytes=noted)
    assert found.ids.tolist() == tiktoken_encoding("gpt2").encode_ordinary(text)
    assert max(sizes) < len(text) / 4


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_first_error_ends_all_threads(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "BATCH_CHARS", 8)
    monkeypatch.setattr(bulk, "MIN_CHARS_FOR_THREADS", 0)
    monkeypatch.setattr(bulk, "n_processors", lambda: n_threads)
    tok = tokviz.Tokenizer({0: b"b", 1: b" "}, [], split_pattern="gpt2")
    made = encoder(tok.tables, whole=False)
    with pytest.raises(VocabularyError, match="0x61"):
        ids_of(made, tok.split_pattern, "b " * 50 + "a " + "b " * 50 + "c ")
    with pytest.raises(UnicodeEncodeError):
        text = "b " * 50 + "\ud800"
        made.encode(tok.split_pattern, [(text, False)], to_bytes=str.encode)
    assert ids_of(made, tok.split_pattern, "b b") == [0, 1, 0]


def test_vocabularies_too_large_for_the_tables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BulkEncoder.of(pack_merges([], []).columns(), whole=False) is None
    monkeypatch.setattr(bulk_kernels, "ID_BITS", 8)
    assert BulkEncoder.of(pack_merges(enumerate([*SINGLE, b"ab"]), []).columns(),
                          whole=False) is None  # fmt: skip
