from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App

from tests.tui.dialogs.conftest import OpenDialog
from tests.tui.mouse import click
from tokviz.formats.save import FORMATS
from tokviz.storage.listing import FolderEntry
from tokviz.tui.dialogs import file_dialog
from tokviz.tui.dialogs.base import Dialog
from tokviz.tui.dialogs.file_dialog import (
    FileDialog,
    OpenFileDialog,
    PathField,
    SaveFileDialog,
    paint_entry,
)
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.dialogs.save_tokenizer import _paint as paint_format


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    base = tmp_path / "base"
    (base / "sub" / "deep").mkdir(parents=True)
    (base / "apple.txt").write_text("apple")
    (base / "banana.txt").write_text("banana")
    (base / "sub" / "cherry.txt").write_text("cherry")
    (base / ".secret").write_text("hidden")
    return base


@pytest.fixture(autouse=True)
def forgotten_folder() -> Iterator[None]:
    FileDialog.last_folder = None
    yield
    FileDialog.last_folder = None


# How a field and a line about the highlighted row fit in


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_the_end_of_what_is_typed_is_seen(
    open_dialog: OpenDialog, folder: Path, size: tuple[int, int]
) -> None:
    async with open_dialog(OpenFileDialog(folder), size=size) as pilot:
        await pilot.paste("a" * 100 + "END")
        assert pilot.shows("aEND")


async def test_what_a_field_asks_for_is_cut_with_an_ellipsis(
    open_dialog: OpenDialog, folder: Path
) -> None:
    async with open_dialog(OpenFileDialog(folder), size=(40, 12)) as pilot:
        assert pilot.shows("Type or paste a path, or part of a…")
        await pilot.type("nana")
        assert pilot.shows("› nana")
    async with open_dialog(OpenFileDialog(folder), size=(80, 24)) as pilot:
        assert pilot.shows("Type or paste a path, or part of a name")


async def test_what_is_said_about_a_row_is_cut_with_an_ellipsis(open_dialog: OpenDialog) -> None:
    about = " ".join(f"word{number}" for number in range(30))
    dialog = PickDialog("Title", [Option("a", "A", "", about)])
    async with open_dialog(dialog, size=(40, 12)) as pilot:
        line = pilot.screen_lines()[-2]
        assert line.strip().endswith("…")
        await pilot.pilot.resize_terminal(120, 40)
        await pilot.settle()
        assert not any("…" in line for line in pilot.screen_lines())
        assert pilot.shows("word29")
        await pilot.type("zz")
        assert pilot.shows("No matches.") and not pilot.shows("word")


async def test_a_long_note_gives_way_to_the_title_that_tells_options_apart(
    open_dialog: OpenDialog,
) -> None:
    title, note = "a title of many words, told apart by the last", "x" * 90
    options = [Option("a", title, note), Option("b", "short", note)]
    async with open_dialog(PickDialog("Title", options), size=(120, 40)) as pilot:
        assert pilot.shows(title)
        assert all(pilot.shows(text) for text in ("xxx…", "short"))
    async with open_dialog(PickDialog("Title", options), size=(40, 12)) as pilot:
        assert pilot.shows("a title of many") and pilot.shows("xxx…")


# Opening


async def test_part_of_a_name_and_enter_opens_the_file(
    open_dialog: OpenDialog, folder: Path
) -> None:
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.type("nana")
        await pilot.press("enter")
        assert pilot.result == folder / "banana.txt"


async def test_arrows_and_enter_open_a_file_in_a_folder(
    open_dialog: OpenDialog, folder: Path
) -> None:
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.press("enter")  # sub, the first entry
        assert pilot.shows("cherry.txt")
        await pilot.press("down", "enter")
        assert pilot.result == folder / "sub" / "cherry.txt"


