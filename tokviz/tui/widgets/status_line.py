"""One line of numbers: what the document comes to, and what the selection does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple, get_args

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.roles import role_strip

SEPARATOR = " · "
_BAR_COLUMNS = 10

Role = Literal[
    "count", "plain", "good", "warning", "toggle", "progress", "selection", "cost", "ids"
]


_ACTIONS: dict[Role | None, str] = {
    "toggle": "screen.toggle_specials",
    "cost": "screen.prices",
    "ids": "screen.decode_ids",
}
"""What a click on a part of the line does."""


class SelectionCounts(NamedTuple):
    """What the selection comes to."""

    tokens: int
    chars: int
    bytes: int


class CostNote(NamedTuple):
    """What the text costs with a model of the user's price table."""

    model: str
    """The model's name."""
    full: str
    """The cost and the share of the context window."""
    short: str
    """One of them."""
    too_long: bool = False
    """Whether the text does not fit into the context window."""


class IdsNote(NamedTuple):
    """That the text is nothing but token ids."""

    n_ids: int
    key: str
    """The key that decodes them."""


class StatusState(NamedTuple):
    """Everything the status line knows."""

    tokens: int = 0
    """Tokens known so far."""
    chars: int = 0
    bytes: int = 0
    pending_chars: int = 0
    """Characters whose tokens are not known yet."""
    failure: str = ""
    """Why their tokens cannot be known, empty if they can."""
    lossless: bool = True
    """Whether the tokens give the text back, byte for byte: what "lossless" means on the screen."""
    loss: str = ""
    """Why the tokens do not give the text back, in a word or two; only if not lossless."""
    specials_parsed: bool = True
    seconds: float | None = None
    """How long the last update took."""
    selection: SelectionCounts | None = None
    notes: tuple[str, ...] = ()
    """Things to know about the document, such as "2 invalid bytes kept"."""
    cost: CostNote | None = None
    """Whose cost is shown, None for nobody's."""
    ids: IdsNote | None = None
    share_read: float | None = None
    """How much of the text is there, from 0 to 1; None once all of it is."""


class StatusSegment(NamedTuple):
    """A pre-token of the line and what it is, for its colour and for clicks."""

    text: str
    role: Role | None
    """None for the separators."""


class _Part(NamedTuple):
    """A part of the line in shorter and shorter forms.

    `forms` is a sequence of (squeeze, text): the form is used from that squeeze on. The line is
    drawn with the smallest squeeze at which it fits; an empty text leaves the part out.
    """

    role: Role
    forms: Sequence[tuple[int, str]]

    def at(self, squeeze: int) -> str:
        return next((text for start, text in reversed(self.forms) if start <= squeeze), "")


_MOST_SQUEEZED = 15


def status_text(state: StatusState, width: int) -> list[StatusSegment]:
    """Lay the line out in at most `width` columns, leaving out what matters least."""
    parts = list(_parts(state))
    segments: list[StatusSegment] = []
    for squeeze in range(_MOST_SQUEEZED + 1):
        segments = _joined(parts, squeeze)
        if sum(cell_len(segment.text) for segment in segments) <= width:
            return segments
    return [StatusSegment(fit(segments[0].text, width), segments[0].role)]


def _joined(parts: list[_Part], squeeze: int) -> list[StatusSegment]:
    segments: list[StatusSegment] = []
    for part in parts:
        text = part.at(squeeze)
        if text:
            segments += [StatusSegment(SEPARATOR, None), StatusSegment(text, part.role)]
    return segments[1:]


def _parts(state: StatusState) -> Iterator[_Part]:
    """Give the parts in the order of the line; the numbers in them are their importance."""
    if state.share_read is not None:
        percent = f"{int(state.share_read * 100)} %"
        yield _Part("count", [(0, f"opening… {percent}"), (1, percent)])
        return
    yield _tokens(state)
    yield _Part("plain", [(0, pluralize(state.chars, "char")), (11, "")])
    yield _Part(
        "plain", [(0, pluralize(state.bytes, "byte")), (13, f"{state.bytes:,} B"), (14, "")]
    )
    if state.tokens and not state.pending_chars:
        ratio = f"{state.bytes / state.tokens:.2f}"
        yield _Part("plain", [(0, f"{ratio} bytes/token"), (3, f"{ratio} B/tok"), (7, "")])
    if state.cost is not None:
        yield _cost(state.cost)
    yield _lossless(state)
    how = "on" if state.specials_parsed else "as text"
    yield _Part("toggle", [(0, f"special tokens: {how}"), (2, f"specials: {how}"), (9, "")])
    if state.failure:
        words = "⚠ not tokenized"
        forms = [(0, f"{words}: {safe(state.failure)}"), (2, words), (15, "")]
        yield _Part("warning", forms)
    elif state.pending_chars:
        yield _progress(state)
    elif state.seconds is not None:
        yield _Part("plain", [(0, duration(state.seconds)), (1, "")])
    if state.ids is not None:
        yield _ids(state.ids)
    for note in state.notes:
        yield _Part("warning", [(0, f"⚠ {safe(note)}"), (8, f"⚠ {fit(safe(note), 10)}"), (10, "")])
    if state.selection is not None:
        yield _selection(state.selection)


