"""Explanations of a token or selection: what cut its pre-tokens, and which merges made it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

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
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, failure_message, format_sentences, pluralize
from tokviz.tokenizer.encoding.normalization import nfc, origins
from tokviz.tokenizer.encoding.specials import segments
from tokviz.tokenizer.pretokenize.alternatives import Alternative, Cut, cut_of
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, compiled_cut
from tokviz.tokenizer.pretokenize.split import split

if TYPE_CHECKING:
    from tokviz.chat.rendering import Rendering
    from tokviz.live.document import LiveDocument
    from tokviz.tokenizer.tokenizer import Tokenizer

MOST_PRE_TOKENS = 8
"""Maximum number of pre-tokens of a selection that are explained."""
MOST_TOKENS = 256
"""Maximum number of tokens of a selection that are listed."""
MOST_BYTES = 16_384
"""Maximum length of a selection that is explained."""
WINDOW = 4096
"""Number of characters considered on either side in a long text."""
_NEAR_END = 4
"""The end is explained only for this many of the last tokens."""


ELSEWHERE = -1
"""The id of a token that another tokenizer than its own explains."""
_TEXT_ENDS = "the text ends there"


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a text to explain.

    Attributes:
        text: Byte text around it, starting at a pre-token.
        start: Its first byte in `text`.
        end: The byte after it.
        is_end: Whether `text` ends where the user may continue writing.
        ends: A description of what ends at the end of `text`; empty if `text` is only a window.
        parse_specials: Whether special tokens in `text` are recognized.
        is_alone: Whether there is no surrounding text, as on a token's page.
        id: The id of the token to explain, None for a selection; `ELSEWHERE` for a token of
            another tokenizer.
        is_point: Whether to explain whichever token is at `start`.
        note: An additional note.
        cursor: The byte at which the cursor is, None if unknown.
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
        """Return whether a tokenizer produces this token at this place of the text."""
        tokenization = tok.tokenize_byte_text(self.text, self.parse_specials)
        spans = zip(tokenization.byte_spans.tolist(), tokenization.ids, strict=True)
        return any(
            (start, end, token_id) == (self.start, self.end, self.id)
            for (start, end), token_id in spans
        )


@dataclass(frozen=True, slots=True)
class PreTokenCut:
    """A pre-token that the stretch touches.

    Attributes:
        pre_token: Its bytes.
        alternative: The alternative of the split pattern that matches it, None if unknown.
        sentences: What matched it, and why it ends where it does.
        trace: Its encoding, merge by merge; None if unknown.
    """

    pre_token: bytes
    alternative: Alternative | None
    sentences: tuple[Sentence, ...]
    trace: EncodeTrace | None


@dataclass(frozen=True, slots=True)
class Why:
    """One tokenizer's encoding of a stretch, with an explanation.

    Attributes:
        tokenizer: Name of the tokenizer.
        pattern: Name of its split pattern.
        regex: The regex of that pattern; empty if its own library splits the text.
        tokens: The tokens that the stretch touches, with their ids.
        n_tokens: Their number; not all may be listed.
        cuts: The pre-tokens that it touches.
        n_pre_tokens: Their number.
        one: Why the stretch is not one token, or that it is; for a token, the same about its
            pre-token.
        lineage: The merges that made the token, if it is only one.
        notes: Unknown facts and other notes.
        at_end: Description of unstable tokens, if the stretch is at the end of the text.
    """

    tokenizer: str
    pattern: str
    regex: str
    tokens: tuple[tuple[bytes, int], ...] = ()
    n_tokens: int = 0
    cuts: tuple[PreTokenCut, ...] = ()
    n_pre_tokens: int = 0
    one: Explanation | None = None
    lineage: LineageNode | None = None
    notes: tuple[Sentence, ...] = ()
    at_end: tuple[Sentence, ...] = ()


# -- places to explain


def token_place(live: LiveDocument, index: int) -> Place:
    """Return the place of a token of a document."""
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
    """Return the place of the characters of a document from `start` to `end`."""
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
    """Return a place for bytes without surrounding text, such as a token of a vocabulary."""
    text = bytetext.from_bytes(data)
    return Place(text, 0, len(data), False, "no text follows", is_alone=True, id=token_id)


def rendered_place(rendering: Rendering, index: int) -> Place:
    """Return the place of a token of a rendered conversation.

    The text between two special tokens is taken as a whole if encoding it yields the same token;
    otherwise only the token's part of the conversation is.
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
    "The template uses this special token, but the vocabulary lacks it. This is the encoding of "
    "its text."
)
_NEAR = 2000
"""Number of tokens of a conversation considered on either side."""


