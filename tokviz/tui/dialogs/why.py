"""Explanation of a token or selection for the current and a second tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.binding import Binding, BindingType

from tokviz.errors import TokvizError
from tokviz.explain.explanation import Why, as_text, explain
from tokviz.explain.places import ELSEWHERE, Place
from tokviz.explain.pre_token_cuts import PreTokenCut
from tokviz.formats.registry import short_name
from tokviz.text.glyphs import safe
from tokviz.text.sentences import Sentence, failure_message, pluralize
from tokviz.tokenizer.pretokenize.alternatives import top_level
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.page import PageDialog
from tokviz.tui.messages import CopyRequested
from tokviz.tui.palette import palette_of
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.card_rows import (
    label_of,
    lineage_rows,
    sentence_words,
    step_rows,
    trace_rows,
)  # fmt: skip
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.spans import Role, Row, Span, Word, flow, words_of

Pick = Callable[[Callable[[str], object]], object]
"""Lets the user choose a second tokenizer, and hands over what loads it."""


class WhyDialog(PageDialog):
    """Explain a selection: pre-tokens, merges, why it is not one token, token sources.

    A thread computes the answer, because an unknown pattern runs in a child process.
    """

    DEFAULT_CSS = """
    WhyDialog {
        #dialog { width: 76; }
        &.-two #dialog { width: 150; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w,shift+f1", "cancel", show=False),
        Binding("c", "copy", show=False),
        Binding("t", "pick", show=False),
        Binding("x", "alone", show=False),
        Binding("n", "more_paths", show=False),
        Binding("i", "inspect", show=False),
        Binding("f1", "app.guide('why')", show=False),
    ]
    dialog_title = "Why?"

    def __init__(
        self,
        tokenizer: Tokenizer,
        place: Place | Callable[[], Place],
        second: str,
        *,
        load: Callable[[str], Tokenizer],
        pick: Pick,
        alone: Callable[[], object],
        inspect: Callable[[], object],
        copy: Callable[[str, str], object],
    ) -> None:
        """Create the dialog.

        Args:
            tokenizer: The current tokenizer.
            place: The token or selection, or a function for a thread that finds it.
            second: Source of the second tokenizer, "" for none.
            load: Loads it, in a thread.
            pick: Asks the user for it.
            alone: Called when the user removes the second one.
            inspect: Shows the characters of the place.
            copy: Copies a text with a name.
        """
        super().__init__()
        self._tokenizer, self._place = tokenizer, place
        self._second = second
        self._load, self._pick, self._alone = load, pick, alone
        self._inspect, self._copy = inspect, copy
        self.answers: list[Why] = []
        """The answers so far: of the current and the second tokenizer."""
        self._all_paths = False
        """Whether to show all paths that were found through a Unigram model's lattice."""
        self._first: Why | None = None
        """The complete answer of the current tokenizer."""

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        paths = ("N", "fewer paths" if self._all_paths else "more paths", "more_paths")
        hints = [
            ("Esc", "close", "cancel"),
            *[paths] * any(answer.brief() != answer for answer in self.answers),
            ("T", "second tokenizer", "pick"),
            ("C", "copy", "copy"),
            ("I", "characters", "inspect"),
            ("↑↓", "scroll", "scroll(1)"),
        ]
        return [*hints, ("X", "only one", "alone")] if self._second else hints

    def wanted_height(self) -> int:
        """Use all available rows."""
        return max(8, len(self.view.rows) + 1)

    def on_mount(self) -> None:
        """Start to compute the answer."""
        self.view.set_palette(palette_of(self.app))
        self.set_class(bool(self._second), "-two")
        self.view.show(self._rows)
        self._work_out()

    def _work_out(self) -> None:
        """Explain in a thread; the current tokenizer first."""
        tokenizer, second = self._tokenizer, self._second
        found = self._place

        def work(task: Task) -> list[Why]:
            place = found if isinstance(found, Place) else found()
            if self._first is None:
                task.tell(self._take, [explain(tokenizer, place, end=False)])
                self._first = explain(tokenizer, place)
            answers = [self._first]
            task.tell(self._take, answers)
            if second:
                other = place if place.id is None else replace(place, id=ELSEWHERE)
                answers = [*answers, explain(self._load(second), other)]
            return answers

        in_thread(self, "why", work, self._take, failed=self._give_up)

    def _take(self, answers: list[Why]) -> None:
        self.answers = answers
        self.show_hints()
        self.view.show(self._rows)
        self.fit_height(self.app.size)
        self.call_after_refresh(self.view.lay_out)

    def _give_up(self, error: TokvizError) -> None:
        lacking = (
            "The second tokenizer cannot be loaded" if self._second else "Cannot compute the answer"
        )
        self._show_beside("")
        self.show_error(failure_message(lacking, error))

    def _rows(self, width: int) -> list[Row]:
        if not self.answers:
            return flow(words_of("One moment…", "dim"), width)
        shown = self.answers if self._all_paths else [answer.brief() for answer in self.answers]
        return why_rows(shown, width)

    def on_resize(self, event: events.Resize) -> None:
        """Use the available size, once the rows are created for it."""
        super().on_resize(event)
        self.call_after_refresh(partial(self.fit_height, event.size))

    # -- actions

    def action_pick(self) -> None:
        """Choose the second tokenizer."""
        self._pick(self._take_second)

    def _take_second(self, source: str) -> None:
        self.show_error("")
        self._show_beside(source)
        self._work_out()

    def _show_beside(self, source: str) -> None:
        """Make room for a second tokenizer, or for none."""
        self._second = source
        self.set_class(bool(source), "-two")
        self.show_hints()

    def action_alone(self) -> None:
        """Show no second tokenizer any more."""
        if self._second:
            self._alone()
            self._show_beside("")
            self._take(self.answers[:1])
            self._work_out()  # this cancels the computation for the second one

    def action_inspect(self) -> None:
        """Explain the characters, starting with the first."""
        self._inspect()

    def action_more_paths(self) -> None:
        """Show more or fewer paths through the lattice of a Unigram model."""
        self._all_paths = not self._all_paths
        self._take(self.answers)

    def action_copy(self) -> None:
        """Copy the whole answer as text."""
        if self.answers:
            self._copy("\n\n".join(map(as_text, self.answers)), "the answer")

    @on(CopyRequested)
    def _copy_requested(self, message: CopyRequested) -> None:
        message.stop()
        self._copy(message.text, message.what)


