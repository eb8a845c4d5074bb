"""Panels of the Replay screen: the corpus and the curves."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical

from tokviz.text.sentences import pluralize
from tokviz.tui.palette import TokenPalette
from tokviz.tui.screens.replay.merge_frame import corpus_rows
from tokviz.tui.screens.replay.state import Opened, ReplayState
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.cursor_curve import CursorCurve
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Row, Span


class CorpusSide(Vertical):
    """The corpus as tokens, below a line with their count."""

    def __init__(self, state: ReplayState, palette: TokenPalette, *, id: str) -> None:
        """Create an empty panel."""
        super().__init__(id=id)
        self._state = state
        self.head = Bar(id="corpus-head")
        self.tokens = RowsView(palette, id="corpus")

    def compose(self) -> ComposeResult:
        """Yield the line and the tokens."""
        yield self.head
        yield self.tokens

    def on_resize(self) -> None:
        """Keep the last rung of a ladder in view when a lesson grows."""
        self.show_frame()

    def show_frame(self) -> None:
        """Show the corpus before or after the merge of the current frame."""
        opened, frame, position = self._state.opened, self._state.frame, self._state.shown
        if opened is None or frame is None:
            self.tokens.show(lambda width: ())
            self.head.show([BarItem((Span("Corpus", "heading"),))])
            return
        replay, ladder = opened.replay, opened.ladder
        lit = self._state.lit_pre_token
        token, is_tiny = replay.tokenizer.token_bytes, replay.is_tiny

        def rows(width: int) -> Sequence[Row]:
            if ladder is not None:
                return ladder.rows(position, width, lit)
            return corpus_rows(frame, position, token, is_whole=is_tiny, width=width, lit=lit)

        self.tokens.show(rows, from_top=ladder is None and not is_tiny)
        if ladder is not None:
            last = len(self.tokens.rows) - 1
            self.tokens.show_row(last)
            # Scroll to the start of the last rung, which may be higher than the view. While the
            # view is hidden, its rows still belong to the previous replay.
            rungs = enumerate(self.tokens.rows)
            heads = (n for n, row in rungs if row and row[0].role == "heading")
            self.tokens.show_row(next(heads, last))
        n_tokens = replay.state(position.n_done).n_tokens
        self.head.show(
            [BarItem((Span("Corpus", "heading"),)), _counts(n_tokens, replay.n_bytes or 0)]
        )


def _counts(n_tokens: int | None, n_bytes: int) -> BarItem:
    if n_tokens is None:
        return BarItem((Span("not known"),))
    counts = pluralize(n_tokens, "token")
    ratio = f" · {n_bytes / max(n_tokens, 1):.2f} bytes/token"
    return BarItem((Span(counts + ratio),), "", (Span(counts),))


class Curves(Vertical):
    """Compression and counts over all merges."""

    def __init__(self, state: ReplayState, *, id: str) -> None:
        """Create empty curves."""
        super().__init__(id=id)
        self._state = state
        self.compression = CursorCurve(id="compression")
        self.counts = CursorCurve(id="counts")

    def compose(self) -> ComposeResult:
        """Yield both curves."""
        yield self.compression
        yield self.counts

    def show(self, opened: Opened) -> None:
        """Show the curves of another replay."""
        self.compression.show(opened.compression)
        self.counts.show(opened.counts)

    def set_scale(self, is_log: bool) -> None:
        """Draw both curves on a linear or a logarithmic scale."""
        self.compression.set_scale(is_log)
        self.counts.set_scale(is_log)

    def show_merge(self) -> None:
        """Move the cursors to the current merge."""
        state, number = self._state, self._state.position.n_done
        if state.replay is None:
            return
        ratio, text = state.replay.state(number).bytes_per_token, state.prepared
        if ratio is None and text is not None and text.data:
            ratio = len(text.data) / max(text.n_tokens(number), 1)
        self.compression.set_cursor(number, "" if ratio is None else f"{ratio:.2f}")
        count = None if state.step is None else state.step.count
        self.counts.set_cursor(number, "" if count is None else f"{count:,}")
