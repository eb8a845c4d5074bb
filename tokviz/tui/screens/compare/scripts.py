"""What each script of the text takes in every tokenizer: worked out in a thread."""

from __future__ import annotations

from collections.abc import Sequence

from tokviz.compare.figures import ScriptFigures, figures_by_script, script_cells
from tokviz.compare.lanes import Track
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.compare.state import CompareState
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.flow import Row, Span, flow, words_of
from tokviz.tui.widgets.rows_view import RowsView

_NAME, _CHARS, _LEAST = 14, 12, 8
"""Columns: of a script, of its characters, and at least of a tokenizer."""
_WAITING = "The tokens are still being counted."


class Scripts(Controller):
    """Shows tokens per character, by script."""

    def __init__(self, screen: TokvizScreen, state: CompareState, rows: RowsView) -> None:
        """Take the state, and what shows it."""
        super().__init__(screen)
        self._state, self._rows = state, rows
        self._shown_for: object = None

    def show(self) -> None:
        """Show it once all tokens are known."""
        state = self._state
        pairs = [*zip(state.names, state.documents, strict=True)]
        settled = all(document is None or document.settled for _, document in pairs)
        known = {name: document for name, document in pairs if document and document.complete}
        shown_for = (list(known), state.live.revision, settled)
        if shown_for == self._shown_for:
            return
        self._shown_for, names = shown_for, list(known)
        if not settled or not known:
            self._rows.show(lambda width: flow(words_of(_WAITING, "dim"), width))
            return
        tracks = [Track(document) for document in known.values()]

        def take(found: list[ScriptFigures]) -> None:
            self._rows.show(lambda width: script_rows(found, names, width), from_top=True)

        self.in_thread("scripts", lambda task: _figures(tracks, task), take)


def _figures(tracks: Sequence[Track], task: Task) -> list[ScriptFigures]:
    sides = [track.side(0, track.n_bytes) for track in tracks]
    text = tracks[0].text_around(0, tracks[0].n_bytes)[1]
    return figures_by_script(text, [side for side in sides if side is not None])


def script_rows(found: Sequence[ScriptFigures], names: Sequence[str], width: int) -> list[Row]:
    """Draw a row a script: characters, and for each tokenizer the characters of a token."""
    room = max(_LEAST, min(24, (width - _NAME - _CHARS) // max(1, len(names))))
    rows: list[Row] = [(Span("Characters per token, by script", "heading"),)]
    for number, (script, n_chars, *cells) in enumerate(script_cells(found, names)):
        numbers = "".join(fit(cell, room - 1).rjust(room) for cell in cells)
        words = f"{column(script, _NAME)}{n_chars:>{_CHARS}}{numbers}"
        rows.append((Span(words, "text" if number else "dim"),))
    return rows
