"""Rows of the table and the card of the Compare screen, by pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from tokviz.compare.figures import HEADS, NONE, Figures, figure_cells
from tokviz.text.glyphs import safe
from tokviz.tui.widgets.card_rows import label_of, sentence_words
from tokviz.tui.widgets.fit import column, fit, fit_name
from tokviz.tui.widgets.spans import Role, Row, RunAction, Span, Word, flow, words_of
from tokviz.workspace.prices import ModelPrice, percent, short_cost

if TYPE_CHECKING:
    from tokviz.compare.boundaries import Disagreement

_LONGEST_NAME = 24
_MOST_TOKENS = 40
_MOST_LABEL = 40
_ORDER = (1, 5, 2, 4, 3, 6, 7)
"""Columns after the name, by importance: in a narrow view the last ones are left out first."""


class Line(NamedTuple):
    """A tokenizer in the table.

    Attributes:
        name: Its name.
        figures: Its numbers, None if there are none yet.
        complete: Whether all tokens are counted.
        note: Text instead of the numbers, or after them.
        model: Its model in the user's price table, if any.
    """

    name: str
    figures: Figures | None
    complete: bool = True
    note: str = ""
    model: ModelPrice | None = None


def cells_of(lines: Sequence[Line], base: int) -> list[tuple[str, ...]]:
    """Return the cells of the table with a header, for the view and for copying."""
    priced = any(line.model is not None for line in lines)
    rows: list[tuple[str, ...]] = [("tokenizer", *HEADS, *(("cost", "window") if priced else ()))]
    base_figures = lines[base].figures if lines[base].complete else None
    for number, line in enumerate(lines):
        if line.figures is None:
            rows.append((line.name, *[""] * (len(rows[0]) - 1)))
            continue
        n_tokens = line.figures.n_tokens
        cells = figure_cells(line.figures, None if number == base else base_figures)
        if not line.complete:
            cells = (f"{n_tokens:,}…", *["…"] * (len(cells) - 1))
        model = line.model
        cost = None if model is None else model.cost(n_tokens)
        share = None if model is None else model.share(n_tokens)
        costs = (
            NONE if cost is None or model is None else f"{short_cost(cost)} {model.currency}",
            NONE if share is None else percent(share),
        )
        rows.append((line.name, *cells, *(costs if priced else ())))
    return rows


def table_rows(lines: Sequence[Line], base: int, can_add: bool, width: int) -> list[Row]:
    """Draw the table: one row per tokenizer. Clicking a row makes it the base."""
    cells = cells_of(lines, base)
    widths = [max(map(cell_len, own)) for own in zip(*cells, strict=True)]
    widths[0] = min(widths[0], max(8, min(_LONGEST_NAME, width // 3)))
    room, shown = width - widths[0] - 4, list[int]()
    for number in (number for number in _ORDER if number < len(widths)):
        if widths[number] + 2 <= room:
            shown.append(number)
            room -= widths[number] + 2
    rows: list[Row] = []
    for number, (row, line) in enumerate(zip(cells, (None, *lines), strict=True)):
        head = line is None
        is_base = number == base + 1
        pick = None if head else RunAction(f"use_base({number - 1})")
        role: Role = "dim" if head else "heading" if is_base else "link"
        spans = [Span("▸ " if is_base else "  ", role, pick)]
        spans.append(Span(column(fit_name(row[0], widths[0]), widths[0]), role, pick))
        if line is not None and line.figures is None:
            spans.append(Span(fit(f"  {line.note}", max(0, width - widths[0] - 4)), "warning"))
        else:
            for at in sorted(shown):
                plain: Role = "dim" if head else "text"
                spans.append(Span(f"  {' ' * (widths[at] - cell_len(row[at]))}{row[at]}", plain))
        if number > 1:
            spans += [
                Span(" ", "text"),
                Span("×", "link", RunAction(f"remove_tokenizer({number - 1})")),
            ]
        rows.append(tuple(spans))
        if line is not None and line.figures is not None and line.note:
            rows += flow(words_of(line.note, "warning"), width, (Span("  "),))
    if can_add:
        rows.append((Span("  + add a tokenizer (a)", "link", RunAction("add_tokenizer")),))
    return rows


HINT = "n goes to the next disagreement, p to the previous one. Click a token to see the one there."


class Told(NamedTuple):
    """Content of the card of a disagreement.

    Attributes:
        names: The names of the tokenizers.
        place: Its line and column, as text.
        found: The disagreement with its causes, None while or if they are unknown.
        note: Text instead of the causes.
    """

    names: Sequence[str]
    place: str = ""
    found: Disagreement | None = None
    note: str = ""


def card_rows(told: Told, which: str, width: int) -> list[Row]:
    """Draw a disagreement: the tokens of each tokenizer, and the cause.

    Args:
        told: The content.
        which: The number and count of the disagreements, as text.
        width: Columns of a row.
    """
    found = told.found
    note = "" if found is not None else told.note or HINT
    rows = flow(words_of(which + " ".join(filter(None, (told.place, note))), "dim"), width)
    if found is None:
        return rows
    label_width = min(max(map(cell_len, told.names)) + 1, max(8, width // 3))
    for number, name in enumerate(told.names):
        label = (Span(column(fit(name, label_width - 1), label_width), "label"),)
        rows += flow(_chips(found, number), width, label)
    for number, name in enumerate(told.names):
        causes = found.reasons[number].causes
        for cause, sentence in zip(causes, found.sentences(number), strict=True):
            lead: list[Word] = [(Span(f"{cause}:", "heading"),)]
            if len(told.names) > 2:
                lead.insert(0, (Span(name, "label"),))
            rows += flow([*lead, *sentence_words(safe_sentence(sentence))], width)
    return rows


def safe_sentence(sentence: Sequence[str | bytes]) -> Iterator[str | bytes]:
    """Make the words of a sentence safe: names of tokenizers and patterns come from files."""
    return (safe(part) if isinstance(part, str) else part for part in sentence)


def _chips(found: Disagreement, number: int) -> list[Word]:
    tokens = found.tokens(number)
    words: list[Word] = [
        (Span(fit(label_of(token), _MOST_LABEL), "token", None, at % 2),)
        for at, token in enumerate(tokens[:_MOST_TOKENS])
    ]
    if len(tokens) > _MOST_TOKENS:
        words += words_of(f"… {len(tokens) - _MOST_TOKENS:,} more", "dim")
    return words
