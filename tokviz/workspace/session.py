"""What the app is about, without any screen: the text, the tokenizer, the settings, the requests.

Screens, dialogs and the command line reach each other only by way of a session. It holds the state
they share, and tells whoever subscribed to a kind of change; it imports no screen library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from tokviz.errors import TokvizError
from tokviz.formats.registry import BUILTIN_TOKENIZERS, is_builtin
from tokviz.formats.subprocess_loader import load
from tokviz.live.document import LiveDocument
from tokviz.storage.assets import asset_path
from tokviz.storage.files import FileState, file_state, looks_binary, read_blocks
from tokviz.text import bytetext
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.workspace.settings import MOST_RECENT, Settings, save_settings

if TYPE_CHECKING:
    from tokviz.chat.conversation import Conversation
    from tokviz.compare.compared_documents import ComparedTokenizer

DEFAULT_TOKENIZER = "cl100k_base"

MAX_TEXT_BYTES = 2_000_000_000
"""Largest text that is opened."""

_BLOCK_BYTES = 1 << 17
"""Larger blocks of characters do not stay in the caches of a processor while they are cut."""


# -- what can be asked for


class Request(Protocol):
    """Something that a screen is asked to show, by the command line or by another screen."""

    @property
    def screen(self) -> str:
        """The id of the screen that answers."""
        ...


class ShowScreen(NamedTuple):
    """Go to a screen, and change nothing there."""

    screen: str


class ShowText(NamedTuple):
    """Show a text in place of the one at hand; undo brings that back."""

    text: str
    screen: str = "tokens"


class GoToToken(NamedTuple):
    """Go to a token of the text at hand, by its index."""

    token: int
    screen: str = "tokens"


class ShowSaved(NamedTuple):
    """Show the text of a session file, the cursor in it and a panel; then go to another screen."""

    text: str
    cursor: int
    parse_specials: bool
    panel: str
    then: str
    screen: str = "tokens"


class UseTokenizer(NamedTuple):
    """Show the text by another tokenizer, given by what `tokviz.load` takes.

    On the Chat screen that is the conversation, and a template may come with it.
    """

    source: str
    screen: str = "tokens"
    template: str = ""


class RunAction(NamedTuple):
    """Go to a screen and do one of its actions, unless it makes no sense there."""

    screen: str
    call: str


class TrainWith(NamedTuple):
    """Set a training up: to split by a pattern (a name or a regex), to learn from these sources."""

    pattern: str = ""
    sources: tuple[str, ...] = ()
    screen: str = "train"


class ReplayRequest(NamedTuple):
    """Replay a training or a vocabulary.

    Attributes:
        source: A run folder, the name of a built-in tokenizer, or a tokenizer file.
        at: The number of merges to show first; None leaves the choice to the screen.
        text: A text whose tokens are shown after each merge (byte text); None for none.
        others: What to compare the source with: other sources, or files of merges.
        lesson: The name of the lesson that is replayed; empty for none.
        play: Whether to start playing at once.
        screen: The id of the screen.
    """

    source: str
    at: int | None = None
    text: str | None = None
    others: tuple[str, ...] = ()
    lesson: str = ""
    play: bool = False
    screen: str = "replay"


class ShowConversation(NamedTuple):
    """Show a conversation that belongs to no file, perhaps by another template."""

    conversation: Conversation
    screen: str = "chat"
    template: str = ""


class ShowToken(NamedTuple):
    """Show the page of a token of the tokenizer at hand."""

    token_id: int
    screen: str = "vocabulary"


# -- what subscribers are told


class TokenizerChanged(NamedTuple):
    """Another tokenizer is at hand."""

    tokenizer: Tokenizer


class OthersChanged(NamedTuple):
    """The text is compared with other tokenizers, or more is known of them."""


class TextChanged(NamedTuple):
    """Work that the Tokens screen began has changed the text, or how it is read, from afar."""


class SettingsChanged(NamedTuple):
    """A choice is to be remembered; `Session.write_settings` does it."""


class TextSaved(NamedTuple):
    """The text at hand has been written to a file."""

    path: Path


SESSION_ENDING = ".tokviz.json"
"""What the name of a session file ends in."""


class SessionWanted(NamedTuple):
    """The user wants to go on with what a session file holds."""

    path: Path


class Asked(NamedTuple):
    """A screen has been asked to show something; `Session.take_requests` tells what."""

    screen: str


class ProgressChanged(NamedTuple):
    """What a screen does in the background has come further, or is over."""

    screen: str


Change = TypeVar("Change", bound=NamedTuple)


class Opened(NamedTuple):
    """A text to begin with.

    Attributes:
        text: Byte text, or parts of it, which can be had once.
        path: The file it came from, None if from nowhere.
        is_sample: Whether it is the sample, which nobody would miss.
        notes: Sentences for the user about it.
        is_binary: Whether it looks like no text.
        state: How the file was when it was read.
    """

    text: str | Iterable[str]
    path: Path | None = None
    is_sample: bool = False
    notes: tuple[str, ...] = ()
    is_binary: bool = False
    state: FileState | None = None


class Session:
    """The state that screens share.

    Attributes:
        live: The text at hand with its tokens.
        path: The file the text came from or went to last, None for none.
        state_read: How the file was that the session began with.
        is_sample: Whether the text is the sample, untouched.
        edits: How often the text has been changed since it was opened.
        begun: Another object for every text that takes the place of one, not for an edit of it.
        version: What undo would take back; nothing but the same text has the same again.
        saved_version: What `version` was when the text was saved last.
        settings: The remembered choices; `change_settings` changes them.
        remember: Whether settings and unsaved text are written to the user's folders.
        others: The tokenizers that the text is compared with.
        progress: By the id of a screen, how far its work in the background is, in a word.
    """

    def __init__(
        self,
        opened: Opened,
        tokenizer: Tokenizer,
        settings: Settings | None = None,
        *,
        parse_specials: bool = True,
        remember: bool = True,
        first: Request | None = None,
        source: str = "",
        head_first: bool = False,
    ) -> None:
        """Begin with a text.

        Args:
            opened: The text.
            tokenizer: The tokenizer, whose tables are built when first needed.
            settings: The remembered choices, by default those of a first start.
            parse_specials: Whether special-token text is read as special tokens.
            remember: Whether anything is written to the user's folders.
            first: What is to be shown first, by default the text.
            source: What loads the tokenizer if it is not that of the settings. It is listed from
                now on among those that were used.
            head_first: Whether the text begins with its head if it is long, to be read on.
        """
        self.live = LiveDocument(
            opened.text, tokenizer, parse_specials=parse_specials, head_first=head_first
        )
        self.path = opened.path
        self.state_read = opened.state
        self.is_sample = opened.is_sample
        self._notes, self._is_binary = opened.notes, opened.is_binary
        self.edits = 0
        self.begun = object()
        self.version: object = None
        self.saved_version: object = None
        self.settings = self._written = settings or Settings()
        self._source = source or self.settings.tokenizer
        if source and not is_builtin(source):
            known = tuple(dict.fromkeys((source, *self.settings.recent_tokenizers)))
            self.settings = self.settings._replace(recent_tokenizers=known[:MOST_RECENT])
        self._writing = Lock()
        self.remember = remember
        self.others: list[ComparedTokenizer] = []
        self.progress: dict[str, str] = {}
        self._tokenizer = tokenizer
        self._moved: dict[str, str] = {}
        self._subscribers: defaultdict[type, list[Callable[[Any], object]]] = defaultdict(list)
        self._requests: defaultdict[str, list[Request]] = defaultdict(list)
        self.first_screen = "tokens" if first is None else first.screen
        if first is not None:
            self._requests[first.screen].append(first)

    # -- the text

    @property
    def modified(self) -> bool:
        """Whether the text is another one than was opened or saved."""
        return self.version is not self.saved_version

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about what was opened, to be shown once."""
        return (*self._notes, *notes_about(self._is_binary, self.live.n_raw_bytes))

    def note_text(self, path: Path | None, *, is_sample: bool = False) -> None:
        """Note that the text has been replaced by one that is nowhere unsaved."""
        self.path, self.is_sample = path, is_sample
        self.saved_version = self.version
        self.begun = object()

    # -- the tokenizer

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer at hand."""
        return self.live.tokenizer or self._tokenizer

    def use_tokenizer(self, tokenizer: Tokenizer, source: str) -> None:
        """Tokenize by another tokenizer from now on, also at the next start.

        Args:
            tokenizer: The tokenizer.
            source: What `tokviz.load` takes to load it again.
        """
        if tokenizer is self.live.tokenizer:
            return
        self._tokenizer, self._source = tokenizer, source
        self.live.set_tokenizer(tokenizer)
        self.change_settings(tokenizer=source)
        self.tell(TokenizerChanged(tokenizer))

    @property
    def tokenizer_source(self) -> str:
        """What the tokenizer at hand was loaded by, as far as that is known."""
        return source_of(self.tokenizer, self._source)

    def follow_run(self, old: str, new: str) -> None:
        """Know a training by its new folder from now on; the user has renamed it."""
        self._moved[old] = new
        self._moved.pop(new, None)
        if self.tokenizer_source == old:
            self.tokenizer.name = Path(new).name
            self._source = new
            self.change_settings(tokenizer=new)

    def where(self, source: str) -> str:
        """Give what loads a tokenizer now that trainings may have been renamed."""
        while source in self._moved:
            source = self._moved[source]
        return source

    # -- choices

    def change_settings(self, **changes: Any) -> None:
        """Remember choices."""
        self.settings = self.settings._replace(**changes)
        self.tell(SettingsChanged())

    def write_settings(self) -> str | None:
        """Write the choices that have changed, if they are to be remembered. For any thread.

        Returns:
            A sentence for the user if it failed, else None.
        """
        if not self.remember:
            return None
        with self._writing:
            settings, before = self.settings, self._written
            complaint = save_settings(settings, before=before)
            if complaint is None:
                self._written = settings
        return complaint

    @property
    def folder(self) -> Path | None:
        """The folder in which dialogs for files begin, None for the working folder."""
        return Path(self.settings.folder) if self.settings.folder else None

    def remember_folder(self, path: Path) -> None:
        """Let dialogs for files begin where this file is."""
        self.change_settings(folder=str(path.resolve().parent))

    # -- requests

    def ask(self, request: Request, *, later: bool = False) -> None:
        """Ask a screen to show something: now, or when it is seen for another reason."""
        if not isinstance(request, ShowScreen):
            self._requests[request.screen].append(request)
        if not later:
            self.tell(Asked(request.screen))

    def is_session(self, path: Path) -> bool:
        """Tell whether a file is a session file by its name, and open it if it is."""
        is_one = path.name.endswith(SESSION_ENDING)
        if is_one:
            self.tell(SessionWanted(path))
        return is_one

    def take_requests(self, screen: str) -> list[Request]:
        """Give what a screen has been asked to show, once, the oldest first."""
        return self._requests.pop(screen, [])

    # -- work in the background

    def set_progress(self, screen: str, word: str) -> None:
        """Say how far a screen's work in the background is; empty once it is over."""
        if word == self.progress.get(screen, ""):
            return
        self.progress[screen] = word
        self.tell(ProgressChanged(screen))

    # -- subscribers

    def subscribe(
        self, kind: type[Change], callback: Callable[[Change], object]
    ) -> Callable[[], None]:
        """Call a function after every change of a kind.

        Returns:
            What ends that.
        """
        self._subscribers[kind].append(callback)
        return lambda: self._subscribers[kind].remove(callback)

    def tell(self, change: NamedTuple) -> None:
        """Tell subscribers of a change."""
        for callback in tuple(self._subscribers[type(change)]):
            callback(change)


