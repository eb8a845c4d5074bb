"""Encoding around what explodes, with a library that is one rule."""

from __future__ import annotations

import re
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import pytest

from tokviz.formats.library import NO_WORD
from tokviz.jobs.exploding import Around, ExplodedError

RUN = re.compile(r"z{20,}(?![zb])")
"""So many z's explode with no b behind them."""


class Library:
    """Makes a token of every character and a word of every word; counts what it is given."""

    def __init__(self) -> None:
        self.n_chars = self.n_calls = 0

    def encode(self, text: str, *, regexes: bool = True) -> Any:
        self.n_chars += len(text)
        self.n_calls += 1
        if regexes and RUN.search(text):
            raise ExplodedError("it explodes")
        spans = [match.span() for match in re.finditer(r"<s>|\S|\s", text)]
        n_spaces = [*accumulate(text.count(" ", start, end) for start, end in spans)]
        words = [
            2 * n - text.startswith(" ", at) for n, (at, _) in zip(n_spaces, spans, strict=True)
        ]
        ids = [9 if end - start > 1 else 1 for start, end in spans]
        return SimpleNamespace(ids=ids, offsets=spans, word_ids=words)


def places(text: str, most: int = 3, around: Around | None = None) -> list[int]:
    tokens, found = (around or Around()).encode(Library().encode, text, most, {9: "<s>"})
    assert list(zip(tokens.starts[1:], tokens.ends, strict=False)) == [
        (end, end) for end in tokens.ends[:-1]
    ]
    assert (tokens.starts[0], tokens.ends[-1]) == (0, len(text))
    return found


@pytest.mark.parametrize("n_before", [0, 1, 100, 20_000])
def test_the_place_is_where_the_run_begins(n_before: int) -> None:
    text = "ab " * n_before + "zzzb " + "z" * 50 + " " + "cd " * 3_000
    assert places(text) == [3 * n_before + 5]


def test_a_run_that_the_rest_of_its_word_saves_is_not_named() -> None:
    for n_before in range(30):
        text = "a " * n_before + "z" * 40 + "b " + "z" * 40
        assert places(text) == [2 * n_before + 42]


def test_what_exploded_once_is_found_at_once() -> None:
    around, library = Around(), Library()
    text = "one two " * 100 + "z" * 40 + " three"
    around.encode(library.encode, text, 3, {})
    first = library.n_calls
    assert around.encode(library.encode, "more " + text, 3, {})[1] == [805]
    assert library.n_calls - first <= 6


def test_the_rest_of_the_word_is_one_piece_that_ends_before_a_special_token() -> None:
    tokens, _ = Around().encode(Library().encode, "a " + "z" * 30 + ".<s>.b c", 3, {9: "<s>"})
    piece = tokens.words[2]
    assert [word == piece for word in tokens.words] == [False] * 2 + [True] * 31 + [False] * 5
    assert tokens.ids.index(9) == 33


def test_a_library_may_leave_tokens_without_a_word() -> None:
    def encode(text: str, *, regexes: bool = True) -> Any:
        found = Library().encode(text, regexes=regexes)
        return SimpleNamespace(**{**vars(found), "word_ids": [None] * len(found.ids)})

    tokens, found = Around().encode(encode, "a " + "z" * 30 + " b", 3, {})
    assert found == [2]
    assert set(tokens.words) == {NO_WORD}


def test_a_long_text_is_gone_through_a_few_times_and_many_runs_are_left_at_the_third() -> None:
    text = "\n".join(["some words and then " + "z" * 30] * 3_000)
    library = Library()
    tokens, found = Around().encode(library.encode, text, 3, {})
    assert found == [20, 71, 122]
    assert len(set(tokens.words[122:])) == 1
    assert library.n_chars < 10 * len(text)
    assert library.n_calls < 60


def test_nothing_is_encoded_behind_what_is_an_error() -> None:
    library = Library()
    tokens, found = Around().encode(library.encode, "a " + "z" * 30 + " b" * 100, 1, {})
    assert (tokens.ends[-1], found) == (2, [2])
