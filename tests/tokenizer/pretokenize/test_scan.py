"""The compiled scanners cut exactly as the regexes do."""

from __future__ import annotations

import string
from array import array
from itertools import accumulate, pairwise, product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.nasty import EVERY_CODE_POINT, FRAGMENTS, byte_texts, texts
from tests.tokenizer.pretokenize import tables
from tests.tokenizer.pretokenize.scanning import BATCH, batches, between, pre_tokens_of
from tokviz.kernels import bytes_between, integer
from tokviz.storage.assets import asset_path
from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize import scan_table
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern, get_split_pattern
from tokviz.tokenizer.pretokenize.scan import Scanner, scanner_of
from tokviz.tokenizer.pretokenize.split import split

NAMES = [name for name, pattern in SPLIT_PATTERNS.items() if scanner_of(pattern) is not None]
REPRESENTATIVES = [
    "A",
    "s",
    "l",
    "e",
    "ǅ",
    "中",
    "\u0301",
    "1",
    " ",
    "\n",
    "\u3000",
    "'",
    "/",
    "!",
    "\x00",
    "゠",
]


def pre_tokens_by_regex(name: str, text: str) -> list[bytes]:
    spans = split(SPLIT_PATTERNS[name], text).spans()
    return [bytetext.to_bytes(text[start:end]) for start, end in spans]


def scanner(name: str) -> Scanner:
    found = scanner_of(SPLIT_PATTERNS[name])
    assert found is not None
    return found


def ends_by_regex(name: str, parts: list[str]) -> npt.NDArray[np.int64]:
    """Return the ends of the pre-tokens of texts, in bytes of the concatenated texts."""
    ends, start = array("q"), 0
    for part in parts:
        ends.extend([start + end for end in split(SPLIT_PATTERNS[name], part).ends])
        start += len(part)
    codes = np.frombuffer("".join(parts).encode("utf-32-le"), np.uint32)
    widths = 1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF)
    return np.cumsum(widths)[np.asarray(ends) - 1]


def ends_by_scanner(name: str, parts: list[str]) -> npt.NDArray[np.int64]:
    """Return the same from one scan of a buffer with all texts."""
    datas = [part.encode() for part in parts]
    ends = list(accumulate(map(len, datas)))
    data = b"".join(datas)
    found = np.concatenate([*batches(scanner(name), data, [0, *ends[:-1]], ends, most=1 << 18)])
    assert found[0, 0] == 0 and np.array_equal(found[1:, 0], found[:-1, 1]), "nothing is left out"
    return found[:, 1]


def assert_same_pre_tokens(name: str, parts: list[str]) -> None:
    assert np.array_equal(ends_by_scanner(name, parts), ends_by_regex(name, parts))


def pre_tokens_in_blocks(name: str, blocks: list[bytes]) -> list[bytes]:
    """Scan a text that arrives in blocks; the undecided rest of each is scanned again."""
    pre_tokens: list[bytes] = []
    rest = b""
    for index, block in enumerate(blocks):
        data = rest + block
        is_open = index < len(blocks) - 1
        done = 0
        for batch in batches(scanner(name), data, [0], [len(data)], is_open=is_open):
            pre_tokens += [data[a:b] for a, b in batch.tolist()]
            done = int(batch[-1, 1]) if len(batch) else done
        rest = data[done:]
    assert rest == b""
    return pre_tokens


@pytest.mark.parametrize("name", NAMES)
@given(text=st.one_of(texts, byte_texts))
def test_pre_tokens_are_those_of_the_regex(name: str, text: str) -> None:
    assert pre_tokens_of(scanner(name), bytetext.to_bytes(text)) == pre_tokens_by_regex(name, text)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.binary(max_size=40))
