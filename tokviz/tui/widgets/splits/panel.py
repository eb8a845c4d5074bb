"""Splits panel: the same text split by two named patterns and by a custom regex."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer
from textual.widgets import Static

from tokviz.errors import TokvizError
from tokviz.live.document import LiveDocument, starts_within
from tokviz.live.pre_tokens import PreTokenCounter, step_ends
from tokviz.process.jobs.split_client import SplitClient, SplitResult
from tokviz.text.snapshots import TextPart, joined
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tokenizer.pretokenize.split_steps import Split, split_in_steps
from tokviz.tui.palette import TokenPalette
from tokviz.tui.sizes import set_classes
from tokviz.tui.tasks import Task, in_thread, post_to_ui
from tokviz.tui.widgets.field import first_line
from tokviz.tui.widgets.splits.gloss import Spans, legend
from tokviz.tui.widgets.splits.heads import CUSTOM_ROW, PatternHead, pre_tokens_note
from tokviz.tui.widgets.splits.regex_field import (
    DEFAULT_REGEX,
    MOST_KEPT_CHARS,
    RegexEdited,
    RegexField,
)
from tokviz.tui.widgets.splits.rows import (
    CUSTOM,
    NEAR_CHARS,
    CustomRow,
    KnownPreTokens,
    NamedRow,
    Row,
    StepRow,
    title_of,
)
from tokviz.tui.widgets.splits.view import GlossView
from tokviz.workspace.session import Session

EDIT_REST_SECONDS = 0.12
"""Seconds without an edit after which the whole text is split again."""

MOST_EDIT_REST_SECONDS = 0.5
"""Seconds after which it is split again even if edits continue."""

SHORT_LINES = 18
"""A panel with fewer lines has no blank lines."""

LEAST_LINES = 7
"""A panel with fewer lines has no legend."""

TINY_LINES = 10
"""A panel with fewer lines has no heads."""

NARROW_COLUMNS = 60
"""A panel with fewer columns shows the counts below the rows without the patterns' names."""

_SLICE_SECONDS = 0.01
_REST_SECONDS = 0.004
"""The thread sleeps between two slices of counting, so that keys are handled."""

_PROGRESS_SECONDS = 0.1
"""How often the progress of the custom regex is shown."""

_MOST_STEP_CHARS = 1 << 20
"""The rows of the steps are left out for a longer text."""

_PATTERNS = ("gpt2", "gpt4")
"""The named patterns shown at first."""


