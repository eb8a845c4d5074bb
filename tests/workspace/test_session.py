"""The session, without screens."""

from __future__ import annotations

from pathlib import Path

import pytest

import tokviz
from tokviz.chat.conversation import Conversation
from tokviz.errors import InputFileError
from tokviz.tui.screens.registry import SCREENS
from tokviz.workspace.session import (
    Asked,
    GoToToken,
    Opened,
    ReplayRequest,
    Request,
    Session,
    ShowConversation,
    ShowScreen,
    ShowText,
    ShowToken,
    TextSaved,
    TokenizerChanged,
    UseTokenizer,
    load_remembered,
    notes_about,
    opened_bytes,
    read_text,
    source_of,
)
from tokviz.workspace.settings import Settings, config_path, load_settings


def make_session(text: str = "hello world", **settings: object) -> Session:
    chosen = Settings(**settings)  # type: ignore[arg-type]
    return Session(Opened(text), tokviz.load("gpt2"), chosen, remember=False)


def test_another_tokenizer_changes_tokens_settings_and_is_told_once() -> None:
    session, heard = make_session(), []
    session.subscribe(TokenizerChanged, lambda change: heard.append(change.tokenizer.name))
    other = tokviz.load("o200k_base")
    session.use_tokenizer(other, "gpt-4o")
    session.use_tokenizer(other, "gpt-4o")
    assert heard == ["o200k_base"]
    assert session.tokenizer is other and session.live.tokenizer is other
    assert session.settings.tokenizer == "gpt-4o"
    assert session.tokenizer_source == "o200k_base"


def test_a_tokenizer_from_elsewhere_is_named_by_what_loaded_it() -> None:
    session = make_session(tokenizer="/runs/mine")
    own = tokviz.Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
    session.use_tokenizer(own, "/runs/mine")
    assert session.tokenizer_source == "/runs/mine"
    assert source_of(own, "/runs/mine") == "/runs/mine"
    assert source_of(tokviz.load("gpt2"), "gpt-2") == "gpt2"


@pytest.mark.parametrize(
    "request_",
    [
        ShowText("a"),
        GoToToken(1),
        UseTokenizer("gpt2"),
        ShowToken(5),
        ShowConversation(Conversation(())),
        ReplayRequest("gpt2"),
    ],
    ids=lambda request: type(request).__name__,
)
def test_a_request_names_a_screen_that_there_is_and_is_taken_once(request_: Request) -> None:
    session, asked = make_session(), []
    session.subscribe(Asked, lambda change: asked.append(change.screen))
    session.ask(request_)
    assert asked == [request_.screen]
    assert request_.screen in {kind.id for kind in SCREENS}
    assert session.take_requests(request_.screen) == [request_]
    assert session.take_requests(request_.screen) == []


def test_requests_wait_in_order_and_going_to_a_screen_asks_nothing_of_it() -> None:
    session = make_session()
    session.ask(ShowText("first"))
    session.ask(ShowScreen("tokens"))
    session.ask(ShowText("second"))
    assert session.take_requests("chat") == []
    assert session.take_requests("tokens") == [ShowText("first"), ShowText("second")]


def test_what_is_asked_for_at_the_start_names_the_first_screen() -> None:
    first = ReplayRequest("gpt2", at=3)
    session = Session(Opened(""), tokviz.load("gpt2"), first=first)
    assert session.first_screen == "replay"
    assert session.take_requests("replay") == [first]
    assert make_session().first_screen == "tokens"


def test_who_unsubscribed_is_told_nothing_and_a_callback_may_unsubscribe() -> None:
    session, heard = make_session(), []

    def once(change: TextSaved) -> None:
        heard.append(change.path)
        end()

    end = session.subscribe(TextSaved, once)
    session.tell(TextSaved(Path("a")))
    session.tell(TextSaved(Path("b")))
    assert heard == [Path("a")]


def test_settings_are_written_if_they_are_to_be_remembered() -> None:
    session = make_session()
    session.change_settings(wrap=False)
    session.write_settings()
    assert not config_path().exists()
    session.remember = True
    session.write_settings()
    assert load_settings()[0].wrap is False


def test_two_sessions_do_not_undo_each_others_settings() -> None:
    one, other = make_session(), make_session()
    one.remember = other.remember = True
    one.change_settings(theme="tokviz-light", recent_tokenizers=("a",))
    other.change_settings(wrap=False, recent_tokenizers=("b",))
    for session in (one, other, one):
        assert session.write_settings() is None
    found = load_settings()[0]
    assert (found.theme, found.wrap) == ("tokviz-light", False)
    assert found.recent_tokenizers == ("b", "a")
    other.change_settings(wrap=True, recent_tokenizers=())
    other.write_settings()
    found = load_settings()[0]
    assert (found.theme, found.wrap) == ("tokviz-light", True), "its own change counts"
    assert found.recent_tokenizers == ("a",), "it forgets what it has added"


def test_dialogs_begin_where_the_last_file_was(tmp_path: Path) -> None:
    session = make_session()
    assert session.folder is None
    session.remember_folder(tmp_path / "notes.md")
    assert session.folder == tmp_path.resolve()


def test_a_text_is_modified_until_it_is_noted_as_saved() -> None:
    session = make_session()
    assert not session.modified
    session.version = object()
    assert session.modified
    session.mark_replaced(Path("a"), is_sample=False)
    assert not session.modified and session.path == Path("a")


def test_bytes_are_opened_as_they_are_and_odd_ones_are_said(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_bytes(b"caf\xe9\r\n")
    opened = read_text(file)
    session = Session(opened, tokviz.load("gpt2"), remember=False)
    assert (session.live.text, opened.path) == ("caf\udce9\r\n", file)
    assert session.notes == ("1 byte is not valid UTF-8: shown as ‹hex› and kept.",)
    assert "binary" in notes_about(opened_bytes(b"\x00\x01" * 50).is_binary, 0)[0]
    with pytest.raises(InputFileError, match="no such file"):
        read_text(tmp_path / "missing")


def test_a_remembered_tokenizer_that_is_gone_is_said_and_replaced(tmp_path: Path) -> None:
    tokenizer, note = load_remembered(str(tmp_path / "gone"))
    assert tokenizer.name == "cl100k_base"
    assert "gone" in note and note.endswith("cl100k_base is used instead.")
    assert load_remembered("gpt2")[1] == ""
