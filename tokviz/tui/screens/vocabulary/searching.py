"""The vocabulary, read and searched in threads; only the latest query counts.

The search field, the filters below it and the columns define query and order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.binding import Binding, BindingType

from tokviz.explain.vocabulary.export import EXPORT_KINDS, export
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.explain.vocabulary.query import Flag, Query, parse_query, split_words, toggle_word
from tokviz.explain.vocabulary.reachable import unreachable_rows
from tokviz.explain.vocabulary.search import ORDERS, Order, Searcher, Selection
from tokviz.storage.listing import home_label
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import LEADER, action
from tokviz.tui.dialogs.save_tokenizer import SaveTokenizerDialog
from tokviz.tui.messages import Pasted
from tokviz.tui.screens.bars import short_key
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.exporting import export_as
from tokviz.tui.screens.vocabulary.table import TableHead
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.spans import Role, Span
from tokviz.tui.widgets.view_switcher import neighbour

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


_GREATEST_FIRST: tuple[Order, ...] = ("length", "characters", "uses")
"""Orders that start with the greatest value."""


class Searching(Controller):
    """The vocabulary, the query, and the results.

    Attributes:
        tokenizer: The tokenizer, None before the first one.
        index: The vocabulary, None while it is being read.
        selection: Results of the last search, None before it.
        query: Query of that search.
        typed: The query as typed.
        order: Sort key of the tokens.
        descending: True if the greatest comes first.
        uses: Count of each token in the current text, by id.
    """

    _begun: Callable[[], object]
    _found: Callable[[], object]

    def set_up(self) -> None:
        """Create the other fields."""
        self.tokenizer: Tokenizer | None = None
        self.index: VocabularyIndex | None = None
        self.selection: Selection | None = None
        self.query = Query()
        self.typed = ""
        self.order: Order = "id"
        self.descending = False
        self.uses: Mapping[int, int] = {}
        self._searcher: Searcher | None = None

    def read(self, tokenizer: Tokenizer) -> None:
        """Read another tokenizer's vocabulary; searches wait until it is available."""
        if tokenizer is self.tokenizer:
            return
        self.tokenizer = tokenizer
        self.index = self._searcher = self.selection = None
        self._begun()

        def make(task: Task) -> VocabularyIndex:
            return VocabularyIndex(tokenizer, cancelled=lambda: task.cancelled)

        self.in_thread("index", make, self._take_index)

    def _take_index(self, index: VocabularyIndex) -> None:
        self.index = index
        self._searcher = searcher = Searcher(index)
        self.search()

        def try_all(task: Task) -> npt.NDArray[np.bool_]:
            return unreachable_rows(index, cancelled=lambda: task.cancelled)

        def take(found: npt.NDArray[np.bool_]) -> None:
            index.unreachable = found
            searcher.forget("unreachable")
            self.search()

        if not index.tokenizer.remote:
            self.in_thread("index", try_all, take)

    def sort(self, order: Order, descending: bool | None = None) -> None:
        """Change the sort key, by default in its usual direction."""
        self.order = order
        self.descending = order in _GREATEST_FIRST if descending is None else descending
        self.search()

    def search(self) -> None:
        """Search for the typed query."""
        searcher, query = self._searcher, parse_query(self.typed)
        if searcher is None:
            return

        def find(task: Task | None = None) -> Selection:
            return searcher.select(
                query,
                self.order,
                descending=self.descending,
                uses=self.uses,
                cancelled=lambda: task is not None and task.cancelled,
            )

        def take(selection: Selection) -> None:
            if searcher is self._searcher:
                self.selection, self.query = selection, query
                self._found()

        if searcher.is_quick(query, self.order):
            # Draw a letter and its results in one frame.
            self.screen.workers.cancel_group(self.screen, "search")
            take(find())
        else:
            self.in_thread("search", find, take)

    @property
    def n_found(self) -> int:
        """Number of tokens that the last search found."""
        return 0 if self.selection is None else len(self.selection.rows)


