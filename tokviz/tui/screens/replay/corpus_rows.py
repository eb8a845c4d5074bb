"""The corpus as tokens: rows of words from a frame, by pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokviz.glyphs import token_label
from tokviz.live.hues_by_id import hues_of
from tokviz.tui.screens.replay.frames import Frame, Pair, ShownPiece
from tokviz.tui.screens.replay.position import Position
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.flow import Role, Row, Span, ToToken, Word, flow, words_of

TokenBytes = Callable[[int], bytes]

_MOST_LABEL = 40


def label_for(token: bytes) -> str:
    """Give the label of a token, cut if it is very long."""
    return fit(token_label(token), _MOST_LABEL)


def chips(
    piece: ShownPiece,
    position: Position,
    pair: Pair | None,
    token: TokenBytes,
    lit: bytes = b"",
) -> list[Word]:
    """Draw the tokens of a piece; the merged ones are lit up.

    Args:
        piece: The piece.
        position: Which frame is shown.
        pair: The ids of the merged pair and of the token it makes; None at the start.
        token: Gives the bytes of a token.
        lit: The piece beside which the others are dim; empty for none.
    """
    ids = piece.after if position.merged else piece.before
    roles = _roles(ids, position, pair if piece.is_changed else None)
    if lit and lit != b"".join(map(token, piece.before)):
        roles = ["dim"] * len(ids)
    words: list[Word] = []
    for token_id, hue, role in zip(ids, hues_of(ids, 0, len(ids)), roles, strict=True):
        label = label_for(token(token_id))
        shown_hue = hue if role == "token" else -1
        words.append((Span(label, role, ToToken(token_id), shown_hue),))
    (before, after), more = piece.cut, [(Span("…", "dim"),)]
    return [*more * before, *words, *more * after]


def _roles(ids: Sequence[int], position: Position, pair: Pair | None) -> list[Role]:
    roles: list[Role] = ["token"] * len(ids)
    if pair is None:
        return roles
    left, right, made = pair
    index = 0
    while index < len(ids):
        if position.merged:
            if ids[index] == made:
                roles[index] = "result"
        elif index + 1 < len(ids) and ids[index] == left and ids[index + 1] == right:
            roles[index], roles[index + 1] = "left", "right"
            index += 1
        index += 1
    return roles


def corpus_rows(
    frame: Frame,
    position: Position,
    token: TokenBytes,
    *,
    is_whole: bool,
    width: int,
    lit: bytes = b"",
) -> list[Row]:
    """Draw the pieces that a merge changes, and the beginning of the corpus.

    Args:
        frame: What there is to draw.
        position: Which frame is shown.
        token: Gives the bytes of a token.
        is_whole: Whether the pieces of the frame are all there are.
        width: Columns of a row.
        lit: The piece that is lit up.
    """
    rows: list[Row] = []
    if frame.changed:
        rows += _listed(frame.changed, position, frame.pair, token, width, lit)
        rows.append(())
    if not frame.pieces:
        return rows
    if is_whole:
        return rows + _listed(frame.pieces, position, frame.pair, token, width, lit)
    rows += flow(words_of("The first different pieces of the corpus", "label"), width)
    words: list[Word] = []
    for piece in frame.pieces:
        words += chips(piece, position, frame.pair, token, lit)
        words.append((Span("│", "tree"),))
    return rows + flow(words[:-1], width)


def _listed(
    pieces: Sequence[ShownPiece],
    position: Position,
    pair: Pair | None,
    token: TokenBytes,
    width: int,
    lit: bytes,
) -> list[Row]:
    """Draw one piece a row, with its count."""
    columns = max((len(f"{piece.count:,}") for piece in pieces), default=1)
    rows: list[Row] = []
    for piece in pieces:
        count = Span(f"{piece.count:>{columns},}× ", "label")
        rows += flow(chips(piece, position, pair, token, lit), width, (count,))
    return rows
