"""A file of what somebody looks at: the text, the tokenizers, where the cursor is, a conversation.

It is JSON whose name ends in `.tokviz.json`. Tokenizers are named in it, never held, and with the
name goes the checksum of the vocabulary. Opening one reads no other file than tokenizers that this
user has opened by that name before, so it may come from anybody.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from os import PathLike
from typing import Any, NamedTuple, get_type_hints

from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import ConversationError
from tokviz.chat.templates import TEMPLATES
from tokviz.compare.compared_documents import MOST_OTHERS, ComparedTokenizer
from tokviz.errors import InputFileError, TokvizError
from tokviz.formats.registry import is_builtin, place_words
from tokviz.formats.subprocess_loader import load
from tokviz.guide.lessons import lessons
from tokviz.storage.files import read_file
from tokviz.storage.json_file import located, parse_json
from tokviz.storage.version import __version__
from tokviz.text import bytetext
from tokviz.text.glyphs import safe
from tokviz.text.sentences import failure_message, sentence
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.run_library import list_runs
from tokviz.workspace.session import (
    OthersChanged,
    ReplayRequest,
    Session,
    ShowConversation,
    ShowSaved,
)
from tokviz.workspace.settings import Settings

_VERSION = 1
_MOST_BYTES = 64_000_000
_MOST_VALUES = 1_000_000
_KINDS = {str: "text", int: "a whole number", bool: "true or false"}
Texts = tuple[str, ...]


class SavedSession(NamedTuple):
    """What somebody looked at. Every field may be missing in a file.

    Attributes:
        text: The text, as byte text.
        cursor: The character that the cursor was at.
        screen: The id of the screen that was shown.
        parse_specials: Whether special-token text was read as special tokens.
        tokenizers: The names of the tokenizer at hand and of those that it was compared with; of a
            file or a training without its folder.
        vocabularies: What `checksum` gives of each; empty if it was not loaded.
        panel: The side panel beside the text.
        split_patterns: The named patterns of the Splits panel.
        split_regex: The regex below them.
        conversation: The conversation of the Chat screen, as JSON; None if there was none.
        template: The chat template.
        replayed: The name of what was replayed; empty if nothing was.
        lesson: The name of the lesson that it was, if it was one.
        merge: The merge that was shown of it.
        replay_text: The text that was shown with it.
    """

    text: str = ""
    cursor: int = 0
    screen: str = "tokens"
    parse_specials: bool = True
    tokenizers: Texts = ()
    vocabularies: Texts = ()
    panel: str = "ids"
    split_patterns: Texts = ()
    split_regex: str = ""
    conversation: Any = None
    template: str = ""
    replayed: str = ""
    lesson: str = ""
    merge: int = 0
    replay_text: str = ""


class Found(NamedTuple):
    """What of a session there is here.

    Attributes:
        saved: The session.
        tokenizer: What loads the tokenizer at hand, and itself; None if it is not here.
        others: The same of those that it is compared with.
        replayed: What loads what is replayed; empty if nothing is, or it is not here.
        conversation: The conversation, if there is one.
        lacking: Sentences on what is not here.
    """

    saved: SavedSession
    tokenizer: tuple[str, Tokenizer] | None
    others: tuple[tuple[str, Tokenizer], ...]
    replayed: str
    conversation: Conversation | None
    lacking: tuple[str, ...]


def checksum(tokenizer: Tokenizer) -> str:
    """Give the checksum of what decides about the tokens: vocabulary, specials, split pattern."""
    found = hashlib.sha256(tokenizer.split_pattern.regex.encode("utf-8", "surrogatepass"))
    for text, token_id in sorted(tokenizer.special_tokens.items()):
        found.update(f"\n{token_id} {text!r}".encode())
    for token_id in sorted([*tokenizer.tables.ids(), *tokenizer.special_tokens.values()]):
        found.update(b"\n%d %s" % (token_id, tokenizer.token_bytes(token_id).hex().encode()))
    return found.hexdigest()


def name_of(source: str) -> str:
    """Name a tokenizer that was loaded from somewhere, without saying where that is."""
    return source if is_builtin(source) else place_words(source)[0]


def saved_of(
    session: Session, screen: str, fields: Mapping[str, Any]
) -> Callable[[], SavedSession]:
    """Take what a session is about.

    Args:
        session: The session.
        screen: The id of the screen that is shown.
        fields: What screens know of it.

    Returns:
        What gives it; for a thread.
    """
    settings, text, parsed = session.settings, session.live.text, session.live.parse_specials
    tokenizers = {name_of(session.tokenizer_source): session.tokenizer} | {
        name_of(other.source): other.tokenizer for other in session.others
    }
    saved = SavedSession(
        text=text,
        screen=screen,
        parse_specials=parsed,
        tokenizers=tuple(tokenizers),
        panel=settings.panel,
        split_patterns=settings.split_patterns,
        split_regex=settings.split_regex,
    )._replace(**fields)
    saved = saved._replace(replayed=name_of(saved.replayed))
    found = list(tokenizers.values())
    return lambda: saved._replace(
        vocabularies=tuple((one and checksum(one)) or "" for one in found)
    )


def look_up(saved: SavedSession, settings: Settings) -> Found:
    """See what of a session there is here; for a thread, since tokenizers are loaded.

    Tokenizers are those that come with tokviz, trainings of this user, and what the user has opened
    before; a session can name no other place.
    """
    known = [*(run.folder for run in list_runs()), *settings.recent_tokenizers, settings.tokenizer]
    lacking: list[str] = []

    def find_here(name: str, vocabulary: str = "") -> tuple[str, Tokenizer] | None:
        try:
            return find(name, vocabulary, known) if name else None
        except TokvizError as error:
            lacking.append(sentence(str(error)))
            return None

    wanted = zip_longest(saved.tokenizers[: MOST_OTHERS + 1], saved.vocabularies, fillvalue="")
    tokenizer, *others = [find_here(*one) for one in wanted] or [None]
    conversation, replayed = None, ""
    if saved.conversation is not None:
        try:
            conversation = Conversation.from_json(saved.conversation, byte_text=True)
        except ConversationError as error:
            lacking.append(failure_message("The conversation cannot be shown", error))
    if saved.template not in ("", *TEMPLATES):
        lacking.append(f"The chat template {safe(saved.template)} is not part of tokviz: open it.")
    if saved.lesson in lessons():
        replayed = str(lessons()[saved.lesson].ready())
    elif found := find_here(saved.replayed):
        replayed = found[0]
        found[1].close()
    return Found(
        saved, tokenizer, tuple(filter(None, others)), replayed, conversation, tuple(lacking)
    )


def restore(session: Session, found: Found) -> None:
    """Show what a session file holds; undo brings back the text and the conversation before it."""
    saved = found.saved
    changes: dict[str, Any] = {"compared": tuple(source for source, _ in found.others)}
    if patterns := tuple(name for name in saved.split_patterns if name in SPLIT_PATTERNS):
        changes |= {"split_patterns": patterns, "split_regex": saved.split_regex}
    session.change_settings(**changes)
    if found.tokenizer is not None:
        source, tokenizer = found.tokenizer
        session.use_tokenizer(tokenizer, source)
    for other in session.others:
        if other.tokenizer is not None:
            other.tokenizer.close()
    session.others[:] = [ComparedTokenizer(source, tokenizer) for source, tokenizer in found.others]
    session.tell(OthersChanged())
    if found.conversation is not None:
        conversation = ShowConversation(found.conversation, template=saved.template)
        session.ask(conversation, later=True)
    if found.replayed:
        text = saved.replay_text
        replay = ReplayRequest(found.replayed, saved.merge, text, lesson=saved.lesson)
        session.ask(replay, later=True)
    look = saved.parse_specials, saved.panel, saved.screen
    session.ask(ShowSaved(saved.text, saved.cursor, *look))


def find(name: str, vocabulary: str, known: Iterable[str]) -> tuple[str, Tokenizer]:
    """Find a tokenizer of a session among those that are here.

    Args:
        name: What the session calls it.
        vocabulary: Its checksum; empty if that is not known.
        known: Trainings, and files and names that the user has opened before.

    Returns:
        What loads it, and itself.

    Raises:
        TokvizError: If it is not here, or another one has its name.
    """
    places = [place for place in known if not is_builtin(place) and place_words(place)[0] == name]
    places = [*([name] if is_builtin(name) else []), *dict.fromkeys(places)]
    for place in places:
        tokenizer = load(place)
        if vocabulary in ("", checksum(tokenizer)):
            return place, tokenizer
        tokenizer.close()
    if places:
        raise TokvizError(f"the tokenizer {safe(name)} is here, but with another vocabulary")
    raise TokvizError(f"the tokenizer {safe(name)} is not here: open it, then the session again")


def to_bytes(saved: SavedSession) -> bytes:
    """Write a session."""
    content = {"tokviz": _VERSION, "written_by": __version__, **saved._asdict()}
    return json.dumps(content, indent=1).encode() + b"\n"


def read_session(path: str | PathLike[str]) -> SavedSession:
    """Read a session; what this version does not know is passed over.

    Raises:
        InputFileError: If it is none, with the place of what is wrong.
    """
    content = parse_json(read_file(path, limit=_MOST_BYTES), path, _MOST_VALUES)
    if not isinstance(content, dict) or not isinstance(content.get("tokviz"), int):
        raise InputFileError(path, "is not a session of tokviz: its key 'tokviz' is missing")
    if content["tokviz"] > _VERSION:
        raise InputFileError(path, "was written by a newer tokviz, which this one cannot read")
    taken: dict[str, Any] = {}
    for key, kind in get_type_hints(SavedSession).items():
        value = content.get(key)
        if key in content:
            if kind in _KINDS and type(value) is not kind:
                raise located(InputFileError(path, f"key '{key}': must be {_KINDS[kind]}"))
            if kind == Texts:
                if type(value) is not list or any(type(one) is not str for one in value):
                    raise located(InputFileError(path, f"key '{key}': must be a list of texts"))
                value = tuple(value)
            taken[key] = value
    taken |= {key: bytetext.as_byte_text(taken.get(key, "")) for key in ("text", "replay_text")}
    return SavedSession(**taken)
