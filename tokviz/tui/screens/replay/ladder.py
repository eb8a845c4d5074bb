"""A tiny corpus as textbooks draw it: a rung for every merge, each word in a column of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tokviz.replay.request import LADDER_BYTES
from tokviz.tui.screens.replay.corpus_rows import TokenBytes, chips, label_for
from tokviz.tui.screens.replay.frames import TINY_PIECES, Pair, ShownPiece, merged, pair_of
from tokviz.tui.screens.replay.position import Position
from tokviz.tui.widgets.fit import column
from tokviz.tui.widgets.flow import Role, Row, Span, ToMerge, Word, flow

if TYPE_CHECKING:
    from tokviz.replay.replay import Replay

_GAP = 3
_MOST_TOKEN = 12


def draw(replay: Replay) -> Ladder | None:
    """Work out a tiny corpus after every merge; None for one that is not tiny."""
    if not (replay.has_counts and replay.is_tiny) or (replay.n_bytes or 0) > LADDER_BYTES:
        return None
    # A space or a line end by itself only separates words: nothing is ever merged in it.
    pieces = [
        piece
        for piece in replay.state(0).pieces(0, TINY_PIECES)
        if len(piece.data) > 1 or not piece.data.isspace()
    ]
    ids: list[Sequence[int]] = [piece.ids for piece in pieces]
    states, pairs = [ids], []
    for number in range(1, replay.n_merges + 1):
        pair = pair_of(replay.step(number))
        ids = [merged(piece, pair) if pair[0] in piece else piece for piece in ids]
        states.append(ids)
        pairs.append(pair)
    return Ladder([piece.count for piece in pieces], states, pairs, replay.tokenizer.token_bytes)


class Ladder:
    """The rows of the ladder, to which each merge adds a rung.

    Attributes:
        counts: How often each piece occurs.
        states: For every number of merges, from 0 on, the ids of every piece.
        pairs: For every merge the ids of its pair and of the token that it makes.
    """

    def __init__(
        self,
        counts: Sequence[int],
        states: Sequence[Sequence[Sequence[int]]],
        pairs: Sequence[Pair],
        token: TokenBytes,
    ) -> None:
        """Take what is drawn, and what gives the bytes of a token."""
        self.counts, self.states, self.pairs, self._token = counts, states, pairs, token
        widths = (cell_len(label_for(token(made))) for _, _, made in pairs)
        self._token_width = min(max(widths, default=0), _MOST_TOKEN)
        self._made_for = -1
        self._widths: list[int] = []
        self._done: list[Row] = []
        self._ends: list[int] = [0]
        """How many rows there are before each rung that is done."""

    def rows(self, position: Position, width: int, lit: bytes = b"") -> list[Row]:
        """Draw the rungs up to a frame; the last one lights up what is merged, or one piece."""
        if width != self._made_for:
            self._made_for, self._done, self._ends = width, [], [0]
            self._widths = [_width(words) for words in self._pieces(0, None)]
        last = position.n_done
        for number in range(len(self._ends) - 1, last):
            self._done += self._rung(number, None, width)
            self._ends.append(len(self._done))
        return self._done[: self._ends[last]] + self._rung(last, position, width, lit)

    def _rung(self, number: int, here: Position | None, width: int, lit: bytes = b"") -> list[Row]:
        """Draw the corpus after so many merges; `here` is the frame at hand if it is that one."""
        digits = len(str(len(self.pairs)))
        made = label_for(self._token(self.pairs[number - 1][2])) if number else ""
        mark = "▸" if here else " "
        label = f"{mark} {number:>{digits}}  {column(made, self._token_width)}  "
        role: Role = "heading" if here else "label"
        room = width - cell_len(label) - _GAP
        set_words: list[Word] = []
        for wide, words in zip(self._widths, self._pieces(number, here, lit), strict=True):
            if wide > room:
                set_words += words
                continue
            spans = [span for word in words for span in (*word, Span(" "))]
            set_words.append((*spans, Span(" " * (wide - _width(words) + _GAP - 2))))
        return flow(set_words, width, (Span(label, role, ToMerge(number) if number else None),))

    def _pieces(self, number: int, here: Position | None, lit: bytes = b"") -> Iterator[list[Word]]:
        """Draw each piece after so many merges: its count and its tokens.

        The pieces before a merge are those after the one before, with its pair to light up.
        """
        shown, pair = here or Position(number), None
        before = after = self.states[number]
        if here is not None and here.number:
            before, after = self.states[here.number - 1 : here.number + 1]
            pair = self.pairs[here.number - 1]
        for count, were, are in zip(self.counts, before, after, strict=True):
            tokens = chips(ShownPiece(count, were, are), shown, pair, self._token, lit)
            role: Role = "heading" if lit and tokens[0][0].role != "dim" else "dim"
            yield [(Span(f"{count:,}×", role),), *tokens] if count > 1 else tokens


def _width(words: Sequence[Word]) -> int:
    return sum(cell_len(span.text) for word in words for span in word) + len(words) - 1
