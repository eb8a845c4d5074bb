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

from tokviz.glyphs import safe
from tokviz.session import Request, Session, ShowToken
from tokviz.tokenizer import Tokenizer
from tokviz.tui.dialogs.base import Field
from tokviz.tui.messages import Pasted
from tokviz.tui.palette import palette_of
from tokviz.tui.screens.bars import tab_items, tokenizer_item
from tokviz.tui.screens.choosing import Dropped, TokenizerChoice
from tokviz.tui.screens.vocabulary.list_actions import ListActions
from tokviz.tui.screens.vocabulary.pages import SidePages, TokenBeside
from tokviz.tui.screens.vocabulary.table import TokenTable
from tokviz.tui.widgets.bar import Bar, BarItem, Role
from tokviz.tui.widgets.status_line import duration
from tokviz.vocabulary.query import FLAGS, Flag, Query

if TYPE_CHECKING:
    from tokviz.vocabulary.index import VocabularyIndex

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


class SearchField(Field):
    """The search field. It tells of a paste, which may be the path of a tokenizer."""

    def _on_paste(self, event: events.Paste) -> None:
        super()._on_paste(event)
        self.post_message(Pasted(event.text))


class VocabularyScreen(ListActions):
    """Search and browse the tokens of the tokenizer at hand."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("backspace", "token_before", show=False),
        Binding("ctrl+home", "to_edge(False)", show=False),
        Binding("ctrl+end", "to_edge(True)", show=False),
    ]
    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#query"
    SCREEN_ID = "vocabulary"

    def __init__(self, session: Session) -> None:
        """Begin before the vocabulary is read."""
        super().__init__(session)
        self.uses = {}
        self.choice = TokenizerChoice(self)
        self.answer_with(Dropped(self, self.choice, self.take_back_paste))
        self._shown_for: object = None
        self._fitted: tuple[int, int] | None = None

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self._fit(self.app.size)
        self.field = SearchField(id="query")
        self._show_placeholder()
        self.filters = Bar(id="filters")
        self.table = TokenTable(palette_of(self.app), id="table")
        self.side = SidePages()
        self.beside = TokenBeside()
        self.status = Bar(id="status")
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
        """Answer requests."""
        self.call_after_refresh(self.begin_answering)

    def on_screen_resume(self) -> None:
        """Take up what has become of the tokenizer and the text on the Tokens screen."""
        self.uses = self.session.live.token_counts()
        self.read_vocabulary(self.session.tokenizer)
        self._show_title()
        if self.index is not None:
            self.table.show_uses(self.uses)
            if "used" in self.flags() or self.order == "uses":
                self.search()
            self._show_filters()
            self.show_pages(anew=False)

    def tokenizer_changed(self, tokenizer: Tokenizer) -> None:
        """Show another vocabulary."""
        self.uses = {}
        self.read_vocabulary(tokenizer)
        self._show_title()
        self.set_timer(0.5, self._read_uses)

    def _read_uses(self) -> None:
        self.uses = self.session.live.token_counts()
        self.table.show_uses(self.uses)
        self._show_filters()

    def answer(self, request: Request) -> None:
        """Show what another screen asks for."""
        if isinstance(request, ShowToken):
            self.action_find_id(request.token_id)

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
        self.show_pages(anew=True)

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
            self.action_find_id(wanted)
        self._show_status(selection.seconds)
        self._show_filters()
        if self.side.shown == "overview":
            self.show_side(anew=False)

    def _say_nothing(self, sentence: str) -> None:
        self.query_one("#nothing", Static).update(Content(safe(sentence)))
        self.add_class("-empty")

    def take_back_paste(self) -> None:
        """Empty the field."""
        self.put("")

    # -- the tokenizer

    def action_pick_tokenizer(self) -> None:
        """Choose another tokenizer, for this screen and the others."""
        self.choice.pick()

    # -- the lines

    def _show_title(self) -> None:
        tokenizer = self.session.tokenizer
        self.title_bar.show(tab_items("vocabulary"), [tokenizer_item(tokenizer)])

    def _show_filters(self) -> None:
        """Show the properties as words to click, with how many tokens have each."""
        index, active = self.index, self.flags()
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
            if number is None and index.tokenizer.remote:
                continue
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

    @on(events.DescendantFocus)
    def _focus_moved(self) -> None:
        self.set_class(self.field.has_focus, "-typing")
        if self.field.has_focus:
            self.remove_class("-reading")

    # -- layout

    def on_resize(self, event: events.Resize) -> None:
        """Show what there is room for."""
        if not self.drop_if_outdated(event) and event.size != self._fitted:
            self._fit(event.size)
            self.call_after_refresh(self.show_pages, anew=False)

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


def _nothing_found(query: Query, typed: str, index: VocabularyIndex) -> str:
    sentence = "No token fits."
    if typed.strip().isdigit():
        sentence += f" For the token with this id, type #{typed.strip()}."
    if "is:unreachable" in typed and index.unreachable is None:
        if index.tokenizer.remote:
            return "Whether a token can be reached is not known of tokenizers of other libraries."
        return "Every token is being tried: a moment."
    return f"{sentence} Esc shows all tokens again." if query.terms else sentence
