"""The rows of what a character is, made by pure functions."""

from __future__ import annotations

from tokviz.explain.character import Inspected
from tokviz.glyphs import safe
from tokviz.sentences import counted
from tokviz.tui.widgets.card_rows import label_of, sentence_words
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.flow import Row, Span, Word, flow, words_of

_LEFT = 10
"""Columns of the numbers of code points."""
_MOST_CHIPS = 40


def character_rows(found: Inspected, tokenizer: str, width: int) -> list[Row]:
    """Draw a character: what cannot be seen, its code points, its forms with their tokens."""
    data = found.forms[0].data
    size = f"{counted(found.n_points, 'code point')}, {counted(len(data), 'byte')} in UTF-8"
    label = fit(label_of(data), max(1, width // 3))
    rows = flow([(Span(label, "made"),), *words_of(size, "dim")], width)
    for note in found.notes:
        rows += flow([_warning(word) for word in sentence_words(note)], width)
    rows.append(())
    for point in found.points:
        lead = (Span(f"{point.label:<{_LEFT}}", "heading"),)
        rows += flow(words_of(safe(point.name)), width, lead)
        about = f"{point.category} · {point.script} · UTF-8 {point.data.hex(' ')}"
        rows += flow(words_of(about, "dim"), width, (Span(" " * _LEFT),))
    if found.n_points > len(found.points):
        rows.append((Span(f"… {found.n_points - len(found.points):,} more", "dim"),))
    rows += [(), (Span(fit(f"Its tokens alone, {safe(tokenizer)}", width), "heading"),)]
    for form in found.forms:
        about = f"{form.name}: {counted(len(form.tokens), 'token')}"
        rows += flow(words_of(about, "label"), width)
        chips: list[Word] = [
            (Span(label_of(token), "made"), Span(f" {token_id}", "dim"))
            for token, token_id in form.tokens[:_MOST_CHIPS]
        ]
        if len(form.tokens) > len(chips):
            chips += words_of(f"… {len(form.tokens) - len(chips):,} more", "dim")
        rows += flow(chips, width, (Span("  "),))
    return rows


def _warning(word: Word) -> Word:
    return [span._replace(role="warning") for span in word]


def as_text(found: Inspected, tokenizer: str) -> str:
    """Write what the rows say as plain text."""
    rows = character_rows(found, tokenizer, 100)
    return "\n".join("".join(span.text for span in row).rstrip() for row in rows) + "\n"