_PLACEHOLDER = "Search: text, 0xe4b8, /regex/, #498, len:>10, script:han, is:partial"
_SHORT_PLACEHOLDER = "Search for text, #498, len:>10"
_HOW = 19
"""Columns of the link to the search help, beside the field."""
_FLAG_WORDS: dict[Flag, str] = {
    "special": "special",
    "partial": "partial characters",
    "unreachable": "unreachable",
    "used": "in your text",
}
_SHORT_FLAG_WORDS: dict[Flag, str] = {**_FLAG_WORDS, "partial": "partial", "used": "in text"}

SYNTAX_KEY = f"{LEADER} q"
HELP = "screen.show_page('syntax')"
"""The action that shows what can be typed."""


_MORE = BarItem((Span("…", "key"),), HELP, weight=2)
"""Replaces the filters that do not fit; the search help lists all of them."""


class SearchField(Field):
    """The search field. It reports a paste, which may be the path of a tokenizer."""

    KEEPS_SPACES = True
    """They are searched for too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "token"),
        Binding("home", "home_or_first", show=False),
        Binding("end", "end_or_last", show=False),
    ]

    async def action_home_or_first(self) -> None:
        """Go to the start of the field, and from there to the first token."""
        await self._go_or(self.action_home, "screen.edge(-1)", at_edge=self.cursor_at_start)

    async def action_end_or_last(self) -> None:
        """Go to the end of the field; from there, to the last token."""
        await self._go_or(self.action_end, "screen.edge(1)", at_edge=self.cursor_at_end)

    async def _go_or(self, go: Callable[[], object], action: str, *, at_edge: bool) -> None:
        if at_edge and self.selection.is_empty:
            await self.run_action(action)
        else:
            go()

    def on_paste(self, event: events.Paste) -> None:
        """Insert a paste, and report it."""
        super().on_paste(event)
        self.post_message(Pasted(event.text, self.value))

    def take_back(self, pasted: Pasted) -> None:
        """Undo a paste, unless something was typed since."""
        if self.value == pasted.version:
            self.action_undo()

    def fit(self, columns: int) -> None:
        """Describe the search language as far as there is room."""
        fits = columns > len(_PLACEHOLDER) + _HOW + 4
        self.placeholder = _PLACEHOLDER if fits else _SHORT_PLACEHOLDER


class Filtering(Controller):
    """Searches while something is typed, puts filters into the field, changes the order."""

    _searching: Searching
    _field: SearchField

    def set_up(self) -> None:
        """Create the other fields."""
        self.bar = Bar(id="filters")
        self.how = Bar(id="how")
        self.how.show([BarItem((Span(short_key(SYNTAX_KEY), "key"), Span(" search help")), HELP)])

        # Immediately, not with the message of the field: the letter and its results are drawn
        # in one frame.
        self.screen.watch(self._field, "value", self._typed, init=False)

    def _typed(self, value: str) -> None:
        self._searching.typed = value
        self.show()
        self._searching.search()

    # -- filters

    @property
    def flags(self) -> set[str]:
        """The properties in the query, such as "special"."""
        words = split_words(self._searching.typed)
        return {word.value for word in words if word.name == "is" and not word.negated}

    def toggle(self, name: str, value: str) -> None:
        """Put a filter into the search field, or take it out."""
        self._field.put(toggle_word(self._searching.typed, name, value))

    @action("Search", "ctrl+f", "slash", section="Search", priority=False, words="find lookup")
    def go_to_search(self) -> None:
        """Go to the search field. Typing anywhere on the screen goes there too."""
        self._field.focus()
        self._field.select_all()

    @action("Clear the search", "escape", section="Search", priority=False)
    def clear_search(self) -> None:
        """Show all tokens again. In a panel, Esc goes back to the search field."""
        if self._field.has_focus or not self._searching.n_found:
            self._field.put("")
        self._field.focus()

    @action("Only tokens of your text, or all", section="Search")
    def only_used(self) -> None:
        """Show only the tokens that the text on the Tokens screen uses."""
        self.toggle("is", "used")

    @action("Only special tokens, or all", section="Search")
    def only_special(self) -> None:
        """Show only tokens such as <|endoftext|>."""
        self.toggle("is", "special")

    @action("Only partial characters, or all", section="Search")
    def only_partial(self) -> None:
        """Show only tokens that contain part of a character."""
        self.toggle("is", "partial")

    @action("Only unreachable tokens, or all", section="Search")
    def only_unreachable(self) -> None:
        """Show only tokens that encoding their own bytes does not produce."""
        self.toggle("is", "unreachable")

    def show(self) -> None:
        """Show the properties as words to click, with how many tokens have each."""
        index, uses = self._searching.index, self._searching.uses
        if index is None:
            self.bar.show([])
            return
        counts: dict[Flag, int | None] = {
            "special": int(index.special.sum()),
            "partial": int(index.partial.sum()),
            "unreachable": None if index.unreachable is None else int(index.unreachable.sum()),
            "used": len(uses),
        }
        if index.tokenizer.remote:
            del counts["unreachable"]
        active = self.flags
        items = [_item(flag, counts[flag], flag in active) for flag in counts]
        self.bar.show(items, more=_MORE)

    # -- order

    @on(TableHead.SortAsked)
    def _sort_asked(self, event: TableHead.SortAsked) -> None:
        if event.order == self._searching.order:
            self.reverse_order()
        else:
            self._searching.sort(event.order)

    @action("Sort by the next column", "f7", section="Order", footer="sort")
    def next_order(self) -> None:
        """Sort by id, text, bytes, characters, merge or uses in your text."""
        self._searching.sort(neighbour(ORDERS, self._searching.order))

    @action("Reverse the order", "f8", section="Order", footer="reverse")
    def reverse_order(self) -> None:
        """Sort in descending or ascending order."""
        self._searching.sort(self._searching.order, not self._searching.descending)

    @action("Longest tokens first", section="Order")
    def longest_first(self) -> None:
        """Sort by the number of bytes, the longest first."""
        self._searching.sort("length")


def _item(flag: Flag, number: int | None, is_active: bool) -> BarItem:
    role: Role = "heading" if is_active else "text"
    shown = "…" if number is None else f"{number:,}"
    words: tuple[Span, ...] = (
        Span("● " if is_active else "○ ", "key"),
        Span(f"{_FLAG_WORDS[flag]} ", role),
        Span(shown, role),
    )
    return BarItem(words, f"screen.only_{flag}", (words[0], Span(_SHORT_FLAG_WORDS[flag], role)))


class Files(Controller):
    """Export of the list, and saving of the tokenizer."""

    _searching: Searching

    @action("Save the tokenizer as…", "f12", section="Tokenizer", words="export convert")
    def save_tokenizer(self) -> None:
        """Write it as a file of Hugging Face, tiktoken, GPT-2 or minbpe."""
        dialog = SaveTokenizerDialog(self.session.tokenizer, self.session.folder)
        self.ask(dialog, lambda path: self.say(f"Saved to {home_label(path)}."))

    @action("Export the list…", "ctrl+s", section="List", footer="export")
    def export_list(self) -> None:
        """Write the tokens found to a CSV, JSON lines or text file, their bytes exact."""
        index, selection = self._searching.index, self._searching.selection
        if index is None or selection is None:
            self.say("The vocabulary is still being read.")
            return
        tokens = pluralize(len(selection.rows), "token")
        export_as(
            self,
            "tokens",
            f"Export {tokens} as CSV, JSONL or TXT",
            {kind: kind for kind in EXPORT_KINDS},
            lambda kind: export(index, selection.rows.tolist(), kind),
            tokens,
        )
