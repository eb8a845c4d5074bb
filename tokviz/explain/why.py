"""Why a token or a stretch of a text is as it is: what cut its pieces, and which merges made it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from tokviz import bytetext
from tokviz.encoding.normalization import nfc, origins
from tokviz.encoding.specials import segments
from tokviz.errors import TokvizError
from tokviz.explain.stability import sentences_of, unstable_end
from tokviz.explain.trace import (
    LEFT_OUT,
    EncodeTrace,
    Explanation,
    LineageNode,
    encode_trace,
    lineage,
    render_lineage,
    why_not_one_token,
)
from tokviz.pretokenize.alternatives import Alternative, Cut, cut_of
from tokviz.pretokenize.patterns import SplitPattern, compiled_cut
from tokviz.pretokenize.split import split
from tokviz.pretokenize.tolerance import tolerant
from tokviz.sentences import Sentence, counted, said, why

if TYPE_CHECKING:
    from tokviz.chat.render import Rendering
    from tokviz.live.document import LiveDocument
    from tokviz.tokenizer import Tokenizer

MOST_PIECES = 8
"""Pieces of a selection that are explained."""
MOST_TOKENS = 256
"""Tokens of a selection that are listed."""
MOST_BYTES = 16_384
"""A longer selection is not explained."""
WINDOW = 4096
"""Characters on either side that are looked at in a long text."""
_NEAR_END = 4
"""So many of the last tokens may be told about the end."""


ELSEWHERE = -1
"""The id of a token that is asked about as another tokenizer than its own sees it."""
_TEXT_ENDS = "the text ends there"


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a text that somebody asks about.

    Attributes:
        text: Byte text around it, from where a piece begins.
        start: The byte of it at which the stretch begins.
        end: The byte behind it.
        is_end: Whether what is written ends there, so that more may come.
        ends: What ends where this text ends, in words; empty where that is only the part of it that
            is looked at.
        parse_specials: Whether special tokens are recognised in it.
        is_alone: Whether there is no text but the stretch itself, as on a token's page.
        id: The id of the token that is asked about, None for a selection; `ELSEWHERE` if it is a
            token of another tokenizer.
        is_point: Whether the token is meant that is at `start`, whatever it is.
        note: What else there is to know about it.
        cursor: The byte of it at which the cursor is, None where that is not known.
    """

    text: str
    start: int
    end: int
    is_end: bool = True
    ends: str = _TEXT_ENDS
    parse_specials: bool = True
    is_alone: bool = False
    id: int | None = None
    is_point: bool = False
    note: str = ""
    cursor: int | None = None

    @property
    def data(self) -> bytes:
        """The bytes of the stretch."""
        return bytetext.to_bytes(self.text)[self.start : self.end]

    def is_in(self, tok: Tokenizer) -> bool:
        """Tell whether a tokenizer makes the token of the text, where it is."""
        story = tok.tokenize_byte_text(self.text, self.parse_specials)
        spans = zip(story.byte_spans.tolist(), story.ids, strict=True)
        return any(
            (start, end, token_id) == (self.start, self.end, self.id)
            for (start, end), token_id in spans
        )


@dataclass(frozen=True, slots=True)
class PieceCut:
    """A piece that the stretch touches.

    Attributes:
        piece: Its bytes.
        alternative: The alternative of the pattern that takes it, None if that is not known.
        sentences: What took it, and why it ends where it does.
        trace: How it is encoded, merge by merge; None where that is not known.
    """

    piece: bytes
    alternative: Alternative | None
    sentences: tuple[Sentence, ...]
    trace: EncodeTrace | None


@dataclass(frozen=True, slots=True)
class Why:
    """What one tokenizer makes of a stretch, and why.

    Attributes:
        tokenizer: Its name.
        pattern: The name of its split pattern.
        regex: That pattern's regex; empty if no regex of ours cuts its pieces.
        tokens: The tokens that the stretch touches, with their ids.
        n_tokens: How many there are; not all may be listed.
        cuts: The pieces that it touches.
        n_pieces: How many there are.
        one: Why the stretch is not one token, or that it is; of a token, why its piece is not.
        lineage: How the token was made, if it is only one.
        notes: What is not known, and what there is to know besides.
        at_end: Which tokens at the end of the text may still change, if the stretch is there.
    """

    tokenizer: str
    pattern: str
    regex: str
    tokens: tuple[tuple[bytes, int], ...] = ()
    n_tokens: int = 0
    cuts: tuple[PieceCut, ...] = ()
    n_pieces: int = 0
    one: Explanation | None = None
    lineage: LineageNode | None = None
    notes: tuple[Sentence, ...] = ()
    at_end: tuple[Sentence, ...] = ()


