from __future__ import annotations

import re

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult

import tokviz
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.screens.bars import MORE_TABS, tab_items, tokenizer_item
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.widgets.bar import Bar, BarItem, PlacedItem, bar_spans, place
from tokviz.tui.widgets.spans import Span


def text_of(placed: list[PlacedItem]) -> str:
    return "".join(span.text for span in bar_spans(placed))


def item(text: str, action: str = "", shorter: str | None = None) -> BarItem:
    return BarItem((Span(text),), action, (Span(shorter),) if shorter is not None else None)


def drawn(left: list[BarItem], right: list[BarItem], width: int) -> str:
    return text_of(place(left, right, width))


def test_items_stand_at_both_ends() -> None:
    assert drawn([item("ab"), item("c")], [item("xy")], 12) == "ab  c     xy"


def test_the_last_item_on_the_left_goes_first() -> None:
    assert drawn([item("ab"), item("c")], [item("xy")], 8) == "ab    xy"
    assert drawn([item("ab"), item("c")], [item("xy")], 5) == "   xy"


def test_long_items_are_shortened_before_any_is_left_out() -> None:
    assert drawn([item("ab")], [item("cl100k (GPT-4)", shorter="cl100k")], 12) == "ab    cl100k"


def test_a_bar_is_never_wider_than_its_row() -> None:
    for width in range(30):
        assert cell_len(text_of(place([item("世界")], [item("long words")], width))) <= width


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
    assert "⚠ guessed pattern" in str(made.spans) and "⚠ guess'" in str(made.shorter)


def title(name: str, shown: str, width: int) -> str:
    tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], name=name)
    placed = place(tab_items(shown, {}), [tokenizer_item(tokenizer)], width, MORE_TABS)
    return text_of(placed)


@pytest.mark.parametrize("shown", [kind.id for kind in SCREENS])
@pytest.mark.parametrize("name", ["novels-32k-gpt4-pattern-lexicographic-ties-2026", "世界" * 9])
@pytest.mark.parametrize("width", [78, 65])
def test_a_long_name_is_cut_before_a_tab_is_left_out(width: int, name: str, shown: str) -> None:
    drawn = title(name, shown, width)
    assert all(kind.title in drawn for kind in SCREENS)
    assert name[:4] in drawn
    assert name not in drawn and re.search(rf"{name[:4]}\S*…\S* ▾", drawn)


@pytest.mark.parametrize("shown", [kind.id for kind in SCREENS])
def test_tabs_without_room_are_behind_a_word_and_the_one_shown_stays(shown: str) -> None:
    titles = {kind.id: kind.title for kind in SCREENS}
    drawn = title("cl100k_base", shown, 38)
    assert titles[shown] in drawn
    assert "more ▾" in drawn
    assert drawn.endswith(" ▾")
    placed = place(tab_items(shown, {}), [], 38, MORE_TABS)
    assert placed[-1].item.action == "app.more_keys"


class Padded(App[None]):
    """A bar with padding, as on every screen."""

    CSS = "Bar { padding: 0 1 0 3; }"

    def __init__(self) -> None:
        super().__init__()
        self.done: list[int] = []

    def compose(self) -> ComposeResult:
        bar = Bar()
        bar.show([item("abc", "app.do(1)"), item("def", "app.do(2)")])
        yield bar

    def action_do(self, number: int) -> None:
        self.done.append(number)


async def test_a_click_does_what_is_drawn_there_from_the_first_letter_to_the_last() -> None:
    app = Padded()
    async with app.run_test(size=(20, 3)) as pilot:
        drawn_row = app.screen._compositor.render_strips()[0].text
        for letter in drawn_row:
            app.done.clear()
            await pilot.click(Bar, offset=(drawn_row.index(letter), 0))
            assert app.done == ([1] if letter in "abc" else [2] if letter in "def" else [])
