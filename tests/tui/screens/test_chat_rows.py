"""Rows of a dataset that are edited on the Chat screen and saved into the dataset."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

import tokviz
from tests.tui.waiting import settle, until
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import ChatRequest, Dataset
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.file_dialog import SaveFileDialog
from tokviz.tui.dialogs.pick import PickDialog
from tokviz.tui.screens.chat import ChatScreen
from tokviz.tui.widgets.conversation.rows import PartPlace
from tokviz.workspace.session import Opened, Session, ShowConversation, ShowScreen

ROWS: list[dict[str, Any]] = [
    {"id": n, "prompt": [{"role": "user", "content": f"question {n}"}],
     "completion": [{"role": "assistant", "content": "yes"}]}
    for n in range(5)
]  # fmt: skip


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep the user's folders out of the tests."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    yield


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def make_app(path: Path | None = None, *, remember: bool = False) -> TokvizApp:
    first = ShowScreen("chat") if path is None else ChatRequest(str(path))
    return TokvizApp(Session(Opened("hello"), tokviz.load("gpt2"), remember=remember, first=first))


async def screen_of(pilot: Pilot[None], row: int | None = None) -> ChatScreen:
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, ChatScreen)
    if row is not None:
        screen.rows.go_to(row)
        await settle(pilot)
    return screen


def said(app: TokvizApp) -> str:
    return " ".join(notice.message for notice in app._notifications)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def edited(row: int, text: str) -> dict[str, Any]:
    return {**ROWS[row], "prompt": [{"role": "user", "content": text}]}


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


async def test_an_edited_row_is_saved_into_its_dataset(rows: Path) -> None:
    app = make_app(rows)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot, 2)
        await press(pilot, "ctrl+s")
        assert "Row 3 has no changes" in said(app)
        await press(pilot, "Z", "ctrl+s")
        assert lines(rows) == [*ROWS[:2], edited(2, "Zquestion 2"), *ROWS[3:]]
        assert "Saved to row 3 of" in said(app)
        assert not screen.chat.modified
        await press(pilot, "Y", "ctrl+s")
        assert lines(rows)[2] == edited(2, "ZYquestion 2")
        screen.rows.go_to(4)
        await press(pilot)
        assert screen.chat.conversation.messages[0].text == "question 4"
        screen.rows.go_to(2)
        await press(pilot)
        assert screen.chat.conversation.messages[0].text == "ZYquestion 2"


async def test_undo_after_saving_and_saving_again_restores_the_row(rows: Path) -> None:
    before = rows.read_bytes()
    app = make_app(rows)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot, 1)
        await press(pilot, "Z", "ctrl+s", "ctrl+z")
        assert screen.chat.state.origin[:2] == (rows, 1)
        await press(pilot, "X", "backspace", "ctrl+s")
        assert rows.read_bytes() == before


async def test_a_dataset_that_changed_on_disk_is_asked_about(rows: Path) -> None:
    app = make_app(rows)
    async with app.run_test(size=(120, 40)) as pilot:
        await screen_of(pilot, 1)
        await press(pilot, "Z")
        rows.write_text(rows.read_text() + json.dumps(ROWS[0]) + "\n")
        await press(pilot, "ctrl+s")
        assert isinstance(app.screen, PickDialog)
        assert lines(rows) == [*ROWS, ROWS[0]]
        await press(pilot, *"anyway", "enter")
        assert lines(rows) == [ROWS[0], edited(1, "Zquestion 1"), *ROWS[2:], ROWS[0]]


async def test_a_row_that_changed_on_disk_is_not_replaced(rows: Path) -> None:
    app = make_app(rows)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot, 1)
        await press(pilot, "Z")
        rows.write_text("".join(rows.read_text().splitlines(keepends=True)[1:]))
        await press(pilot, "ctrl+s")
        await press(pilot, *"anyway", "enter")
        assert "row 2 changed on disk" in said(app)
        assert lines(rows) == ROWS[1:]
        screen.rows.open_path(rows)
        await press(pilot)
        await press(pilot, "ctrl+z", "ctrl+s")
        assert lines(rows) == ROWS[1:], "undo goes back to the edit of another version"


async def test_a_table_is_saved_as_a_new_file(tmp_path: Path) -> None:
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.Table.from_pylist(ROWS), path)
    app = make_app(path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot, 2)
        await press(pilot, "Z", "ctrl+s")
        assert isinstance(app.screen, SaveFileDialog)
        await press(pilot, "enter")
        new = tmp_path / "rows-edited.parquet"
        await until(pilot, new.exists)
        await settle(pilot)
        assert parquet.read_table(path).to_pylist() == ROWS
        assert parquet.read_table(new).to_pylist()[2] == edited(2, "Zquestion 2")
        assert screen.chat.state.origin[:2] == (new, 2)
        assert screen.rows.dataset is not None
        assert screen.rows.dataset.path == str(new)


@pytest.mark.parametrize("n_rows", [1, 3])
async def test_a_compressed_dataset_is_saved_as_a_new_file(tmp_path: Path, n_rows: int) -> None:
    import gzip

    path = tmp_path / "rows.jsonl.gz"
    data = gzip.compress("".join(json.dumps(row) + "\n" for row in ROWS[:n_rows]).encode())
    path.write_bytes(data)
    app = make_app(path)
    async with app.run_test(size=(120, 40)) as pilot:
        await screen_of(pilot)
        await press(pilot, "Z", "ctrl+s")
        await press(pilot, "enter")
        assert path.read_bytes() == data
        assert lines(tmp_path / "rows-edited.jsonl")[0] == edited(0, "Zquestion 0")


async def test_a_conversation_that_does_not_fit_the_shape_is_offered_as_messages(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"instruction": "a", "output": "b", "n": 1}\n' * 2)
    app = make_app(path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot, 1)
        await screen.run_action("screen.add_message")
        await press(pilot, "Z", "ctrl+s")
        dialog = app.screen
        assert isinstance(dialog, PickDialog)
        assert '"instruction"' in dialog.dialog_title
        await press(pilot, "enter")
        assert [*lines(path)[1]] == ["n", "messages"]
        assert lines(path)[0] == {"instruction": "a", "output": "b", "n": 1}


async def test_replacing_a_dataset_is_reported_and_undo_opens_it_again(rows: Path) -> None:
    one = rows.with_name("one.json")
    one.write_text(json.dumps({"messages": ROWS[0]["prompt"]}))
    app = make_app(rows)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot, 3)
        screen.rows.open_path(one)
        await press(pilot)
        assert "one.json replaces the dataset rows.jsonl. Ctrl+Z goes back" in said(app)
        assert screen.rows.dataset is None
        await press(pilot, "ctrl+z")
        assert screen.rows.row == 3
        assert isinstance(screen.rows.dataset, Dataset)
        shown = ShowConversation(Conversation.from_json(ROWS[0]))
        screen.answer(shown)
        await press(pilot)
        assert "The conversation replaces the dataset" in said(app)


async def test_recovered_work_returns_to_its_row(rows: Path) -> None:
    app = make_app(rows, remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await screen_of(pilot, 2)
        await press(pilot, "Z")
    again = make_app(remember=True)
    async with again.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot)
        await until(pilot, lambda: screen.recovery.leftovers)
        assert screen.recovery.leftovers[0].row is not None
        await screen.run_action("screen.restore_unsaved")
        await settle(pilot)
        await until(pilot, lambda: screen.rows.row == 2)
        assert screen.chat.modified
        await press(pilot, "ctrl+s")
        assert lines(rows) == [*ROWS[:2], edited(2, "Zquestion 2"), *ROWS[3:]]


async def test_work_on_a_row_that_changed_since_is_recovered_but_not_written(rows: Path) -> None:
    app = make_app(rows, remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await screen_of(pilot, 2)
        await press(pilot, "Z")
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[1:]))
    again = make_app(remember=True)
    async with again.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot)
        await until(pilot, lambda: screen.recovery.leftovers)
        await screen.run_action("screen.restore_unsaved")
        await settle(pilot)
        await press(pilot, "ctrl+s")
        await press(pilot, *"anyway", "enter")
        assert "row 3 changed on disk" in said(again)
        assert lines(rows) == ROWS[1:]
        assert screen.chat.conversation.messages[0].text == "Zquestion 2"


async def test_the_rejected_answer_is_shown_and_edited(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"chosen": ROWS[0]["prompt"] + ROWS[0]["completion"], "rejected": ROWS[0]["prompt"]}
    path.write_text((json.dumps(row) + "\n") * 2)
    app = make_app(path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot, 1)
        assert "'chosen'" in screen.rendered.rendering.notes[0]  # type: ignore[union-attr]
        await screen.run_action("screen.show_other_answer")
        await settle(pilot)
        assert not screen.chat.modified
        assert len(screen.chat.conversation.messages) == 1
        await screen.run_action("screen.add_message")
        await press(pilot, "n", "o", "ctrl+s")
        assert lines(path)[0] == row
        no = {"role": "assistant", "content": "no"}
        assert lines(path)[1] == {**row, "rejected": [*row["rejected"], no]}


async def test_a_row_of_plain_text_has_no_template(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "2 + 2 =", "completion": " 4"}\n' * 2)
    app = make_app(path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot, 1)
        assert "no template" in screen.title_bar.render_line(0).text
        assert "mask from the prompt's length" in screen.status.render_line(0).text
        await press(pilot, "Z", "ctrl+s")
        assert lines(path)[1] == {"prompt": "Z2 + 2 =", "completion": " 4"}


FIELDS = {
    "messages": [
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": "4", "reasoning_content": "Easy.", "weight": 0},
        {"role": "tool", "content": "4", "tool_call_id": "c1"},
    ],
    "tools": [{"type": "function", "function": {"name": "add"}}],
}


async def test_fields_are_shown_edited_added_and_removed() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await screen_of(pilot)
        screen.chat.change(Conversation.from_json(FIELDS), PartPlace(1, 2), template="chatml")
        await settle(pilot)
        assert screen.messages.editor.live.text == "0"
        assert screen.rendered.rendering is not None
        assert screen.rendered.rendering.untrained == {1: "weight"}
        await press(pilot, "backspace", "1")
        assert screen.chat.conversation.messages[1].extra["weight"] in (1, 10)
        await press(pilot, "ctrl+z")
        screen.messages.go_to(PartPlace(2, 1))
        await press(pilot, "x")
        assert screen.chat.conversation.messages[2].extra["tool_call_id"] == "c1x"
        screen.messages.go_to(PartPlace(2, 2))
        assert json.loads(screen.messages.editor.live.text) == FIELDS["tools"]
        await screen.run_action("screen.delete_part")
        await settle(pilot)
        assert "tools" not in screen.chat.conversation.extra
        assert "The field is deleted" in said(app)
        await screen.run_action("screen.add_part")
        await settle(pilot)
        await press(pilot, *"tools", "enter")
        assert screen.chat.conversation.extra["tools"] == []
