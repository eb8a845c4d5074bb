"""A file of what somebody looks at: the text, the tokenizers, where the cursor is, a conversation.

It is JSON whose name ends in `.tokviz.json`. Tokenizers are named in it, never held, and with the
name goes the checksum of the vocabulary. Opening one reads no other file than tokenizers that this
user has opened by that name before, so it may come from anybody.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from tokviz import __version__, bytetext
from tokviz.chat.conversation import Conversation, ConversationError
from tokviz.chat.templates import TEMPLATES
from tokviz.compare.lanes import MOST_OTHERS, Other
from tokviz.errors import InputFileError, TokvizError
from tokviz.files import read_file
from tokviz.formats.apart import load
from tokviz.formats.registry import is_builtin
from tokviz.glyphs import safe
from tokviz.json_file import located, parse_json
from tokviz.lessons import lessons
from tokviz.places import place_words
from tokviz.replay.request import ReplayRequest
from tokviz.runs import list_runs
from tokviz.sentences import sentence, why
from tokviz.session import OthersChanged, Session, ShowConversation, ShowSaved
from tokviz.settings import Settings
from tokviz.tokenizer import Tokenizer

_VERSION = 1
_MOST_BYTES = 64_000_000
_MOST_VALUES = 1_000_000


class Named(NamedTuple):
    """A tokenizer, by what it is called.

    Attributes:
        name: Its name; of a file or a training without its folder.
        vocabulary: What `checksum` gives; empty if it was not loaded.
    """

    name: str = ""
    vocabulary: str = ""


class SavedSession(NamedTuple):
    """What somebody looked at. Every field may be missing in a file.

    Attributes:
        text: The text, as byte text.
        cursor: The character that the cursor was at.
        screen: The id of the screen that was shown.
        parse_specials: Whether special-token text was read as special tokens.
        tokenizer: The tokenizer at hand.
        compared: Those that it was compared with.
        panel: The side panel beside the text.
        split_patterns: The named patterns of the Splits panel.
        split_regex: The regex below them.
        conversation: The conversation of the Chat screen, as JSON; None if there was none.
        template: The chat template.
        replayed: What was replayed; without a name if nothing was.
        lesson: The name of the lesson that it was, if it was one.
        merge: The merge that was shown of it.
        replay_text: The text that was shown with it.
    """

    text: str = ""
    cursor: int = 0
    screen: str = "tokens"
    parse_specials: bool = True
    tokenizer: Named = Named()
    compared: tuple[Named, ...] = ()
    panel: str = "ids"
    split_patterns: tuple[str, ...] = ()
    split_regex: str = ""
    conversation: Any = None
    template: str = ""
    replayed: Named = Named()
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
    for token_id, token in sorted(tokenizer.vocab.items()):
        found.update(b"\n%d %s" % (token_id, token.hex().encode()))
    return found.hexdigest()


def named(source: str, tokenizer: Tokenizer | None) -> Named:
    """Name a tokenizer that was loaded from somewhere, without saying where that is."""
    name = source if is_builtin(source) else place_words(source)[0]
    return Named(name, checksum(tokenizer) if tokenizer is not None else "")


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
    at_hand = session.tokenizer_source, session.tokenizer
    others = [(other.source, other.tokenizer) for other in session.others]

    more = dict(fields)
    if replayed := more.pop("replayed", ""):
        more["replayed"] = named(replayed, None)

    def save() -> SavedSession:
        return SavedSession(
            text=text,
            screen=screen,
            parse_specials=parsed,
            tokenizer=named(*at_hand),
            compared=tuple(named(*other) for other in others),
            panel=settings.panel,
            split_patterns=settings.split_patterns,
            split_regex=settings.split_regex,
        )._replace(**more)

    return save


def look_up(saved: SavedSession, settings: Settings) -> Found:
    """See what of a session there is here; for a thread, since tokenizers are loaded.

    Tokenizers are those that come with tokviz, trainings of this user, and what the user has opened
    before; a session can name no other place.
    """
    known = [*(run.folder for run in list_runs()), *settings.recent_tokenizers, settings.tokenizer]
    lacking: list[str] = []

    def find_here(wanted: Named) -> tuple[str, Tokenizer] | None:
        try:
            return find(wanted, known) if wanted.name else None
        except TokvizError as error:
            lacking.append(sentence(str(error)))
            return None

    others = tuple(filter(None, map(find_here, saved.compared[:MOST_OTHERS])))
    tokenizer = find_here(saved.tokenizer)
    conversation, replayed = None, ""
    if saved.conversation is not None:
        try:
            conversation = Conversation.from_json(saved.conversation, byte_text=True)
        except ConversationError as error:
            lacking.append(why("The conversation cannot be shown", error))
    if saved.template not in ("", *TEMPLATES):
        lacking.append(f"The chat template {safe(saved.template)} is not part of tokviz: open it.")
    if saved.lesson in lessons():
        replayed = str(lessons()[saved.lesson].ready())
    elif found := find_here(saved.replayed):
        replayed = found[0]
        found[1].close()
    return Found(saved, tokenizer, others, replayed, conversation, tuple(lacking))


def restore(session: Session, found: Found) -> None:
    """Show what a session file holds; undo brings back the text and the conversation before it."""
    saved = found.saved
    changes: dict[str, Any] = {"compared": tuple(source for source, _ in found.others)}
    if saved.split_patterns:
        changes |= {"split_patterns": saved.split_patterns, "split_regex": saved.split_regex}
    session.change_settings(**changes)
    if found.tokenizer is not None:
        source, tokenizer = found.tokenizer
        session.use_tokenizer(tokenizer, source)
    for other in session.others:
        if other.tokenizer is not None:
            other.tokenizer.close()
    session.others[:] = [Other(source, tokenizer) for source, tokenizer in found.others]
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


def find(wanted: Named, known: Iterable[str]) -> tuple[str, Tokenizer]:
    """Find a tokenizer of a session among those that are here.

    Args:
        wanted: What the session names.
        known: Trainings, and files and names that the user has opened before.

    Returns:
        What loads it, and itself.

    Raises:
        TokvizError: If it is not here, or another one has its name.
    """
    name = wanted.name
    places = [place for place in known if not is_builtin(place) and place_words(place)[0] == name]
    places = [*([name] if is_builtin(name) else []), *dict.fromkeys(places)]
    for place in places:
        tokenizer = load(place)
        if wanted.vocabulary in ("", checksum(tokenizer)):
            return place, tokenizer
        tokenizer.close()
    if places:
        raise TokvizError(f"the tokenizer {safe(name)} is here, but with another vocabulary")
    raise TokvizError(f"the tokenizer {safe(name)} is not here: open it, then the session again")


def to_bytes(saved: SavedSession) -> bytes:
    """Write a session."""
    content = saved._asdict() | {"tokviz": _VERSION, "written_by": __version__}
    for key, value in content.items():
        if isinstance(value, Named):
            content[key] = value._asdict()
    content["compared"] = [one._asdict() for one in saved.compared]
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
    saved = SavedSession(**_fields(SavedSession, content, path))
    return saved._replace(
        text=bytetext.as_byte_text(saved.text),
        replay_text=bytetext.as_byte_text(saved.replay_text),
    )


_WORDS = {str: "text", int: "a whole number", bool: "true or false"}


def _fields(
    kind: type[NamedTuple], content: object, path: str | PathLike[str], place: str = ""
) -> dict[str, Any]:
    """Take the values of an object that have a field, each of which must be of its type."""

    def one_of(wanted: Any, key: str, value: object, where: str) -> Any:
        if hasattr(wanted, "_fields"):
            return wanted(**_fields(wanted, value, path, where))
        if wanted is Any or type(value) is wanted:
            return value
        raise located(InputFileError(path, f"{where}: {key!r} must be {_WORDS[wanted]}"))

    if not isinstance(content, dict):
        raise located(InputFileError(path, f"{place}: must be an object"))
    taken: dict[str, Any] = {}
    for key, wanted in get_type_hints(kind).items():
        value, where = content.get(key), place or f"key '{key}'"
        if key not in content:
            continue
        if get_origin(wanted) is not tuple:
            taken[key] = one_of(wanted, key, value, where)
        elif isinstance(value, list):
            kind_of = get_args(wanted)[0]
            items = enumerate(value)
            taken[key] = tuple(one_of(kind_of, key, one, f"{key}[{n}]") for n, one in items)
        else:
            raise located(InputFileError(path, f"{where}: must be a list"))
    return taken
