from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokviz.text.snapshots import changed_range

CHUNKS = st.lists(st.text("ab", max_size=2), max_size=8)


@given(CHUNKS, CHUNKS)
def test_a_changed_range_turns_the_old_into_the_new(old: list[str], new: list[str]) -> None:
    first, old_last, new_last = changed_range(old, new)
    assert [*old[:first], *new[first:new_last], *old[old_last:]] == new


@given(CHUNKS, CHUNKS)
def test_a_changed_range_is_as_small_as_it_can_be(old: list[str], new: list[str]) -> None:
    first, old_last, new_last = changed_range(old, new)
    if first < old_last and first < new_last:
        assert old[first] != new[first]
        assert old[old_last - 1] != new[new_last - 1]
