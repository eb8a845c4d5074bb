"""What is shown of a text: its tokens, how each looks, and what is to be said of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz import bytetext
from tokviz.glyphs import NEWLINE, safe, token_label
from tokviz.live.hues_by_id import hues_of
from tokviz.sentences import counted

if TYPE_CHECKING:
    from tokviz.tokenizer import Tokenizer


class Chip(NamedTuple):
    """A token of a figure.

    Attributes:
        number: Its place among the tokens, from 0 on.
        id: Its id.
        data: Its bytes.
        start: Where they begin in the bytes of the text.
        piece: The place of its piece among the pieces, from 0 on.
        hue: The number of its colour; its neighbours have others.
        is_special: Whether it is a special token.
    """

    number: int
    id: int
    data: bytes
    start: int
    piece: int
    hue: int
    is_special: bool

    @property
    def lines(self) -> list[str]:
        """What is drawn of it: nothing in it is obeyed by a terminal. A line feed ends a line."""
        *parts, last = (token_label(part) if part else "" for part in self.data.split(b"\n"))
        return [*(f"{part}{NEWLINE}" for part in parts), last]

    @property
    def label(self) -> str:
        """What is drawn of it, in one line."""
        return "".join(self.lines)

    @property
    def about(self) -> str:
        """What is to be said of it."""
        special = " · special token" if self.is_special else ""
        end = self.start + len(self.data)
        return (
            f"id {self.id} · {counted(len(self.data), 'byte')}: {self.data.hex(' ')} · "
            f"bytes {self.start}–{end} · piece {self.piece + 1}{special}"
        )


class Figure(NamedTuple):
    """The tokens of a text.

    Attributes:
        title: What the text is called, and the tokenizer.
        facts: How much there is of it, in words.
        chips: The tokens.
    """

    title: str
    facts: str
    chips: list[Chip]

    def rows(self) -> Iterator[list[tuple[Chip, str]]]:
        """Give the tokens by the lines of the text, each with what is drawn of it there."""
        row: list[tuple[Chip, str]] = []
        for chip in self.chips:
            *ended, last = chip.lines
            for part in ended:
                yield [*row, (chip, part)]
                row = []
            row += [(chip, last)] if last or not ended else []
        if row:
            yield row


def figure_of(tokenizer: Tokenizer, name: str, data: bytes, allowed_special: Any = "all") -> Figure:
    """Tokenize a text to show it.

    Args:
        tokenizer: The tokenizer.
        name: What the text is called.
        data: The text.
        allowed_special: As for `Tokenizer.tokenize`.
    """
    text = bytetext.from_bytes(data)
    found = tokenizer.tokenize_byte_text(text, allowed_special)
    starts = found.pieces[:, 0].tolist()
    hues = hues_of(found.ids, 0, len(found.ids))
    spans = found.byte_spans.tolist()
    chips = [
        Chip(
            number, token_id, data[start:end], start, bisect_right(starts, start) - 1, hue, special
        )
        for number, (token_id, (start, end), hue, special) in enumerate(
            zip(found.ids, spans, hues, found.special.tolist(), strict=True)
        )
    ]
    ratio = f" · {len(data) / len(chips):.2f} bytes/token" if chips else ""
    facts = f"{counted(len(chips), 'token')} · {counted(len(text), 'char')} · "
    facts += f"{counted(len(data), 'byte')}{ratio}"
    return Figure(safe(f"{name} · {tokenizer.name}"), facts, chips)