async def test_mouse_alone_goes_up_and_opens(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(OpenFileDialog(folder / "sub")) as pilot:
        await pilot.click_text("../")
        await pilot.click_text("../")
        await pilot.click_text("apple.txt")
        await pilot.click_text("apple.txt")
        assert pilot.result == folder / "apple.txt"


async def test_a_double_click_on_the_highlighted_folder_opens_no_file_in_it(
    open_dialog: OpenDialog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(App, "CLICK_CHAIN_TIME_THRESHOLD", 3600.0)
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        (place,) = (
            (line.index("sub/"), y) for y, line in enumerate(pilot.screen_lines()) if "sub/" in line
        )
        for _ in range(2):
            await click(pilot.pilot, place)
            await pilot.settle()
        assert pilot.is_open and pilot.shows("cherry.txt")


async def test_a_double_click_on_a_folder_that_is_slow_to_read_opens_no_file_in_it(
    open_dialog: OpenDialog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    read = file_dialog.read_folder

    def slow(path: Path, cancelled: Callable[[], bool]) -> list[FolderEntry]:
        if path.name == "deep":
            go_on.wait()
        return read(path, cancelled)

    (folder / "sub" / "deep" / "deeper.txt").write_text("deeper")
    monkeypatch.setattr(file_dialog, "read_folder", slow)
    async with open_dialog(OpenFileDialog(folder / "sub")) as pilot:
        for _ in range(2):
            await pilot.pilot.click("RowList", offset=(3, 1))
        await pilot.pilot.press("f2")
        assert pilot.shows("reading…")  # not that there is nothing in it
        go_on.set()
        await pilot.settle()
        assert pilot.is_open and pilot.shows("deeper.txt")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_hidden_files_are_in_reach_of_the_mouse_where_a_folder_is_added_too(
    open_dialog: OpenDialog, folder: Path, size: tuple[int, int]
) -> None:
    async with open_dialog(
        OpenFileDialog(folder, verb="add", folder_verb="add this folder"), size
    ) as pilot:
        await pilot.click_text("F2 show hidden")
        assert pilot.shows(".secret")


async def test_pasted_absolute_path_opens(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(OpenFileDialog(Path("/"))) as pilot:
        await pilot.paste(f"'{folder}/sub/cherry.txt'\n")
        await pilot.press("enter")
        assert pilot.result == folder / "sub" / "cherry.txt"


async def test_typed_relative_and_home_paths_open(
    open_dialog: OpenDialog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.type("sub/cherry.txt")
        await pilot.press("enter")
        assert pilot.result == folder / "sub" / "cherry.txt"
    monkeypatch.setenv("HOME", str(folder))
    async with open_dialog(OpenFileDialog(Path("/"))) as pilot:
        await pilot.type("~/apple.txt")
        await pilot.press("enter")
        assert pilot.result == folder / "apple.txt"


async def test_tab_completes_folder_then_file(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.type("su")
        await pilot.press("tab")
        await pilot.type("ch")
        await pilot.press("tab", "enter")
        assert pilot.result == folder / "sub" / "cherry.txt"


async def test_backspace_in_the_empty_field_goes_up_to_where_we_came_from(
    open_dialog: OpenDialog, folder: Path
) -> None:
    async with open_dialog(OpenFileDialog(folder / "sub" / "deep")) as pilot:
        await pilot.press("backspace")
        assert pilot.shows("cherry.txt")
        await pilot.press("backspace")
        assert pilot.shows("apple.txt")
        await pilot.press("enter")
        assert pilot.shows("cherry.txt")


async def test_a_dialog_has_its_height_before_a_resize_is_heard(
    open_dialog: OpenDialog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dialog, "on_resize", lambda self, event: None)
    async with open_dialog(OpenFileDialog(folder), size=(80, 40)) as pilot:
        assert pilot.pilot.app.screen.query_one("#dialog").region.height == 22


async def test_hidden_files_are_shown_on_demand(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        assert not pilot.shows(".secret")
        await pilot.press("f2")
        assert pilot.shows(".secret")
        await pilot.click_text("F2 hide")
        assert not pilot.shows(".secret")


async def test_missing_file_is_told_beside_the_field(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.type("nosuchfile")
        await pilot.press("enter")
        assert pilot.is_open
        assert pilot.shows("nosuchfile: there is no such file")
        await pilot.press("backspace")
        assert not pilot.shows("there is no such file")


async def test_missing_folder_is_told(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.type("nowhere/x")
        assert pilot.shows("there is no such folder")
        await pilot.press("enter")
        assert pilot.is_open


async def test_typed_folder_is_entered_not_opened(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.type("sub")
        await pilot.press("enter")
        assert pilot.is_open
        assert pilot.shows("cherry.txt")


async def test_binary_file_is_opened_when_asked_twice(
    open_dialog: OpenDialog, folder: Path
) -> None:
    (folder / "zeros.bin").write_bytes(bytes(100))
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.type("zeros")
        await pilot.press("enter")
        assert pilot.is_open
        assert pilot.shows("does not look like text")
        await pilot.press("enter")
        assert pilot.result == folder / "zeros.bin"


async def test_pipe_does_not_hang_the_dialog(open_dialog: OpenDialog, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.type("pipe")
        await pilot.press("enter")
        assert pilot.shows("is a device or pipe")


async def test_name_with_escape_codes_is_shown_as_glyphs_and_opens(
    open_dialog: OpenDialog, folder: Path
) -> None:
    evil = folder / "evil\x1b]0;owned\x07.txt"
    evil.write_text("text")
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        assert pilot.shows("evil␛]0;owned␇.txt")
        assert not any("\x1b" in line or "\x07" in line for line in pilot.screen_lines())
        await pilot.type("evil")
        await pilot.press("tab", "enter")
        assert pilot.result == evil


async def test_undecodable_name_is_shown_and_opens(open_dialog: OpenDialog, folder: Path) -> None:
    with open(os.fsencode(folder) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"text")
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.type("caf")
        await pilot.press("enter")
        assert os.fsencode(str(pilot.result)).endswith(b"caf\xe9.txt")


async def test_pasted_controls_never_reach_the_field(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.paste("\x1b[31mapp\u202ele\n\nsecond line")
        assert isinstance(pilot.app.screen, OpenFileDialog)
        assert pilot.app.screen.field.value == "[31mapple"


async def test_next_dialog_begins_in_the_last_folder(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.type("sub/cherry.txt")
        await pilot.press("enter")
    async with open_dialog(OpenFileDialog()) as pilot:
        assert pilot.shows("cherry.txt")


async def test_ten_thousand_files_are_listed_and_filtered(
    open_dialog: OpenDialog, tmp_path: Path
) -> None:
    for number in range(10_000):
        (tmp_path / f"file{number:05}").touch()
    async with open_dialog(OpenFileDialog(tmp_path)) as pilot:
        assert pilot.shows("10,000")
        await pilot.type("09999")
        assert pilot.shows("1 of 10,000")
        await pilot.press("enter")
        assert pilot.result == tmp_path / "file09999"


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 5)])
async def test_a_file_can_be_opened_at_any_size(
    open_dialog: OpenDialog, folder: Path, size: tuple[int, int]
) -> None:
    async with open_dialog(OpenFileDialog(folder), size) as pilot:
        await pilot.type("ban")
        assert pilot.shows("banana")
        assert pilot.shows("Esc")
        await pilot.click_text("Enter")
        assert pilot.result == folder / "banana.txt"


@given(st.text(min_size=1), st.booleans(), st.integers(0, 10**15))
@example("a.txt", False, 12_345)
@example("日本語の長い名前" * 4, False, 12_345)
@example("x" * 200, False, 12_345)
def test_row_never_exceeds_its_width(name: str, is_folder: bool, size: int) -> None:
    for width in range(4, 100):
        cells = paint_entry(FolderEntry(name, is_folder, size, 1e9), width)
        assert cell_len("".join(span.text for span in cells)) <= width


# Saving


async def test_new_name_is_saved_in_the_folder_shown(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(SaveFileDialog(folder)) as pilot:
        await pilot.type("app")  # the beginning of an existing name is a name of its own
        await pilot.press("enter")
        assert pilot.result == folder / "app"


async def test_existing_file_needs_a_yes(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(SaveFileDialog(folder, "apple.txt")) as pilot:
        await pilot.press("enter")
        assert pilot.shows("Replace apple.txt?")
        await pilot.press("enter")
        assert pilot.is_open
        await pilot.press("escape")
        assert pilot.is_open
        await pilot.press("enter", "y")
        assert pilot.result == folder / "apple.txt"


@pytest.mark.parametrize(
    ("name", "reason"), [("apple.txt", "is read-only"), ("pipe", "is not a regular file")]
)
async def test_what_cannot_be_replaced_is_refused(
    open_dialog: OpenDialog, folder: Path, name: str, reason: str
) -> None:
    (folder / "apple.txt").chmod(0o444)
    os.mkfifo(folder / "pipe")
    for existing in ("replace", "take"):
        async with open_dialog(SaveFileDialog(folder, name, existing=existing)) as pilot:
            await pilot.press("enter")
            assert pilot.is_open
            assert pilot.shows(f"{name} {reason}")


async def test_existing_file_can_be_replaced_by_mouse(
    open_dialog: OpenDialog, folder: Path
) -> None:
    async with open_dialog(SaveFileDialog(folder)) as pilot:
        await pilot.click_text("banana.txt")
        await pilot.click_text("banana.txt")
        await pilot.click_text("Y replace")
        assert pilot.result == folder / "banana.txt"


async def test_name_is_kept_on_the_way_into_a_folder(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(SaveFileDialog(folder, "new.md")) as pilot:
        await pilot.press("down", "down", "enter")  # .. and then sub
        assert pilot.shows("cherry.txt")
        await pilot.press("enter")
        assert pilot.result == folder / "sub" / "new.md"


async def test_missing_folder_and_missing_name_are_told(
    open_dialog: OpenDialog, folder: Path
) -> None:
    async with open_dialog(SaveFileDialog(folder)) as pilot:
        await pilot.press("enter")
        assert pilot.shows("Type a name")
        await pilot.type("nowhere/new.txt")
        await pilot.press("enter")
        assert pilot.is_open
        assert pilot.shows("there is no such folder")


async def test_a_file_to_append_to_is_taken_as_it_is(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(SaveFileDialog(folder, "apple.txt", existing="take")) as pilot:
        await pilot.press("enter")
        assert pilot.result == folder / "apple.txt"


async def test_a_new_folder_is_not_put_in_the_place_of_a_file(
    open_dialog: OpenDialog, folder: Path
) -> None:
    async with open_dialog(SaveFileDialog(folder, "apple.txt", existing="refuse")) as pilot:
        await pilot.press("enter")
        assert pilot.is_open
        assert pilot.shows("apple.txt already exists and is not a folder.")


async def test_a_key_goes_through_the_kinds_of_file(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(SaveFileDialog(folder, "list.doc", kinds=("csv", "txt"))) as pilot:
        await pilot.press("enter")
        assert pilot.shows("End the name in .csv or .txt: that is the kind of file.")
        await pilot.press("ctrl+k")
        assert pilot.shows("list.csv")
        await pilot.press("ctrl+k", "enter")
        assert pilot.result == folder / "list.txt"


async def test_the_keys_of_other_dialogs_are_left_to_the_field(
    open_dialog: OpenDialog, folder: Path
) -> None:
    async with open_dialog(SaveFileDialog(folder, "list.doc")) as pilot:
        await pilot.press("home", "ctrl+k")
        assert pilot.app.dialog.query_one(PathField).value == ""
    async with open_dialog(OpenFileDialog(folder)) as pilot:
        await pilot.press("ctrl+o")
        assert pilot.is_open


async def test_a_folder_is_taken_where_one_is_wanted(open_dialog: OpenDialog, folder: Path) -> None:
    async with open_dialog(OpenFileDialog(folder, folder_verb="add this folder")) as pilot:
        await pilot.press("ctrl+o")
        assert pilot.result == folder
    async with open_dialog(OpenFileDialog(folder, folder_verb="add this folder")) as pilot:
        await pilot.press("down", "up", "ctrl+o")
        assert pilot.result == folder / "sub"


async def test_enter_takes_a_folder_of_the_wanted_kind(
    open_dialog: OpenDialog, folder: Path
) -> None:
    dialog = OpenFileDialog(folder, takes_folder=lambda path: path.name == "deep")
    async with open_dialog(dialog) as pilot:
        await pilot.press("enter")
        assert pilot.is_open
        await pilot.press("enter")
        assert pilot.result == folder / "sub" / "deep"


async def test_a_file_of_any_kind_is_taken_unread(open_dialog: OpenDialog, tmp_path: Path) -> None:
    (tmp_path / "bytes.bin").write_bytes(bytes(range(256)))
    async with open_dialog(OpenFileDialog(tmp_path, takes_any=True)) as pilot:
        await pilot.type("bytes.bin")
        await pilot.press("enter")
        assert pilot.result == tmp_path / "bytes.bin"


@pytest.mark.parametrize("width", [36, 60])
def test_a_format_is_named_whole_and_apart_from_its_file(width: int) -> None:
    for row in FORMATS.values():
        shown = "".join(span.text for span in paint_format(row, width))
        assert shown.startswith(f" {row.title} ") and len(shown) == width


async def test_what_is_typed_takes_the_place_of_the_name_that_is_offered_but_for_its_ending(
    open_dialog: OpenDialog, folder: Path
) -> None:
    kinds = ("csv", "txt")
    async with open_dialog(SaveFileDialog(folder, "list.txt", kinds=kinds)) as pilot:
        await pilot.type("mine")
        await pilot.press("enter")
        assert pilot.result == folder / "mine.txt"
    async with open_dialog(SaveFileDialog(folder, "list.txt", kinds=kinds)) as pilot:
        await pilot.press("home", *"my_", "ctrl+k", "enter")
        assert pilot.result == folder / "my_list.csv"
    async with open_dialog(SaveFileDialog(folder, "", kinds=("tokviz.json",))) as pilot:
        await pilot.type("session")
        await pilot.press("enter")
        assert pilot.result == folder / "session.tokviz.json"
