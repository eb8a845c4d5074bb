"""The search for many special tokens equals a regex, and skips lengths that do not fit."""

from __future__ import annotations

import re
from typing import ClassVar, SupportsIndex

from hypothesis import given
from hypothesis import strategies as st

from tokviz.tokenizer.encoding.specials import ManyTexts

texts = st.text(alphabet="ab<é", max_size=12)


class Counting(str):
    """A text that counts its slices."""

    n: ClassVar[int] = 0

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        type(self).n += isinstance(key, slice)
        return super().__getitem__(key)


@given(st.sets(texts.filter(bool), min_size=1), texts, st.integers(0, 6), st.integers(0, 14))
def test_the_leftmost_and_longest_is_found(
    listed: set[str], text: str, start: int, end: int
) -> None:
    slow = re.compile("|".join(map(re.escape, sorted(listed, key=len, reverse=True))))
    found, expected = ManyTexts(listed).search(text, start, end), slow.search(text, start, end)
    assert (found and found.span()) == (expected and expected.span())


def test_lengths_that_no_longer_fit_are_not_tried() -> None:
    search = ManyTexts("<" + "x" * n for n in range(1, 5_000))
    assert search.search(Counting("<" * 50)) is None
    assert 0 < Counting.n < 50 * 50