def test_any_bytes_are_cut_as_their_byte_text(name: str, data: bytes) -> None:
    assert pre_tokens_of(scanner(name), data) == pre_tokens_by_regex(
        name, bytetext.from_bytes(data)
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_four_characters_of_different_classes(name: str) -> None:
    parts = ["".join(some) for n in range(1, 5) for some in product(REPRESENTATIVES, repeat=n)]
    assert_same_pre_tokens(name, parts)


@pytest.mark.parametrize("name", NAMES)
def test_every_few_characters_within_a_long_text(name: str) -> None:
    """ASCII text is scanned in blocks; these characters are at all positions of a block."""
    some = ["".join(some) for some in product("Asl1 \n\t'/!", repeat=4)]
    both = ["".join(some) for some in product(REPRESENTATIVES, repeat=3)]
    apart = [f"x{part}y" for part in some]
    spaces = ["".join(some) for some in product("\n \u3000a", repeat=5)]
    parts = ["".join(some), "".join(apart), " 12".join(some), "a bc ".join(both), "".join(spaces)]
    assert_same_pre_tokens(name, parts)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_ends_anywhere_within_a_block(name: str) -> None:
    runs = ("a", "A", "1", " ", "\n", "!", "\n ", "! ", "a1")
    ends = ("'s", "'S x", "'x", "\n\n", "\n b", "1", "!", "é")
    for run in runs:
        parts = [
            f"x{start}{(run * n)[:n]}{end}y{'.' * 70}"
            for start, end, n in product(("", "\n", " "), ends, range(1, 70))
        ]
        assert_same_pre_tokens(name, parts)


@pytest.mark.parametrize(("low", "high"), [(0, 255), (9, 13), (65, 90), (128, 255), (39, 39)])
def test_the_mask_of_64_bytes_is_that_of_each(low: int, high: int) -> None:
    data = bytes(range(256)) + bytes(range(64))
    for at in (0, 1, 9, 63, 127, 255, 256):
        mask = integer(bytes_between(memoryview(data), at, low, high))
        assert between(data, at, low, high) == mask
        assert mask & 1 == (low <= data[at] <= high)


def test_blocks_know_the_classes_of_ascii() -> None:
    """The ASCII classes of `block_kernels` are those of the table."""
    expected = {
        scan_table.UPPER: string.ascii_uppercase,
        scan_table.LOWER: string.ascii_lowercase,
        scan_table.NUMBER: string.digits,
        scan_table.SPACE: string.whitespace,
    }
    flags = scan_table.scan_table()
    for char in map(chr, range(128)):
        found = [flag for flag, chars in expected.items() if char in chars]
        other = scan_table.SYMBOL | (0 if char in string.punctuation else scan_table.PLAIN)
        assert [flags[ord(char)]] == (found or [other])


@pytest.mark.parametrize("name", ["gpt2", "gpt4o", "deepseek3"])  # they ask for all classes
def test_every_character(name: str) -> None:
    every = [code for code in EVERY_CODE_POINT if not 0xD800 <= code < 0xE000]
    codes = np.array(every, np.uint32)
    letter, space = (np.full(len(codes), ord(char), np.uint32) for char in "a ")
    text = np.stack([codes, letter, space, codes], axis=1).tobytes().decode("utf-32-le")
    assert text[:8] == "\0a \0\1a \1"
    assert_same_pre_tokens(name, [text])


@pytest.mark.parametrize("name", ["gpt2", "gpt4", "gpt4o"])
def test_contractions_with_every_character_that_has_a_case(name: str) -> None:
    cased = [c for c in map(chr, range(0x110000)) if not c.lower() == c.upper() == c.casefold()]
    parts = [f"a'{c}" for c in cased]
    parts += [f"'{c}e'{c}x" for c in cased] + [f"A'r{c}'V{c}'l{c}" for c in cased]
    assert "a'ſ" in parts
    assert_same_pre_tokens(name, parts)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["fragments", "word", "white space"])
def test_a_border_between_blocks_at_every_character(name: str, kind: str) -> None:
    text = {
        "fragments": "".join(FRAGMENTS) + "\udcff\udce4'",
        "word": "HTMLのAAAa'LL'ſ1234 'S!!\n//\r\n",
        "white space": " \n  \u3000\t a\n\n   b  ",
    }[kind]
    expected = pre_tokens_by_regex(name, text)
    for cut in range(len(text) + 1):
        blocks = [bytetext.to_bytes(text[:cut]), bytetext.to_bytes(text[cut:])]
        assert pre_tokens_in_blocks(name, blocks) == expected
    single = [bytetext.to_bytes(char) for char in text]
    assert pre_tokens_in_blocks(name, single) == expected


@pytest.mark.parametrize("name", NAMES)
@given(text=byte_texts, data=st.data())
def test_borders_between_blocks_change_nothing(name: str, text: str, data: st.DataObject) -> None:
    inner = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    cuts = [0, *sorted(inner), len(text)]
    blocks = [bytetext.to_bytes(text[a:b]) for a, b in pairwise(cuts)]
    assert pre_tokens_in_blocks(name, blocks) == pre_tokens_by_regex(name, text)


@pytest.mark.parametrize("name", NAMES)
@given(before=byte_texts, behind=byte_texts, letter=st.sampled_from("aZs"))
def test_what_ends_at_a_cut_ends_there_whatever_follows(
    name: str, before: str, behind: str, letter: str
) -> None:
    data = bytetext.to_bytes(f"{before}{letter} {behind}")
    cut = scanner(name).last_cut(data, 0, len(data))
    if cut == 0:
        assert name == "none"
        return
    parts = pre_tokens_of(scanner(name), data[:cut]) + pre_tokens_of(scanner(name), data[cut:])
    assert parts == pre_tokens_of(scanner(name), data)


def test_a_cut_is_found_soon_or_not_at_all() -> None:
    gpt4 = scanner("gpt4")
    assert gpt4.last_cut(b"one two three", 0, 13) == 7
    assert gpt4.last_cut(b"one two" + b" " * 5_000, 0, 5_007) == 7
    assert gpt4.last_cut(b"one two" + b" " * 500_000, 0, 500_007) == 0
    assert gpt4.last_cut(b"one two", 3, 7) == 3


def test_more_pre_tokens_than_a_batch_holds() -> None:
    for n in (BATCH - 1, BATCH, BATCH + 1, 3 * BATCH):
        assert pre_tokens_of(scanner("gpt2"), b" a" * n) == [b" a"] * n


def test_no_text_has_no_pre_tokens() -> None:
    assert pre_tokens_of(scanner("gpt4"), b"") == []
    assert ends_by_scanner("gpt4", ["", "a b", "", ""]).tolist() == [1, 3]


def test_only_named_patterns_have_a_scanner() -> None:
    assert {
        "gpt2",
        "gpt4",
        "gpt4o",
        "deepseek3",
        "llama3",
        "qwen2",
        "nanochat",
        "whitespace",
    } <= set(NAMES)
    assert scanner_of(get_split_pattern(r"\w+")) is None
    assert scanner_of(SplitPattern("gpt2", "a", "a pattern that took the name")) is None


def test_the_stored_table_is_made_from_the_stored_classes() -> None:
    assert asset_path(scan_table.TABLE).read_bytes() == tables.render_flags()
