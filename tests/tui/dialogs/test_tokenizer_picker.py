from __future__ import annotations

import os
import threading
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.widgets import Static

import tokviz
from tests.tui.dialogs.conftest import OpenDialog
from tests.tui.waiting import WAIT, settle, until
from tokviz.errors import TokvizError
from tokviz.formats.registry import (
    BUILTIN_TOKENIZERS,
    OTHER_TOKENIZERS,
    BuiltinTokenizer,
    place_words,
    short_name,
)
from tokviz.training.run_library import Run, runs_folder
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs import tokenizer_picker
from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker
from tokviz.tui.dialogs.tokenizer_rows import (
    Match,
    SourceRow,
    about_row,
    nothing_found,
    paint_match,
    paint_place,
    paint_row,
    paint_run,
    picker_rows,
    rank,
    source_of_row,
    typed_source,
)
from tokviz.tui.widgets.lists import RowList
from tokviz.workspace.session import Opened, Session, UseTokenizer
from tokviz.workspace.settings import Settings, check_file, load_settings, save_settings


def ranked(query: str) -> list[str]:
    return [source_of_row(row) for row in rank(query, BUILTIN_TOKENIZERS)]


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


def test_a_name_that_only_holds_the_letters_does_not_hide_those_that_are_nearly_meant() -> None:
    assert ranked("gpt5o") == [], "nor is GPT-3.5-turbo offered, which Enter would take"
    assert "did you mean gpt5, gpt4o or gpt-5?" in nothing_found("gpt5o", ())


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
    assert [source_of_row(match) for match in matches] == [
        "last",  # its alias is equal, but for what is ignored
        "abcd",  # begins with it, and is the shorter of two
        "abcdefghi",
        "zzzzabc",  # holds it
        "xaxbxc",  # holds its letters in order
    ]
    assert isinstance(matches[0], Match) and matches[0].name == "a b-c"


def test_alias_that_fits_is_named_unless_the_models_say_it_already() -> None:
    (match, *_) = rank("davinci", BUILTIN_TOKENIZERS)
    assert "davinci" in "".join(span.text for span in paint_match(match, 72, current=False))
    (match, *_) = rank("gpt-4", BUILTIN_TOKENIZERS)
    row = "".join(span.text for span in paint_match(match, 72, current=False))
    assert row.count("4") == 1


@given(st.sampled_from(["", "gpt", "davinci", "2", "o"]), st.booleans())
@example("", True)
def test_row_never_exceeds_its_width_where_the_name_fits(query: str, current: bool) -> None:
    for match, width in product(rank(query, BUILTIN_TOKENIZERS), range(8, 120)):
        text = "".join(span.text for span in paint_match(match, width, current=current))
        assert len(text) <= max(width, 19)


async def test_enter_chooses_the_best_match_by_its_canonical_name(open_dialog: OpenDialog) -> None:
    async with open_dialog(TokenizerPicker("cl100k_base")) as pilot:
        await pilot.type("gpt 4o")
        await pilot.press("enter")
        assert pilot.result == "o200k_base"


async def test_current_one_is_highlighted_and_marked_at_first(open_dialog: OpenDialog) -> None:
    async with open_dialog(TokenizerPicker("o200k_base")) as pilot:
        assert pilot.shows("● o200k_base")
        await pilot.press("down", "enter")
        assert pilot.result == "o200k_harmony"


