"""Vocabulary screen: search field, list of tokens, and pages."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from tokviz.explain.places import bytes_place
from tokviz.explain.vocabulary.search import Order
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import Gesture
from tokviz.tui.palette import palette_of
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.choosing import TokenizerChoice
from tokviz.tui.screens.vocabulary.pages import Pages, TokenActions
from tokviz.tui.screens.vocabulary.searching import Files, Filtering, SearchField, Searching
from tokviz.tui.screens.vocabulary.table import TableHead, TokenTable
from tokviz.tui.screens.why import RIGHT_CLICK, Asked, Explaining
from tokviz.tui.sizes import set_classes
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.lists import MOVES
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Filter, GoTo, Search, Span, Step, ToToken
from tokviz.tui.widgets.status_line import duration
from tokviz.workspace.session import Request, ShowToken

SLICE_SECONDS = 0.1
"""Seconds between checks whether counting a text was canceled."""

_ORDER_WORDS: dict[Order, str] = {
    "id": "by id",
    "text": "by text",
    "length": "by bytes",
    "characters": "by characters",
    "merge": "by merge",
    "uses": "by uses in your text",
}


class VocabularyScreen(TokvizScreen):
    """Search and browse the tokens of the current tokenizer."""

    SCREEN_ID = "vocabulary"
    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#query"
    DEFAULT_CLASSES = "-empty -typing"
    LOW_LINES = 28
    CONTROLLERS = (TokenActions, Explaining, Pages, Filtering, TokenizerChoice, Files)
    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("backspace", "token_before", show=False),
        Binding("ctrl+home", "edge(-1)", show=False),
        Binding("ctrl+end", "edge(1)", show=False),
    ]
    GESTURES = (
        Gesture("Click a token", "Shows its page."),
        RIGHT_CLICK,
        Gesture("Click the head of a column", "Sorts by it; a second click reverses the order."),
        Gesture("Click a row of the overview", "Shows only its tokens; a second click, all."),
        Gesture(
            "Click a word below the search",
            "Shows only such tokens; a second click, all.",
        ),
        Gesture("Click a token on a token's page", "Shows that token."),
        Gesture("Click the tokenizer", "Opens the list of tokenizers."),
    )

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self.fit(self.app.size)
        self.field = SearchField(id="query", select_on_focus=False)
        head = TableHead()
        self.table = TokenTable(palette_of(self.app), head, id="table")
        self.status = Bar(id="status")
        self._problem, self._nothing = Static(id="problem"), Static(id="nothing")
        self.searching = Searching(self, self._show_begun, self._show_found)
        self.filtering = Filtering(self, self.searching, self.field)
        self.pages = Pages(self, self.searching, self.field, self.table)
        self.tokens = TokenActions(self, self.pages)
        TokenizerChoice(self, self.field.take_back)
        Files(self, self.searching)
        Explaining(self, self._asked_why)
        self._shown_for: object = None
        yield self.title_bar
        with Horizontal(id="search"):
            yield Static("›", classes="prompt")
            yield self.field
            yield self.filtering.how
        yield self.filtering.bar
        yield self._problem
        with Container(id="work"):
            with Container(id="list"):
                yield head
                yield self.table
                yield self._nothing
            with Container(id="right"):
                yield self.pages.side
                yield self.pages.beside
        yield self.status
        yield self.keys

    def on_mount(self) -> None:
        """Show the first page."""
        self.fitted()
        self.pages.side.show("overview")

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Update to the tokenizer and text of the Tokens screen."""
        self.searching.read(self.session.tokenizer)
        self._count_uses()

    def tokenizer_changed(self, tokenizer: Tokenizer) -> None:
        """Show another vocabulary."""
        self.searching.uses = {}
        self.searching.read(tokenizer)
        self._count_uses()

    def text_changed(self) -> None:
        """Count the uses of tokens again."""
        self._count_uses()

    def _count_uses(self) -> None:
        """Count in the tokens that are known, and again once a thread has encoded the rest."""
        live = self.session.live

        def encode(task: Task) -> None:
            while not task.cancelled and not live.encode_pending(SLICE_SECONDS):
                pass

        self._show_uses()
        if not live.settled:
            in_thread(self, "uses", encode, lambda _: self._show_uses())

    def _show_uses(self) -> None:
        self.searching.uses = self.session.live.token_counts()
        self.table.show_uses(self.searching.uses)
        self.filtering.show()
        if "used" in self.filtering.flags or self.searching.order == "uses":
            self.searching.search()
        self.pages.show()

    def answer(self, request: Request) -> None:
        """Show what another screen asks for."""
        if isinstance(request, ShowToken):
            self.pages.find(request.token_id)

    def _asked_why(self) -> Asked | str:
        """Mean the token whose page is shown, standing alone."""
        tokenizer, token_id = self.session.tokenizer, self.pages.shown_id
        if token_id is None:
            return "No token is selected."
        return tokenizer, bytes_place(tokenizer.token_bytes(token_id), token_id)

    # -- results

    def _show_begun(self) -> None:
        """Show that another vocabulary is being read."""
        self.table.show_tokens(None, None)
        self._show_nothing("Reading the vocabulary…")
        self.filtering.show()
        self._show_status()
        self.pages.begin()

    def _show_found(self) -> None:
        """Show the results of a search."""
        searching = self.searching
        selection, query = searching.selection, searching.query
        assert selection is not None
        shown_for = (query, searching.order, searching.descending)
        self.table.show_tokens(
            searching.index,
            selection.rows,
            order=searching.order,
            descending=searching.descending,
            uses=searching.uses,
            keep=self._shown_for == shown_for,
        )
        self._shown_for = shown_for
        problems = [note for note in (*query.notes, selection.note) if note]
        _tell(self._problem, " ".join(problems))
        self.set_class(bool(problems), "-problem")
        self._show_nothing("" if len(selection.rows) else _nothing_found(searching))
        self._show_status()
        self.filtering.show()
        self.pages.show_found()

    def _show_nothing(self, sentence: str) -> None:
        """Show why the list is empty, if it is."""
        _tell(self._nothing, sentence)
        self.set_class(bool(sentence), "-empty")

    # -- routing

    @on(RowsView.Picked)
    def _picked(self, event: RowsView.Picked) -> None:
        match event.action:
            case ToToken(token_id):
                self.pages.go_to(token_id)
            case Step():
                self.pages.go_back()
            case GoTo(index):
                self.tokens.jump(index)
            case Filter(name, value):
                self.filtering.toggle(name, value)
            case Search(typed):
                self.field.put(typed)

    def on_key(self, event: events.Key) -> None:
        """Type into the search field wherever the keyboard is, except for keys with an action."""
        if event.character and event.is_printable and event.key not in self.active_bindings:
            event.stop()
            self.field.focus()
            self.field.insert_text_at_cursor(event.character)

    def action_move(self, step: int) -> None:
        """Move the mark in the list."""
        self.table.move(step)

    def action_page(self, step: int) -> None:
        """Move the mark by a page."""
        self.table.action_page(step)

    def action_edge(self, side: int) -> None:
        """Move the mark to the first or the last token."""
        self.table.action_edge(side)

    @on(events.DescendantFocus)
    def _focus_moved(self) -> None:
        is_typing = self.field.has_focus
        is_reading = self.has_class("-reading") and not is_typing
        set_classes(self, {"-typing": is_typing, "-reading": is_reading})

    @on(events.Click, "#query")
    @on(Input.Changed, "#query")
    def _show_list(self) -> None:
        """Show the list again if only the list or a page fits."""
        self.remove_class("-reading")

    # -- the lines and the room

    def _show_status(self) -> None:
        searching = self.searching
        index, selection = searching.index, searching.selection
        if index is None or selection is None:
            self.status.show([BarItem((Span("reading the vocabulary…"),))])
            return
        n, total = len(selection.rows), len(index)
        found = f"{n:,} of {pluralize(total, 'token')}" if n < total else pluralize(total, "token")
        n_ids = index.tokenizer.n_vocab
        unused = f"{n_ids - total:,} of the {n_ids:,} ids have no token"
        order = f"{_ORDER_WORDS[searching.order]} {'▼' if searching.descending else '▲'}"
        self.status.show(
            [
                BarItem((Span(found, "heading"),)),
                *([BarItem((Span(unused),))] if n_ids > total else []),
                BarItem((Span(f"sorted {order}"),), "screen.next_order"),
                BarItem((Span(f"found in {duration(selection.seconds)}"),)),
            ]
        )

    def fitted(self) -> None:
        """Show what there is room for."""
        self.field.fit(self.app.size.width)
        self.pages.show()


def _tell(where: Static, sentence: str) -> None:
    """Show a sentence; only another one asks for a layout."""
    if str(where.content) != safe(sentence):
        where.update(Content(safe(sentence)))


def _nothing_found(searching: Searching) -> str:
    sentence, typed, index = "No token fits.", searching.typed, searching.index
    if typed.strip().isdigit():
        sentence += f" For the token with this id, type #{typed.strip()}."
    if "is:unreachable" in typed and index is not None and index.unreachable is None:
        if index.tokenizer.remote:
            return "Reachable tokens are unknown, because another library encodes."
        return "Trying every token…"
    return f"{sentence} Esc shows all tokens again." if searching.query.terms else sentence
