"""The pages at the side: what they show, and going from one to the other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tokviz.explain.facts import entry_of
from tokviz.tui.dialogs.base import Field
from tokviz.tui.screens.vocabulary.columns import shown_label
from tokviz.tui.screens.vocabulary.file_actions import VocabularyFiles
from tokviz.tui.screens.vocabulary.other_pages import check_rows, syntax_rows
from tokviz.tui.screens.vocabulary.overview import overview_rows
from tokviz.tui.screens.vocabulary.pages import SidePages, TokenBeside
from tokviz.tui.screens.vocabulary.table import TokenTable
from tokviz.tui.screens.vocabulary.token_page import PLACES_LISTED, TokenPage, page_rows
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.flow import Row, Run, Span, flow, words_of
from tokviz.vocabulary.scripts import SCRIPTS

if TYPE_CHECKING:
    from tokviz.explain.relations import Children
    from tokviz.vocabulary.index import VocabularyIndex


_FEWEST_COLUMNS = 16
"""A narrower page is set as wide as this, and cut."""


class PageActions(VocabularyFiles):
    """Shows the overview, the marked token, what was checked, and what can be typed."""

    field: Field
    table: TokenTable
    side: SidePages
    beside: TokenBeside
    _children: tuple[VocabularyIndex, int, Children] | None = None
    """What was found of the children of a token: the index and the row it is about."""
    _trail: tuple[int, ...] = ()
    """The tokens that were gone to from page to page since one was marked in the list, by id."""

    def action_show_overview(self) -> None:
        """Show the histograms."""
        self.choose_page("overview")

    def action_show_page(self) -> None:
        """Show the marked token's page."""
        self.choose_page("token")

    def action_show_check(self) -> None:
        """Show what was checked."""
        self.choose_page("check")

    def action_show_syntax(self) -> None:
        """Show what can be typed."""
        self.choose_page("syntax")

    def action_next_panel(self) -> None:
        """Show the next page."""
        self.choose_page(self.side.step(1))

    def action_prev_panel(self) -> None:
        """Show the previous page."""
        self.choose_page(self.side.step(-1))

    def action_switch_focus(self) -> None:
        """Move the keyboard between the search field and the page."""
        if self.field.has_focus:
            self.add_class("-reading")
            self.side.rows.focus()
        else:
            self.field.focus()

    def choose_page(self, page_id: str) -> None:
        """Show another page."""
        self.side.choose(page_id)
        self.add_class("-reading")
        self.set_class(page_id == "token", "-token")
        self.call_after_refresh(self.show_side, anew=True)

    def show_pages(self, *, anew: bool) -> None:
        """Make all pages again; `anew` for something else, from the top."""
        self.show_side(anew=anew)
        if self.has_class("-huge"):
            self.show_beside()

    def show_side(self, anew: bool) -> None:
        """Make the page at the side again."""
        self.side.rows.show(partial(self._rows_of, self.side.shown), from_top=anew)

    def show_beside(self) -> None:
        """Make the token's page beside it again."""
        if self.side.shown != "token":
            self.beside.rows.show(partial(self._rows_of, "token"), from_top=True)

    def _rows_of(self, page_id: str, width: int) -> list[Row]:
        tokenizer = self._wanted
        width = max(_FEWEST_COLUMNS, width)
        if page_id == "syntax":
            return syntax_rows(width)
        if page_id == "check" and tokenizer is not None:
            self.check()
            return check_rows(tokenizer, self.report, width)
        if self.index is None or self.selection is None:
            return [(Span("Reading the vocabulary…", "dim"),)]
        if page_id == "overview":
            return overview_rows(self.selection, self.typed, width)
        return self._token_rows(self.index, width)

    def _token_rows(self, index: VocabularyIndex, width: int) -> list[Row]:
        token_id = self.shown_id
        row = None if token_id is None else index.row_of(token_id)
        if row is None or token_id is None:
            return flow(words_of("No token is marked.", "dim"), width)
        known = self._children
        children = None
        if known is not None and known[0] is index and known[1] == row:
            children = known[2]
        else:
            self.find_children(index, row)
        live = self.session.live
        n_uses, places = live.occurrences(token_id, PLACES_LISTED)
        page = TokenPage(
            entry_of(index.tokenizer, token_id),
            SCRIPTS[index.scripts[row]],
            None if index.unreachable is None else bool(index.unreachable[row]),
            n_uses,
            tuple(places),
            "your text",
            None if children is None else tuple(_named(index, i) for i in children.ids),
            children is None or children.complete,
        )
        return [*self._way_back(index, width), *page_rows(page, width)]

    @property
    def shown_id(self) -> int | None:
        """The id of the token whose page is shown: the one gone to last, else the marked one."""
        return self._trail[-1] if self._trail else self.table.token_id

    def _way_back(self, index: VocabularyIndex, width: int) -> list[Row]:
        """Give a link to the token that was shown before, if this one was gone to from there."""
        if not self._trail:
            return []
        before = self._trail[-2] if len(self._trail) > 1 else self.table.token_id
        label = "" if before is None else shown_label(index.tokenizer.token_bytes(before))
        back = Run("screen.token_before")
        return [(Span("‹ back to ", "link", back), Span(fit(label, width - 10), "made", back)), ()]

    def action_token_before(self) -> None:
        """Show the token that was shown before."""
        self.go_to_page(self._trail[:-1])

    def action_show_id(self, token_id: int) -> None:
        """Show the page of a token; the list stays as it is."""
        if token_id != self.shown_id:
            self.go_to_page((*self._trail, token_id))

    def go_to_page(self, trail: tuple[int, ...]) -> None:
        """Show the page at the end of a trail of tokens."""
        self._trail = trail
        if self.beside.display and self.side.shown != "token":
            self.show_beside()
        else:
            self.choose_page("token")

    def report_changed(self) -> None:
        """Show what was found to be wrong or right with the tokenizer."""
        if self.side.shown == "check":
            self.show_side(anew=False)

    def children_found(self, index: VocabularyIndex, row: int, children: Children) -> None:
        """Show what a token is merged into."""
        if index is self.index and int(index.ids[row]) == self.shown_id:
            self._children = (index, row, children)
            if self.side.shown == "token":
                self.show_side(anew=False)
            elif self.has_class("-huge"):
                self.beside.rows.show(partial(self._rows_of, "token"))


def _named(index: VocabularyIndex, token_id: int) -> tuple[bytes, int]:
    return index.tokenizer.token_bytes(token_id), token_id
