"""The table of the Compare screen: the tokenizers, and the figures of the text in each."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.compare.compared_documents import MOST_OTHERS, ComparedTokenizer
from tokviz.compare.figures import Figures, WordCounter, markdown_table
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.choosing import TOKENIZER_WORDS, tokenizer_picker
from tokviz.tui.screens.compare.rows import Line, cells_of, table_rows
from tokviz.tui.screens.compare.state import CompareState
from tokviz.tui.screens.lanes import Lanes
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.workspace.prices import ModelPrice, model_for
from tokviz.workspace.session import OthersChanged, source_of


class Table(Controller):
    """Add and remove tokenizers; show, compare and copy their figures."""

    def __init__(
        self,
        screen: TokvizScreen,
        state: CompareState,
        lanes: Lanes,
        rows: RowsView,
        based: Callable[[], object],
    ) -> None:
        """Take the state, the loader of tokenizers, the view, and a callback for a new base."""
        super().__init__(screen)
        self._state, self._lanes, self._rows, self._based = state, lanes, rows, based
        self._words = WordCounter()
        self._counted_for = -1
        self._models: tuple[ModelPrice, ...] = ()

    # -- tokenizers

    @action("Add a tokenizer…", "a", "ctrl+o", section="Tokenizers", footer="add",
            words=f"compare versus diff {TOKENIZER_WORDS}")  # fmt: skip
    def add_tokenizer(self) -> None:
        """Add a tokenizer: built-in, trained by you, from a file or from the hub."""
        if len(self._state.others) == MOST_OTHERS:
            self.say(f"You can compare at most {MOST_OTHERS + 1} tokenizers. Remove one first (x).")
            return
        picker = tokenizer_picker(self.session, title="Compare with")

        def picked(source: str) -> None:
            tokenizer = picker.loaded
            if tokenizer is None:
                return
            source = source_of(tokenizer, source)
            known = [self.session.tokenizer_source, *(one.source for one in self._state.others)]
            if source in known:
                self.say(f"{tokenizer.name} is already in the comparison.")
                return
            self._lanes.add(ComparedTokenizer(source, tokenizer))
            self._remember()

        self.ask(picker, picked)

    @action("Remove the last tokenizer", "x", "delete", section="Tokenizers",
            when=lambda self: bool(self._state.others), call="remove_tokenizer(0)")  # fmt: skip
    def remove_tokenizer(self, number: int) -> None:
        """Remove the last tokenizer. Click × in the table to remove another one."""
        other = self._state.others.pop(number - 1)
        if other.tokenizer is not None:
            other.tokenizer.close()
        self._state.take_out(number or len(self._state.others) + 1)
        self._remember()
        self.session.tell(OthersChanged())

    def _remember(self) -> None:
        self.session.change_settings(compared=tuple(one.source for one in self._state.others))

    # -- their figures

    def take_prices(self, models: tuple[ModelPrice, ...]) -> None:
        """Show the cost of the text by the user's price table."""
        if models != self._models:
            self._models = models
            self.show()

    def show(self) -> None:
        """Show the known figures, and count words in a thread."""
        state, live = self._state, self._state.live
        is_other = self._counted_for != live.revision
        if is_other:
            self._counted_for, state.n_words = live.revision, None
        lines = self.lines()
        can_add = len(state.others) < MOST_OTHERS
        self._rows.show(lambda width: table_rows(lines, state.base, can_add, width))
        if is_other:
            parts = live.parts()
            self.in_thread("words", lambda task: self._words.count(parts), self._take_words)

    def _take_words(self, n_words: int) -> None:
        self._state.n_words = n_words
        self.show()

    def lines(self) -> list[Line]:
        """Return the table lines, one for each tokenizer."""
        state = self._state
        notes = ["", *(other.error or "loading…" for other in state.others)]
        lines = []
        for name, document, note, tokenizer in zip(
            state.names, state.documents, notes, state.tokenizers, strict=True
        ):
            if document is None or tokenizer is None:
                lines.append(Line(name, None, note=note))
                continue
            figures = Figures(
                document.n_tokens, document.n_bytes, document.n_chars, state.n_words or 0
            )
            model = model_for(self._models, tokenizer.name, self.settings.price_model)
            complete = document.complete and state.n_words is not None
            failure = "" if document.failure is None else str(document.failure)
            lines.append(Line(name, figures, complete, failure, model))
        return lines

    @action("Differences to the next tokenizer", "r", section="Table",
            call="use_base(-1)", words="difference percent")  # fmt: skip
    def use_base(self, number: int) -> None:
        """Show differences to this tokenizer. Clicking a name does the same."""
        n_lines = len(self._state.names)
        self._state.base = (self._state.base + 1) % n_lines if number < 0 else number
        self.show()
        self._based()

    @action("Copy the table as Markdown", "f4", section="Table", words="export")
    def copy_markdown(self) -> None:
        """Copy the numbers of all tokenizers."""
        rows = markdown_table(self._cells())
        self.copy("".join(f"{row}\n" for row in rows), "the table as Markdown")

    @action("Copy the table with tabs (TSV)", "shift+f4", section="Table", words="export excel")
    def copy_tsv(self) -> None:
        """Copy the numbers for a spreadsheet."""
        rows = self._cells()
        self.copy("".join("\t".join(row) + "\n" for row in rows), "the table as TSV")

    def _cells(self) -> list[tuple[str, ...]]:
        return cells_of(self.lines(), self._state.base)
