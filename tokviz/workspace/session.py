"""Shared state of the screens: the text, the tokenizer, the settings, and requests to screens.

Screens, dialogs and the command line communicate only through a session. It notifies the
subscribers of each kind of change, and imports no screen library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
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
    from tokviz.process.jobs.check_client import CheckReport

DEFAULT_TOKENIZER = "cl100k_base"

MAX_TEXT_BYTES = 2_000_000_000
"""Size limit of a text."""

_BLOCK_BYTES = 1 << 17
"""Larger blocks do not stay in the caches of the processor while they are cut."""


# -- requests


class Request(Protocol):
    """A request to a screen from the command line or another screen."""

    @property
    def screen(self) -> str:
        """The id of the requested screen."""
        ...


class ShowScreen(NamedTuple):
    """Switch to a screen without changing it."""

    screen: str


class ShowText(NamedTuple):
    """Replace the current text; undo restores it."""

    text: str
    screen: str = "tokens"


class OpenPath(NamedTuple):
    """Open a file, or show the token counts of a folder."""

    path: Path
    screen: str = "tokens"


class GoToToken(NamedTuple):
    """Go to a token of the current text, by its index."""

    token: int
    screen: str = "tokens"


class ShowSavedText(NamedTuple):
    """Show the text of a session file with its cursor and panel; then switch to another screen."""

    text: str
    cursor: int
    parse_specials: bool
    panel: str
    then: str
    screen: str = "tokens"


class UseTokenizer(NamedTuple):
    """Use another tokenizer, given by a name or path as for `tokviz.load`.

    On the Chat screen it is used for the conversation, optionally with another template.
    """

    source: str
    screen: str = "tokens"
    template: str = ""


class RunAction(NamedTuple):
    """Switch to a screen and run one of its actions, if the action is available."""

    screen: str
    call: str


class TrainWith(NamedTuple):
    """Fill in the Train screen: a split pattern (a name or a regex) and sources."""

    pattern: str = ""
    sources: tuple[str, ...] = ()
    screen: str = "train"


class ReplayRequest(NamedTuple):
    """Replay a training or a vocabulary.

    Attributes:
        source: A run folder, the name of a built-in tokenizer, or a tokenizer file.
        at: The merge to show first; None lets the screen choose.
        text: A text to show with its tokens after each merge (byte text); None for none.
        others: Other sources or files of merges to compare with.
        lesson: The name of the replayed lesson; empty for none.
        play: Whether to start playing immediately.
        check: A check of the user's own merges to compare with.
        screen: The id of the screen.
    """

    source: str
    at: int | None = None
    text: str | None = None
    others: tuple[str, ...] = ()
    lesson: str = ""
    play: bool = False
    check: CheckReport | None = None
    screen: str = "replay"


class ShowConversation(NamedTuple):
    """Show a conversation that is not from a dataset.

    Attributes:
        conversation: The conversation.
        screen: The id of the screen.
        template: The template of a session file.
        variables: The values of its variables in a session file; None if it is from elsewhere.
        specials: The policy for special tokens of a session file; "" for that of the template.
    """

    conversation: Conversation
    screen: str = "chat"
    template: str = ""
    variables: Mapping[str, Any] | None = None
    specials: str = ""


class ShowToken(NamedTuple):
    """Show the page of a token of the current tokenizer."""

    token_id: int
    screen: str = "vocabulary"


# -- changes


class TokenizerChanged(NamedTuple):
    """The current tokenizer has changed."""

    tokenizer: Tokenizer


class OthersChanged(NamedTuple):
    """The compared tokenizers or their results have changed."""


class TextChanged(NamedTuple):
    """A background task of the Tokens screen has changed the text or its tokens."""


class SettingsChanged(NamedTuple):
    """A setting has changed; `Session.write_settings` saves it."""


class TextSaved(NamedTuple):
    """The current text has been saved to a file."""

    path: Path


SESSION_ENDING = ".tokviz.json"
"""Extension of session files."""


class SessionFileRequested(NamedTuple):
    """The user has opened a session file."""

    path: Path


class Asked(NamedTuple):
    """A screen has a new request; `Session.take_requests` returns it."""

    screen: str


class ProgressChanged(NamedTuple):
    """A background task of a screen has progressed or ended."""

    screen: str


Change = TypeVar("Change", bound=NamedTuple)


class Opened(NamedTuple):
    """A text to open.

    Attributes:
        text: Byte text, or an iterable of its parts, which is consumed.
        path: The file it is from; None if it is not from a file.
        is_sample: Whether it is the sample text, which need not be saved.
        notes: Sentences for the user about it.
        is_binary: Whether it looks like binary data.
        state: The state of the file when it was read.
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
        live: The current text with its tokens.
        path: The file that the text was last opened from or saved to; None for none.
        state_read: The state of the first opened file when it was read.
        is_sample: Whether the text is the unchanged sample.
        edits: Number of edits since the text was opened.
        text_id: An object that is replaced with every new text, but not by edits.
        version: The last entry of the undo history; equal only for the same text.
        saved_version: The `version` of the last saved text.
        settings: The settings; `change_settings` changes them.
        remember: Whether to write settings and unsaved text to the user's folders.
        others: The compared tokenizers.
        progress: Progress of background tasks, as a word by screen id.
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
        """Create a session with a text.

        Args:
            opened: The text.
            tokenizer: The tokenizer, whose tables are built when first needed.
            settings: The settings; by default those of a first start.
            parse_specials: Whether special-token text is read as special tokens.
            remember: Whether to write to the user's folders.
            first: The first request; by default the text is shown.
            source: The name or path that the tokenizer was loaded from, if it is not that of the
                settings. It is added to the recent tokenizers.
            head_first: Whether to read only the start of a long text at first.
        """
        self.live = LiveDocument(
            opened.text, tokenizer, parse_specials=parse_specials, head_first=head_first
        )
        self.path = opened.path
        self.state_read = opened.state
        self.is_sample = opened.is_sample
        self._notes, self._is_binary = opened.notes, opened.is_binary
        self.edits = 0
        self.text_id = object()
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
        self._renamed_runs: dict[str, str] = {}
        self._subscribers: defaultdict[type, list[Callable[[Any], object]]] = defaultdict(list)
        self._requests: defaultdict[str, list[Request]] = defaultdict(list)
        self.first_screen = "tokens" if first is None else first.screen
        if first is not None:
            self._requests[first.screen].append(first)

    # -- the text

    @property
    def modified(self) -> bool:
        """Whether the text has unsaved changes."""
        return self.version is not self.saved_version

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about the opened text, to show once."""
        return (*self._notes, *notes_about(self._is_binary, self.live.n_raw_bytes))

    def mark_replaced(self, path: Path | None, *, is_sample: bool = False) -> None:
        """Record that the text has been replaced by one without unsaved changes."""
        self.path, self.is_sample = path, is_sample
        self.saved_version = self.version
        self.text_id = object()

    # -- the tokenizer

    @property
    def tokenizer(self) -> Tokenizer:
        """The current tokenizer."""
        return self.live.tokenizer or self._tokenizer

    def use_tokenizer(self, tokenizer: Tokenizer, source: str) -> None:
        """Use another tokenizer, also at the next start.

        Args:
            tokenizer: The tokenizer.
            source: The name or path to load it from.
        """
        if tokenizer is self.live.tokenizer:
            return
        self._tokenizer, self._source = tokenizer, source
        self.live.set_tokenizer(tokenizer)
        self.change_settings(tokenizer=source)
        self.tell(TokenizerChanged(tokenizer))

    @property
    def tokenizer_source(self) -> str:
        """The name or path that the current tokenizer was loaded from, if known."""
        return source_of(self.tokenizer, self._source)

    def track_renamed_run(self, old: str, new: str) -> None:
        """Record the new folder of a training that the user has renamed."""
        self._renamed_runs[old] = new
        self._renamed_runs.pop(new, None)
        if self.tokenizer_source == old:
            self.tokenizer.name = Path(new).name
            self._source = new
            self.change_settings(tokenizer=new)

    def where(self, source: str) -> str:
        """Return the current name or path of a tokenizer, because trainings may be renamed."""
        while source in self._renamed_runs:
            source = self._renamed_runs[source]
        return source

    # -- settings

    def change_settings(self, **changes: Any) -> None:
        """Change settings."""
        self.settings = self.settings._replace(**changes)
        self.tell(SettingsChanged())

    def write_settings(self) -> str | None:
        """Save the changed settings, if `remember` is set. Callable from any thread.

        Returns:
            An error message for the user, or None.
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
        """The initial folder of file dialogs; None for the working folder."""
        return Path(self.settings.folder) if self.settings.folder else None

    def remember_folder(self, path: Path) -> None:
        """Set the initial folder of file dialogs to that of a file."""
        self.change_settings(folder=str(path.resolve().parent))

    # -- requests

    def ask(self, request: Request, *, later: bool = False) -> None:
        """Send a request to a screen: now, or with `later`, when the user switches to it."""
        if not isinstance(request, ShowScreen):
            self._requests[request.screen].append(request)
        if not later:
            self.tell(Asked(request.screen))

    def open_session_file(self, path: Path) -> bool:
        """Open a file if its name is that of a session file; return whether it is."""
        is_session_file = path.name.endswith(SESSION_ENDING)
        if is_session_file:
            self.tell(SessionFileRequested(path))
        return is_session_file

    def take_requests(self, screen: str) -> list[Request]:
        """Return and remove the requests to a screen, oldest first."""
        return self._requests.pop(screen, [])

    # -- background tasks

    def set_progress(self, screen: str, word: str) -> None:
        """Set the progress of a screen's background task; empty after its end."""
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
            A function that ends the subscription.
        """
        self._subscribers[kind].append(callback)
        return lambda: self._subscribers[kind].remove(callback)

    def tell(self, change: NamedTuple) -> None:
        """Notify the subscribers of a change."""
        for callback in tuple(self._subscribers[type(change)]):
            callback(change)


# -- opening


def source_of(tokenizer: Tokenizer, source: str) -> str:
    """Return the source of a tokenizer, or the canonical name if it ships with tokviz."""
    is_builtin = any(tokenizer.name == builtin.name for builtin in BUILTIN_TOKENIZERS)
    return tokenizer.name if is_builtin else source


def load_remembered(source: str) -> tuple[Tokenizer, str]:
    """Load the last used tokenizer, or the default one and a message with the reason.

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
    # Before reading, so that a change during reading is noticed.
    state = file_state(path)
    blocks = read_blocks(path, limit=MAX_TEXT_BYTES, size=_BLOCK_BYTES)
    head = next(blocks, b"")
    parts = bytetext.from_blocks(chain([head], blocks))
    return Opened(parts, path, is_binary=looks_binary(head), state=state)


def opened_bytes(data: bytes) -> Opened:
    """Decode bytes as a text to open."""
    return Opened(bytetext.from_bytes(data), is_binary=looks_binary(data))


def sample_text() -> str:
    """Read the sample text that ships with tokviz."""
    return asset_path("samples/welcome.txt").read_text("utf-8")


def notes_about(is_binary: bool, n_raw: int) -> tuple[str, ...]:
    """Return notes about a text with `n_raw` bytes that are not valid UTF-8."""
    if is_binary:
        return ("This looks like a binary file. Its bytes are shown and kept as they are.",)
    subject = "1 byte is" if n_raw == 1 else f"{n_raw:,} bytes are"
    return (f"{subject} not valid UTF-8: shown as ‹hex› and kept.",) if n_raw else ()
