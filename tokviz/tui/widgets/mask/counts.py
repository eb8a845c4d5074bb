"""Counts of tokens and of those in the loss, in total, by role and by message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from tokviz.chat.rendering import MASK_SOURCES, Rendering, TokenRun
from tokviz.chat.spans import Reason
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tui.widgets.fit import column
from tokviz.tui.widgets.mask.base import MARKS
from tokviz.tui.widgets.spans import Row, Span, flow, words_of

if TYPE_CHECKING:
    pass


class MaskCounts(NamedTuple):
    """Numbers of kept tokens and of those in the loss."""

    tokens: int = 0
    learned: int = 0

    def plus(self, tokens: int, learned: int) -> MaskCounts:
        """Return the sum."""
        return MaskCounts(self.tokens + tokens, self.learned + learned)


class PartCounts(NamedTuple):
    """Counts of the parts of every message; -1 is for tokens that belong to none.

    Attributes:
        by_part: The counts of each part.
        by_message: The counts of each message, its header included.
        spans: The tokens of each part's own text, including those that are cut off.
        cut: The number of tokens of each message that are cut off.
        header: The counts of each message's template text, which includes tools.
    """

    by_part: dict[tuple[int, int], MaskCounts]
    by_message: dict[int, MaskCounts]
    spans: dict[tuple[int, int], list[TokenRun]]
    cut: dict[int, int]
    header: dict[int, MaskCounts]


NOTHING = PartCounts({}, {}, {}, {}, {})
"""The counts of no tokens."""


def part_counts(rendering: Rendering) -> PartCounts:
    """Count the kept tokens of a rendering by message and by part."""
    counts = PartCounts({}, {}, {}, {}, {})
    by_part, by_message, spans, cut, header = counts
    mask, kept = rendering.mask, rendering.n_kept
    for run in rendering.runs:
        first, last, message, part = run[:4]
        n_kept = max(0, min(last, kept) - first)
        learned = mask.count(1, first, first + n_kept)
        by_message[message] = by_message.get(message, MaskCounts()).plus(n_kept, learned)
        if run.reason == Reason.HEADER:
            header[message] = header.get(message, MaskCounts()).plus(n_kept, learned)
        if first + n_kept < last:
            cut[message] = cut.get(message, 0) + last - first - n_kept
        if n_kept:
            place = message, part
            by_part[place] = by_part.get(place, MaskCounts()).plus(n_kept, learned)
        if not rendering.from_structure[first]:
            spans.setdefault((message, part), []).append(run)
    return counts


def token_at_byte(
    rendering: Rendering, counts: PartCounts, message: int, part: int, offset: int
) -> int | None:
    """Return the token of a byte of a part's text, or the last one; None if it has no tokens."""
    found = None
    for run in counts.spans.get((message, part), ()):
        found = run.last - 1
        if offset < run.n_bytes:
            ends = accumulate(_sizes(rendering, run.first, run.last))
            return next((index for index, end in enumerate(ends, run.first) if end > offset), found)
        offset -= run.n_bytes
    return found


def byte_of_token(rendering: Rendering, counts: PartCounts, index: int) -> int:
    """Return the byte offset of a token in the text of its part."""
    n_bytes = 0
    for run in counts.spans.get(rendering.run_of(index)[2:4], ()):
        if index < run.last:
            return n_bytes + sum(_sizes(rendering, run.first, index))
        n_bytes += run.n_bytes
    return n_bytes


def _sizes(rendering: Rendering, first: int, last: int) -> Iterator[int]:
    """Yield the number of bytes of each of some tokens."""
    return map(int, rendering.tokenizer.token_sizes[rendering.ids[first:last]])


def percent(share: float) -> str:
    """Format a share so that it is rounded to 0 % or 100 % only if it is exactly that.

    >>> percent(0.5), percent(0.0004), percent(0.9999), percent(0)
    ('50 %', '0.04 %', '99.99 %', '0 %')
    >>> percent(0.00001), percent(0.99999)
    ('< 0.01 %', '> 99.99 %')
    """
    value = share * 100
    if value == round(value):
        return f"{value:.0f} %"
    if not 0.005 < value < 99.995:
        return "< 0.01 %" if value < 1 else "> 99.99 %"
    return f"{value:.2f} %" if value < 1 or value > 99 else f"{value:.1f} %"


