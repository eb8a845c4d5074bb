"""A line with the counts of the document and of the selection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from textual import events
from textual.strip import Strip
from textual.widget import Widget

from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.spans import Role, RoleStyles, RunAction, Span, draw, span_at, width_of

SEPARATOR = " · "
_BAR_COLUMNS = 10


class SelectionCounts(NamedTuple):
    """Counts of the selection."""

    tokens: int
    chars: int
    bytes: int


class CostNote(NamedTuple):
    """Cost of the text with a model of the user's price table."""

    model: str
    """The model's name."""
    full: str
    """The cost and the share of the context window."""
    short: str
    """The cost or the share."""
    too_long: bool = False
    """Whether the text does not fit into the context window."""


class IdsNote(NamedTuple):
    """A note that the text consists of token ids."""

    n_ids: int
    key: str
    """The key that decodes them."""


class StatusState(NamedTuple):
    """The content of the status line."""

    tokens: int = 0
    """Tokens known so far."""
    chars: int = 0
    bytes: int = 0
    pending_chars: int = 0
    """Characters that are not tokenized yet."""
    failure: str = ""
    """Why they cannot be tokenized, empty if they can."""
    lossless: bool = True
    """Whether the tokens decode to the same bytes as the text."""
    loss: str = ""
    """Why they do not, in a word or two; only if not lossless."""
    specials_parsed: bool = True
    seconds: float | None = None
    """How long the last update took."""
    selection: SelectionCounts | None = None
    notes: tuple[str, ...] = ()
    """Notes about the document, such as "2 invalid bytes kept"."""
    cost: CostNote | None = None
    """The cost shown, None for none."""
    ids: IdsNote | None = None
    share_read: float | None = None
    """The share of the text that is read, from 0 to 1; None once all of it is."""


class _Fact(NamedTuple):
    """A fact on the line, in shorter and shorter forms.

    Attributes:
        forms: Pairs (squeeze, text): the text is used from that squeeze on. The line is drawn with
            the smallest squeeze at which it fits; an empty text leaves the fact out.
        role: The role of the text.
        action: The action of the screen that a click runs.
    """

    forms: Sequence[tuple[int, str]]
    role: Role = "text"
    action: str = ""


_MOST_SQUEEZED = 15


def status_spans(state: StatusState, width: int) -> list[Span]:
    """Lay the line out in at most `width` columns, leaving out the least important facts."""
    facts = list(_facts(state))
    spans: list[Span] = []
    for squeeze in range(_MOST_SQUEEZED + 1):
        spans = _joined(facts, squeeze)
        if width_of(spans) <= width:
            return spans
    return [spans[0]._replace(text=fit(spans[0].text, width))]


def _joined(facts: list[_Fact], squeeze: int) -> list[Span]:
    spans: list[Span] = []
    for forms, role, action in facts:
        text = next((text for start, text in reversed(forms) if start <= squeeze), "")
        if text:
            spans += [Span(SEPARATOR), Span(text, role, RunAction(action) if action else None)]
    return spans[1:]


def _facts(state: StatusState) -> Iterator[_Fact]:
    """Yield the facts in the order of the line."""
    if state.share_read is not None:
        percent = f"{int(state.share_read * 100)} %"
        yield _Fact([(0, f"opening… {percent}"), (1, percent)], "heading")
        return
    yield _tokens(state)
    yield _Fact([(0, pluralize(state.chars, "char")), (11, "")])
    yield _Fact([(0, pluralize(state.bytes, "byte")), (13, f"{state.bytes:,} B"), (14, "")])
    if state.tokens and not state.pending_chars:
        ratio = f"{state.bytes / state.tokens:.2f}"
        yield _Fact([(0, f"{ratio} bytes/token"), (3, f"{ratio} B/tok"), (6, "")])
    if state.cost is not None:
        yield _cost(state.cost)
    yield _lossless(state)
    how = "parsed" if state.specials_parsed else "text"
    forms = [(0, f"special tokens: {how}"), (2, f"specials: {how}"), (9, "")]
    yield _Fact(forms, "toggle", "screen.toggle_specials")
    if state.failure:
        words = "⚠ not tokenized"
        forms = [(0, f"{words}: {safe(state.failure)}"), (2, words), (15, "")]
        yield _Fact(forms, "warning")
    elif state.pending_chars:
        yield _progress(state)
    elif state.seconds is not None:
        yield _Fact([(0, duration(state.seconds)), (1, "")])
    if state.ids is not None:
        yield _ids(state.ids)
    for note in state.notes:
        yield _Fact([(0, f"⚠ {safe(note)}"), (8, f"⚠ {fit(safe(note), 10)}"), (10, "")], "warning")
    if state.selection is not None:
        yield _selection(state.selection)


