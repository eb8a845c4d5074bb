"""The rows of the answer to "Why?", made by pure functions; two answers stand side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len

from tokviz.explain.why import PieceCut, Why
from tokviz.glyphs import safe
from tokviz.places import short_name
from tokviz.pretokenize.alternatives import top_level
from tokviz.sentences import Sentence, counted
from tokviz.tui.widgets.card_rows import label_of, lineage_rows, sentence_words, trace_rows
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.flow import Role, Row, Span, Word, flow, words_of

BESIDE_COLUMNS = 90
"""From this width on two answers stand side by side."""
_MOST_TRACED = 4
"""Pieces of a selection whose merges are shown."""
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
    n_tokens = counted(answer.n_tokens, "token")
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
    rows: list[Row] = [(Span("What cut it", "heading"),)]
    shown = False
    for number, cut in enumerate(answer.cuts):
        if len(answer.cuts) > 1:
            rows += [()] if number else []
            rows += flow([(Span("“", "dim"), _piece(cut, width), Span("”", "dim"))], width)
        if cut.alternative is not None:
            span = cut.alternative.span
            regex = answer.regex if not shown else answer.regex[slice(*span)]
            rows += regex_rows(regex, span if not shown else (0, len(regex)), width)
            shown = True
        rows += _said(cut.sentences, width)
    if answer.n_pieces > len(answer.cuts):
        more = counted(answer.n_pieces - len(answer.cuts), "more piece")
        rows += [(), (Span(f"… {more}", "dim"),)]
    return rows


def _piece(cut: PieceCut, width: int) -> Span:
    return Span(fit(label_of(cut.piece), max(1, width - 2)), "made")


def regex_rows(regex: str, taken: tuple[int, int], width: int) -> list[Row]:
    """Draw a regex in rows that end before a bar where they can, a stretch of it marked."""
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
    # A single byte is no matter of merges.
    traced = [cut for cut in answer.cuts if cut.trace is not None and len(cut.piece) > 1]
    for cut in traced[:_MOST_TRACED]:
        assert cut.trace is not None
        rows += [()] if rows else []
        rows += trace_rows(cut.trace, width)
        if not cut.trace.steps and not cut.trace.note:
            rows += flow(words_of("No merge applies."), width)
    if len(traced) > _MOST_TRACED:
        rows += [(), *flow(words_of("Select less to see the merges of the other pieces."), width)]
    return rows


def _one_rows(answer: Why, width: int) -> list[Row]:
    if answer.one is None or answer.one.reason == "special":
        return []
    is_one = answer.one.reason == "one token"
    heading = "It is one token" if is_one else "Why it is not one token"
    return [(Span(heading, "heading"),), *_said(answer.one.sentences, width)]


def _end_rows(answer: Why, width: int) -> list[Row]:
    if not answer.at_end:
        return []
    heading = (Span("At the end of the text", "heading"),)
    return [heading, *_said(answer.at_end, width)]
