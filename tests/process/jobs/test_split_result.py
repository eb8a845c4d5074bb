from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from tokviz.process.jobs.split_client import PreToken, SplitPart, SplitResult


def _result(parts: list[list[int]], gaps: list[set[int]]) -> tuple[SplitResult, list[PreToken]]:
    """Build a result from pre-token lengths, part by part, and the same as a plain list."""
    result, plain, position = SplitResult(), [], 0
    for lengths, gap_indexes in zip(parts, gaps, strict=True):
        start, ends = position, array("I")
        for index, length in enumerate(lengths):
            plain.append(PreToken(position, position + length, index in gap_indexes))
            position += length
            ends.append(position - start)
        kept = tuple(sorted(index for index in gap_indexes if index < len(lengths)))
        result.add(SplitPart(start, ends, kept, 1))
    return result, plain


_PARTS = st.lists(
    st.tuples(st.lists(st.integers(1, 5), max_size=5), st.sets(st.integers(0, 4))), max_size=5
)


@given(_PARTS, st.integers(0, 40), st.integers(0, 40))
def test_pre_tokens_in_a_range_are_those_that_touch_it(
    drawn: list[tuple[list[int], set[int]]], lo: int, hi: int
) -> None:
    result, plain = _result([lengths for lengths, _ in drawn], [gaps for _, gaps in drawn])
    expected = [p for p in plain if p.start < hi and p.end > lo] if lo < hi else []
    assert result.pre_tokens_in(lo, hi) == expected


@given(_PARTS)
def test_counts_add_up(drawn: list[tuple[list[int], set[int]]]) -> None:
    result, plain = _result([lengths for lengths, _ in drawn], [gaps for _, gaps in drawn])
    assert result.n_pre_tokens == len(plain)
    assert result.n_gaps == sum(pre_token.gap for pre_token in plain)
    assert result.n_zero_width == len(drawn)
    assert result.n_chars == (plain[-1].end if plain else 0)
