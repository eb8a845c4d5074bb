"""Session files: the text, cursor, tokenizers and conversation of a session, saved as JSON.

Their names end in `.tokviz.json`. They store the names of tokenizers and checksums of their
vocabularies, not the tokenizers. Session files from others are safe to open, because opening one
reads only tokenizers that this user has opened under the same name before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from os import PathLike
from typing import Any, NamedTuple, get_origin, get_type_hints

from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import ConversationError
from tokviz.chat.model_files import model_files_of
from tokviz.chat.spans import SPECIALS
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
    ShowSavedText,
)
from tokviz.workspace.settings import Settings

_VERSION = 1
_MOST_BYTES = 64_000_000
_MOST_VALUES = 1_000_000
_KINDS = {str: "text", int: "a whole number", bool: "true or false", dict: "an object"}
Texts = tuple[str, ...]


class SavedSession(NamedTuple):
    """Content of a session file. Every field is optional in a file.

    Attributes:
        text: The text, as byte text.
        cursor: The position of the cursor in characters.
        screen: The id of the current screen.
        parse_specials: Whether special-token text is read as special tokens.
        tokenizers: The names of the current and the compared tokenizers, without folders.
        vocabularies: The `checksum` of each; empty if it was not loaded.
        panel: The side panel.
        split_patterns: The named patterns of the Splits panel.
        split_regex: The regex of that panel.
        conversation: The conversation of the Chat screen as JSON; None for none.
        template: The chat template; empty for the default of the tokenizer.
        variables: The user's values for variables of the chat template.
        specials: The policy for special tokens in the conversation; empty for the template's.
        replayed: The name of the replayed training or vocabulary; empty for none.
        lesson: The name of the replayed lesson; empty for none.
        merge: The current merge of the replay.
        replay_text: The text of the replay.
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
    variables: Mapping[str, Any] = {}
    specials: str = ""
    replayed: str = ""
    lesson: str = ""
    merge: int = 0
    replay_text: str = ""


class LoadedSession(NamedTuple):
    """A saved session with its tokenizers, as far as they are available.

    Attributes:
        saved: The saved session.
        tokenizer: The source of the current tokenizer and the tokenizer; None if not available.
        others: The same for the compared tokenizers.
        replayed: The source of the replay; empty if there is none or it is not available.
        conversation: The conversation, if there is one.
        missing: Sentences about everything that is not available.
    """

    saved: SavedSession
    tokenizer: tuple[str, Tokenizer] | None
    others: tuple[tuple[str, Tokenizer], ...]
    replayed: str
    conversation: Conversation | None
    missing: tuple[str, ...]


def checksum(tokenizer: Tokenizer) -> str:
    """Return a checksum of the vocabulary, the special tokens and the split pattern."""
    digest = hashlib.sha256(tokenizer.split_pattern.regex.encode("utf-8", "surrogatepass"))
    for text, token_id in sorted(tokenizer.special_tokens.items()):
        digest.update(f"\n{token_id} {text!r}".encode())
    for token_id in sorted([*tokenizer.tables.ids(), *tokenizer.special_tokens.values()]):
        digest.update(b"\n%d %s" % (token_id, tokenizer.token_bytes(token_id).hex().encode()))
    return digest.hexdigest()


def name_of(source: str) -> str:
    """Return the name of a tokenizer without its folder."""
    return source if is_builtin(source) else place_words(source)[0]


