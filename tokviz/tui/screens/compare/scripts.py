"""Figures of the text by script, computed in a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tokviz.compare.compared_documents import Track
from tokviz.compare.figures import ScriptFigures, TableRow, figures_by_script, script_cells
from tokviz.formats.registry import short_name
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.compare.state import CompareState
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Row, Span, flow, words_of

_NAME, _NUMBER, _LEAST = 14, 9, 8
"""Widths in columns: name, number, and the minimum for a tokenizer."""
_WAITING = "The tokens are still being counted."


class Scripts(Controller):
    """Show characters per token, by script."""

    def __init__(self, screen: TokvizScreen, state: CompareState, rows: RowsView) -> None:
        """Take the state and the view."""
        super().__init__(screen)
        self._state, self._rows = state, rows
        self._shown_for: object = None

    def show(self) -> None:
        """Show the figures once all tokens are known."""
        state = self._state
        pairs = [*zip(state.names, state.documents, strict=True)]
        settled = all(document is None or document.settled for _, document in pairs)
        known = [(name, document) for name, document in pairs if document and document.complete]
        tokenizers = [(name, document.tokenizer) for name, document in known]
        shown_for = (tokenizers, state.live.revision, settled)
        if shown_for == self._shown_for:
            return
        self._shown_for, names = shown_for, [name for name, _ in known]
        # Running work belongs to another text, or to other tokenizers.
        self.screen.workers.cancel_group(self.screen, "scripts")
        if not settled or not known:
            self._rows.show(lambda width: flow(words_of(_WAITING, "dim"), width))
            return
        tracks = [Track(document) for _, document in known]

        def take(found: list[ScriptFigures]) -> None:
            self._rows.show(lambda width: script_rows(found, names, width), from_top=True)

        self.in_thread("scripts", lambda task: _figures(tracks, task), take)


def _figures(tracks: Sequence[Track], task: Task) -> list[ScriptFigures]:
    sides = [track.side(0, track.n_bytes) for track in tracks]
    text = tracks[0].text_around(0, tracks[0].n_bytes)[1]
    return figures_by_script(text, [side for side in sides if side is not None])


def script_rows(found: Sequence[ScriptFigures], names: Sequence[str], width: int) -> list[Row]:
    """Draw one row per script: characters, and characters per token for each tokenizer."""
    head = (Span("Characters per token, by script", "heading"),)
    return [head, *cell_rows(script_cells(found, names), width)]


def cell_rows(cells: Iterable[TableRow], width: int) -> Iterator[Row]:
    """Draw a table with a header: a name, a number, and a column for each tokenizer."""
    for place, (name, number, *others) in enumerate(cells):
        room = max(_LEAST, min(24, (width - _NAME - _NUMBER) // max(1, len(others))))
        numbers = "".join(fit(short_name(cell), room - 1).rjust(room) for cell in others)
        words = f"{column(name, _NAME)}{number:>{_NUMBER}}{numbers}"
        yield (Span(words, "text" if place else "dim"),)