def _reach(
    rendering: Rendering, index: int, step: int, origin: Callable[[int], tuple[int, ...]]
) -> int:
    """Return the last token in a direction before a special token or another origin."""
    here = index
    while 0 <= here + step < len(rendering) and abs(here + step - index) < _NEAR:
        if rendering.is_special(here + step) or origin(here + step) != origin(index):
            break
        here += step
    return here


def _among(
    rendering: Rendering, index: int, start: int, stop: int, *, specials: bool = False
) -> Place:
    """Return the place of a token among the tokens from `start` to `stop`."""
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
    """Return the first character, text and whether it is the end, of the text around a stretch."""
    first, last = max(0, start - WINDOW), min(end + WINDOW, live.n_chars)
    if first:
        before = live.text_in(first, start)
        pattern = None if live.tokenizer is None else live.tokenizer.split_pattern
        safe = None if pattern is None or pattern.safe_cut is None else pattern.safe_cut
        found = compiled_cut(safe).search(before, 2) if safe else None
        first += max(0, before.find("\n") + 1) if found is None else found.start()
    return first, live.text_in(first, last), last == live.n_chars


# -- explanations


def explain(tok: Tokenizer, place: Place, *, end: bool = True) -> Why:
    """Explain a tokenizer's encoding of a stretch of a text.

    This may use a child process, if the tokenizer's pattern is guarded or it encodes elsewhere.

    Args:
        tok: The tokenizer.
        place: The stretch.
        end: Whether to also find unstable tokens if the stretch is at the end of the text, which
            takes longer than everything else.
    """
    regex = "" if tok.remote else tok.split_pattern.regex
    empty = Why(tok.name, tok.split_pattern.name, regex)
    if place.start >= place.end:
        return _noted(empty, "There is no text here, so there are no tokens to explain.")
    if place.end - place.start > MOST_BYTES:
        return _noted(empty, f"Select at most {MOST_BYTES:,} bytes: this is too long to explain.")
    try:
        return _explained(tok, _around(tok, place) if place.is_point else place, empty, end)
    except TokvizError as error:
        return _noted(empty, failure_message(f"{tok.name} gives no answer", error))


def _around(tok: Tokenizer, place: Place) -> Place:
    """Return the place of the whole token at a point."""
    tokenization = tok.tokenize_byte_text(place.text, place.parse_specials)
    for token_id, (start, end) in zip(
        tokenization.ids, tokenization.byte_spans.tolist(), strict=True
    ):
        if start <= place.start < end:
            return replace(place, start=start, end=end, id=token_id, is_point=False)
    return place


