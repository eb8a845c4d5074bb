from __future__ import annotations

import threading
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

import tokviz
from tests.tui.dialogs.conftest import OpenDialog
from tokviz.formats.registry import BUILTIN_TOKENIZERS, BuiltinTokenizer
from tokviz.places import place_words, short_name
from tokviz.session import Opened, Session
from tokviz.settings import Settings, load_settings, save_settings
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs import tokenizer_picker
from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker
from tokviz.tui.dialogs.tokenizer_rows import (
    SourceRow,
    paint_match,
    paint_place,
    rank,
    typed_source,
)
from tokviz.tui.widgets.lists import RowList


def ranked(query: str) -> list[str]:
    return [match.tokenizer.name for match in rank(query, BUILTIN_TOKENIZERS)]


def test_without_a_query_all_are_listed_in_registry_order() -> None:
    assert ranked("  ") == [tokenizer.name for tokenizer in BUILTIN_TOKENIZERS]


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


def made_up(name: str, *aliases: str, title: str = "") -> BuiltinTokenizer:
    (known, *_) = BUILTIN_TOKENIZERS
    return known._replace(name=name, aliases=aliases, title=title)


def test_the_better_a_name_fits_the_further_up_it_stands() -> None:
    tokenizers = [
        made_up("xaxbxc"),
        made_up("zzzzabc"),
        made_up("abcdefghi"),
        made_up("none", "other"),
        made_up("abcd"),
        made_up("last", "a b-c"),
    ]
    matches = rank("ABC", tokenizers)
    assert [match.tokenizer.name for match in matches] == [
        "last",  # its alias is equal, but for what is ignored
        "abcd",  # begins with it, and is the shorter of two
        "abcdefghi",
        "zzzzabc",  # holds it
        "xaxbxc",  # holds its letters in order
    ]
    assert matches[0].name == "a b-c"


def test_alias_that_fits_is_named_unless_the_models_say_it_already() -> None:
    (match, *_) = rank("davinci", BUILTIN_TOKENIZERS)
    assert "davinci" in "".join(text for text, _ in paint_match(match, 72, current=False))
    (match, *_) = rank("gpt-4", BUILTIN_TOKENIZERS)
    row = "".join(text for text, _ in paint_match(match, 72, current=False))
    assert row.count("4") == 1


@given(st.sampled_from(["", "gpt", "davinci", "2", "o"]), st.booleans())
@example("", True)
def test_row_never_exceeds_its_width_where_the_name_fits(query: str, current: bool) -> None:
    for match, width in product(rank(query, BUILTIN_TOKENIZERS), range(8, 120)):
        text = "".join(text for text, _ in paint_match(match, width, current=current))
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


