"""Content of an export: tokens, their appearance, and facts about them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.errors import TokvizError
from tokviz.live.hues import N_HUES, hues_of
from tokviz.text import bytetext
from tokviz.text.glyphs import NEWLINE, safe, short_label, token_label
from tokviz.text.sentences import format_sentences, pluralize

if TYPE_CHECKING:
    from tokviz.chat.rendering import Rendering
    from tokviz.compare.boundaries import Comparison
    from tokviz.tokenizer.tokenizer import Tokenizer

Span = tuple[int, int]

MOST_TOKENS = 1_000_000
_MOST_EXPLAINED = 200
"""Number of disagreements whose cause gets a full sentence, because each takes time to find."""


class Chip(NamedTuple):
    """A token of a figure.

    Attributes:
        number: Its index among the tokens, from 0.
        id: Its token id.
        data: Its bytes.
        start: Its byte offset in the text.
        hue: The index of its color, which differs from its neighbors'. The last two are grey.
        is_special: Whether it is a special token.
        pre_token: The index of its pre-token, from 0; -1 if unknown.
        mark: A word that says why it is highlighted; empty if it is not.
        note: Additional information about it.
    """

    number: int
    id: int
    data: bytes
    start: int
    hue: int
    is_special: bool = False
    pre_token: int = -1
    mark: str = ""
    note: str = ""

    @property
    def lines(self) -> list[str]:
        """The label in lines, safe for terminals: it contains no control characters."""
        *parts, last = (token_label(part) if part else "" for part in self.data.split(b"\n"))
        return [*(f"{part}{NEWLINE}" for part in parts), last]

    @property
    def label(self) -> str:
        """The label in one line."""
        return "".join(self.lines)

    @property
    def about(self) -> str:
        """A description of the token in one line."""
        facts = (
            f"token #{self.number}",
            f"id {self.id}",
            f"{pluralize(len(self.data), 'byte')}: {self.data.hex(' ')}",
            f"bytes {self.start}–{self.start + len(self.data)}",
            f"pre-token #{self.pre_token}" if self.pre_token >= 0 else "",
            "special token" if self.is_special else "",
            self.mark,
            self.note,
        )
        return " · ".join(filter(None, facts))


class FigurePart(NamedTuple):
    """Consecutive tokens.

    Attributes:
        heading: A heading; may be empty.
        items: The tokens, and text between them.
    """

    heading: str
    items: Sequence[Chip | str]

    def rows(self) -> Iterator[list[tuple[Chip | None, str]]]:
        """Yield the items by lines of the text, each with its label in that line."""
        row: list[tuple[Chip | None, str]] = []
        for item in self.items:
            chip = item if isinstance(item, Chip) else None
            *ended, last = item.lines if isinstance(item, Chip) else [item]
            for part in ended:
                yield [*row, (chip, part)]
                row = []
            row += [(chip, last)] if last or not ended else []
        if row:
            yield row


class Figure(NamedTuple):
    """Content of an export, independent of its form.

    Attributes:
        title: A title.
        facts: Facts about the whole figure, in lines.
        parts: The parts, one below the other.
    """

    title: str
    facts: Sequence[str]
    parts: Sequence[FigurePart]

    @property
    def chips(self) -> Iterator[tuple[str, Chip]]:
        """Yield the tokens, each with its heading."""
        heading = ""
        for part in self.parts:
            heading = part.heading or heading
            yield from ((heading, item) for item in part.items if isinstance(item, Chip))


def chips_of(
    ids: Sequence[int],
    tokens: Iterable[bytes],
    *,
    special: Sequence[bool] = (),
    pre_tokens: Sequence[int] = (),
    notes: Sequence[tuple[str, str]] | None = None,
) -> list[Chip]:
    """Create chips of consecutive tokens.

    Args:
        ids: Their ids.
        tokens: The bytes of each.
        special: Whether each is a special token; none is by default.
        pre_tokens: Byte offsets at which pre-tokens start, if known.
        notes: The mark and the note of each; tokens without a mark are then grey. By default all
            have a color.

    Raises:
        TokvizError: If there are too many tokens.
    """
    if len(ids) > MOST_TOKENS:
        raise TokvizError(f"{len(ids):,} tokens are too many to show at once: select a part")
    chips, start = [], 0
    for number, (token, hue) in enumerate(zip(tokens, hues_of(ids, 0, len(ids)), strict=True)):
        mark, note = notes[number] if notes else ("", "")
        hue = N_HUES + number % 2 if notes and not mark else hue
        pre_token = bisect_right(pre_tokens, start) - 1
        is_special = bool(special) and special[number]
        chips.append(
            Chip(number, ids[number], token, start, hue, is_special, pre_token, mark, note)
        )
        start += len(token)
    return chips


def figure_of(tokenizer: Tokenizer, name: str, data: bytes, allowed_special: Any = "all") -> Figure:
    """Tokenize a text and return its figure.

    Args:
        tokenizer: The tokenizer.
        name: Name of the text.
        data: The text.
        allowed_special: As for `Tokenizer.tokenize`.
    """
    text = bytetext.from_bytes(data)
    tokenization = tokenizer.byte_text.tokenize(text, allowed_special)
    chips = chips_of(
        tokenization.ids,
        (data[start:end] for start, end in tokenization.byte_spans.tolist()),
        special=tokenization.special.tolist(),
        pre_tokens=tokenization.pre_tokens[:, 0].tolist(),
    )
    facts = (_measure(len(chips), data), pluralize(len(text), "char"), pluralize(len(data), "byte"))
    return Figure(safe(f"{name} · {tokenizer.name}"), [" · ".join(facts)], [FigurePart("", chips)])


def _measure(n_tokens: int, data: bytes) -> str:
    ratio = f" · {len(data) / n_tokens:.2f} bytes/token" if n_tokens else ""
    return f"{pluralize(n_tokens, 'token')}{ratio}"


def comparison_figure(name: str, comparison: Comparison, end: int | None = None) -> Figure:
    """Show a text in several tokenizers; highlight the tokens on which they disagree.

    Args:
        name: Name of the text.
        comparison: The comparison.
        end: Show only the tokens that end at this byte or before; None for all.
    """
    data, spans = comparison.data, comparison.spans
    end = len(data) if end is None else end
    disagreements = comparison.disagreements_in(spans[spans[:, 0] < end])
    starts = [disagreement.byte_span[0] for disagreement in disagreements]
    parts = []
    for number, side in enumerate(comparison.sides):
        causes = [""] * len(disagreements)
        for at, disagreement in enumerate(disagreements):
            other = number if disagreement.reasons[number].causes else disagreement.other
            causes[at] = disagreement.reasons[other].causes[0]
            if at < _MOST_EXPLAINED:
                causes[at] += f": {format_sentences(disagreement.sentences(other), short_label)}"
        ends = side.ends[side.ends <= end].tolist()
        tokens = list(zip([0, *ends], ends, strict=False))
        notes = []
        for first, last in tokens:
            at = bisect_right(starts, first) - 1
            differs = at >= 0 and last <= disagreements[at].byte_span[1]
            notes.append(("differs", causes[at]) if differs else ("", ""))
        marked = {place for place, is_special, _ in side.marks if is_special}
        chips = chips_of(
            side.ids[: len(ends)],
            (data[first:last] for first, last in tokens),
            special=[last in marked for _, last in tokens],
            pre_tokens=[0, *side.pre_token_ends.tolist()],
            notes=notes,
        )
        parts.append(
            FigurePart(f"{safe(side.tokenizer.name)} · {_measure(len(side.ids), data)}", chips)
        )
    names = ", ".join(side.tokenizer.name for side in comparison.sides)
    facts = [
        pluralize(len(spans), "disagreement") if len(spans) else "All produce the same tokens."
    ]
    return Figure(safe(f"{name} · {names}"), facts, parts)


def mask_figure(name: str, rendering: Rendering, most: int | None = None) -> Figure:
    """Show the tokens of a conversation by message; highlight those in the loss.

    Args:
        name: Name of the conversation.
        rendering: Its tokens.
        most: Show only the first tokens; None for all.
    """
    kept = range(rendering.n_kept)[:most]
    notes = [("in the loss" * rendering.mask[n], rendering.reason_sentence(n)) for n in kept]
    chips = chips_of(
        rendering.ids[: len(kept)].tolist(),
        map(rendering.token_bytes, kept),
        special=list(map(rendering.is_special, kept)),
        notes=notes,
    )
    by_message = groupby(chips, lambda chip: rendering.message_of[chip.number])
    parts = [
        FigurePart(f"message {message + 1}" if message >= 0 else "", list(group))
        for message, group in by_message
    ]
    facts = [
        pluralize(rendering.n_kept, "token"),
        f"{rendering.n_learned:,} in the loss ({rendering.supervised_share:.0%})",
        f"{len(rendering) - rendering.n_kept:,} cut off" * (len(rendering) > rendering.n_kept),
    ]
    title = safe(f"{name} · {rendering.template} · {rendering.tokenizer.name}")
    notes_below = [safe(note) for note in rendering.notes]
    return Figure(title, [" · ".join(filter(None, facts)), *notes_below], parts)