def _explained(tok: Tokenizer, place: Place, empty: Why, end: bool) -> Why:
    tokenization = tok.tokenize_byte_text(place.text, place.parse_specials)
    touched = [
        number
        for number, (start, end) in enumerate(tokenization.byte_spans.tolist())
        if start < place.end and end > place.start
    ]
    if not touched:
        return replace(empty, notes=(LEFT_OUT,))
    tokens = tuple(
        (tok.token_bytes(tokenization.ids[n]), tokenization.ids[n]) for n in touched[:MOST_TOKENS]
    )
    pre_tokens = list(_pre_tokens(tok, place))
    near = [
        pre_token
        for pre_token in pre_tokens
        if pre_token.start < place.end and pre_token.end > place.start
    ]
    cuts = tuple(_cut(tok, pre_token, place) for pre_token in near[:MOST_PRE_TOKENS])
    whole = place.data
    # Explain a token together with its pre-token, because merges are applied to pre-tokens.
    asked = near[0].data if len(near) == 1 and place.id is not None else whole
    found = replace(
        empty,
        tokens=tokens,
        n_tokens=len(touched),
        cuts=cuts,
        n_pre_tokens=len(near),
        one=why_not_one_token(tok, asked, place.parse_specials),
        notes=tuple(_notes(tok, place, [token_id for _, token_id in tokens])),
    )
    if end and place.is_end and len(tokenization.ids) - touched[-1] <= _NEAR_END and not tok.remote:
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
            "This tokenizer's own library encodes in another process. It reports the tokens, but "
            "not which part of its pattern cut a pre-token and which merges were applied.",
        )
    elif tok.changes(place.text):
        yield ("The text is normalized to Unicode NFC before the pattern cuts it.",)
    if place.id not in (None, ELSEWHERE) and ids != [place.id] and not place.note:
        if place.is_alone:
            yield (f"Encoded alone, this text never becomes token {place.id}: encoding produces "
                   "other tokens.",)  # fmt: skip
        else:
            yield ("In the whole text, the tokens here are different: this is the encoding of a "
                   "part of it.",)  # fmt: skip
    yield from _borders(tok, place, ids)


def _borders(tok: Tokenizer, place: Place, ids: list[int]) -> Iterator[Sentence]:
    """Note that the stretch starts or ends inside a token."""
    if place.id is None and not tok.lossy and not tok.remote:
        data = b"".join(tok.token_bytes(token_id) for token_id in ids)
        if len(ids) < MOST_TOKENS and data != place.data:
            yield ("The selection starts or ends inside a token.",)


# -- pre-tokens


@dataclass(frozen=True, slots=True)
class _PreToken:
    """A pre-token: its bytes, their span in the place's text, and its span in the split text."""

    data: bytes
    start: int
    end: int
    text: str = ""
    first: int = 0
    last: int = 0
    special: bool = False
    gap: bool = False
    behind: str = ""
    """The special token after the split text, or empty."""


def _pre_tokens(tok: Tokenizer, place: Place) -> Iterator[_PreToken]:
    """Yield the pre-tokens of a text, each with the text that the pattern was applied to."""
    if tok.remote:
        ends = [0, *(end for _, end in tok.split_byte_text(place.text, place.parse_specials))]
        offsets = list(accumulate(map(bytetext.n_bytes, place.text), initial=0))
        for first, last in pairwise(ends):
            data = bytetext.to_bytes(place.text[first:last])
            yield _PreToken(data, offsets[first], offsets[last], special=_is_special(tok, data))
        return
    parts = list(segments(place.text, tok.specials.search(place.parse_specials)))
    at = 0
    for number, (part, special) in enumerate(parts):
        if special:
            data = bytetext.to_bytes(part)
            yield _PreToken(data, at, at + len(data), special=True)
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
            yield _PreToken(data, at + start, at + end, text, first, last, False, gap, behind)
        at += len(bytetext.to_bytes(part))


def _is_special(tok: Tokenizer, data: bytes) -> bool:
    try:
        return data.decode() in tok.special_tokens
    except UnicodeDecodeError:
        return False


def _cut(tok: Tokenizer, pre_token: _PreToken, place: Place) -> PreTokenCut:
    """Explain what matched a pre-token and why it ends where it does."""
    sentence: Sentence
    if pre_token.special:
        sentence = (
            pre_token.data, " is a special token: it is cut out of the text before the pattern is "
            "applied, and never merges with other text.",
        )  # fmt: skip
        return PreTokenCut(pre_token.data, None, (sentence,), None)
    if tok.remote:
        return PreTokenCut(pre_token.data, None, (), None)
    pattern = tok.split_pattern
    trace = encode_trace(tok, pre_token.data)
    if pre_token.gap:
        sentence = ("No alternative matches here, so this text becomes a pre-token by itself.",)
        return PreTokenCut(pre_token.data, None, (sentence,), trace)
    try:
        cut = _how(pattern, pre_token)
    except TokvizError as error:
        sentence = (failure_message("The alternative is unknown", error),)
        return PreTokenCut(pre_token.data, None, (sentence,), trace)
    if cut.alternative is None:
        sentence = (
            "It is unknown which alternative matched it, because the parts of this regex depend on "
            "each other.",
        )
        return PreTokenCut(pre_token.data, None, (sentence, *_ending(pre_token, cut, place)), trace)
    sentences = (_taken(pattern, cut.alternative), *_ending(pre_token, cut, place))
    return PreTokenCut(pre_token.data, cut.alternative, sentences, trace)