# -- what is asked about


def token_place(live: LiveDocument, index: int) -> Place:
    """Ask about a token of a document."""
    token = live.token(index)
    start, text, is_end = _window(live, token.start, token.end)
    first = live.byte_offset(start)
    return Place(
        text,
        token.byte_start - first,
        token.byte_end - first,
        is_end,
        _TEXT_ENDS if is_end else "",
        live.parse_specials,
        id=token.id,
    )


def selected_place(live: LiveDocument, start: int, end: int) -> Place:
    """Ask about the characters of a document from `start` to `end`."""
    first, text, is_end = _window(live, start, min(end, start + MOST_BYTES))
    byte = live.byte_offset(first)
    return Place(
        text,
        live.byte_offset(start) - byte,
        live.byte_offset(end) - byte,
        is_end,
        _TEXT_ENDS if is_end else "",
        live.parse_specials,
    )


def bytes_place(data: bytes, token_id: int | None = None) -> Place:
    """Ask about bytes that stand alone, such as a token of a vocabulary."""
    text = bytetext.from_bytes(data)
    return Place(text, 0, len(data), False, "it stands alone here", is_alone=True, id=token_id)


def rendered_place(rendering: Rendering, index: int) -> Place:
    """Ask about a token of a rendered conversation.

    What stands between two special tokens is taken as one text where that is encoded to the same
    token; else only the part of the conversation that it is in is.
    """
    tok = rendering.tokenizer
    if rendering.is_special(index):
        place = _among(rendering, index, index, index + 1, specials=True)
        return place if place.is_in(tok) else replace(place, note=_VIRTUAL)
    start, stop = (_reach(rendering, index, step, lambda number: ()) for step in (-1, 1))
    place = _among(rendering, index, start, stop + 1)
    if place.is_in(tok):
        return place
    columns = rendering.from_structure, rendering.message_of, rendering.part_of
    start, stop = (
        _reach(rendering, index, step, lambda number: tuple(one[number] for one in columns))
        for step in (-1, 1)
    )
    return _among(rendering, index, start, stop + 1)


_VIRTUAL = (
    "The template asks for this special token, and the vocabulary does not hold it: this is what "
    "becomes of its text."
)
_NEAR = 2000
"""Tokens of a conversation on either side that are looked at."""


def _reach(
    rendering: Rendering, index: int, step: int, origin: Callable[[int], tuple[int, ...]]
) -> int:
    """Find the last token in a direction before a special one and before another origin."""
    here = index
    while 0 <= here + step < len(rendering) and abs(here + step - index) < _NEAR:
        if rendering.is_special(here + step) or origin(here + step) != origin(index):
            break
        here += step
    return here


def _among(
    rendering: Rendering, index: int, start: int, stop: int, *, specials: bool = False
) -> Place:
    """Ask about a token among the tokens from `start` to `stop`."""
    data = [rendering.token_bytes(number) for number in range(start, stop)]
    first = sum(map(len, data[: index - start]))
    ends = "its part of the conversation ends there"
    if stop == len(rendering):
        ends = "the conversation ends there"
    elif rendering.is_special(stop):
        ends = "a special token comes next"
    return Place(
        bytetext.from_bytes(b"".join(data)),
        first,
        first + len(data[index - start]),
        False,
        ends,
        specials,
        id=rendering.ids[index],
    )


def _window(live: LiveDocument, start: int, end: int) -> tuple[int, str, bool]:
    """Give the characters around a stretch: the first one, the text, whether it is the last."""
    first, last = max(0, start - WINDOW), min(end + WINDOW, live.n_chars)
    if first:
        before = live.text_in(first, start)
        pattern = None if live.tokenizer is None else live.tokenizer.split_pattern
        safe = None if pattern is None or pattern.safe_cut is None else pattern.safe_cut
        found = compiled_cut(safe).search(before, 2) if safe else None
        first += max(0, before.find("\n") + 1) if found is None else found.start()
    return first, live.text_in(first, last), last == live.n_chars


