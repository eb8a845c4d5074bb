"""Many special tokens are found as a regex finds them, without trying every length."""

from __future__ import annotations

import re
from typing import ClassVar

from hypothesis import given
from hypothesis import strategies as st

from tokviz.tokenizer.encoding.specials import ManyTexts

texts = st.text(alphabet="ab<é", max_size=12)


class Counting(frozenset[str]):
    """Counts how often somebody looks for a text."""

    n: ClassVar[int] = 0

    def __contains__(self, text: object) -> bool:
        type(self).n += 1
        return super().__contains__(text)


@given(st.sets(texts.filter(bool), min_size=1), texts, st.integers(0, 6), st.integers(0, 14))
def test_the_leftmost_and_longest_is_found(
    listed: set[str], text: str, start: int, end: int
) -> None:
    slow = re.compile("|".join(map(re.escape, sorted(listed, key=len, reverse=True))))
    found, expected = ManyTexts(listed).search(text, start, end), slow.search(text, start, end)
    assert (found and found.span()) == (expected and expected.span())


def test_lengths_that_no_longer_fit_are_not_tried() -> None:
    search = ManyTexts("<" + "x" * n for n in range(1, 5_000))
    search._texts = Counting(search._texts)
    assert search.search("<" * 50) is None
    assert Counting.n < 50 * 50
