from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokviz.explain.ids import ids_in


@pytest.mark.parametrize(
    "written", ["15339 1917", "[15339, 1917]", "(15339,\n 1917)", "15339;1917\r\n"]
)
def test_ids_may_be_written_in_many_ways(written):
    assert ids_in(written) == [15339, 1917]


@pytest.mark.parametrize(
    "written", ["", "[]", "  ", "a 1", "1.5", "-1", "1e3", "²", "٣", "9" * 19, "15339 \x00"]
)
def test_text_with_other_characters_is_not_a_list_of_ids(written):
    assert ids_in(written) is None


@given(st.lists(st.integers(0, 10**17), min_size=1))
def test_a_python_list_of_ids_is_parsed(ids):
    assert ids_in(str(ids)) == ids


def test_a_long_text_that_is_nearly_ids_is_refused_at_once():
    assert ids_in("1 " * 200_000 + "x") is None
    assert ids_in("1" * 200_000) is None
    assert ids_in("[" * 200_000) is None
