"""Reading the vocabulary and searching it, in threads: only the newest question counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokviz.tokenizer import Tokenizer
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.tasks import Task
from tokviz.vocabulary.index import VocabularyIndex
from tokviz.vocabulary.query import Query, parse_query
from tokviz.vocabulary.reachable import unreachable_rows
from tokviz.vocabulary.search import Order, Searcher, Selection

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_GREATEST_FIRST: tuple[Order, ...] = ("length", "characters", "uses")
"""Who sorts by a number of something looks for the greatest."""


class Searching(Controller):
    """Holds the vocabulary, what is asked of it, and what was found.

    Attributes:
        tokenizer: Whose vocabulary it is, None before the first.
        index: The vocabulary, None while it is being read.
        selection: What the last search found, None before it.
        query: What that search was for.
        typed: What is to be searched for, as typed.
        order: What the tokens are sorted by.
        descending: Whether the greatest comes first.
        uses: How often the text at hand holds each token, by id.
    """

    def __init__(
        self,
        screen: TokvizScreen,
        begun: Callable[[], object],
        found: Callable[[], object],
    ) -> None:
        """Take what to call when another vocabulary is being read, and after every search."""
        super().__init__(screen)
        self._begun, self._found = begun, found
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
        """Read another tokenizer's vocabulary; there is nothing to search until it is there."""
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
        """Sort by something else, by default in the direction that is asked for more often."""
        self.order = order
        self.descending = order in _GREATEST_FIRST if descending is None else descending
        self.search()

    def search(self) -> None:
        """Find what is typed."""
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
            # A letter, and what it finds, come in one frame.
            self.screen.workers.cancel_group(self.screen, "search")
            take(find())
        else:
            self.in_thread("search", find, take)

    @property
    def n_found(self) -> int:
        """How many tokens the last search found."""
        return 0 if self.selection is None else len(self.selection.rows)
