from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tokviz
from tests.tui.dialogs.conftest import DialogApp, DialogPilot, OpenDialog
from tokviz.tui.dialogs import folder_counts
from tokviz.tui.dialogs.folder_counts import FolderDialog

TOKENIZER = tokviz.load("gpt2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    base = tmp_path / "base"
    (base / "sub").mkdir(parents=True)
    (base / "small.txt").write_text("hello")
    (base / "sub" / "large.txt").write_text("hello world" * 9)
    (base / "sub" / "other\x1b[31m.txt").write_text("hello world")
    (base / "picture.gif").write_bytes(b"\0\1")
    (base / ".hidden").write_text("hidden")
    return base


def dialog_of(folder: Path) -> FolderDialog:
    return FolderDialog(folder, TOKENIZER, parse_specials=True)


async def test_the_tree_has_the_tokens_of_each_folder(
    open_dialog: OpenDialog, folder: Path
) -> None:
    n_large = len(TOKENIZER.encode("hello world" * 9))
    async with open_dialog(dialog_of(folder), size=(80, 24)) as pilot:
        total = n_large + 2 + 1
        assert pilot.shows(
            f"{total} tokens in gpt2 · 3 files · 1 binary skipped · 1 hidden skipped"
        )
        rows = [line.strip("│ ").split() for line in pilot.screen_lines()]
        rows = [row for row in rows if len(row) > 2 and row[0].isdigit() and "gpt2" not in row]
        assert [(row[0], row[-3 if row[-1] == "files" else -1]) for row in rows] == [
            (str(total), "base/"),
            (str(n_large + 2), "sub/"),
            ("1", "small.txt"),
        ]


@pytest.mark.parametrize("keys", [("down", "enter"), ("down", "right")])
async def test_a_folder_is_unfolded_and_a_file_opened(
    open_dialog: OpenDialog, folder: Path, keys: tuple[str, ...]
) -> None:
    async with open_dialog(dialog_of(folder), size=(80, 24)) as pilot:
        assert not pilot.shows("large.txt")
        await pilot.press(*keys)
        assert pilot.shows("large.txt")
        assert not any("\x1b" in line for line in pilot.screen_lines())
        await pilot.press("left")
        assert not pilot.shows("large.txt")
        await pilot.press("right", "down", "enter")
        assert pilot.app.result == folder / "sub" / "large.txt"


async def test_escape_stops_the_counting_and_then_closes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    list_files = folder_counts.project_files

    def slow(*arguments: Any) -> Iterator[str]:
        for file in list_files(*arguments):
            yield file
            may_end.wait(10)

    monkeypatch.setattr(folder_counts, "project_files", slow)
    app = DialogApp(dialog_of(folder))
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = DialogPilot(app, pilot)
        while not dialog.shows("Counting… · "):
            await pilot.pause(0.01)
        assert dialog.shows("Esc stop")
        await pilot.press("escape")
        await pilot.pause()
        assert dialog.shows("Stopped · ") and dialog.shows("Esc close")
        may_end.set()
        await dialog.press("escape")
        assert app.result is None


async def test_a_folder_without_texts(open_dialog: OpenDialog, tmp_path: Path) -> None:
    async with open_dialog(dialog_of(tmp_path), size=(80, 24)) as pilot:
        assert pilot.shows("No text file is in this folder.")
        await pilot.press("enter", "left", "right", "escape")
        assert pilot.app.result is None


@pytest.mark.parametrize("size", [(40, 12), (30, 8), (120, 40)])
async def test_it_fits_in_any_terminal(
    open_dialog: OpenDialog, folder: Path, size: tuple[int, int]
) -> None:
    async with open_dialog(dialog_of(folder), size=size) as pilot:
        await pilot.press("down", "right", "pagedown", "pageup")
        assert pilot.shows("sub/")
