from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tokviz.live.text_blocks import InputCounts, map_ahead, text_blocks
from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS

BUILTIN = [tokviz.load(name) for name in ("gpt2", "cl100k_base", "o200k_base", "qwen2")]
OVERLAPPING = tokviz.Tokenizer(
    {byte: bytes([byte]) for byte in range(256)},
    [],
    ["ab c", "c d", " d", "c d 1x", "1x.", "\n\n"],
    split_pattern="gpt2",
    name="overlapping specials",
)
PARTS = [
    *("ab c", " d", "c d 1x", ".", "\n\n", " ", "\n", "\r\n", "x", "7", "'s", "'", "/", "你好"),
    *("<|endoftext|>", "<|endof", "text|>", "<|im_start|>", "\t", "\x00", "é", "\u2028", "…", "{}"),
]
TEXTS = st.lists(st.sampled_from(PARTS) | st.binary(max_size=3), max_size=40).map(
    lambda parts: b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
)


def in_blocks(data: bytes, n_bytes: int) -> list[bytes]:
    return [data[start : start + n_bytes] for start in range(0, len(data), n_bytes)]


@pytest.mark.parametrize("tokenizer", [*BUILTIN, OVERLAPPING], ids=lambda tok: tok.name)
@given(data=TEXTS, parse_specials=st.booleans(), n_bytes=st.integers(1, 7))
def test_the_blocks_have_the_tokens_of_the_whole(tokenizer, data, parse_specials, n_bytes):
    size = InputCounts()
    blocks = list(
        text_blocks(
            in_blocks(data, n_bytes),
            tokenizer,
            parse_specials=parse_specials,
            counts=size,
            block_chars=3,
        )
    )
    text = bytetext.from_bytes(data)
    assert "".join(blocks) == text
    assert (size.n_bytes, size.n_chars) == (len(data), len(text))
    ids = [i for block in blocks for i in tokenizer.byte_text.encode(block, parse_specials)]
    assert ids == tokenizer.byte_text.encode(text, parse_specials).tolist()


def test_blocks_stay_small_however_long_the_input_is():
    line = b"The quick brown fox jumps over the lazy dog.\n"
    blocks = text_blocks(
        (line for _ in range(20_000)),
        tokviz.load("gpt-4"),
        parse_specials=True,
        counts=InputCounts(),
        block_chars=1000,
    )
    lengths = [len(block) for block in blocks]
    assert sum(lengths) == 20_000 * len(line)
    assert max(lengths) < 2500


def test_a_pattern_without_safe_cuts_is_not_cut():
    tokenizer = tokviz.Tokenizer(OVERLAPPING.vocab, [], split_pattern="none")
    assert SPLIT_PATTERNS["none"].safe_cut is None
    blocks = text_blocks(
        [b"a b "] * 50, tokenizer, parse_specials=True, counts=InputCounts(), block_chars=3
    )
    assert list(blocks) == ["a b " * 50]


def test_a_stretch_without_a_cut_is_refused_before_it_fills_the_memory(monkeypatch):
    monkeypatch.setattr("tokviz.live.text_blocks.MAX_FILE_BYTES", 1000)

    def endless():
        while True:
            yield b"A" * 100

    blocks = text_blocks(
        endless(), tokviz.load("gpt-4"), parse_specials=True, counts=InputCounts(), block_chars=10
    )
    with pytest.raises(tokviz.TokvizError, match="more than 1,000 characters"):
        list(blocks)


def test_the_next_item_is_made_while_one_is_worked_on_and_no_more() -> None:
    made: list[int] = []
    working, go_on = threading.Event(), threading.Event()

    def work(item: int) -> int:
        working.set()
        assert go_on.wait(30)
        return 10 * item

    def items() -> Iterator[int]:
        for item in range(5):
            made.append(item)
            if item == 1:
                assert working.wait(30), "the first is worked on meanwhile"
                go_on.set()
            yield item

    results = map_ahead(work, items())
    assert (next(results), made) == (0, [0, 1])
    assert list(results) == [10, 20, 30, 40]
    assert list(map_ahead(work, [])) == []
    assert list(map_ahead(work, range(5), 3)) == [0, 10, 20, 30, 40]


def test_what_goes_wrong_in_the_thread_or_here_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        list(map_ahead(lambda n: 1 // n, [1, 0, 1]))
    with pytest.raises(ZeroDivisionError):
        list(map_ahead(str, (1 // n for n in (1, 0))))