class SplitsPanel(Vertical):
    """The pre-tokens of two named patterns and of a custom regex over the same text.

    If the tokenizer splits in several steps, one row more for each step shows what it cuts.

    For the named patterns, the text near the view is split while drawing, and a thread counts all
    pre-tokens. The custom regex runs in a child process. Both pause while the panel is hidden.

    Posts `PreTokenClicked`.
    """

    DEFAULT_CSS = """
    SplitsPanel {
        height: 1fr;
        & RegexField { margin-top: 1; }
        & GlossView { margin-top: 1; }
        & .legend {
            height: auto;
            max-height: 2;
            color: $text-muted;
            text-wrap: nowrap;
            text-overflow: ellipsis;
        }
        &.-short RegexField, &.-short GlossView { margin-top: 0; }
        &.-least .legend { display: none; }
        &.-tiny PatternHead { display: none; }
        &.-tiny RegexField .counts { display: block; }
        &.-tiny RegexField .verdict { width: auto; max-width: 60%; }
    }
    """

    def __init__(self, live: LiveDocument, palette: TokenPalette) -> None:
        """Take the document and the palette."""
        super().__init__()
        self._live = live
        self._active = False
        self._edit_timer: Timer | None = None
        self._edited_first_at = 0.0
        self._named = [self._named_row(name) for name in _PATTERNS]
        self._steps: list[StepRow] = []
        self._custom = CustomRow(live, lambda: self.call_later(self._find_wanted))
        self._counting_lock = threading.Lock()
        """Held by the thread that uses the counters."""
        self._regex = self._last_valid_regex = DEFAULT_REGEX
        self._run = 0
        self._split_for: tuple[int, str] | None = None
        self._progress_shown_at = 0.0
        # The client calls back from its own thread.
        self._client = SplitClient(
            post_to_ui(self, self._take_part),
            post_to_ui(self, self._take_end),
            post_to_ui(self, self._fail),
        )
        self._heads = [
            *(PatternHead(self.choose, n, title_of(one), one) for n, one in enumerate(_PATTERNS)),
            PatternHead(self.choose, CUSTOM_ROW, CUSTOM),
        ]
        self._view = GlossView(live, self._rows(), palette)
        self._field = RegexField(DEFAULT_REGEX)
        self._legend = Static("", classes="legend")
        self._shows_tokens = False
        self._remember: Callable[..., object] = lambda **changes: None

    def recall(self, session: Session) -> None:
        """Restore the panel's settings from the session, and save changes there from now on."""
        settings = session.settings
        self._remember = session.change_settings
        self._regex = first_line(settings.split_regex) or DEFAULT_REGEX
        self._field = RegexField(self._regex, settings.split_regexes)
        self._shows_tokens = settings.split_tokens
        known = [name for name in settings.split_patterns if name in SPLIT_PATTERNS]
        for row, name in enumerate(known[:CUSTOM_ROW]):
            self._show_named(row, name)
        self._view.set_rows(self._rows())

    def _rows(self) -> list[Row]:
        return [*self._named, self._custom, *self._steps]

    def compose(self) -> ComposeResult:
        """Stack the heads, the gloss and the field."""
        yield from self._heads
        yield self._view
        yield self._legend
        yield self._field

    # -- called by the screen

    @property
    def patterns(self) -> tuple[str, str]:
        """The names of the patterns of the two upper rows."""
        first, second = self._named
        return first.pattern.name, second.pattern.name

    @property
    def regex(self) -> str:
        """The current text of the custom regex."""
        return self._field.regex

    @property
    def pattern(self) -> str:
        """The name of the lowest row's pattern, or its regex."""
        return self._heads[CUSTOM_ROW].pattern or self.regex

    def choose(self, row: int, pattern: str) -> None:
        """Show a named pattern in a row; in the lowest row, a pattern's regex or any other."""
        named = SPLIT_PATTERNS.get(pattern)
        if row == CUSTOM_ROW:
            self._name_custom(named and named.name)
            self._field.set_regex(named.regex if named else pattern)
            return
        self._show_named(row, pattern)
        self._view.set_rows(self._rows())
        self._remember(split_patterns=self.patterns)
        self._split_now()

    def toggle_tokens(self) -> None:
        """Show or hide the tokens inside the pre-tokens."""
        self._shows_tokens = not self._shows_tokens
        self._remember(split_tokens=self._shows_tokens)
        self._sync_view()
        self._show_legend()

    def sync(self) -> None:
        """Follow a change of the document."""
        if not self._active:
            return
        self._note_changes()
        self._sync_view()
        self._split_soon()

    def _sync_view(self) -> None:
        tokenizer = self._live.tokenizer
        is_shown = self._shows_tokens and tokenizer is not None and not tokenizer.remote
        self._view.set_tokens(partial(starts_within, tokenizer) if is_shown else None)

    def _show_legend(self) -> None:
        self._legend.update(legend(self.size.width, tokens=self._shows_tokens))

    def show(self, offset: int) -> None:
        """Scroll to a character."""
        self._view.show(offset)

    def set_marks(self, hover: int | None, pin: int | None, *, scroll: bool = False) -> None:
        """Mark two tokens, and optionally scroll to the pinned one."""
        spans = Spans(self._chars_of(hover), self._chars_of(pin))
        self._view.set_spans(spans)
        if scroll and spans.pin:
            self.show(spans.pin.start)

    def _chars_of(self, index: int | None) -> range:
        if index is None or not 0 <= index < self._live.n_tokens:
            return range(0)
        token = self._live.token(index)
        return range(token.start, token.end)

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the field of the custom regex."""
        self._field.focus(scroll_visible)
        return self

    # -- shown and hidden

    def on_resize(self, event: events.Resize) -> None:
        """Leave out the parts that do not fit."""
        lines = event.size.height
        set_classes(
            self,
            {
                "-short": lines < SHORT_LINES,
                "-tiny": lines < TINY_LINES,
                "-least": lines < LEAST_LINES,
            },
        )
        self._show_legend()

    def on_show(self) -> None:
        """Catch up with changes that happened while the panel was hidden."""
        self._active = True
        self._note_changes()
        self._sync_view()
        self._split_now()

    def on_hide(self) -> None:
        """Stop splitting and counting."""
        self._active = False
        self._client.cancel()
        self._custom.fail()
        self._split_for = None
        self.workers.cancel_group(self, "count")

    def on_unmount(self) -> None:
        """End the child process."""
        self._active = False
        self._client.close()

    # -- splitting again

    def _note_changes(self) -> None:
        for row in self._named:
            row.note_changes()
        self._custom.note_changes()
        for step in self._steps:
            step.known.change = self._live.changes.since(step.known.revision)

    def _split_soon(self) -> None:
        now = time.monotonic()
        if self._edit_timer is None:
            self._edited_first_at = now
        elif now - self._edited_first_at > MOST_EDIT_REST_SECONDS:
            return
        else:
            self._edit_timer.stop()
        self._edit_timer = self.set_timer(EDIT_REST_SECONDS, self._split_now)

    def _split_now(self) -> None:
        """Update everything for the current text: counts, distant pre-tokens and the custom row."""
        if self._edit_timer is not None:
            self._edit_timer.stop()
            self._edit_timer = None
        if not self._active:
            return
        chunks = self._live.parts()
        counters = [row.counter for row in self._named]
        in_thread(self, "count", partial(self._count, counters, chunks))
        self._find_wanted()
        self._split_in_steps(chunks)
        if self._split_for != (self._live.revision, self._regex):
            self._split_for = (self._live.revision, self._regex)
            self._custom.begin()
            self._split_custom(self._view.top)
        elif self._custom.incoming is None and self._field.regex == self._regex:
            self._field.show_verdict(self._custom.known.result)

    def _split_in_steps(self, chunks: Sequence[TextPart]) -> None:
        """Split the text by each step of the tokenizer's pattern."""
        tokenizer, revision = self._live.tokenizer, self._live.revision
        has_steps = tokenizer is not None and tokenizer.split_pattern.steps
        if tokenizer is None or not has_steps or self._live.n_chars > _MOST_STEP_CHARS:
            if self._steps:
                self._take_steps([])
            return

        def split(task: Task) -> list[StepRow]:
            rows: list[StepRow] = []
            for ends in step_ends(tokenizer, joined(chunks)):
                known = KnownPreTokens(revision)
                known.result.add(Split(ends))
                rows.append(StepRow(f"step {len(rows) + 1}", known))
            return rows

        in_thread(self, "steps", split, self._take_steps, is_said=True)

    def _take_steps(self, steps: list[StepRow]) -> None:
        self._steps = steps
        for step in steps:
            step.known.change = self._live.changes.since(step.known.revision)
        self._view.set_rows(self._rows())

    def _split_custom(self, offset: int) -> None:
        """Split the text or continue splitting it, starting near a character."""
        row, chunks = self._custom, self._live.parts()
        near, start = row.text_near(offset), row.result.n_chars
        self._run = self._client.split(self._regex, chunks, near=near, start=start)
        self._show_progress()

    def _count(
        self, counters: Sequence[PreTokenCounter], chunks: Sequence[TextPart], task: Task
    ) -> None:
        """Count the pre-tokens of a text, in slices, unless the task is canceled."""
        with self._counting_lock:
            for counter in counters:
                if task.cancelled:
                    return
                counter.update(chunks)
            for counter in counters:
                while not task.cancelled and not counter.advance(_SLICE_SECONDS):
                    task.tell(self._show_counted)
                    time.sleep(_REST_SECONDS)
            task.tell(self._show_counted)

    def _show_counted(self) -> None:
        """Show the numbers of pre-tokens counted so far."""
        for row, head in zip(self._named, self._heads, strict=False):
            head.note = pre_tokens_note(row.counter.n_pre_tokens, row.counter.complete)
        self._show_counts()

    def _show_counts(self) -> None:
        """Repeat the heads' counts beside the verdict, for a panel without heads."""
        is_narrow = self.size.width < NARROW_COLUMNS
        counts = (
            f"{'' if is_narrow else head.title} {head.note.split(' ')[0]}".lstrip()
            for head in self._heads
            if head.note
        )
        self._field.show_counts("pre-tokens: " + " · ".join(counts))

    # -- long texts without a safe cut

    def _find_wanted(self) -> None:
        """Find pre-tokens in threads that could not be found while drawing."""
        if self._edit_timer is None and self._active:
            for row in self._named:
                if row.wanted is not None and not row.busy:
                    self._find_far_pre_tokens(row, row.wanted)
            if self._custom.wanted is not None and self._custom.incoming is not None:
                self._split_custom(self._custom.wanted)

    def _find_far_pre_tokens(self, row: NamedRow, offset: int) -> None:
        row.wanted, row.busy = None, True
        chunks, revision = self._live.parts(), self._live.revision

        def split_around(task: Task) -> SplitResult:
            with self._counting_lock:
                row.counter.update(chunks)
                start, text = row.counter.group_at(offset)
            ends = array("q")
            for step in split_in_steps(row.pattern, text):
                ends.extend(map(start.__add__, step.ends))
            result = SplitResult()
            result.add(Split(ends, start=start))
            return result

        def take(result: SplitResult) -> None:
            row.take_far(revision, result)
            self._view.sync()
            self._find_wanted()

        in_thread(self, "far", split_around, take, exclusive=False)

    # -- the custom regex

    def on_regex_edited(self, message: RegexEdited) -> None:
        """Split by another regex; the old pre-tokens are shown until it is done."""
        self._regex = message.regex
        kept = self._regex if len(self._regex) <= MOST_KEPT_CHARS else ""
        self._remember(split_regex=kept, split_regexes=self._field.typed)
        head = self._heads[CUSTOM_ROW]
        if head.pattern is None or SPLIT_PATTERNS[head.pattern].regex != self._regex:
            named = (n for n, one in SPLIT_PATTERNS.items() if one.regex == self._regex)
            self._name_custom(next(named, None))
        self._split_now()

    def _is_wanted(self, run: int) -> bool:
        return run == self._run and self._custom.incoming is not None

    def _take_part(self, run: int, part: Split) -> None:
        """Receive pre-tokens of the latest run from the child process."""
        if not self._is_wanted(run):
            return
        if part.near:
            if self._custom.near is not None:
                self._custom.near.result.add(part)
                self._view.sync()
            return
        result = self._custom.result
        result.add(part)
        if part.start <= self._view.end and self._view.top <= result.n_chars:
            self._view.sync()
        if time.monotonic() - self._progress_shown_at >= _PROGRESS_SECONDS:
            self._show_custom_count()
            self._show_progress()

    def _show_progress(self) -> None:
        """Show how much of a long text is split, unless an error is shown."""
        self._progress_shown_at = time.monotonic()
        if self._live.n_chars > NEAR_CHARS and self._field.regex == self._regex:
            result = self._custom.result
            is_exact = result.covers(self._view.top, self._view.end)
            self._field.show_progress(result.n_chars / self._live.n_chars, is_exact=is_exact)

    def _take_end(self, run: int) -> None:
        """Show the pre-tokens of the latest run, which is complete."""
        if self._is_wanted(run):
            self._custom.finish()
            self._last_valid_regex = self._regex
            if self._field.regex == self._regex:
                self._field.show_verdict(self._custom.result)
            self._view.sync()
            self._show_custom_count()

    def _fail(self, run: int, error: TokvizError) -> None:
        """Show an error, and return to the last valid regex."""
        if not self._is_wanted(run):
            return
        self._custom.fail()
        known = self._custom.known
        failed, self._regex = self._regex, self._last_valid_regex
        is_known, is_other = known.result.complete, failed != self._last_valid_regex
        self._field.show_error(error, self._last_valid_regex if is_known or is_other else None)
        self._split_for = None
        if is_other and not (is_known and known.revision == self._live.revision):
            self._split_now()
        self._show_custom_count()

    def _show_custom_count(self) -> None:
        shown = self._custom.result
        if shown.n_pre_tokens or shown.complete:
            self._heads[CUSTOM_ROW].note = pre_tokens_note(shown.n_pre_tokens, shown.complete)
            self._show_counts()

    # -- other patterns

    def _name_custom(self, name: str | None) -> None:
        self._heads[CUSTOM_ROW].show(f"= {title_of(name)}" if name else CUSTOM, name)

    def _show_named(self, row: int, name: str) -> None:
        self._heads[row].show(title_of(name), name)
        self._named[row] = self._named_row(name)

    def _named_row(self, name: str) -> NamedRow:
        # The callback is called while drawing.
        return NamedRow(self._live, name, lambda: self.call_later(self._find_wanted))