async def test_while_trainings_are_looked_for_it_says_so(
    open_dialog: OpenDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = threading.Event()

    def list_slowly(cancelled: object) -> list[Run]:
        found.wait(WAIT)
        return []

    monkeypatch.setattr(tokenizer_picker, "list_runs", list_slowly)
    monkeypatch.setattr(tokenizer_picker, "_PATIENCE", 0.01)
    app = TokvizApp(Session(Opened("hello"), tokviz.load("gpt2"), remember=False))
    async with app.run_test() as pilot:
        app.push_screen(TokenizerPicker("gpt2"))
        await until(pilot, lambda: isinstance(app.screen, TokenizerPicker))
        told = app.screen.query_one("#told", Static)
        await until(pilot, lambda: str(told.content) == "Looking for your trainings…")
        found.set()
        await until(pilot, lambda: str(told.content) == "")


async def test_click_on_a_row_chooses_it(open_dialog: OpenDialog) -> None:
    async with open_dialog(TokenizerPicker("cl100k_base")) as pilot:
        await pilot.click_row(0)
        assert pilot.result == "gpt2"


@pytest.mark.parametrize("how", ["key", "outside", "hint"])
async def test_it_can_be_left_without_a_choice(open_dialog: OpenDialog, how: str) -> None:
    async with open_dialog(TokenizerPicker("cl100k_base"), (140, 50)) as pilot:
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
        await pilot.type("zzz")
        assert pilot.shows("No tokenizer matches “zzz”")
        assert pilot.shows("gpt-5")
        await pilot.press("enter")
        assert pilot.is_open


async def test_a_tokenizer_that_is_not_public_says_so(open_dialog: OpenDialog) -> None:
    async with open_dialog(TokenizerPicker("cl100k_base"), (120, 40)) as pilot:
        await pilot.type("claude")
        assert pilot.shows("not public")
        await pilot.press("enter")
        await until(pilot.pilot, lambda: pilot.shows("only Anthropic's API counts its tokens"))
        assert pilot.is_open


def test_models_are_grouped_by_family_and_found_by_it() -> None:
    everything = picker_rows("", (*BUILTIN_TOKENIZERS, *OTHER_TOKENIZERS), ())
    heads = [row.family for row in everything if isinstance(row, Match) and row.family]
    assert heads[:3] == ["GPT", "Whisper", "Qwen"] and "Llama" in heads
    found = [source_of_row(row) for row in picker_rows("GPT", BUILTIN_TOKENIZERS, ())]
    assert found[0] == "gpt2" and "p50k_base" in found
    (row, *_) = picker_rows("llama 3.1", OTHER_TOKENIZERS, ())
    assert source_of_row(row) == "hf:meta-llama/Llama-3.1-8B"
    assert "Enter downloads it" in about_row(row) and "hf auth login" in about_row(row)
    assert "download" in "".join(span.text for span in paint_row(row, 100, current=None))


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
            span.text for span in paint_place(SourceRow(path, recent), width, current=current)
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
    [
        ("bad.tiktoken", "line 2"),
        ("notes.txt", "is not a tokenizer"),
        ("none.json", "no such file"),
    ],
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


async def test_a_path_that_is_too_long_is_no_path(open_dialog: OpenDialog) -> None:
    picker = TokenizerPicker("gpt2")
    async with open_dialog(picker, (100, 30)) as pilot:
        await pilot.paste("a" * 3000 + "/")
        await pilot.press("enter")
        text = " ".join(" ".join(pilot.screen_lines()).replace("│", " ").split())
        assert pilot.is_open and "File name too long" in text


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


async def test_another_choice_ends_what_is_said_of_the_first(
    open_dialog: OpenDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def load(source: str) -> tokviz.Tokenizer:
        if source == "b.json":
            raise TokvizError("b.json is broken")
        go_on.wait(30)
        raise TokvizError("a.json is broken")

    monkeypatch.setattr(tokenizer_picker, "load", load)
    monkeypatch.setattr(tokenizer_picker, "_PATIENCE", 0.05)
    picker = TokenizerPicker("gpt2")
    async with open_dialog(picker, (100, 30)) as pilot:
        picker._begin("a.json")
        await until(pilot.pilot, lambda: pilot.shows("Loading a.json… "))
        picker._browsed(Path("b.json"))  # Ctrl+O, meanwhile
        await until(pilot.pilot, lambda: pilot.shows("b.json is broken"))
        await pilot.pilot.pause(0.3)
        assert not pilot.shows("Loading ")
        go_on.set()
        await pilot.settle()
        assert pilot.shows("b.json is broken") and not pilot.shows("a.json is broken")


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
    path = tmp_path / "config.toml"
    save_settings(Settings(recent_tokenizers=("/a", "hf:b/c")), path)
    assert load_settings(path)[0].recent_tokenizers == ("/a", "hf:b/c")
    state = tmp_path / "state.toml"
    state.write_text('recent_tokenizers = ["/a", 3, []]')
    assert load_settings(path)[0].recent_tokenizers == ("/a",)
    state.write_text("recent_tokenizers = 3")
    assert load_settings(path)[0].recent_tokenizers == ()
    assert check_file(state)


# -- the user's own


def keep_run(name: str, when: float = 0) -> str:
    folder = runs_folder() / name
    tokviz.train(["abab" * 9], 258).save(folder)
    os.utime(folder, (when, when))
    return str(folder)


def trained(name: str, *facts: str, n_vocab: int | None = 300) -> Run:
    return Run(f"/runs/{name}", 0, n_vocab, facts)


def test_of_equals_the_users_own_stand_first_and_what_they_are_of_is_found_too() -> None:
    runs = [trained("gpt-mine", "war.txt"), trained("peace", "gpt2")]

    def found(query: str) -> list[str]:
        return [source_of_row(row) for row in picker_rows(query, BUILTIN_TOKENIZERS, (), runs)]

    builtin = [tokenizer.name for tokenizer in BUILTIN_TOKENIZERS]
    assert found("") == ["/runs/gpt-mine", "/runs/peace", *builtin]
    assert found("gpt")[:2] == ["/runs/gpt-mine", "gpt2"]
    assert found("gpt2")[0] == "gpt2" and "/runs/peace" in found("gpt2")
    assert found("WAR") == ["/runs/gpt-mine"]


def test_a_run_is_listed_once_even_if_it_was_used_before() -> None:
    run = trained("mine")
    rows = picker_rows("", BUILTIN_TOKENIZERS, (run.folder, "/else"), [run])
    assert [row for row in rows if source_of_row(row) == run.folder] == [run]
    assert rows[-1] == SourceRow("/else", True)


@given(st.text(min_size=1), st.booleans(), st.sampled_from([None, 300, 1_000_000]))
@example("a-corpus-of-a-long-name-50000-20261122-101500", True, 50_000)
def test_row_of_a_run_never_exceeds_its_width(name: str, current: bool, n_vocab: int) -> None:
    run = trained(name, "gpt4", "ties: first", "war.txt, 3.2 MB", n_vocab=n_vocab)
    for width in range(18, 120):
        text = "".join(span.text for span in paint_run(run, width, current=current))
        assert cell_len(text) <= width


async def test_the_users_own_come_first_with_what_they_are(open_dialog: OpenDialog) -> None:
    keep_run("older", 1)
    newer = keep_run("newer", 2)
    async with open_dialog(TokenizerPicker("cl100k_base"), (120, 40)) as pilot:
        first, second, third = pilot.app.screen.query_one(RowList).rows[:3]
        assert (first.name, second.name, third.name) == ("newer", "older", "gpt2")
        (line,) = [line for line in pilot.screen_lines() if "newer" in line]
        for fact in ("258 tokens", "gpt4", "ties: first", "texts from Python", "1970-"):
            assert fact in line
        assert pilot.shows("● cl100k_base")
        await pilot.click_row(0)
        assert pilot.result == newer


async def test_picking_one_of_ones_own_uses_it() -> None:
    folder = keep_run("mine")
    app = TokvizApp(Session(Opened("abab"), tokviz.load("gpt2"), remember=False))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+t")
        await settle(pilot)
        await pilot.press(*"mine", "enter")
        await settle(pilot)
        assert app.session.tokenizer.name == "mine"
        assert app.session.settings.tokenizer == folder
        assert app.session.settings.recent_tokenizers == ()


@pytest.mark.parametrize("by_mouse", [False, True])
async def test_one_of_ones_own_is_renamed_in_place(open_dialog: OpenDialog, by_mouse: bool) -> None:
    folder = keep_run("mine")
    renamed: list[tuple[str, str]] = []
    picker = TokenizerPicker(folder, renamed=lambda old, new: renamed.append((old, new)))
    async with open_dialog(picker, (120, 40)) as pilot:
        await (pilot.click_text("F2 rename") if by_mouse else pilot.press("f2"))
        assert pilot.shows("Enter rename")
        await pilot.press("ctrl+u")
        await pilot.type("gpt-4")
        await pilot.press("enter")
        assert pilot.shows("the name of a built-in tokenizer")
        await pilot.press("ctrl+u")
        await pilot.type("yours")
        await pilot.press("enter")
        assert renamed == [(folder, str(runs_folder() / "yours"))]
        assert pilot.shows("● yours")
        await pilot.press("enter")
        assert pilot.result == str(runs_folder() / "yours")


@pytest.mark.parametrize("by_mouse", [False, True])
async def test_one_of_ones_own_is_deleted_after_a_question_and_comes_back(
    open_dialog: OpenDialog, by_mouse: bool
) -> None:
    folder = Path(keep_run("mine"))
    async with open_dialog(TokenizerPicker(str(folder)), (120, 40)) as pilot:

        async def do(key: str, words: str) -> None:
            await (pilot.click_text(words) if by_mouse else pilot.press(key))

        await do("f8", "F8 delete")
        assert pilot.shows("Delete mine") and pilot.shows("until you choose another one.")
        await do("escape", "Esc cancel")
        assert folder.is_dir() and pilot.is_open
        await do("f8", "F8 delete")
        await do("y", "Y delete")
        assert not folder.exists() and pilot.shows("Deleted mine.")
        await do("ctrl+z", "Ctrl+Z undo")
        assert pilot.shows("● mine") and pilot.shows("mine is back.")
        await pilot.press("enter")
        assert pilot.result == str(folder)


@pytest.mark.parametrize(("key", "what"), [("f2", "renamed"), ("f8", "deleted")])
async def test_a_built_in_one_says_why_it_stays_as_it_is(
    open_dialog: OpenDialog, key: str, what: str
) -> None:
    async with open_dialog(TokenizerPicker("gpt2"), (80, 24)) as pilot:
        await pilot.press(key)
        assert pilot.shows(f"Only tokenizers that you trained can be {what}.")


async def test_where_nothing_fits_ones_own_are_named_first(open_dialog: OpenDialog) -> None:
    keep_run("mine")
    async with open_dialog(TokenizerPicker("gpt2"), (80, 24)) as pilot:
        await pilot.type("zzz")
        assert pilot.shows("There are mine, GPT,")


async def test_what_is_renamed_is_found_by_its_old_folder_while_the_app_runs() -> None:
    folder = keep_run("mine")
    app = TokvizApp(Session(Opened("abab"), tokviz.load(folder), Settings(tokenizer=folder)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+t")
        await settle(pilot)
        await pilot.press("f2", *"other", "enter", "escape")
        await settle(pilot)
        session = app.session
        assert session.tokenizer.name == "other"
        assert (
            session.settings.tokenizer
            == session.where(folder)
            == str(Path(folder).with_name("other"))
        )
        assert "other" in app.screen._compositor.render_strips()[0].text
        session.ask(UseTokenizer(folder))
        await settle(pilot)
        assert session.tokenizer.name == "other"


async def test_nothing_found_asks_what_was_meant_as_the_command_line_does(
    open_dialog: OpenDialog,
) -> None:
    keep_run("warpeace")
    async with open_dialog(TokenizerPicker("cl100k_base"), (120, 40)) as pilot:
        await pilot.type("gtp-4o")
        assert pilot.shows("did you mean gpt-4o")
        await pilot.press("ctrl+u")
        await pilot.type("wraepace")
        assert pilot.shows("did you mean warpeace")


async def test_the_one_in_use_is_always_listed(open_dialog: OpenDialog) -> None:
    async with open_dialog(TokenizerPicker("hf:org/name")) as pilot:
        assert pilot.shows("● org/name")
