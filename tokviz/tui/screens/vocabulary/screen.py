"""The Vocabulary screen: search field, list of tokens, and pages about what is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Input, Static
from textual.worker import Worker, WorkerState

from tokviz.tokenizer import Tokenizer
from tokviz.tui.actions.registry import bindings_for
from tokviz.tui.dialogs.base import Field
from tokviz.tui.glyphs import safe
from tokviz.tui.screens.bars import key_items, tab_items, tokenizer_item
from tokviz.tui.screens.vocabulary.file_actions import VocabularyFiles
from tokviz.tui.screens.vocabulary.other_pages import check_rows, syntax_rows
from tokviz.tui.screens.vocabulary.overview import overview_rows
from tokviz.tui.screens.vocabulary.pages import SidePages, TokenBeside
from tokviz.tui.screens.vocabulary.table import TokenTable
from tokviz.tui.screens.vocabulary.token_page import PLACES_LISTED, TokenPage, page_rows
from tokviz.tui.widgets.bar import Bar, BarItem, Role
from tokviz.tui.widgets.card_rows import token_copies
from tokviz.tui.widgets.flow import Row, Span, flow, words_of
from tokviz.tui.widgets.status_line import duration
from tokviz.tui.widgets.token_facts import entry_of
from tokviz.vocabulary.query import FLAGS, Flag, Query, split_words, toggle_word
from tokviz.vocabulary.scripts import SCRIPTS
from tokviz.vocabulary.search import ORDERS

if TYPE_CHECKING:
    from tokviz.vocabulary.index import VocabularyIndex
    from tokviz.vocabulary.relations import Children

NARROW_COLUMNS = 110
"""A narrower terminal has its pages below the list."""
SHORT_LINES, LOW_LINES = 16, 28
TINY_COLUMNS, TINY_LINES = 28, 9
HUGE_COLUMNS, HUGE_LINES = 150, 44
"""A terminal of this size shows the token's page beside another one."""

_PLACEHOLDER = "Search: text, 0xe4b8, /regex/, #498, len:>10, script:han, is:partial"
_SHORT_PLACEHOLDER = "Search, or F2 for how"
_FLAG_WORDS: dict[Flag, str] = {
    "special": "special",
    "partial": "cut characters",
    "unreachable": "unreachable",
    "used": "in your text",
}
_ORDER_WORDS = {
    "id": "by id",
    "text": "by text",
    "length": "by bytes",
    "characters": "by characters",
    "rank": "by rank",
    "uses": "by uses in your text",
}


