from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tokviz.glyphs import safe
from tokviz.tui.widgets.fit import fit


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("token", 5, "token"),
        ("token", 4, "tok…"),
        ("token", 1, "…"),
        ("token", 0, ""),
        ("你好世界", 8, "你好世界"),
        ("你好世界", 6, "你好…"),
        ("a b c", 3, "a…"),
    ],
)
def test_text_is_cut_at_its_width_with_an_ellipsis(text: str, width: int, expected: str) -> None:
    assert fit(text, width) == expected


@given(st.text().map(safe), st.integers(0, 30))
def test_nothing_is_wider_than_asked(text: str, width: int) -> None:
    assert cell_len(fit(text, width)) <= width