def _tokens(state: StatusState) -> _Fact:
    more = "+" if state.pending_chars else ""
    unit = "token" if state.tokens == 1 and not more else "tokens"
    number = f"{state.tokens:,}{more}"
    return _Fact([(0, f"{number} {unit}"), (15, f"{number} tok")], "heading")


def _lossless(state: StatusState) -> _Fact:
    if state.lossless:
        return _Fact([(0, "✓ lossless"), (7, "")], "good")
    loss = f"⚠ lossy: {safe(state.loss)}" if state.loss else "⚠ lossy"
    return _Fact([(0, loss), (6, "⚠ lossy"), (14, "⚠")], "warning")


def _cost(note: CostNote) -> _Fact:
    sign = "⚠ " if note.too_long else ""
    name, full = fit(safe(note.model), 20), safe(note.full)
    short = safe(note.short)
    forms = [(0, f"{sign}{name}: {full}"), (2, sign + full), (5, sign + short), (11, "")]
    return _Fact(forms, "warning" if note.too_long else "text", "screen.prices")


def _ids(note: IdsNote) -> _Fact:
    what, how = pluralize(note.n_ids, "token id"), f"{note.key} decodes"
    return _Fact([(0, f"{what}? {how}"), (9, how), (15, "")], "link", "screen.decode_ids")


def _progress(state: StatusState) -> _Fact:
    done = 1 - state.pending_chars / max(state.chars, state.pending_chars)
    percent = f"{int(done * 100)} %"
    filled = int(done * _BAR_COLUMNS)
    bar = "━" * filled + "╌" * (_BAR_COLUMNS - filled)
    return _Fact([(0, f"{bar} {percent}"), (5, percent), (15, "")], "accent")


def _selection(counts: SelectionCounts) -> _Fact:
    tokens, chars = pluralize(counts.tokens, "token"), pluralize(counts.chars, "char")
    full = f"selected: {tokens} · {chars} · {pluralize(counts.bytes, 'byte')}"
    forms = [
        (0, full), (2, f"selected: {tokens} · {chars}"), (4, f"selected: {tokens}"),
        (8, f"{counts.tokens:,} selected"), (14, f"sel {counts.tokens:,}"), (15, ""),
    ]  # fmt: skip
    return _Fact(forms, "selection")


def duration(seconds: float) -> str:
    """Format a short time, such as 0.4 ms, 37 ms or 1.24 s."""
    if seconds < 0.00995:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2f} s"


_MEANING = (
    "Lossless: the tokens decode to the same bytes as the text. Special tokens on: text such as "
    "<|endoftext|> is one token; a click changes that."
)


class StatusLine(Widget):
    """The status line. A click on some of its facts runs an action of the screen."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"status-line--{role}"
        for role in ("heading", "good", "warning", "toggle", "link", "accent", "selection")
    }
    DEFAULT_CSS = """
    StatusLine {
        height: 1;
        width: 1fr;
        padding: 0 1;
        color: $text-muted;
        & > .status-line--heading { color: $foreground; text-style: bold; }
        & > .status-line--good { color: $text-success; }
        & > .status-line--warning { color: $text-warning; }
        & > .status-line--toggle { text-style: underline; }
        & > .status-line--link { color: $text-accent; text-style: underline; }
        & > .status-line--accent { color: $text-accent; }
        & > .status-line--selection { color: $foreground; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        """Create a line with the numbers of an empty document."""
        super().__init__(id=id)
        self.tooltip = _MEANING
        self.state = StatusState()
        """The state that the line shows."""
        self._laid_out: tuple[int, list[Span]] | None = None
        self._styles: RoleStyles | None = None

    @property
    def text(self) -> str:
        """The text of the line."""
        return "".join(span.text for span in self._spans())

    def show(self, state: StatusState) -> None:
        """Show a state; redraw only if the line reads differently."""
        if state == self.state:
            return
        before = self._spans()
        self.state = state
        self._laid_out = None
        if self._spans() != before:
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        if self._styles is None:
            self._styles = RoleStyles(self, "status-line")
        return draw(self._spans(), self._styles, self.size.width)

    def notify_style_update(self) -> None:
        """Forget the styles of the previous theme."""
        super().notify_style_update()
        self._styles = None

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the fact under the mouse."""
        place = event.get_content_offset(self)
        action = None if place is None else span_at(self._spans(), place.x).action
        if isinstance(action, RunAction):
            event.stop()
            await self.run_action(action.call)

    def _spans(self) -> list[Span]:
        width = self.size.width
        if self._laid_out is None or self._laid_out[0] != width:
            self._laid_out = width, status_spans(self.state, width)
        return self._laid_out[1]