def capture_session(
    session: Session, screen: str, fields: Mapping[str, Any]
) -> Callable[[], SavedSession]:
    """Capture the state of a session.

    Args:
        session: The session.
        screen: The id of the current screen.
        fields: Fields of `SavedSession` that the screens provide.

    Returns:
        A function for a worker thread that computes the checksums and returns the state.
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
    vocabularies = list(tokenizers.values())
    return lambda: saved._replace(
        vocabularies=tuple(checksum(one) if one else "" for one in vocabularies)
    )


def load_session(saved: SavedSession, settings: Settings) -> LoadedSession:
    """Load the tokenizers of a session; for a worker thread.

    Only tokenizers that ship with tokviz, trainings of this user, and tokenizers that the user has
    opened before are loaded.
    """
    known = [*(run.folder for run in list_runs()), *settings.recent_tokenizers, settings.tokenizer]
    missing: list[str] = []

    def find_known(name: str, vocabulary: str = "") -> tuple[str, Tokenizer] | None:
        try:
            return find_tokenizer(name, vocabulary, known) if name else None
        except TokvizError as error:
            missing.append(sentence(str(error)))
            return None

    wanted = zip_longest(saved.tokenizers[: MOST_OTHERS + 1], saved.vocabularies, fillvalue="")
    tokenizer, *others = [find_known(*one) for one in wanted] or [None]
    conversation, replayed = None, ""
    if saved.conversation is not None:
        try:
            conversation = Conversation.from_json(saved.conversation, byte_text=True)
        except ConversationError as error:
            missing.append(failure_message("The conversation cannot be shown", error))
    files = None if tokenizer is None else model_files_of(tokenizer[1])
    if saved.template not in ("", *TEMPLATES, *(files.templates if files else ())):
        missing.append(
            f"The chat template {safe(saved.template)} is not part of tokviz: open its file."
        )
    if saved.lesson in lessons():
        replayed = str(lessons()[saved.lesson].ready())
    elif known_source := find_known(saved.replayed):
        replayed = known_source[0]
        known_source[1].close()
    return LoadedSession(
        saved, tokenizer, tuple(filter(None, others)), replayed, conversation, tuple(missing)
    )


def restore(session: Session, loaded: LoadedSession) -> None:
    """Show a loaded session; undo restores the previous text and conversation."""
    saved = loaded.saved
    changes: dict[str, Any] = {"compared": tuple(source for source, _ in loaded.others)}
    if patterns := tuple(name for name in saved.split_patterns if name in SPLIT_PATTERNS):
        changes |= {"split_patterns": patterns, "split_regex": saved.split_regex}
    session.change_settings(**changes)
    if loaded.tokenizer is not None:
        source, tokenizer = loaded.tokenizer
        session.use_tokenizer(tokenizer, source)
    for other in session.others:
        if other.tokenizer is not None:
            other.tokenizer.close()
    session.others[:] = [
        ComparedTokenizer(source, tokenizer) for source, tokenizer in loaded.others
    ]
    session.tell(OthersChanged())
    if loaded.conversation is not None:
        specials = saved.specials if saved.specials in SPECIALS else ""
        options = saved.template, saved.variables, specials
        session.ask(ShowConversation(loaded.conversation, "chat", *options), later=True)
    if loaded.replayed:
        text = saved.replay_text
        replay = ReplayRequest(loaded.replayed, saved.merge, text, lesson=saved.lesson)
        session.ask(replay, later=True)
    session.ask(
        ShowSavedText(saved.text, saved.cursor, saved.parse_specials, saved.panel, saved.screen)
    )


def find_tokenizer(name: str, vocabulary: str, known: Iterable[str]) -> tuple[str, Tokenizer]:
    """Find and load a tokenizer of a session among the known ones.

    Args:
        name: Its name in the session.
        vocabulary: Its checksum; empty if unknown.
        known: Sources of trainings and of tokenizers that the user has opened before.

    Returns:
        Its source and the tokenizer.

    Raises:
        TokvizError: If it is not available, or only with another vocabulary.
    """
    sources = [one for one in known if not is_builtin(one) and place_words(one)[0] == name]
    sources = [*([name] if is_builtin(name) else []), *dict.fromkeys(sources)]
    for source in sources:
        tokenizer = load(source)
        if vocabulary in ("", checksum(tokenizer)):
            return source, tokenizer
        tokenizer.close()
    if sources:
        raise TokvizError(f"the tokenizer {safe(name)} has another vocabulary here")
    raise TokvizError(
        f"the tokenizer {safe(name)} is not here: open it, then open the session again"
    )


def to_bytes(saved: SavedSession) -> bytes:
    """Return the content of a session file."""
    content = {"tokviz": _VERSION, "written_by": __version__, **saved._asdict()}
    return json.dumps(content, indent=1).encode() + b"\n"


def read_session(path: str | PathLike[str]) -> SavedSession:
    """Read a session file; unknown keys are ignored.

    Raises:
        InputFileError: If the file is invalid; it names the key.
    """
    content = parse_json(read_file(path, limit=_MOST_BYTES), path, _MOST_VALUES)
    if not isinstance(content, dict) or not isinstance(content.get("tokviz"), int):
        raise InputFileError(path, "is not a session file of tokviz: the key 'tokviz' is missing")
    if content["tokviz"] > _VERSION:
        raise InputFileError(path, "was written by a newer version of tokviz")
    fields: dict[str, Any] = {}
    for key, kind in get_type_hints(SavedSession).items():
        value = content.get(key)
        if key in content:
            plain = dict if get_origin(kind) is Mapping else kind
            if plain in _KINDS and type(value) is not plain:
                raise located(InputFileError(path, f"key '{key}': must be {_KINDS[plain]}"))
            if kind == Texts:
                if type(value) is not list or any(type(one) is not str for one in value):
                    raise located(InputFileError(path, f"key '{key}': must be a list of texts"))
                value = tuple(value)
            fields[key] = value
    fields |= {key: bytetext.as_byte_text(fields.get(key, "")) for key in ("text", "replay_text")}
    return SavedSession(**fields)