def roles_rows(
    rendering: Rendering | None, roles: Sequence[str], counts: PartCounts, width: int
) -> list[Row]:
    """Draw a table of the roles with bars, and the source of the mask.

    Args:
        rendering: The tokens, None for none.
        roles: The role of each message.
        counts: The counts of the rendering.
        width: Columns of a row.
    """
    if rendering is None:
        return []
    by_role: dict[str, MaskCounts] = {}
    for message, count in sorted(counts.by_message.items()):
        header = counts.header.get(message, MaskCounts())
        role = roles[message] if 0 <= message < len(roles) else "no message"
        own = count.tokens - header.tokens, count.learned - header.learned
        for name, more in (("template", header), (role, own)):
            if more[0]:
                by_role[name] = by_role.get(name, MaskCounts()).plus(*more)
    rows: list[Row] = [(Span(f"{'':<12}{'tokens':>9}{'learned':>10}", "dim"),)]
    most = max((count.tokens for count in by_role.values()), default=1) or 1
    bar_width = max(0, width - 32)
    for role, count in by_role.items():
        filled = round(bar_width * count.tokens / most)
        learned = min(filled, round(bar_width * count.learned / most))
        if count.learned and bar_width:
            learned = max(1, learned)
        rows.append(
            (
                Span(column(safe(role), 11) + " ", "heading"),
                Span(f"{count.tokens:>9,}"),
                Span(f"{count.learned:>10,}", "heading" if count.learned else "dim"),
                Span(" " + "█" * learned, "good"),
                Span("░" * max(0, filled - learned), "dim"),
            )
        )
    rows.append(
        (
            Span(f"{'all':<12}", "heading"),
            Span(f"{rendering.n_kept:>9,}"),
            Span(f"{rendering.n_learned:>10,}", "heading"),
            Span(f" {MARKS[1]} {percent(rendering.supervised_share)} learned"),
        )
    )
    cut = len(rendering) - rendering.n_kept
    notes = [MASK_SOURCES[rendering.mask_source]]
    if cut:
        notes.append(f"{cut:,} more tokens are truncated after {rendering.max_tokens:,}.")
    if rendering.virtual_specials:
        notes.append(virtual_sentence(rendering))
    if rendering.missing_specials:
        notes.append(missing_sentence(rendering))
    notes += rendering.notes
    for note in notes:
        rows += [(), *flow(words_of(safe(note), "dim"), width)]
    return rows


def missing_sentence(rendering: Rendering) -> str:
    """Return a sentence about special tokens that the vocabulary lacks and that become text."""
    each = [f"{text} ({n})" for text, n in rendering.missing_specials.items()]
    return (
        f"{rendering.tokenizer.name} does not have these special tokens of the template, so they "
        f"are encoded as text, each as several tokens: {', '.join(each)}."
    )


def virtual_sentence(rendering: Rendering) -> str:
    """Return a sentence about special tokens that the vocabulary lacks."""
    names = list(rendering.virtual_specials)
    some = ", ".join(names)
    one = len(names) == 1
    gets = "it gets a made-up id" if one else "they get made-up ids"
    return (
        f"{rendering.tokenizer.name} has no {some}: {gets} after its last one. "
        f"A model needs {'it' if one else 'them'} in its vocabulary."
    )


def message_note(counts: PartCounts, message: int) -> str:
    """Return the numbers of a message's tokens, of those in the loss and of those cut off."""
    count, cut = counts.by_message.get(message), counts.cut.get(message, 0)
    if count is None:
        return "no tokens"
    parts = [pluralize(count.tokens, "token")] if count.tokens or not cut else []
    if count.learned:
        parts.append(f"{count.learned:,} learned")
    if cut:
        parts.append(f"✂ {cut:,} cut off")
    return ", ".join(parts)
