from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tokviz.live.hues import N_HUES
from tokviz.live.hues_by_id import hues_of


@given(st.lists(st.integers(0, 20), max_size=200))
def test_neighbours_never_share_a_hue(ids: list[int]) -> None:
    hues = hues_of(ids, 0, len(ids))
    assert len(hues) == len(ids) and all(0 <= hue < N_HUES for hue in hues)
    assert all(a != b for a, b in pairwise(hues))


@given(st.lists(st.integers(0, 20), max_size=60), st.data())
def test_hues_do_not_depend_on_what_is_in_view(ids: list[int], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(ids)))
    last = data.draw(st.integers(first, len(ids)))
    assert hues_of(ids, first, last) == hues_of(ids, 0, len(ids))[first:last]
