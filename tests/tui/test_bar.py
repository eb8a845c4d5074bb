from __future__ import annotations

from rich.style import Style

import tokviz
from tokviz.tui.screens.bars import tokenizer_item
from tokviz.tui.widgets.bar import ROLES, BarItem, bar_strip, place

STYLES = {role: Style() for role in ROLES}


def item(text: str, action: str = "", shorter: str | None = None) -> BarItem:
    return BarItem(
        ((text, "plain"),), action, ((shorter, "plain"),) if shorter is not None else None
    )


def drawn(left: list[BarItem], right: list[BarItem], width: int) -> str:
    return bar_strip(place(left, right, width), width, STYLES).text


def test_items_stand_at_both_ends() -> None:
    assert drawn([item("ab"), item("c")], [item("xy")], 12) == "ab  c     xy"


def test_the_last_item_on_the_left_goes_first() -> None:
    assert drawn([item("ab"), item("c")], [item("xy")], 8) == "ab    xy"
    assert drawn([item("ab"), item("c")], [item("xy")], 5) == "   xy"


def test_long_items_are_shortened_before_any_is_left_out() -> None:
    assert drawn([item("ab")], [item("cl100k (GPT-4)", shorter="cl100k")], 12) == "ab    cl100k"


def test_a_bar_is_never_wider_than_its_row() -> None:
    for width in range(30):
        strip = bar_strip(place([item("世界")], [item("long words")], width), width, STYLES)
        assert strip.cell_length == width


def test_clicks_find_the_item_that_is_drawn_there() -> None:
    placed = place([item("ab", "a"), item("c", "c")], [item("xy", "x")], 12)
    assert [(p.item.action, p.start, p.stop) for p in placed] == [
        ("a", 0, 2),
        ("c", 4, 5),
        ("x", 10, 12),
    ]


def test_a_tokenizer_with_a_guessed_pattern_is_named_with_it() -> None:
    tok = tokviz.Tokenizer({i: bytes([i]) for i in range(256)}, [], name="some.tiktoken")
    assert "guessed" not in str(tokenizer_item(tok))
    tok.pattern_doubt = "the split pattern gpt4 is a guess: a rank file holds none"
    made = tokenizer_item(tok)
    assert "⚠ guessed pattern" in str(made.words) and "⚠ guess'" in str(made.shorter)