# -- the answer


def explain(tok: Tokenizer, place: Place, *, end: bool = True) -> Why:
    """Say what a tokenizer makes of a stretch of a text, and why.

    It may ask a child process, if the tokenizer's pattern is guarded or it encodes elsewhere.

    Args:
        tok: The tokenizer.
        place: The stretch.
        end: Whether to find out, too, which tokens at the end of the text may change, if the
            stretch is there: that takes longer than all the rest.
    """
    regex = "" if tok.remote else tok.split_pattern.regex
    empty = Why(tok.name, tok.split_pattern.name, regex)
    if place.start >= place.end:
        return _noted(empty, "There is no text here: there are no tokens to explain.")
    if place.end - place.start > MOST_BYTES:
        return _noted(empty, f"More than {MOST_BYTES:,} bytes are too many to explain at once.")
    try:
        with tolerant() as stuck:
            found = _explained(tok, _around(tok, place) if place.is_point else place, empty, end)
    except TokvizError as error:
        return _noted(empty, why(f"{tok.name} gives no answer", error))
    notes = [*found.notes, *((why("A stretch of it is one piece", slow),) for slow in stuck[:1])]
    return replace(found, notes=tuple(notes))


def _around(tok: Tokenizer, place: Place) -> Place:
    """Ask about the whole token at a point."""
    story = tok.tokenize_byte_text(place.text, place.parse_specials)
    for token_id, (start, end) in zip(story.ids, story.byte_spans.tolist(), strict=True):
        if start <= place.start < end:
            return replace(place, start=start, end=end, id=token_id, is_point=False)
    return place


def _explained(tok: Tokenizer, place: Place, empty: Why, end: bool) -> Why:
    story = tok.tokenize_byte_text(place.text, place.parse_specials)
    touched = [
        number
        for number, (start, end) in enumerate(story.byte_spans.tolist())
        if start < place.end and end > place.start
    ]
    if not touched:
        return replace(empty, notes=(LEFT_OUT,))
    tokens = tuple((tok.token_bytes(story.ids[n]), story.ids[n]) for n in touched[:MOST_TOKENS])
    pieces = list(_pieces(tok, place))
    near = [piece for piece in pieces if piece.start < place.end and piece.end > place.start]
    cuts = tuple(_cut(tok, piece, place) for piece in near[:MOST_PIECES])
    whole = place.data
    # A token is explained with its piece: that is what its merges work on.
    asked = near[0].data if len(near) == 1 and place.id is not None else whole
    found = replace(
        empty,
        tokens=tokens,
        n_tokens=len(touched),
        cuts=cuts,
        n_pieces=len(near),
        one=why_not_one_token(tok, asked, place.parse_specials),
        notes=tuple(_notes(tok, place, [token_id for _, token_id in tokens])),
    )
    if end and place.is_end and len(story.ids) - touched[-1] <= _NEAR_END and not tok.remote:
        unstable = unstable_end(tok, place.text, place.parse_specials)
        if place.end >= len(bytetext.to_bytes(place.text)) - len(unstable.data):
            found = replace(found, at_end=tuple(sentences_of(unstable)))
    if len(touched) != 1:
        return found
    node = lineage(tok, tokens[0][1])
    return found if tok.remote and node.merge is None else replace(found, lineage=node)


def _noted(found: Why, sentence: str) -> Why:
    return replace(found, notes=((sentence,),))


def _notes(tok: Tokenizer, place: Place, ids: list[int]) -> Iterator[Sentence]:
    if place.note:
        yield (place.note,)
    if tok.remote:
        yield (
            "Its own library encodes for this tokenizer, in another process: it says which tokens "
            "it makes, not which part of its pattern cut a piece and which merges it applied.",
        )
    elif tok.changes(place.text):
        yield ("The text is composed (Unicode's NFC) before the pattern cuts it.",)
    if place.id not in (None, ELSEWHERE) and ids != [place.id] and not place.note:
        if place.is_alone:
            yield (f"Standing alone, this text never becomes the token with the id {place.id}: "
                   "encoding gives other tokens.",)  # fmt: skip
        else:
            yield ("In the whole text the tokens here are others: this is what becomes of the part "
                   "of it that was looked at.",)  # fmt: skip
    yield from _borders(tok, place, ids)