BESIDE_COLUMNS = 90
"""Minimum width for two answers side by side."""
_MOST_TRACED = 4
"""Pre-tokens of a selection whose merges are shown."""
_RULE = " │ "
_MOST_CHIPS = 60


def why_rows(answers: Sequence[Why], width: int) -> list[Row]:
    """Draw one answer, or two of different tokenizers: beside each other if there is room."""
    if len(answers) == 2 and width >= BESIDE_COLUMNS:
        left = (width - len(_RULE)) // 2
        right = width - len(_RULE) - left
        sections = zip(_sections(answers[0], left), _sections(answers[1], right), strict=True)
        return [row for one, other in sections for row in _beside(one, other, left)]
    rows: list[Row] = []
    for answer in answers:
        if rows:
            rows += [(Span("─" * width, "tree"),)]
        rows += [row for section in _sections(answer, width) for row in section]
    return rows


def _beside(one: Sequence[Row], other: Sequence[Row], left: int) -> Iterator[Row]:
    """Put a section beside another one."""
    for mine, theirs in zip_longest(one, other, fillvalue=()):
        used = sum(cell_len(span.text) for span in mine)
        yield (*mine, Span(" " * max(0, left - used)), Span(_RULE, "tree"), *theirs)


def _sections(answer: Why, width: int) -> list[list[Row]]:
    """Draw the sections of an answer; there are as many of every answer."""
    return [
        [*_head(answer, width), ()],
        _spaced(_cut_rows(answer, width)),
        _spaced(_end_rows(answer, width)),
        _spaced(_merge_rows(answer, width)),
        _spaced(_one_rows(answer, width)),
        _spaced([] if answer.lineage is None else list(lineage_rows(answer.lineage, width))),
    ]


def _spaced(rows: list[Row]) -> list[Row]:
    return rows if not rows or rows[-1] == () else [*rows, ()]