def _how(pattern: SplitPattern, pre_token: _PreToken) -> Cut:
    """Ask the pattern for the match; a guarded pattern runs only in a child process."""
    if pattern.guarded:
        from tokviz.tokenizer.pretokenize.guard import guarded_cut

        return guarded_cut(pattern, pre_token.text, pre_token.first, pre_token.last)
    return cut_of(pattern, pre_token.text, pre_token.first, pre_token.last)


def _taken(pattern: SplitPattern, alternative: Alternative) -> Sentence:
    words = f": {alternative.words}" if alternative.words else ""
    if alternative.n_alternatives == 1:
        return (f"The pattern {pattern.name} has one alternative, which matches it{words}.",)
    return (
        f"Alternative {alternative.number} of {alternative.n_alternatives} of the pattern "
        f"{pattern.name} matches it{words}.",
    )


def _ending(pre_token: _PreToken, cut: Cut, place: Place) -> Iterator[Sentence]:
    """Explain why a pre-token ends where it does."""
    behind = pre_token.text[pre_token.last : pre_token.last + 1]
    if not behind:
        if pre_token.behind:
            special = pre_token.behind.encode("utf-8", "surrogateescape")
            yield ("It ends because the special token ", special, " comes next.")
        elif place.ends:
            yield (f"It ends because {place.ends}.",)
        else:
            yield ("Its end is unknown, because it is too long to be examined.",)
        return
    shown, what = bytetext.to_bytes(behind), character_words(behind)
    given_back = bytetext.to_bytes(pre_token.text[pre_token.last : cut.reach])
    if cut.limit == "most":
        yield (f"It ends because {cut.limited_by} matches no more, although ", shown,
               f", {what}, comes next.")  # fmt: skip
    elif cut.limit == "look":
        after = pre_token.text[cut.reach : cut.reach + 1]
        yield (
            "It could match ", given_back, f" too, but {cut.limited_by} looks ahead: ",
            bytetext.to_bytes(after) or "the end", f", {character_words(after)}, follows, so the "
            "last character is given back.",
        )  # fmt: skip
    else:
        yield ("It ends because ", shown,
               f", {what}, comes next, which this alternative does not match.")  # fmt: skip
    if cut.longer and cut.limit != "look":
        longer = bytetext.to_bytes(pre_token.text[pre_token.first : cut.longer_end])
        yield (f"Alternative {cut.longer} would match ", longer,
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
    r"""Describe the category of a character.

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
    """Return an explanation as plain text, for copying."""
    lines = [f"{found.tokenizer} (pattern {found.pattern})"]
    if found.tokens:
        lines.append(" ".join(f"{token_id} {token!r}" for token, token_id in found.tokens))
    lines += [format_sentences([note]) for note in found.notes]
    for cut in found.cuts:
        lines += ["", f"The pre-token {cut.pre_token!r}"]
        if cut.alternative is not None:
            lines.append(f"  {found.regex[slice(*cut.alternative.span)]}")
        lines += [f"  {format_sentences([sentence])}" for sentence in cut.sentences]
        if cut.trace is not None:
            for step in cut.trace.steps:
                lines.append(f"  {step.number:>7,}  {step.left!r} + {step.right!r}")
            lines += [f"  {cut.trace.note}"] if cut.trace.note else []
    if found.n_pre_tokens > len(found.cuts):
        lines += ["", f"… {pluralize(found.n_pre_tokens - len(found.cuts), 'more pre-token')}"]
    if found.one is not None:
        lines += ["", str(found.one)]
    if found.lineage is not None:
        lines += ["", *map(str, render_lineage(found.lineage))]
    if found.at_end:
        lines += ["", format_sentences(found.at_end)]
    return "\n".join(lines)