def _borders(tok: Tokenizer, place: Place, ids: list[int]) -> Iterator[Sentence]:
    """Say so if the stretch begins or ends inside a token."""
    if place.id is None and not tok.lossy and not tok.remote:
        data = b"".join(tok.token_bytes(token_id) for token_id in ids)
        if len(ids) < MOST_TOKENS and data != place.data:
            yield ("The selection begins or ends inside a token.",)


# -- the pieces


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece: its bytes, where they stand, and where in which text the pattern found it."""

    data: bytes
    start: int
    end: int
    text: str = ""
    first: int = 0
    last: int = 0
    special: bool = False
    gap: bool = False
    behind: str = ""
    """The special token behind the text, if one is."""


def _pieces(tok: Tokenizer, place: Place) -> Iterator[_Piece]:
    """Give the pieces of a text, each with the text that the pattern saw."""
    if tok.remote:
        ends = [0, *(end for _, end in tok.split_byte_text(place.text, place.parse_specials))]
        offsets = list(accumulate(map(bytetext.n_bytes, place.text), initial=0))
        for first, last in pairwise(ends):
            data = bytetext.to_bytes(place.text[first:last])
            yield _Piece(data, offsets[first], offsets[last], special=_is_special(tok, data))
        return
    parts = list(segments(place.text, tok.specials.search(place.parse_specials)))
    at = 0
    for number, (part, special) in enumerate(parts):
        if special:
            data = bytetext.to_bytes(part)
            yield _Piece(data, at, at + len(data), special=True)
            at += len(data)
            continue
        behind = parts[number + 1][0] if number + 1 < len(parts) else ""
        text = nfc(part) if tok.nfc else part
        places = origins(part, bytetext.n_bytes) if tok.changes(part) else None
        sizes = list(accumulate(map(bytetext.n_bytes, text), initial=0))
        cut = split(tok.split_pattern, text)
        gaps = set(cut.gaps)
        for index, (first, last) in enumerate(cut.spans()):
            start, end = sizes[first], sizes[last]
            if places is not None:
                start, end = places[start], places[end]
            data = bytetext.to_bytes(text[first:last])
            gap = index in gaps
            yield _Piece(data, at + start, at + end, text, first, last, False, gap, behind)
        at += len(bytetext.to_bytes(part))


def _is_special(tok: Tokenizer, data: bytes) -> bool:
    try:
        return data.decode() in tok.special_tokens
    except UnicodeDecodeError:
        return False


def _cut(tok: Tokenizer, piece: _Piece, place: Place) -> PieceCut:
    """Say what took a piece and why it ends where it does."""
    sentence: Sentence
    if piece.special:
        sentence = (
            piece.data, " is a special token: it is cut out of the text before the pattern sees "
            "it, and nothing merges with it.",
        )  # fmt: skip
        return PieceCut(piece.data, None, (sentence,), None)
    if tok.remote:
        return PieceCut(piece.data, None, (), None)
    pattern = tok.split_pattern
    trace = encode_trace(tok, piece.data)
    if piece.gap:
        sentence = (
            "No alternative matches here. What the regex leaves out is kept as a piece of its own.",
        )
        return PieceCut(piece.data, None, (sentence,), trace)
    try:
        cut = _how(pattern, piece)
    except TokvizError as error:
        sentence = (why("The alternative is not known", error),)
        return PieceCut(piece.data, None, (sentence,), trace)
    if cut.alternative is None:
        sentence = (
            "It is not known which alternative took it: the parts of this regex depend on each "
            "other.",
        )
        return PieceCut(piece.data, None, (sentence, *_ending(piece, cut, place)), trace)
    sentences = (_taken(pattern, cut.alternative), *_ending(piece, cut, place))
    return PieceCut(piece.data, cut.alternative, sentences, trace)


def _how(pattern: SplitPattern, piece: _Piece) -> Cut:
    """Ask the pattern where it may run: a guarded one only in the child."""
    if pattern.guarded:
        from tokviz.pretokenize.guard import guarded_cut

        return guarded_cut(pattern, piece.text, piece.first, piece.last)
    return cut_of(pattern, piece.text, piece.first, piece.last)


def _taken(pattern: SplitPattern, alternative: Alternative) -> Sentence:
    words = f": {alternative.words}" if alternative.words else ""
    if alternative.n_alternatives == 1:
        return (f"The pattern {pattern.name} has one alternative, which takes it{words}.",)
    return (
        f"Alternative {alternative.number} of {alternative.n_alternatives} of the pattern "
        f"{pattern.name} takes it{words}.",
    )


def _ending(piece: _Piece, cut: Cut, place: Place) -> Iterator[Sentence]:
    """Say why a piece ends where it does."""
    behind = piece.text[piece.last : piece.last + 1]
    if not behind:
        if piece.behind:
            special = piece.behind.encode("utf-8", "surrogateescape")
            yield ("It ends because the special token ", special, " comes next.")
        elif place.ends:
            yield (f"It ends because {place.ends}.",)
        else:
            yield ("Where it ends is not known: it is too long to be looked at whole.",)
        return
    shown, what = bytetext.to_bytes(behind), character_words(behind)
    given_back = bytetext.to_bytes(piece.text[piece.last : cut.reach])
    if cut.limit == "most":
        yield (f"It ends because {cut.limited_by} takes no more, though ", shown,
               f", {what}, comes next.")  # fmt: skip
    elif cut.limit == "look":
        after = piece.text[cut.reach : cut.reach + 1]
        yield (
            "It could take ", given_back, f" too, but {cut.limited_by} looks ahead: ",
            bytetext.to_bytes(after) or "the end", f", {character_words(after)}, stands behind, so "
            "the last character is given back.",
        )  # fmt: skip
    else:
        yield ("It ends because ", shown,
               f", {what}, comes next, which this alternative does not take.")  # fmt: skip
    if cut.longer and cut.limit != "look":
        longer = bytetext.to_bytes(piece.text[piece.first : cut.longer_end])
        yield (f"Alternative {cut.longer} would take ", longer,
               ", but the first alternative that matches wins.")  # fmt: skip


_SPACES = {
    " ": "a space", "\n": "a line feed", "\r": "a carriage return", "\t": "a tab",
    "\xa0": "a no-break space",
}  # fmt: skip
_CATEGORIES = {
    "Lu": "a capital letter", "Ll": "a small letter", "L": "a letter", "M": "a combining mark",
    "Nd": "a digit", "N": "a number", "P": "a punctuation mark", "S": "a symbol",
    "Z": "white space", "Cn": "an unassigned character", "C": "a control character",
}  # fmt: skip


def character_words(character: str) -> str:
    r"""Say what sort of character one is.

    >>> [character_words(one) for one in "a7 \n("]
    ['a small letter', 'a digit', 'a space', 'a line feed', 'a punctuation mark']
    """
    if not character:
        return "nothing"
    if bytetext.has_raw_bytes(character):
        return "a byte that is not part of a character"
    if character in _SPACES:
        return _SPACES[character]
    if character.isspace():
        return "white space"
    category = unicodedata.category(character)
    return _CATEGORIES.get(category) or _CATEGORIES[category[0]]


def as_text(found: Why) -> str:
    """Write an answer down, as it is copied."""
    lines = [f"{found.tokenizer} (pattern {found.pattern})"]
    if found.tokens:
        lines.append(" ".join(f"{token_id} {token!r}" for token, token_id in found.tokens))
    lines += [said([note]) for note in found.notes]
    for cut in found.cuts:
        lines += ["", f"The piece {cut.piece!r}"]
        if cut.alternative is not None:
            lines.append(f"  {found.regex[slice(*cut.alternative.span)]}")
        lines += [f"  {said([sentence])}" for sentence in cut.sentences]
        if cut.trace is not None:
            for step in cut.trace.steps:
                lines.append(f"  {step.number:>7,}  {step.left!r} + {step.right!r}")
            lines += [f"  {cut.trace.note}"] if cut.trace.note else []
    if found.n_pieces > len(found.cuts):
        lines += ["", f"… {counted(found.n_pieces - len(found.cuts), 'more piece')}"]
    if found.one is not None:
        lines += ["", str(found.one)]
    if found.lineage is not None:
        lines += ["", *map(str, render_lineage(found.lineage))]
    if found.at_end:
        lines += ["", said(found.at_end)]
    return "\n".join(lines)