class VocabularyScreen(VocabularyFiles):
    """Search and browse the tokens of the tokenizer at hand."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("vocabulary"),
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("ctrl+home", "to_edge(False)", show=False),
        Binding("ctrl+end", "to_edge(True)", show=False),
    ]
    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#query"
    action_group = "vocabulary"

    def __init__(self) -> None:
        """Begin before the vocabulary is read."""
        super().__init__()
        self.uses = {}
        self._children: tuple[VocabularyIndex, int, Children] | None = None
        self._wanted_id: int | None = None
        self._shown_for: object = None
        self._fitted: tuple[int, int] | None = None

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self._fit(self.app.size)
        self.title_bar = Bar(id="title")
        self.field = Field(id="query")
        self._show_placeholder()
        self.filters = Bar(id="filters")
        self.table = TokenTable(self.tokviz.token_palette(), id="table")
        self.side = SidePages()
        self.beside = TokenBeside()
        self.status = Bar(id="status")
        self.keys = Bar(id="keys")
        yield self.title_bar
        with Horizontal(id="search"):
            yield Static("›", classes="prompt")
            yield self.field
        yield self.filters
        yield Static(id="problem")
        with Container(id="work"):
            with Container(id="list"):
                yield self.table
                yield Static(id="nothing")
            with Container(id="right"):
                yield self.side
                yield self.beside
        yield self.status
        yield self.keys

    def on_mount(self) -> None:
        """Read the vocabulary of the tokenizer at hand."""
        self.keys.show(key_items("vocabulary"))
        self.app.theme_changed_signal.subscribe(self, lambda _: self._change_palette())
        self.tokviz.tokenizer_changed.subscribe(self, self._tokenizer_changed)

    def on_screen_resume(self) -> None:
        """Take up what has become of the tokenizer and the text on the Tokens screen."""
        self.uses = self.tokviz.tokens_screen.live.token_counts()
        self.read_vocabulary(self.tokviz.tokenizer)
        self._show_title()
        if self.index is not None:
            self.table.show_uses(self.uses)
            if "used" in self._flags() or self.order == "uses":
                self.search()
            self._show_filters()
            self._show_pages(anew=False)

    def _tokenizer_changed(self, tokenizer: Tokenizer) -> None:
        if self.is_current:
            self.uses = {}
            self.read_vocabulary(tokenizer)
            self._show_title()
            self.set_timer(0.5, self._read_uses)

    def _read_uses(self) -> None:
        self.uses = self.tokviz.tokens_screen.live.token_counts()
        self.table.show_uses(self.uses)
        self._show_filters()

    def _change_palette(self) -> None:
        self.table.set_palette(self.tokviz.token_palette())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Say so if something in the background failed, rather than go on in silence."""
        if event.state is WorkerState.ERROR:
            self.say(f"Something went wrong in the background: {event.worker.error}", "error")

    # -- searching

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.typed = event.value
        self._show_filters()
        self.search()

    @on(Input.Submitted, "#query")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_open_token()

    def vocabulary_changed(self) -> None:
        """Show that another vocabulary is being read."""
        self._children = None
        self.table.show(None, None)
        self._say_nothing("Reading the vocabulary…")
        self._show_filters()
        self._show_status(None)
        self._show_pages(anew=True)

    def selection_changed(self, query: Query) -> None:
        """Show what a query found."""
        assert self.index is not None and self.selection is not None
        selection = self.selection
        self.table.show(
            self.index,
            selection.rows,
            order=self.order,
            descending=self.descending,
            uses=self.uses,
            keep=self._shown_for == (query, self.order, self.descending),
        )
        self._shown_for = (query, self.order, self.descending)
        problems = [note for note in (*query.notes, selection.note) if note]
        self.query_one("#problem", Static).update(Content(safe(" ".join(problems))))
        self.set_class(bool(problems), "-problem")
        if len(selection.rows):
            self.remove_class("-empty")
        else:
            self._say_nothing(_nothing_found(query, self.typed, self.index))
        if self._wanted_id is not None:
            wanted, self._wanted_id = self._wanted_id, None
            self._show_found_id(wanted)
        self._show_status(selection.seconds)
        self._show_filters()
        if self.side.shown == "overview":
            self._show_side(anew=False)

    def _say_nothing(self, sentence: str) -> None:
        self.query_one("#nothing", Static).update(Content(safe(sentence)))
        self.add_class("-empty")

    def _put(self, text: str) -> None:
        self.field.value = text
        self.field.cursor_position = len(text)

    def _flags(self) -> set[str]:
        words = split_words(self.typed)
        return {word.value for word in words if word.name == "is" and not word.negated}

    def action_toggle_word(self, name: str, value: str) -> None:
        """Put a filter into the search field, or take it out."""
        self._put(toggle_word(self.typed, name, value))

    def action_only_used(self) -> None:
        """Show only the tokens of the text, or all."""
        self.action_toggle_word("is", "used")

    def action_only_special(self) -> None:
        """Show only special tokens, or all."""
        self.action_toggle_word("is", "special")

    def action_only_partial(self) -> None:
        """Show only tokens with cut characters, or all."""
        self.action_toggle_word("is", "partial")

    def action_only_unreachable(self) -> None:
        """Show only unreachable tokens, or all."""
        self.action_toggle_word("is", "unreachable")

    def action_clear_search(self) -> None:
        """Show all tokens; with nothing to clear, go back to the field."""
        self._put("")
        self.field.focus()

    # -- order

    @on(TokenTable.SortAsked)
    def _sort_asked(self, event: TokenTable.SortAsked) -> None:
        event.stop()
        if event.order == self.order:
            self.descending = not self.descending
        else:
            self.order = event.order
            # Who sorts by a number of something looks for the greatest.
            self.descending = event.order in ("length", "characters", "uses")
        self.search()

    def action_next_order(self) -> None:
        """Sort by the next column."""
        self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        self.descending = self.order in ("length", "characters", "uses")
        self.search()

    def action_reverse_order(self) -> None:
        """Begin at the other end."""
        self.descending = not self.descending
        self.search()

    def action_longest_first(self) -> None:
        """Sort by bytes, the longest first."""
        self.order, self.descending = "length", True
        self.search()

    # -- the list

    def action_move(self, step: int) -> None:
        """Move the mark in the list."""
        self.table.move(step)

    def action_page(self, step: int) -> None:
        """Move the mark by a page."""
        self.table.move(step * self.table.page)

    def action_to_edge(self, end: bool) -> None:
        """Move the mark to the first or the last token."""
        self.table.move_to_edge(end)

    @on(TokenTable.Highlighted)
    def _highlighted(self, event: TokenTable.Highlighted) -> None:
        event.stop()
        if self.side.shown == "token":
            self._show_side(anew=True)
        if self.has_class("-huge"):
            self._show_beside()

    @on(TokenTable.Opened)
    def _opened(self, event: TokenTable.Opened) -> None:
        event.stop()
        if not self.beside.display:
            self._choose_page("token")

    def action_open_token(self) -> None:
        """Show the marked token's page and go there."""
        if self.beside.display:
            self.beside.rows.focus()
        else:
            self._choose_page("token")
            self.side.rows.focus()

    def action_show_id(self, token_id: int) -> None:
        """Show the page of a token; if the list does not hold it, the search is cleared."""
        if self.index is None:
            self._wanted_id = token_id
        elif not self.table.highlight_id(token_id):
            if not self.typed:
                self.say(f"No token has the id {token_id}.")
                return
            self._wanted_id = token_id
            self._put("")
        self._choose_page("token")

    def _show_found_id(self, token_id: int) -> None:
        self.table.highlight_id(token_id)

    def action_jump_to_text(self) -> None:
        """Show where the text uses the marked token."""
        token_id = self.table.token_id
        live = self.tokviz.tokens_screen.live
        found = None if token_id is None else live.next_occurrence(token_id, -1)
        if found is None:
            self.say("The text on the Tokens screen does not use this token.")
        else:
            self.action_jump(found)

    def action_jump(self, index: int) -> None:
        """Show a token of the text."""
        tokens = self.tokviz.tokens_screen
        self.app.run_worker(self._go_to_text(index), group="jump")
        if index >= tokens.live.n_tokens:
            self.say("The text has changed.")

    async def _go_to_text(self, index: int) -> None:
        self.tokviz.action_show_screen("tokens")
        tokens = self.tokviz.tokens_screen
        if index < tokens.live.n_tokens:
            tokens.call_after_refresh(tokens.pick_token, index)

    def action_copy_id(self) -> None:
        """Copy the marked token's id."""
        self._copy_part(0)

    def action_copy_bytes(self) -> None:
        """Copy the marked token's bytes in hexadecimal."""
        self._copy_part(1)

    def action_copy_token_text(self) -> None:
        """Copy the marked token's text."""
        self._copy_part(2)

    def _copy_part(self, number: int) -> None:
        token_id = self.table.token_id
        if self.index is None or token_id is None:
            self.say("There is no token to copy.")
            return
        copies = token_copies(entry_of(self.index.tokenizer, token_id))
        if number >= len(copies):
            self.say("These bytes are no text: Shift+F4 copies them in hexadecimal.")
            return
        self.copy(*copies[number])

    # -- the tokenizer

    def action_pick_tokenizer(self) -> None:
        """Choose another tokenizer, for this screen and the others."""
        self.tokviz.pick_tokenizer()

    # -- pages

    def action_show_overview(self) -> None:
        """Show the histograms."""
        self._choose_page("overview")

    def action_show_page(self) -> None:
        """Show the marked token's page."""
        self._choose_page("token")

    def action_show_check(self) -> None:
        """Show what was checked."""
        self._choose_page("check")

    def action_show_syntax(self) -> None:
        """Show what can be typed."""
        self._choose_page("syntax")

    def action_next_panel(self) -> None:
        """Show the next page."""
        self._choose_page(self.side.step(1))

    def action_prev_panel(self) -> None:
        """Show the previous page."""
        self._choose_page(self.side.step(-1))

    def action_switch_focus(self) -> None:
        """Move the keyboard between the search field and the page."""
        if self.field.has_focus:
            self.add_class("-reading")
            self.side.rows.focus()
        else:
            self.field.focus()

    def _choose_page(self, page_id: str) -> None:
        self.side.choose(page_id)
        self.add_class("-reading")
        self.set_class(page_id == "token", "-token")
        self.call_after_refresh(self._show_side, anew=True)

    @on(events.DescendantFocus)
    def _focus_moved(self) -> None:
        self.set_class(self.field.has_focus, "-typing")
        if self.field.has_focus:
            self.remove_class("-reading")

    def _show_pages(self, *, anew: bool) -> None:
        self._show_side(anew=anew)
        if self.has_class("-huge"):
            self._show_beside()

    def _show_side(self, anew: bool) -> None:
        width = self.side.row_width
        self.side.show(self._rows_of(self.side.shown, width), anew=anew)

    def _show_beside(self) -> None:
        if self.side.shown != "token":
            self.beside.rows.show(self._rows_of("token", self.beside.row_width), anew=True)

    def _rows_of(self, page_id: str, width: int) -> list[Row]:
        tokenizer = self._wanted
        if page_id == "syntax":
            return syntax_rows(width)
        if page_id == "check" and tokenizer is not None:
            return check_rows(tokenizer, self.report, width)
        if self.index is None or self.selection is None:
            return [(Span("Reading the vocabulary…", "dim"),)]
        if page_id == "overview":
            return overview_rows(self.selection, self.typed, width)
        return self._token_rows(self.index, width)

    def _token_rows(self, index: VocabularyIndex, width: int) -> list[Row]:
        row = self.table.row
        if row is None:
            return flow(words_of("No token is marked.", "dim"), width)
        token_id = int(index.ids[row])
        known = self._children
        children = None
        if known is not None and known[0] is index and known[1] == row:
            children = known[2]
        else:
            self.find_children(index, row)
        live = self.tokviz.tokens_screen.live
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
        return page_rows(page, width)

    def children_found(self, index: VocabularyIndex, row: int, children: Children) -> None:
        """Show what a token is merged into."""
        if index is self.index and row == self.table.row:
            self._children = (index, row, children)
            if self.side.shown == "token":
                self._show_side(anew=False)
            elif self.has_class("-huge"):
                self.beside.rows.show(self._rows_of("token", self.beside.row_width))

    # -- the lines

    def _show_title(self) -> None:
        tokenizer = self.tokviz.tokenizer
        self.title_bar.show(tab_items("vocabulary"), [tokenizer_item(tokenizer)])

    def _show_filters(self) -> None:
        """Show the properties as words to click, with how many tokens have each."""
        index, active = self.index, self._flags()
        if index is None:
            self.filters.show([])
            return
        counts: dict[Flag, int | None] = {
            "special": int(index.special.sum()),
            "partial": int(index.partial.sum()),
            "unreachable": None if index.unreachable is None else int(index.unreachable.sum()),
            "used": len(self.uses),
        }
        items = []
        for flag in FLAGS:
            number = counts[flag]
            shown = "…" if number is None else f"{number:,}"
            role: Role = "active" if flag in active else "plain"
            mark = "● " if flag in active else "○ "
            words: tuple[tuple[str, Role], ...] = (
                (mark, "key"),
                (f"{_FLAG_WORDS[flag]} ", role),
                (shown, role),
            )
            items.append(BarItem(words, f"screen.only_{flag}"))
        self.filters.show(items)

    def _show_status(self, seconds: float | None) -> None:
        index, selection = self.index, self.selection
        if index is None or selection is None:
            self.status.show([BarItem((("reading the vocabulary…", "plain"),))])
            return
        n, total = len(selection.rows), len(index)
        found = f"{n:,} of {total:,} tokens" if n < total else f"{total:,} tokens"
        order = f"{_ORDER_WORDS[self.order]} {'▼' if self.descending else '▲'}"
        items = [
            BarItem(((found, "chip"),)),
            BarItem(((f"sorted {order}", "plain"),), "screen.next_order"),
        ]
        if seconds is not None:
            items.append(BarItem(((f"found in {duration(seconds)}", "plain"),)))
        self.status.show(items)

    # -- layout

    def on_resize(self, event: events.Resize) -> None:
        """Show what there is room for."""
        if not self.drop_if_outdated(event) and event.size != self._fitted:
            self._fit(event.size)
            self.call_after_refresh(self._show_pages, anew=False)

    def _fit(self, size: Size) -> None:
        self._fitted = width, height = size
        self.set_class(width < NARROW_COLUMNS, "-narrow")
        self.set_class(height < LOW_LINES, "-low")
        self.set_class(height < SHORT_LINES, "-short")
        self.set_class(width < TINY_COLUMNS or height < TINY_LINES, "-tiny")
        self.set_class(width >= HUGE_COLUMNS and height >= HUGE_LINES, "-huge")
        if hasattr(self, "field"):
            self._show_placeholder()

    def _show_placeholder(self) -> None:
        fits = self.app.size.width > len(_PLACEHOLDER) + 4
        self.field.placeholder = _PLACEHOLDER if fits else _SHORT_PLACEHOLDER


def _named(index: VocabularyIndex, token_id: int) -> tuple[bytes, int]:
    return index.tokenizer.token_bytes(token_id), token_id


def _nothing_found(query: Query, typed: str, index: VocabularyIndex) -> str:
    sentence = "No token fits."
    if typed.strip().isdigit():
        sentence += f" For the token with this id, type #{typed.strip()}."
    if "is:unreachable" in typed and index.unreachable is None:
        return "Every token is being tried: a moment."
    return f"{sentence} Esc shows all tokens again." if query.terms else sentence
