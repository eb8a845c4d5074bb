"""A strip below the text with its token counts in the compared tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tokviz.formats.registry import short_name
from tokviz.text.sentences import pluralize
from tokviz.tui.actions import LEADER, action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.spans import Row, RunAction, Span

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer
    from tokviz.tui.screens.lanes import Lanes
    from tokviz.tui.widgets.rows_view import RowsView


_OPEN = RunAction("app.show_screen('compare')")
_CLOSE = Span(" ×", "link", RunAction("toggle_strip"))
_NONE = "No other tokenizer is chosen: the Compare screen adds some."


class OtherCounts(Controller):
    """Update the strip, and report how a new tokenizer changes the token count."""

    def __init__(self, screen: TokvizScreen) -> None:
        """Take the screen of the strip."""
        super().__init__(screen)
        self._counted: tuple[Tokenizer, object, int] | None = None
        self._has_begun = False
        self._made: Lanes | None = None

    @cached_property
    def view(self) -> RowsView:
        """The strip, created only if it is turned on."""
        from tokviz.tui.widgets.rows_view import RowsView

        return RowsView(id="strip")

    @property
    def _lanes(self) -> Lanes:
        # Imported only if the strip is turned on.
        from tokviz.tui.screens.lanes import Lanes

        if self._made is None:
            self._made = Lanes(self.screen, self._show, self._show)
        return self._made

    def rest(self) -> None:
        """Stop encoding while the strip is hidden."""
        if self._made is not None:
            self._made.rest()

    def begin(self) -> None:
        """Load the tokenizers after the first frame."""
        self._has_begun = True
        self.sync()

    def sync(self) -> None:
        """Update after the text or a tokenizer has changed."""
        if not self.screen.is_current:
            return
        if self._has_begun and self.settings.strip:
            self._lanes.begin()
            self._lanes.follow()
            self._show()
        self._tell_difference()

    @action("Counts of the compared tokenizers", "shift+f8", f"{LEADER} t", section="Tokenizer",
            words="strip compare versus live tokens")  # fmt: skip
    def toggle_strip(self) -> None:
        """Show the token counts of the text in the tokenizers of the Compare screen."""
        self.session.change_settings(strip=not self.settings.strip)
        if self.view.parent is None:
            self.screen.mount(self.view, before="#status")
        self.view.display = self.settings.strip
        self.rest()
        self.sync()

    def _show(self) -> None:
        if not self.settings.strip or not self.screen.is_current:
            return
        live = self.session.live
        items = []
        for other in self.session.others:
            document = None if other.lane is None else other.lane.document
            if document is None or document.failure is not None:
                items.append((other.name, "!" if document or other.error else "…", ""))
            elif document.complete and live.complete:
                more = document.n_tokens - live.n_tokens
                items.append(
                    (other.name, f"{document.n_tokens:,}", f" ({more:+,})" if more else " (0)")
                )
            else:
                items.append((other.name, f"{document.n_tokens:,}…", ""))
        self.view.show(lambda width: strip_rows(items, width))

    def _tell_difference(self) -> None:
        """Report the change of the token count if only the tokenizer has changed."""
        live = self.session.live
        if not live.complete or live.tokenizer is None:
            return
        name, n_tokens = short_name(live.tokenizer.name), live.n_tokens
        of = (self.session.edits, live.n_bytes, live.parse_specials)
        before, self._counted = self._counted, (live.tokenizer, of, n_tokens)
        # A renamed run is the same tokenizer, so the earlier name would be wrong.
        other = short_name(before[0].name) if before is not None else name
        if before is not None and other != name and before[1] == of and n_tokens:
            more = n_tokens - before[2]
            change = (
                f"{abs(more):,} {'more' if more > 0 else 'fewer'} than" if more else "as many as"
            )
            self.say(f"{name}: {pluralize(n_tokens, 'token')}, {change} {other}")


def strip_rows(items: Sequence[tuple[str, str, str]], width: int) -> list[Row]:
    """Draw the strip in one row: names, counts, and differences where there is room for them.

    Args:
        items: By tokenizer: its name, its count, the difference to the tokenizer in use.
        width: Columns of the row.
    """
    for longest in (24, 20, 16, 12, 8, 4):
        spans: list[Span] = []
        for name, number, more in items:
            spans += [Span(f"{' · ' if spans else ''}{fit(name, longest)} ", "dim", _OPEN)]
            spans += [Span(number, "heading", _OPEN), Span(more if longest > 12 else "", "text")]
        if spans and (longest == 4 or sum(cell_len(span.text) for span in spans) + 2 <= width):
            return [(*spans, _CLOSE)]
    return [(Span(fit(_NONE, width - 2), "dim", _OPEN), _CLOSE)]
