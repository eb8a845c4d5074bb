"""Side pages of the Vocabulary screen and navigation between them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual import on
from textual.widgets import Input

from tokviz.errors import TokvizError
from tokviz.explain.facts import entry_of
from tokviz.explain.relations import children_of
from tokviz.explain.vocabulary.scripts import SCRIPTS
from tokviz.formats import examine
from tokviz.formats.run import run_of
from tokviz.text.sentences import format_sentences
from tokviz.tokenizer.report import FileFinding, Report
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.replay.replay import files_of_merge
from tokviz.training.run import load_attribution
from tokviz.tui.actions import Kind, action, action_each
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.vocabulary.searching import SYNTAX_KEY, SearchField, Searching
from tokviz.tui.screens.vocabulary.table import TokenTable
from tokviz.tui.screens.vocabulary.token_page import (
    PLACES_LISTED,
    TokenPage,
    check_rows,
    overview_rows,
    page_rows,
    syntax_rows,
)
from tokviz.tui.sizes import set_classes
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.card_rows import label_of, token_copies
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.rows_view import LinkRows
from tokviz.tui.widgets.spans import Row, Span, Step, flow, words_of
from tokviz.tui.widgets.view_switcher import SwitcherView, ViewSwitcher
from tokviz.workspace.session import GoToToken

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokviz.explain.relations import Children
    from tokviz.explain.vocabulary.index import VocabularyIndex


T = TypeVar("T")
PAGES = (
    Kind(
        "overview",
        "Overview",
        "The matching tokens by length and script. Each row is a filter.",
    ),
    Kind("token", "Token", "The page of the selected token.", ("alt+t",)),
    Kind(
        "check",
        "Check",
        "Source of the tokenizer, checks, and problems.",
        ("alt+e",),
    ),
    Kind("syntax", "Search help", "The search language.", (SYNTAX_KEY,)),
)
"""Every page, in the order of the tabs."""

_FEWEST_COLUMNS = 16
"""A narrower page is set as wide as this, and cut."""


class Pages(Controller):
    """Show the overview, the selected token, the checks, and the search help.

    All pages share one list of rows. A large terminal shows the page of the token beside another
    one.
    """

    _searching: Searching
    _field: SearchField
    _table: TokenTable

    def set_up(self) -> None:
        """Create the other fields."""
        self.rows = LinkRows(id="page")
        turns = [
            SwitcherView(p.id, p.title, f"show_page('{p.id}')", lambda: self.rows) for p in PAGES
        ]
        self.side = ViewSwitcher(turns, id="side")
        self.beside = LinkRows(id="beside")
        self.beside.border_title = " Token "
        self._found: dict[str, tuple[tuple[object, ...], Any]] = {}
        """Results of threads by kind: their subject and value, None until available."""
        self._trail: tuple[int, ...] = ()
        """Ids of the tokens visited since one was selected in the list."""
        self._marked_id: int | None = None
        self._wanted_id: int | None = None
        """A token to show once the vocabulary is read."""

    # -- the current page

    @action_each(PAGES, "{} panel", call="show_page", section="Panels")
    def show_page(self, page_id: str) -> None:
        """Show another page."""
        self.side.show(page_id)
        set_classes(self.screen, {"-reading": True, "-token": page_id == "token"})
        self.screen.call_after_refresh(self._show_side, from_top=True)

    @action("Go between search and panel", "f5", section="Panels", footer="panel")
    def switch_focus(self) -> None:
        """Move the keyboard from the search field to the panel and back."""
        if self._field.has_focus:
            self.screen.add_class("-reading")
            self.rows.focus()
        else:
            self._field.focus()

    @action("Next panel", "f2", section="Panels", footer="next")
    def next_panel(self) -> None:
        """Show the panel to the right of the one shown now."""
        self.show_page(self.side.step(1))

    @action("Previous panel", "shift+f2", section="Panels")
    def prev_panel(self) -> None:
        """Show the panel to the left of the one shown now."""
        self.show_page(self.side.step(-1))

    # -- showing

    def begin(self) -> None:
        """Show that another vocabulary is being read."""
        self._trail = ()
        self.show(from_top=True)

    def show(self, *, from_top: bool = False) -> None:
        """Make the pages in view again; `from_top` for something else."""
        self._show_side(from_top=from_top)
        self._show_beside(from_top=True)

    def show_found(self) -> None:
        """Show the overview of the results, or the token that was requested before."""
        wanted, self._wanted_id = self._wanted_id, None
        if wanted is not None:
            self.find(wanted)
        if self.side.shown == "overview":
            self._show_side()

    @on(RowList.Highlighted)
    def _marked(self) -> None:
        if self._table.token_id == self._marked_id:
            return
        self._marked_id = self._table.token_id
        self._trail = ()
        if self.side.shown == "token":
            self._show_side(from_top=True)
        self._show_beside(from_top=True)

    def _show_side(self, *, from_top: bool = False) -> None:
        self.rows.show(partial(self._rows_of, self.side.shown), from_top=from_top)

    def _show_beside(self, *, from_top: bool = False) -> None:
        if self.screen.has_class("-huge") and self.side.shown != "token":
            self.beside.show(partial(self._rows_of, "token"), from_top=from_top)

    def _rows_of(self, page_id: str, width: int) -> list[Row]:
        searching = self._searching
        width = max(_FEWEST_COLUMNS, width)
        if page_id == "syntax":
            return syntax_rows(width)
        if page_id == "check" and searching.tokenizer is not None:
            return check_rows(searching.tokenizer, self._report(searching.tokenizer), width)
        if searching.index is None or searching.selection is None:
            return [(Span("Reading the vocabulary…", "dim"),)]
        if page_id == "overview":
            return overview_rows(searching.selection, searching.typed, width)
        return self._token_rows(searching.index, width)

    # -- the token's page

    @property
    def shown_id(self) -> int | None:
        """The id of the token on the page: the last visited one, or else the selected one.

        None if it belongs to another tokenizer that the screen does not show yet.
        """
        if self._searching.tokenizer is not self.session.tokenizer:
            return None
        return self._trail[-1] if self._trail else self._table.token_id

    def go_to(self, token_id: int) -> None:
        """Show the page of a token; the list is not changed."""
        if token_id != self.shown_id:
            self._go((*self._trail, token_id))

    def go_back(self) -> None:
        """Show the token that was shown before."""
        self._go(self._trail[:-1])

    def find(self, token_id: int) -> None:
        """Select a token and show its page, even if it is not in the list."""
        searching = self._searching
        if searching.index is None or searching.selection is None:
            self._wanted_id = token_id
        elif self._table.highlight_id(token_id):
            self._go(())
        elif searching.index.row_of(token_id) is not None:
            self._go((token_id,))

    def _go(self, trail: tuple[int, ...]) -> None:
        self._trail = trail
        if self.beside.display and self.side.shown != "token":
            self._show_beside(from_top=True)
        else:
            self.show_page("token")

    def _token_rows(self, index: VocabularyIndex, width: int) -> list[Row]:
        token_id = self.shown_id
        row = None if token_id is None else index.row_of(token_id)
        if row is None or token_id is None:
            return flow(words_of("No token is selected.", "dim"), width)
        children = self._children_of(index, row)
        n_uses, places = self.session.live.occurrences(token_id, PLACES_LISTED)
        token_bytes = index.tokenizer.token_bytes
        page = TokenPage(
            entry_of(index.tokenizer, token_id),
            SCRIPTS[index.scripts[row]],
            None if index.unreachable is None else bool(index.unreachable[row]),
            n_uses,
            tuple(places),
            None if children is None else tuple((token_bytes(i), i) for i in children.ids),
            children is None or children.complete,
            self._origin(index.tokenizer, token_id),
        )
        return [*self._way_back(index, width), *page_rows(page, width)]

    def _way_back(self, index: VocabularyIndex, width: int) -> list[Row]:
        """Return a link to the previous token, if this one was visited from there."""
        if not self._trail:
            return []
        before = self._trail[-2] if len(self._trail) > 1 else self._table.token_id
        label = "" if before is None else label_of(index.tokenizer.token_bytes(before))
        back = Step(-1)
        return [(Span("‹ back to ", "link", back), Span(fit(label, width - 10), "made", back)), ()]

    # -- what takes a moment

    def _once(
        self, kind: str, about: tuple[object, ...], find: Callable[[Task], T | None]
    ) -> T | None:
        """Return the result of a thread, or None until it is available and shown."""
        known, found = self._found.get(kind, ((), None))
        if known == about:
            return cast("T | None", found)
        self._found[kind] = about, None

        def take(found: T | None) -> None:
            self._found[kind] = about, found
            self._show_side()
            self._show_beside()

        self.in_thread(kind, find, take, failed=lambda error: None)
        return None

    def _children_of(self, index: VocabularyIndex, row: int) -> Children | None:
        """Return the tokens that a token is merged into."""

        def find(task: Task) -> Children:
            return children_of(index, row, cancelled=lambda: task.cancelled)

        return self._once("children", (index, row), find)

    def _origin(self, tokenizer: Tokenizer, token_id: int) -> str:
        """Describe the files that a token of a training came from."""
        number, place = tokenizer.merge_number(token_id), run_of(tokenizer)
        if number is None or not place:
            return ""

        def read(task: Task) -> Callable[[int], str]:
            attribution = load_attribution(self.session.where(place))
            return lambda number: format_sentences([files_of_merge(attribution, number)])

        tell = self._once("files", (tokenizer,), read)
        return "" if tell is None else tell(number)

    def _report(self, tokenizer: Tokenizer) -> Report | None:
        """Check the tokenizer; until this is done, return the report of loading it."""

        def check(task: Task) -> Report:
            try:
                return examine.check(tokenizer)
            except TokvizError as error:
                problem = f"the check failed: {error}"
                return Report(tokenizer.name, (FileFinding("error", "check", "", problem),))

        return self._once("check", (tokenizer,), check) or tokenizer.load_report


class TokenActions(Controller):
    """Going to its page, to the text that uses it, and copying it."""

    _pages: Pages

    @on(RowList.Picked, "#table")
    def _clicked(self) -> None:
        if not self._pages.beside.display:
            self._pages.show_page("token")

    @on(Input.Submitted, "#query")
    @action("Show the token's page", "enter", section="Tokens", footer="token", bound=False)
    def open_token(self) -> None:
        """Show the selected token: bytes, merges, the tokens it is merged into, your text."""
        if self._pages.beside.display:
            self._pages.beside.focus()
        else:
            self._pages.show_page("token")
            self._pages.rows.focus()

    @action("Back to the previous token", "backspace", section="Tokens", bound=False)
    def token_before(self) -> None:
        """Go back to the page of the previous token."""
        self._pages.go_back()

    @action("Go to the token in the text", "f3", section="Tokens", footer="in text")
    def jump_to_text(self) -> None:
        """Show the Tokens screen with the cursor on the first place that uses the marked token."""
        token_id, live = self._pages.shown_id, self.session.live
        found = None if token_id is None else live.next_occurrence(token_id, -1)
        if found is None:
            self.say("The text on the Tokens screen does not use this token.")
        else:
            self.jump(found)

    def jump(self, index: int) -> None:
        """Show a token of the text."""
        if index >= self.session.live.n_tokens:
            self.say("The text has changed and no longer has that token.")
            return
        self.session.ask(GoToToken(index))

    @action("Copy the token's id", "f4", section="Tokens", footer="copy id")
    def copy_id(self) -> None:
        """Copy the id of the marked token."""
        self._copy_part(0)

    @action("Copy the token's bytes", "shift+f4", section="Tokens")
    def copy_bytes(self) -> None:
        """Copy the bytes of the marked token in hexadecimal."""
        self._copy_part(1)

    @action("Copy the token's text", "alt+c", section="Tokens")
    def copy_token_text(self) -> None:
        """Copy the text of the marked token exactly as it is."""
        self._copy_part(2)

    def _copy_part(self, number: int) -> None:
        token_id = self._pages.shown_id
        if token_id is None:
            self.say("There is no token to copy.")
            return
        copies = token_copies(entry_of(self.session.tokenizer, token_id))
        if number >= len(copies):
            self.say("These bytes are not text. Shift+F4 copies them in hexadecimal.")
            return
        self.copy(*copies[number])