# -- places


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a tokenizer, a broken one and a text."""
    monkeypatch.chdir(tmp_path)
    tokens = [bytes([byte]) for byte in range(256)]
    tokviz.Tokenizer(dict(enumerate(tokens)), [], name="bytes").save(tmp_path / "tokenizer.json")
    (tmp_path / "bad.tiktoken").write_text("YQ== 0\nYg== x\n")
    (tmp_path / "notes.txt").write_text("just a text with several words in a line\n")
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "source"),
    [
        ("hf:org/name", "hf:org/name"),
        ("hf:", None),
        ("gpt-4o", None),
        ("  ", None),
        ("/data/tok.json", "/data/tok.json"),
        ("'/data/my tok.json'", "/data/my tok.json"),
        ("/data/my\\ tok.json", "/data/my tok.json"),
        ("file:///data/my%20tok.json", "/data/my tok.json"),
    ],
)
def test_what_is_typed_may_be_a_place(typed: str, source: str | None) -> None:
    assert typed_source(typed) == source


def test_a_name_without_a_slash_is_a_place_if_it_exists_or_ends_like_one(places: Path) -> None:
    (places / "run").mkdir()
    assert typed_source("run") == str(places / "run")
    assert typed_source("tokenizer.json") == str(places / "tokenizer.json")
    assert typed_source("nothing") is None


def test_places_go_by_a_short_name() -> None:
    assert place_words("/data/llama/tokenizer.json")[0] == "llama"
    assert place_words("/data/my.tiktoken")[0] == "my.tiktoken"
    assert place_words("hf:org/name") == ("org/name", "Hugging Face hub")
    assert short_name("cl100k_base") == "cl100k_base"
    assert short_name("/data/run-1") == "run-1"
    assert "\x1b" not in "".join(place_words("/data/\x1b[2J.json"))


@given(st.text(min_size=1).map("/a/{}".format), st.booleans(), st.booleans())
@example("/a/long/way/to/a/tokenizer.json", True, True)
@example("hf:org/name", False, True)
def test_row_of_a_place_never_exceeds_its_width(path: str, recent: bool, current: bool) -> None:
    for width in range(12, 120):
        text = "".join(
            text for text, _ in paint_place(SourceRow(path, recent), width, current=current)
        )
        assert cell_len(text) <= width


async def test_typed_path_is_loaded_before_the_dialog_ends(
    open_dialog: OpenDialog, places: Path
) -> None:
    picker = TokenizerPicker("gpt2")
    async with open_dialog(picker) as pilot:
        await pilot.paste(str(places / "tokenizer.json"))
        assert pilot.shows("→ load") and pilot.shows("Hugging Face tokenizer")
        await pilot.press("enter")
        assert pilot.result == str(places / "tokenizer.json")
        assert picker.loaded is not None and picker.loaded.n_vocab == 256


@pytest.mark.parametrize(
    ("name", "told"),
    [("bad.tiktoken", "line 2"), ("notes.txt", "no tokenizer"), ("none.json", "no such file")],
)
async def test_what_is_wrong_with_a_file_is_said_in_the_dialog(
    open_dialog: OpenDialog, places: Path, name: str, told: str
) -> None:
    picker = TokenizerPicker("gpt2")
    async with open_dialog(picker, (100, 30)) as pilot:
        await pilot.paste(str(places / name))
        await pilot.press("enter")
        assert pilot.is_open and picker.loaded is None
        text = " ".join(" ".join(pilot.screen_lines()).replace("│", " ").split())
        assert name in text and told in text
        await pilot.type("x")
        assert not pilot.shows(told)


async def test_a_loading_that_takes_long_is_told_and_can_be_stopped(
    open_dialog: OpenDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    closed: list[str] = []

    class Slow(tokviz.Tokenizer):
        def close(self) -> None:
            closed.append(self.name)

    def load_slowly(source: str) -> tokviz.Tokenizer:
        go_on.wait(30)
        return Slow({0: b"a"}, [])

    monkeypatch.setattr(tokenizer_picker, "load", load_slowly)
    monkeypatch.setattr(tokenizer_picker, "_PATIENCE", 0.1)
    picker = TokenizerPicker("gpt2")
    async with open_dialog(picker, (100, 30)) as pilot:
        await pilot.paste("hf:org/name")
        await pilot.pilot.press("enter")
        while not pilot.shows("Loading org/name… "):
            await pilot.pilot.pause()
        await pilot.pilot.press("escape")
        await pilot.pilot.pause()
        assert pilot.is_open and pilot.shows("Stopped.")
        go_on.set()
        await pilot.settle()
        assert picker.loaded is None
        assert closed == ["custom"]
        await pilot.press("escape")
        assert pilot.result is None


async def test_recent_places_are_listed_found_and_forgotten(places: Path) -> None:
    path = str(places / "tokenizer.json")
    settings = Settings(recent_tokenizers=(path, "hf:org/name"))
    app = TokvizApp(Session(Opened(""), tokviz.load("gpt2"), settings, remember=False))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+t")
        await pilot.pause()
        picker = app.screen
        assert isinstance(picker, TokenizerPicker)
        rows = picker.query_one("#tokenizers", RowList).rows
        assert rows[-2:] == [SourceRow(path, True), SourceRow("hf:org/name", True)]
        for key in ("o", "r", "g", "f8"):
            await pilot.press(key)
        await pilot.pause()
        assert app.session.settings.recent_tokenizers == (path,)


def test_recent_places_survive_a_restart_whatever_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    save_settings(Settings(recent_tokenizers=("/a", "hf:b/c")), path)
    assert load_settings(path)[0].recent_tokenizers == ("/a", "hf:b/c")
    path.write_text('{"recent_tokenizers": ["/a", 3, null]}')
    assert load_settings(path)[0].recent_tokenizers == ("/a",)
    path.write_text('{"recent_tokenizers": 3}')
    settings, complaint = load_settings(path)
    assert settings.recent_tokenizers == () and complaint is not None