def _head(answer: Why, width: int) -> list[Row]:
    name = (Span(fit(short_name(answer.tokenizer), width), "heading"),)
    n_tokens = pluralize(answer.n_tokens, "token")
    rows = flow([name, (Span(n_tokens, "dim"),)] if answer.n_tokens else [name], width)
    chips: list[Word] = [
        (Span(label_of(token), "made"), Span(f" {token_id}", "dim"))
        for token, token_id in answer.tokens[:_MOST_CHIPS]
    ]
    if answer.n_tokens > len(chips):
        chips += words_of(f"… {answer.n_tokens - len(chips):,} more", "dim")
    return rows + flow(chips, width) + _said(answer.notes, width, "warning")


def _said(sentences: Sequence[Sentence], width: int, role: Role = "text") -> list[Row]:
    rows: list[Row] = []
    for sentence in sentences:
        words = [[_as(span, role) for span in word] for word in sentence_words(sentence)]
        rows += flow(words, width)
    return rows


def _as(span: Span, role: Role) -> Span:
    return span._replace(role=role) if span.role == "text" else span


def _cut_rows(answer: Why, width: int) -> list[Row]:
    if not any(cut.alternative or cut.sentences for cut in answer.cuts):
        return []
    is_read = any(cut.story for cut in answer.cuts)
    rows: list[Row] = [(Span("What the model reads" if is_read else "What cut it", "heading"),)]
    shown = False
    for number, cut in enumerate(answer.cuts):
        if len(answer.cuts) > 1:
            rows += [()] if number else []
            rows += flow([(Span("“", "dim"), _pre_token(cut, width), Span("”", "dim"))], width)
        if cut.alternative is not None:
            span = cut.alternative.span
            regex = answer.regex if not shown else answer.regex[slice(*span)]
            rows += regex_rows(regex, span if not shown else (0, len(regex)), width)
            shown = True
        rows += _said(cut.sentences, width)
    if answer.n_pre_tokens > len(answer.cuts):
        more = pluralize(answer.n_pre_tokens - len(answer.cuts), "more pre-token")
        rows += [(), (Span(f"… {more}", "dim"),)]
    return rows


def _pre_token(cut: PreTokenCut, width: int) -> Span:
    return Span(fit(label_of(cut.pre_token), max(1, width - 2)), "made")


def regex_rows(regex: str, taken: tuple[int, int], width: int) -> list[Row]:
    """Draw a regex in rows that end before a bar if possible, with a part of it marked."""
    rows: list[list[Span]] = [[]]
    used = 0
    for start, end in top_level(regex):
        role: Role = "left" if (start, end) == taken else "link"
        text = safe(regex[start:end])
        bar = "|" if start else ""
        if used and used + len(bar) + cell_len(text) > width:
            rows.append([])
            used = 0
        if bar:
            rows[-1].append(Span(bar, "dim"))
            used += 1
        while text:
            part = text[: max(1, width - used)]
            rows[-1].append(Span(part, role))
            text, used = text[len(part) :], used + cell_len(part)
            if text:
                rows.append([])
                used = 0
    return [tuple(row) for row in rows]


def _merge_rows(answer: Why, width: int) -> list[Row]:
    rows: list[Row] = []
    # A single byte needs no merges.
    traced = [cut for cut in answer.cuts if cut.story or (cut.trace and len(cut.pre_token) > 1)]
    for cut in traced[:_MOST_TRACED]:
        rows += [()] if rows else []
        if cut.story is not None:
            heading = "Most probable paths" if cut.story.n_rows else "How it is encoded"
            rows += [(Span(heading, "heading"),), *step_rows(cut.story.rows, width)]
            rows += _said(cut.story.sentences, width)
        if cut.trace is not None:
            rows += trace_rows(cut.trace, width)
            if not cut.trace.steps and not cut.trace.note:
                rows += flow(words_of("No merge applies."), width)
    if len(traced) > _MOST_TRACED:
        rows += [
            (),
            *flow(words_of("Select less text to see the merges of the other pre-tokens."), width),
        ]
    return rows


def _one_rows(answer: Why, width: int) -> list[Row]:
    if answer.single_token is None or answer.single_token.reason == "special":
        return []
    is_one = answer.single_token.reason == "one token"
    heading = "It is one token" if is_one else "Why it is not one token"
    return [(Span(heading, "heading"),), *_said(answer.single_token.sentences, width)]


def _end_rows(answer: Why, width: int) -> list[Row]:
    if not answer.at_end:
        return []
    heading = (Span("At the end of the text", "heading"),)
    return [heading, *_said(answer.at_end, width)]
