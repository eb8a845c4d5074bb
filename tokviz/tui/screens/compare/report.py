"""The compression report of the compared tokenizers, measured in a thread on first view."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from tokviz.compare.report import Group, Report, ReportRow, report_on, totals
from tokviz.compare.report_tables import (
    ORDERS,
    by_cost,
    cells_of,
    language_rows,
    languages_title,
    markdown,
    ordered,
    record,
)
from tokviz.errors import TokvizError
from tokviz.formats.registry import short_name
from tokviz.text.sentences import sentence
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.compare.scripts import cell_rows
from tokviz.tui.screens.compare.state import CompareState
from tokviz.tui.tasks import StoppedError, Task
from tokviz.tui.widgets.fit import column
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Row, RunAction, Span, Word, flow, words_of

_NAME, _BEST = 20, 5
"""Widths in columns: a tokenizer's name, and the mark of the best one."""
_NO_REPORT = "The report is not measured yet. Press F2 until it is shown."
_DOT = Span("· ", "dim")
"""Separates two links, because a link may be several words."""
_COPIES = (
    (Span("copy as", "dim"),),
    (Span("Markdown", "link", RunAction("copy_report('Markdown')")),),
    (_DOT, Span("JSON", "link", RunAction("copy_report('JSON')"))),
)


class Reports(Controller):
    """Show token counts for texts of many kinds and languages, including the user's."""

    def __init__(
        self,
        screen: TokvizScreen,
        state: CompareState,
        rows: RowsView,
        come: Callable[[], object],
        leave: Callable[[], object],
    ) -> None:
        """Take the state, the view, and callbacks that show and leave it."""
        super().__init__(screen)
        self._state, self._rows, self._come, self._leave = state, rows, come, leave
        self._measured_for: object = None
        self._report: Report | None = None
        self._order, self._backwards = 0, False

    def show(self) -> None:
        """Show the report once it is measured; measure again for other tokenizers."""
        tokenizers = self._loaded()
        if tokenizers != self._measured_for:
            self._measured_for, self._report = tokenizers, None
            self._order, self._backwards = 0, False
            self._say("Measuring…")

            def work(task: Task) -> Report:
                def told(share: float) -> None:
                    if task.cancelled:
                        raise StoppedError("It was stopped")
                    task.tell(self._say, f"Measuring, {share:.0%}…")

                return report_on(tokenizers, on_progress=told)

            self.in_thread("report", work, self._take, failed=self._fail, stoppable="Measuring")
        elif self._report is not None:
            self._draw(self._report)

    def _take(self, report: Report) -> None:
        self._report = report
        if self._is_of_these:
            self._draw(report, from_top=True)

    def _loaded(self) -> list[Tokenizer]:
        return [one for one in self._state.tokenizers if one is not None]

    @property
    def _is_of_these(self) -> bool:
        """True if the report belongs to the compared tokenizers."""
        return self._report is not None and self._measured_for == self._loaded()

    def _fail(self, error: TokvizError) -> None:
        self._say(sentence(str(error)))
        if isinstance(error, StoppedError):
            self._measured_for = None
            self._leave()

    def _say(self, words: str) -> None:
        self._rows.show(lambda width: flow(words_of(words, "dim"), width))

    def _draw(self, report: Report, *, from_top: bool = False) -> None:
        found, order = self._with_own(report), self._order
        # The report covers only loaded tokenizers.
        tokenizers, base = self._state.tokenizers, self._state.base
        base = 0 if tokenizers[base] is None else base - tokenizers[:base].count(None)
        *texts, everything = found.texts
        texts = ordered(texts, order, backwards=self._backwards, per_byte=True)
        languages = ordered(
            by_cost(found.languages), order, backwards=self._backwards, per_byte=False
        )
        shown = Report((everything, *texts), tuple(languages))
        orders = [*ORDERS, *(short_name(row.tokenizer) for row in everything)]
        orders[order] += " ▼" if self._backwards else " ▲"
        english = found.languages[0]
        self._rows.show(
            lambda width: report_rows(shown, english, base, orders, width), from_top=from_top
        )

    def _with_own(self, report: Report) -> Report:
        """Add the figures of the user's text, which is already encoded."""
        documents = [one for one in self._state.documents if one is not None and one.complete]
        if len(documents) != len(report.texts[0]) or not self._state.live.n_chars:
            return report
        own = tuple(
            ReportRow("your text", row.tokenizer, one.n_bytes, one.n_tokens, one.lossless)
            for row, one in zip(report.texts[0], documents, strict=True)
        )
        texts = [own, *report.texts[:-1]]
        return report._replace(texts=(*texts, totals(texts, report.texts[-1][0].text)))

    @action("Sort the report by the next column", "f7", section="Views", words="order")
    def next_order(self) -> None:
        """Sort texts and languages by name, by size, or by tokens in a tokenizer."""
        n_loaded = sum(one is not None for one in self._state.tokenizers)
        self.sort_report((self._order + 1) % (len(ORDERS) + n_loaded))

    @action("Reverse the order of the report", "f8", section="Views", call="sort_report(-1)",
            id="reverse_report", help="Show the last row first.")  # fmt: skip
    def sort_report(self, order: int) -> None:
        """Sort by a column, or reverse the order if it is already sorted by it."""
        if self._report is not None:
            again = order in (-1, self._order)
            self._backwards = again and not self._backwards
            self._order = self._order if again else order
        self._come()

    @action("Copy the report as Markdown", section="Views", id="copy_report_markdown",
            call="copy_report('Markdown')", words="export compression eval",
            help="Copy the compression report as tables.")  # fmt: skip
    @action("Copy the report as JSON", section="Views", id="copy_report_json",
            call="copy_report('JSON')", words="export compression eval",
            help="Copy the compression report in the format of tokviz eval --json.")  # fmt: skip
    def copy_report(self, form: str) -> None:
        """Copy the compression report."""
        if self._report is None or not self._is_of_these:
            self.say(_NO_REPORT)
            return
        found = self._with_own(self._report)
        is_json = form == "JSON"
        text = json.dumps(record(*found), indent=1) if is_json else "\n".join(markdown(*found))
        self.copy(text + "\n", f"the report as {form}")


