"""Heads of the gloss rows, and the field for the custom regex with a verdict about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from rich.highlighter import Highlighter
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from tokviz.errors import PatternError, TokvizError
from tokviz.process.jobs.split_client import SplitResult
from tokviz.text.glyphs import safe
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tui.actions import action, bindings_of, declared_in
from tokviz.tui.sizes import set_classes
from tokviz.tui.widgets.field import Field, PushButton
from tokviz.tui.widgets.fit import fit

DEFAULT_REGEX = r"\w+|\s+|[^\w\s]+"

_HEADING = "In the regex of the Splits panel"
_MOST_SHOWN = 24
_MOST_KEPT = 50
MOST_KEPT_CHARS = 4_000
"""The most characters of a regex that is saved."""

DEBOUNCE_SECONDS = 0.12
"""Seconds without a key after which the regex is tried."""


def verdict(result: SplitResult) -> str:
    """Return whether a regex matches all of the text, in words.

    >>> verdict(SplitResult(n_pre_tokens=3, n_gaps=1, complete=True))
    '⚠ 1 gap'
    """
    gaps = f"⚠ {result.n_gaps:,} gap{'s' * (result.n_gaps != 1)}"
    words = gaps if result.n_gaps else "✓ no gaps" if result.complete else "…"
    if result.n_zero_width:
        words += " · zero-width matches ignored"
    return words


def complaint(error: TokvizError, shown: str | None) -> str:
    """Return an error message for a regex.

    Args:
        error: The error.
        shown: The regex whose pre-tokens are shown instead, None if there are none.
    """
    words = f"✗ {error.trouble}" if isinstance(error, PatternError) else f"✗ {error}"
    return words if shown is None else f"{words} · still showing /{fit(shown, _MOST_SHOWN)}/"


@dataclass
class RegexEdited(Message):
    """The custom regex has changed, or should be tried again."""

    regex: str

    def can_replace(self, message: Message) -> bool:
        """Only the newest regex matters."""
        return isinstance(message, RegexEdited)


class RegexHistory:
    """A history of entries with a position, as in shells."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        """Take the entries, the oldest first."""
        self.entries = list(dict.fromkeys(entries))
        self._place = len(self.entries)
        self._draft = ""

    def add(self, entry: str) -> None:
        """Make an entry the newest one, and move there."""
        if entry:
            self.entries = [old for old in self.entries if old != entry] + [entry]
        self._place = len(self.entries)

    def step(self, by: int, current: str) -> str:
        """Return the entry a number of steps away; `current` is kept after the newest entry."""
        if self._place == len(self.entries):
            self._draft = current
        entries = [*self.entries, self._draft]
        place = self._place + by
        if by < 0 < place and entries[place] == current:
            place += by
        self._place = max(0, min(place, len(self.entries)))
        return entries[self._place]


class _Underlined(Highlighter):
    """Underlines the position of an error."""

    place: int | None = None

    def highlight(self, text: Text) -> None:
        """Underline the character at the position, or the last one if it is after the end."""
        if self.place is not None:
            place = min(self.place, len(text) - 1)
            text.stylize("bold underline", place, place + 1)


class RegexInput(Field):
    """An input with a history under the up and down keys."""

    KEEPS_SPACES = True
    """A space at either end is part of a regex."""

    def __init__(self, value: str, typed: Iterable[str] = ()) -> None:
        """Take the first regex and those typed before. The named ones are the oldest."""
        self._error = _Underlined()
        super().__init__(
            value, placeholder="a regex", select_on_focus=False, highlighter=self._error
        )
        named = [pattern.regex for pattern in SPLIT_PATTERNS.values()]
        self.history = RegexHistory([*reversed(named), *typed, value])

    def remember(self) -> None:
        """Keep the regex in the history."""
        self.history.add(self.value)

    def underline(self, place: int | None) -> None:
        """Underline a character, or none."""
        self._error.place = place
        self.refresh()

    @action("Older regex", "up", section=_HEADING, priority=False)
    def action_older(self) -> None:
        """Put the previous regex into the field: those you tried, then the named patterns."""
        self.put(self.history.step(-1, self.value))

    @action("Newer regex", "down", section=_HEADING, priority=False)
    def action_newer(self) -> None:
        """Put the regex that came after it into the field."""
        self.put(self.history.step(1, self.value))

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(declared_in(locals()))]


class RegexField(Vertical):
    """An input with a verdict below it. Posts `RegexEdited` after a pause in typing."""

    DEFAULT_CSS = """
    RegexField {
        height: auto;
        & > Horizontal { height: 1; }
        & .slash { width: 1; color: $text-accent; }
        & RegexInput { width: 1fr; background: $surface; }
        & RegexInput:focus { background-tint: $foreground 5%; }
        & > .notes { height: auto; max-height: 3; }
        & .verdict { width: 1fr; height: auto; color: $text-muted; }
        & .verdict.-wrong { color: $text-error; }
        & .verdict.-gaps { color: $text-warning; }
        & .counts {
            width: 1fr; height: 1; padding-left: 1; color: $text-muted; display: none;
            text-align: right; text-wrap: nowrap; text-overflow: ellipsis;
        }
    }
    """

    def __init__(self, regex: str, typed: Iterable[str] = ()) -> None:
        """Take the first regex, and those that were typed before."""
        super().__init__()
        self._typed_before = typed
        self.regex = regex
        """The current regex."""
        self._timer: Timer | None = None
        self._verdict = Static("", classes="verdict")
        self._counts = Static("", classes="counts")

    @property
    def message(self) -> str:
        """The text of the verdict."""
        return str(self._verdict.content)

    def compose(self) -> ComposeResult:
        """Yield the input between slashes, and the verdict."""
        # An `Input` needs a running app, so it is created here.
        self._input = RegexInput(self.regex, self._typed_before)
        with Horizontal():
            yield Static("/", classes="slash")
            yield self._input
            yield Static("/", classes="slash")
            yield PushButton("more ▾", "screen.split_patterns")
        with Horizontal(classes="notes"):
            yield self._verdict
            yield self._counts

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the input as soon as it exists."""
        if self.is_mounted:
            self._input.focus(scroll_visible)
        else:
            self.call_later(self.focus, scroll_visible)
        return self

    def set_regex(self, regex: str) -> None:
        """Replace the regex in the field."""
        self._input.remember()
        self._input.value = regex
        self._input.remember()

    @property
    def typed(self) -> tuple[str, ...]:
        """The typed regexes, the oldest first, without named and very long ones."""
        known = {pattern.regex for pattern in SPLIT_PATTERNS.values()}
        typed = (one for one in self._input.history.entries if one not in known)
        return tuple(one for one in typed if len(one) <= MOST_KEPT_CHARS)[-_MOST_KEPT:]

    def show_verdict(self, result: SplitResult) -> None:
        """Show the result of a regex."""
        self._show(verdict(result), wrong=False, gaps=result.n_gaps > 0)

    def show_progress(self, part: float, *, is_exact: bool) -> None:
        """Show how much of a long text is split, and whether the part in view may still change."""
        here = "" if is_exact else " · provisional in view"
        self._show(f"… {part:.0%} split{here}", wrong=False, gaps=False)

    def show_error(self, error: TokvizError, shown: str | None) -> None:
        """Show an error, and the regex whose pre-tokens are shown instead."""
        self._show(complaint(error, shown), wrong=True, gaps=False)
        self._input.underline(error.position if isinstance(error, PatternError) else None)

    def show_counts(self, words: str) -> None:
        """Show the numbers of pre-tokens, for a panel without heads."""
        if words != str(self._counts.content):
            self._counts.update(Text(safe(words)), layout=False)

    def _show(self, words: str, *, wrong: bool, gaps: bool) -> None:
        set_classes(self._verdict, {"-wrong": wrong, "-gaps": gaps})
        if words != self.message:
            text, (columns, lines) = Text(safe(words)), self._verdict.size
            # The verdict often changes at every key, so a layout of the screen is avoided.
            is_alike = lines == 1 and text.cell_len <= columns
            self._verdict.update(text, layout=not is_alike or self._verdict.styles.is_auto_width)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Wait for a pause in typing."""
        event.stop()
        self._input.underline(None)
        self.regex = event.value
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_SECONDS, self._post_edited)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Try the regex at once, even if it is unchanged, and remember it."""
        event.stop()
        self._input.remember()
        self._post_edited()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Remember the regex when the user leaves the field."""
        self._input.remember()

    def _post_edited(self) -> None:
        """Post the regex, even if it is unchanged, because the verdict may be of another one."""
        self.post_message(RegexEdited(self.regex))
