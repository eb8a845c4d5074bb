from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tokviz.text.glyphs import safe
from tokviz.tui.widgets.fit import fit, fit_end


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
    assert cell_len(fit_end(text, width)) <= width


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("/home/a.txt", 11, "/home/a.txt"),
        ("/home/a.txt", 6, "…a.txt"),
        ("/home/a.txt", 1, "…"),
        ("/home/a.txt", 0, ""),
        ("/你好世界", 9, "/你好世界"),
        ("/你好世界", 8, "…好世界"),
        ("/你好世界", 6, "…世界"),
    ],
)
def test_the_end_of_a_path_stays(text: str, width: int, expected: str) -> None:
    assert fit_end(text, width) == expected