def report_rows(
    report: Report, english: Group, base: int, orders: Sequence[str], width: int
) -> list[Row]:
    """Draw the report: a row with a bar per text and tokenizer, then the languages."""
    name = short_name(english[base].tokenizer)
    head = words_of(f"Tokens, bytes per token, difference to {name};", "dim")
    links: list[Word] = [
        (_DOT, Span(order, "link", RunAction(f"sort_report({number})")))
        for number, order in enumerate(orders)
    ]
    links[0] = links[0][1:]
    rows = [
        *flow([*head, *_COPIES], width),
        *flow([*words_of("F7 sorts by:", "dim"), *links], width),
        (),
    ]
    for group in report.texts:
        rows += _text_rows(group, base, width)
    for line in ("", *languages_title([english, *report.languages[1:]])):
        rows += flow(words_of(line, "dim"), width)
    return [*rows, *cell_rows(language_rows(report.languages, english), width)]


def _text_rows(group: Group, base: int, width: int) -> Iterator[Row]:
    """Draw the rows of a text, with bars in proportion to the token counts."""
    yield (Span(group[0].text, "heading"), Span(f"  {group[0].n_bytes:,} bytes", "dim"))
    most = max(row.n_tokens for row in group) or 1
    for row, (name, *numbers, best) in zip(group, cells_of(group, base), strict=True):
        words = "{:>10}{:>7}{:>9} ".format(*numbers)
        room = width - _NAME - len(words) - _BEST
        bar = "█" * round(room * row.n_tokens / most)
        label = Span(f"  {column(short_name(name), _NAME - 2)}", "label")
        yield (label, Span(words), Span(f"{best:<{_BEST}}", "good"), Span(bar, "bar"))
