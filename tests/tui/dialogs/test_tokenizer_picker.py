from __future__ import annotations

import pytest

from tests.tui.dialogs.conftest import OpenDialog
from tokviz.formats.registry import builtin_names
from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker, paint_match, rank


def ranked(query: str) -> list[str]:
    return [match.tokenizer.name for match in rank(query, builtin_names())]


def test_without_a_query_all_are_listed_in_registry_order() -> None:
    assert ranked("  ") == [tokenizer.name for tokenizer in builtin_names()]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("gpt2", "gpt2"),
        ("GPT-4", "cl100k_base"),
        ("gpt 4o", "o200k_base"),
        ("r50k", "gpt2"),
        ("o200", "o200k_base"),
        ("qwen2.5", "qwen2"),
        ("3.5-turbo", "cl100k_base"),
        ("cl1base", "cl100k_base"),
    ],
)
def test_name_alias_or_part_of_one_finds_the_tokenizer_first(query: str, name: str) -> None:
    assert ranked(query)[0] == name


def test_alias_that_fits_is_named_unless_the_models_say_it_already() -> None:
    (match, *_) = rank("davinci", builtin_names())
    assert "davinci" in "".join(text for text, _ in paint_match(match, 72, current=False))
    (match, *_) = rank("gpt-4", builtin_names())
    row = "".join(text for text, _ in paint_match(match, 72, current=False))
    assert row.count("4") == 1


@pytest.mark.parametrize("width", range(8, 120))
def test_row_never_exceeds_its_width_where_the_name_fits(width: int) -> None:
    for match in rank("", builtin_names()):
        text = "".join(text for text, _ in paint_match(match, width, current=True))
        assert len(text) <= max(width, 17)


async def test_enter_chooses_the_best_match_by_its_canonical_name(open_dialog: OpenDialog) -> None:
    async with open_dialog(TokenizerPicker("cl100k_base")) as pilot:
        await pilot.type("gpt 4o")
        await pilot.press("enter")
        assert pilot.result == "o200k_base"


async def test_current_one_is_highlighted_and_marked_at_first(open_dialog: OpenDialog) -> None:
    async with open_dialog(TokenizerPicker("o200k_base")) as pilot:
        assert pilot.shows("● o200k_base")
        await pilot.press("down", "enter")
        assert pilot.result == "qwen2"


async def test_click_on_a_row_chooses_it(open_dialog: OpenDialog) -> None:
    async with open_dialog(TokenizerPicker("cl100k_base")) as pilot:
        await pilot.click_row(0)
        assert pilot.result == "gpt2"


@pytest.mark.parametrize("how", ["key", "outside", "hint"])
async def test_it_can_be_left_without_a_choice(open_dialog: OpenDialog, how: str) -> None:
    async with open_dialog(TokenizerPicker("cl100k_base")) as pilot:
        if how == "key":
            await pilot.press("escape")
        elif how == "outside":
            await pilot.pilot.click(offset=(1, 1))
            await pilot.settle()
        else:
            await pilot.click_text("Esc cancel")
        assert pilot.result is None


async def test_nothing_found_says_what_can_be_typed(open_dialog: OpenDialog) -> None:
    async with open_dialog(TokenizerPicker("cl100k_base")) as pilot:
        await pilot.type("claude")
        assert pilot.shows("No tokenizer fits “claude”")
        assert pilot.shows("gpt-3.5-turbo")
        await pilot.press("enter")
        assert pilot.is_open


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 5), (200, 60)])
async def test_field_list_and_way_out_are_visible_at_any_size(
    open_dialog: OpenDialog, size: tuple[int, int]
) -> None:
    async with open_dialog(TokenizerPicker("cl100k_base"), size) as pilot:
        assert pilot.shows("›")
        assert pilot.shows("● cl100k_base")
        await pilot.click_text("Esc")
        assert pilot.result is None
