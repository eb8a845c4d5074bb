"""Session files: restored state, missing tokenizers, and safety."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles.nasty import FRAGMENTS
from tokviz.chat.conversation import Conversation
from tokviz.compare.compared_documents import ComparedTokenizer
from tokviz.errors import InputFileError
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.workspace import session_file
from tokviz.workspace.session import Opened, ReplayRequest, Session, ShowConversation, ShowSavedText
from tokviz.workspace.session_file import (
    SavedSession,
    capture_session,
    checksum,
    load_session,
    name_of,
    read_session,
    restore,
)
from tokviz.workspace.settings import Settings

HI = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def small(*tokens: bytes) -> Tokenizer:
    vocabulary = {number: bytes([number]) for number in range(256)}
    vocabulary |= {256 + number: token for number, token in enumerate(tokens)}
    return Tokenizer(vocabulary, [(token[:1], token[1:]) for token in tokens], {}, name="small")


@given(
    text=st.lists(st.sampled_from([*FRAGMENTS, "\udcff"]), max_size=8).map("".join),
    cursor=st.integers(),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, text: str, cursor: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "round.tokviz.json"
    named, patterns = ("gpt2", "x"), ("gpt4",)
    one = SavedSession(text, cursor, tokenizers=named, split_patterns=patterns, conversation=HI)
    one = one._replace(variables={"enable_thinking": False}, specials="transformers")
    path.write_bytes(session_file.to_bytes(one))
    assert read_session(path) == one


def test_a_session_is_saved_and_restored(tmp_path: Path) -> None:
    ours = Session(Opened("some text"), tokviz.load("gpt2"), remember=False)
    ours.others.append(ComparedTokenizer("cl100k_base", tokviz.load("cl100k_base")))
    chat = {"conversation": HI, "template": "chatml", "variables": {"x": [1]}, "specials": "?"}
    fields = {"cursor": 3, "lesson": "minbpe", "merge": 2, **chat}
    made = capture_session(ours, "compare", fields | {"replayed": "/home/me/secret/minbpe"})()
    assert "secret" not in session_file.to_bytes(made).decode()

    theirs = Session(Opened("other"), tokviz.load("o200k_base"), remember=False)
    found = load_session(made, theirs.settings)
    restore(theirs, found)
    assert (theirs.tokenizer.name, found.missing) == ("gpt2", ())
    assert [other.source for other in theirs.others] == ["cl100k_base"]
    assert theirs.take_requests("tokens") == [ShowSavedText("some text", 3, True, "ids", "compare")]
    assert theirs.take_requests("chat") == [
        ShowConversation(Conversation.from_json(HI), template="chatml", variables={"x": [1]})
    ]
    (replay,) = theirs.take_requests("replay")
    assert isinstance(replay, ReplayRequest)
    assert (replay.at, replay.lesson) == (2, "minbpe")


def test_a_tokenizer_is_known_by_its_vocabulary_and_taken_from_no_new_place(tmp_path: Path) -> None:
    for folder, tokens in {"a": (b"th",), "b": (b"th", b"he")}.items():
        (tmp_path / folder).mkdir()
        small(*tokens).save(tmp_path / folder / "mine.json", format="huggingface")
    places = [str(tmp_path / folder / "mine.json") for folder in "ab"]
    wanted = SavedSession(
        tokenizers=(name_of(places[1]),), vocabularies=(checksum(tokviz.load(places[1])),)
    )
    assert wanted.tokenizers == ("mine.json",)

    def found_by(*known: str) -> tuple[str | None, tuple[str, ...]]:
        found = load_session(wanted, Settings(recent_tokenizers=known))
        return found.tokenizer and found.tokenizer[0], found.missing

    assert found_by(*places) == (places[1], ())
    (said,) = found_by(places[0])[1]
    assert said == "The tokenizer mine.json has another vocabulary here."
    (said,) = found_by()[1]
    assert said.startswith("The tokenizer mine.json is not here: ")
    for name in (places[1], "hf:org/name", "../mine.json", "\x1b[2J"):
        lacking = load_session(SavedSession(tokenizers=(name,)), Settings()).missing
        assert "is not here" in lacking[0] and "\x1b" not in lacking[0]
    other = load_session(SavedSession(tokenizers=("gpt2",), vocabularies=("00",)), Settings())
    assert other.tokenizer is None and "another vocabulary" in other.missing[0]


def test_it_goes_on_without_what_is_wrong() -> None:
    saved = SavedSession("t", conversation=[{"role": 1}], template="/x.jinja")
    found = load_session(saved._replace(split_patterns=("none of ours", "gpt4")), Settings())
    assert found.conversation is None and len(found.missing) == 2
    session = Session(Opened(""), tokviz.load("gpt2"), remember=False)
    restore(session, found)
    assert session.take_requests("chat") == []
    assert session.settings.split_patterns == ("gpt4",)  # now in the file of the user


@pytest.mark.parametrize(
    ("name", "case"),
    {
        "no-json": ("nope", "line 1, column 1"),
        "a-list": ([], "is not a session"),
        "other-json": ({"version": "1.0"}, "is not a session"),
        "newer": ({"tokviz": 2}, "newer version of tokviz"),
        "number": ({"tokviz": 1, "cursor": "x"}, "(key 'cursor'): must be a whole number"),
        "flag": ({"tokviz": 1, "cursor": True}, "must be a whole number"),
        "object": ({"tokviz": 1, "variables": []}, "must be an object"),
        "item": ({"tokviz": 1, "tokenizers": ["a", 1]}, "must be a list of texts"),
        "list": ({"tokviz": 1, "split_patterns": "gpt2"}, "must be a list"),
        "deep": ('{"tokviz":1,"text":' + "[" * 100_000, "nested too deeply"),
        "many": ('{"tokviz":1,"text":[' + "1," * 1_000_001 + "1]}", "more than 1,000,000 values"),
    }.items(),
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_a_hostile_file_is_refused_with_its_place(
    tmp_path: Path, name: str, case: tuple[Any, str]
) -> None:
    given, words = case
    path = tmp_path / "x.tokviz.json"
    path.write_text(given if isinstance(given, str) else json.dumps(given))
    with pytest.raises(InputFileError) as error:
        read_session(path)
    assert words in str(error.value)


def test_a_file_of_100_megabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.tokviz.json"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(InputFileError, match="64"):
        read_session(path)
