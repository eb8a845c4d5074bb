"""What the parts of the Vocabulary screen share: the index, the search, and who works on them."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from textual import work
from textual.worker import get_current_worker

from tokviz.errors import TokvizError
from tokviz.explain.relations import Children, children_of
from tokviz.formats.report import FileFinding, Report
from tokviz.tokenizer import Tokenizer
from tokviz.tui.screens.legacy import LegacyCopying
from tokviz.vocabulary.index import Cancelled, VocabularyIndex
from tokviz.vocabulary.query import Query, parse_query
from tokviz.vocabulary.reachable import unreachable_rows
from tokviz.vocabulary.search import Order, Searcher, Selection

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class VocabularyWork(LegacyCopying):
    """Reads the vocabulary and searches it in threads; only the newest question counts."""

    index: VocabularyIndex | None = None
    """The vocabulary, None while it is being read."""
    selection: Selection | None = None
    """What the last search found."""
    report: Report | None = None
    """What is known to be wrong or right with the tokenizer; None while that is checked."""
    typed: str = ""
    """What is in the search field."""
    order: Order = "id"
    descending: bool = False
    uses: dict[int, int]
    """How often the text at hand holds each token, by id."""
    _searcher: Searcher | None = None
    _wanted: Tokenizer | None = None
    _checked: Tokenizer | None = None

    # -- the index

    def read_vocabulary(self, tokenizer: Tokenizer) -> None:
        """Read another tokenizer's vocabulary; the list is empty until it is there."""
        if tokenizer is self._wanted:
            return
        self._wanted = tokenizer
        self.index = self._searcher = self.selection = None
        self.report = tokenizer.load_report
        self.vocabulary_changed()
        self._read(tokenizer)

    @work(thread=True, exclusive=True, group="index", exit_on_error=False)
    def _read(self, tokenizer: Tokenizer) -> None:
        worker = get_current_worker()
        try:
            index = VocabularyIndex(tokenizer, cancelled=lambda: worker.is_cancelled)
        except Cancelled:
            return
        except TokvizError as error:
            self.call_here(self.say, str(error), "error")
            return
        self.call_here(self._take_index, index)
        if not tokenizer.remote:
            self._find_unreachable(index)

    def _find_unreachable(self, index: VocabularyIndex) -> None:
        worker = get_current_worker()
        try:
            found = unreachable_rows(index, cancelled=lambda: worker.is_cancelled)
        except Cancelled:
            return
        self.call_here(self._take_unreachable, index, found)

    def check(self) -> None:
        """Check the tokenizer thoroughly, once; `report_changed` shows what was found."""
        if self._wanted is not None and self._checked is not self._wanted:
            self._checked = self._wanted
            self._check(self._wanted)

    @work(thread=True, exclusive=True, group="check", exit_on_error=False)
    def _check(self, tokenizer: Tokenizer) -> None:
        from tokviz.formats.validate import validate

        try:
            report = validate(tokenizer)
        except TokvizError as error:
            finding = FileFinding("error", "check", "", f"the check could not be made: {error}")
            report = Report(tokenizer.name, (finding,))
        self.call_here(self._take_report, tokenizer, report)

    def _take_report(self, tokenizer: Tokenizer, report: Report) -> None:
        if tokenizer is self._wanted:
            self.report = report
            self.report_changed()

    def _take_index(self, index: VocabularyIndex) -> None:
        if index.tokenizer is self._wanted:
            self.index = index
            # It stays: the collector need not look at it again.
            gc.freeze()
            self._searcher = Searcher(index)
            self.search()

    def _take_unreachable(self, index: VocabularyIndex, found: npt.NDArray[np.bool_]) -> None:
        if index is not self.index or self._searcher is None:
            return
        index.unreachable = found
        self._searcher.forget("unreachable")
        self.search()

    # -- the search

    def search(self) -> None:
        """Find what is typed, in a thread; `selection_changed` shows it."""
        if self._searcher is not None:
            self._search(self._searcher, parse_query(self.typed), self.order, self.descending)

    @work(thread=True, exclusive=True, group="search", exit_on_error=False)
    def _search(self, searcher: Searcher, query: Query, order: Order, descending: bool) -> None:
        worker = get_current_worker()
        try:
            selection = searcher.select(
                query,
                order,
                descending=descending,
                uses=self.uses,
                cancelled=lambda: worker.is_cancelled,
            )
        except Cancelled:
            return
        if not worker.is_cancelled:
            self.call_here(self._take_selection, searcher, query, selection)

    def _take_selection(self, searcher: Searcher, query: Query, selection: Selection) -> None:
        if searcher is self._searcher:
            self.selection = selection
            self.selection_changed(query)

    # -- what a token is merged into

    @work(thread=True, exclusive=True, group="children", exit_on_error=False)
    def find_children(self, index: VocabularyIndex, row: int) -> None:
        """Find what a token is merged into; `children_found` shows it."""
        worker = get_current_worker()
        try:
            children = children_of(index, row, cancelled=lambda: worker.is_cancelled)
        except Cancelled:
            return
        if not worker.is_cancelled:
            self.call_here(self.children_found, index, row, children)

    # -- what the screen shows

    def vocabulary_changed(self) -> None:
        """Show that another vocabulary is being read."""
        raise NotImplementedError

    def selection_changed(self, query: Query) -> None:
        """Show what a query found."""
        raise NotImplementedError

    def report_changed(self) -> None:
        """Show what was found to be wrong or right with the tokenizer."""
        raise NotImplementedError

    def children_found(self, index: VocabularyIndex, row: int, children: Children) -> None:
        """Show what a token is merged into."""
        raise NotImplementedError