def _tokens(state: StatusState) -> _Part:
    more = "+" if state.pending_chars else ""
    unit = "token" if state.tokens == 1 and not more else "tokens"
    number = f"{state.tokens:,}{more}"
    return _Part("count", [(0, f"{number} {unit}"), (15, f"{number} tok")])


def _lossless(state: StatusState) -> _Part:
    if state.lossless:
        return _Part("good", [(0, "✓ lossless"), (6, "")])
    loss = f"⚠ lossy: {safe(state.loss)}" if state.loss else "⚠ lossy"
    return _Part("warning", [(0, loss), (6, "⚠ lossy"), (14, "⚠")])


def _cost(note: CostNote) -> _Part:
    sign = "⚠ " if note.too_long else ""
    name, full = fit(safe(note.model), 20), safe(note.full)
    return _Part(
        "warning" if note.too_long else "cost",
        [(0, f"{sign}{name}: {full}"), (2, f"{sign}{full}"), (5, f"{sign}{safe(note.short)}"),
         (11, "")],
    )  # fmt: skip


def _ids(note: IdsNote) -> _Part:
    what, how = pluralize(note.n_ids, "token id"), f"{note.key} decodes"
    return _Part("ids", [(0, f"{what}? {how}"), (9, how), (15, "")])


def _progress(state: StatusState) -> _Part:
    done = 1 - state.pending_chars / max(state.chars, state.pending_chars)
    percent = f"{int(done * 100)} %"
    filled = int(done * _BAR_COLUMNS)
    bar = "━" * filled + "╌" * (_BAR_COLUMNS - filled)
    return _Part("progress", [(0, f"{bar} {percent}"), (5, percent), (15, "")])


def _selection(counts: SelectionCounts) -> _Part:
    tokens, chars = pluralize(counts.tokens, "token"), pluralize(counts.chars, "char")
    full = f"selected: {tokens} · {chars} · {pluralize(counts.bytes, 'byte')}"
    return _Part(
        "selection",
        [(0, full), (2, f"selected: {tokens} · {chars}"), (4, f"selected: {tokens}"),
         (8, f"{counts.tokens:,} selected"), (14, f"sel {counts.tokens:,}"), (15, "")],
    )  # fmt: skip


def duration(seconds: float) -> str:
    """Write a short time the way people read it: 0.4 ms, 37 ms, 1.24 s."""
    if seconds < 0.00995:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2f} s"


_MEANING = (
    "Lossless: the tokens give the text back, byte for byte. Special tokens on: text such as "
    "<|endoftext|> is one token; a click changes that."
)


class StatusLine(Widget):
    """The status line. A click on some of its words does an action of the screen."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"status-line--{role}" for role in get_args(Role)}
    DEFAULT_CSS = """
    StatusLine {
        height: 1;
        width: 1fr;
        padding: 0 1;
        color: $text-muted;
        & > .status-line--count { color: $foreground; text-style: bold; }
        & > .status-line--good { color: $text-success; }
        & > .status-line--warning { color: $text-warning; }
        & > .status-line--toggle { text-style: underline; }
        & > .status-line--ids { color: $text-accent; text-style: underline; }
        & > .status-line--progress { color: $text-accent; }
        & > .status-line--selection { color: $foreground; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        """Start with the numbers of an empty document."""
        super().__init__(id=id)
        self.tooltip = _MEANING
        self.state = StatusState()
        """What the line shows."""
        self._laid_out: tuple[int, list[StatusSegment]] | None = None
        self._styles: dict[str, Style] = {}

    @property
    def text(self) -> str:
        """The line as it reads now."""
        return "".join(segment.text for segment in self._segments())

    def show(self, state: StatusState) -> None:
        """Show these numbers, drawing only if the line reads differently."""
        if state == self.state:
            return
        before = self._segments()
        self.state = state
        self._laid_out = None
        if self._segments() != before:
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        words = ((text, role or "") for text, role in self._segments())
        return role_strip(self, "status-line", words, self.size.width, _ACTIONS, self._styles)

    def notify_style_update(self) -> None:
        """Ask for the styles again."""
        super().notify_style_update()
        self._styles.clear()

    async def on_click(self, event: events.Click) -> None:
        """Do what the words under the mouse are for."""
        place = event.get_content_offset(self)
        role = None if place is None else self._role_at(place.x)
        if role in _ACTIONS:
            event.stop()
            await self.run_action(_ACTIONS[role])

    def _role_at(self, x: int) -> Role | None:
        end = 0
        for text, role in self._segments():
            end += cell_len(text)
            if x < end:
                return role
        return None

    def _segments(self) -> list[StatusSegment]:
        width = self.size.width
        if self._laid_out is None or self._laid_out[0] != width:
            self._laid_out = width, status_text(self.state, width)
        return self._laid_out[1]
