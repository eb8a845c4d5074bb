"""Held-out text is a small part of the corpus that training never sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokviz.training.corpus.held_out import MOST_BYTES, HeldOutCorpus, hold_out
from tokviz.training.corpus.text_blocks import TextBlock


def texts_of(block: TextBlock) -> list[bytes]:
    return [block.data[start:end] for start, end in zip(block.starts, block.ends, strict=True)]


def test_whole_lines_of_the_middle_are_held_out():
    block = TextBlock(b"aa\nbb\ncc\ndd\nee\n", [0], [15], [True])
    rest, taken = hold_out(block, 4)
    assert taken == [b"dd\n"]
    assert texts_of(rest) == [b"aa\nbb\ncc\n", b"ee\n"]
    assert rest.ends_document == [False, True]


def test_short_texts_are_held_out_whole():
    block = TextBlock(b"onetwothreefour", [0, 3, 6, 11], [3, 6, 11, 15], [True] * 4)
    rest, taken = hold_out(block, 5)
    assert taken == [b"four"]
    assert texts_of(rest) == [b"one", b"two", b"three", b""]


def test_a_text_that_goes_on_in_the_next_block_is_not_held_out_whole():
    block = TextBlock(b"onetwo", [0, 3], [3, 6], [True, False], is_open=True)
    assert hold_out(block, 3)[1] == []


def test_a_block_without_texts_is_left_as_it_is():
    block = TextBlock(b"")
    assert hold_out(block, 3) == (block, [])


@pytest.mark.parametrize("n_lines", [3_000, 300_000])
def test_every_line_is_either_learned_from_or_held_out(tmp_path: Path, n_lines: int):
    path = tmp_path / "corpus.txt"
    lines = [f"line {n}\n" for n in range(n_lines)]
    path.write_text("".join(lines))
    corpus = HeldOutCorpus(path)
    learned = b"".join(text for block in corpus.text_blocks() for text in texts_of(block))
    held_out = b"".join(corpus.held_out)
    assert sorted((learned + held_out).decode().splitlines(keepends=True)) == sorted(lines)
    assert not set(learned.splitlines()) & set(held_out.splitlines())
    assert 0 < len(held_out) <= min(MOST_BYTES, path.stat().st_size // 100)