# -- opening


def source_of(tokenizer: Tokenizer, asked: str) -> str:
    """Give what loads a tokenizer again: the canonical name of one that ships with tokviz."""
    is_builtin = any(tokenizer.name == builtin.name for builtin in BUILTIN_TOKENIZERS)
    return tokenizer.name if is_builtin else asked


def load_remembered(source: str) -> tuple[Tokenizer, str]:
    """Load the tokenizer that was used last, or the default with a sentence that says why.

    Raises:
        TokvizError: If the default cannot be loaded either.
    """
    try:
        return load(source), ""
    except TokvizError as error:
        return load(DEFAULT_TOKENIZER), f"{error}. {DEFAULT_TOKENIZER} is used instead."


def read_text(path: Path) -> Opened:
    """Read a text from a file, byte for byte.

    Raises:
        InputFileError: If it cannot be read.
    """
    # Looked at before it is read: a change in between is then noticed too.
    state = file_state(path)
    blocks = read_blocks(path, limit=MAX_TEXT_BYTES, size=_BLOCK_BYTES)
    head = next(blocks, b"")
    parts = bytetext.from_blocks(chain([head], blocks))
    return Opened(parts, path, is_binary=looks_binary(head), state=state)


def opened_bytes(data: bytes) -> Opened:
    """Take bytes as a text, with what there is to say about them."""
    return Opened(bytetext.from_bytes(data), is_binary=looks_binary(data))


def sample_text() -> str:
    """Read the sample text that ships with tokviz."""
    return asset_path("samples/welcome.txt").read_text("utf-8")


def notes_about(is_binary: bool, n_raw: int) -> tuple[str, ...]:
    """Say what is special about a text, of which so many bytes are not UTF-8."""
    if is_binary:
        return ("This looks like a binary file. Its bytes are shown and kept as they are.",)
    subject = "1 byte is" if n_raw == 1 else f"{n_raw:,} bytes are"
    return (f"{subject} not valid UTF-8: shown as ‹hex› and kept.",) if n_raw else ()
