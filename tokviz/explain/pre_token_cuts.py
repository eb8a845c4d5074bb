"""Explanations of pre-tokens: what matched them, and why they end where they do."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from tokviz.errors import TokvizError
from tokviz.explain.algorithms.story import Story
from tokviz.explain.places import Place
from tokviz.explain.trace import EncodeTrace, encode_trace
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, failure_message
from tokviz.tokenizer.encoding.specials import segments
from tokviz.tokenizer.pretokenize.alternatives import Alternative, Cut, cut_of
from tokviz.tokenizer.pretokenize.guard import guarded_cut
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.split import split

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class PreTokenCut:
    """A pre-token that the stretch touches.

    Attributes:
        pre_token: Its bytes.
        alternative: The alternative of the split pattern that matches it, None if unknown.
        sentences: What matched it, and why it ends where it does.
        trace: Its encoding, merge by merge; None if unknown.
        story: Its encoding by the model of a library, step by step; None if unknown.
    """

    pre_token: bytes
    alternative: Alternative | None
    sentences: tuple[Sentence, ...]
    trace: EncodeTrace | None
    story: Story | None = None


@dataclass(frozen=True, slots=True)
class PreToken:
    """A pre-token: its bytes, their span in the place's text, and its span in the split text."""

    data: bytes
    start: int
    end: int
    text: str = ""
    first: int = 0
    last: int = 0
    special: bool = False
    gap: bool = False
    next_special: str = ""
    """The special token after the split text, or empty."""


def pre_tokens_of(tok: Tokenizer, place: Place) -> Iterator[PreToken]:
    """Yield the pre-tokens of a text, each with the text that the pattern was applied to.

    Args:
        tok: A tokenizer that is not `remote`.
        place: The place of the text.
    """
    parts = list(segments(place.text, tok.specials.search(place.parse_specials)))
    at = 0
    for number, (part, special) in enumerate(parts):
        if special:
            data = bytetext.to_bytes(part)
            yield PreToken(data, at, at + len(data), special=True)
            at += len(data)
            continue
        next_special = parts[number + 1][0] if number + 1 < len(parts) else ""
        text = tok.normalizer.apply(part)
        places = tok.normalizer.origins(part, bytetext.n_bytes) if text != part else None
        sizes = list(accumulate(map(bytetext.n_bytes, text), initial=0))
        cut = split(tok.split_pattern, text)
        gaps = set(cut.gaps)
        for index, (first, last) in enumerate(cut.spans()):
            start, end = sizes[first], sizes[last]
            if places is not None:
                start, end = places[start], places[end]
            data = bytetext.to_bytes(text[first:last])
            gap = index in gaps
            yield PreToken(data, at + start, at + end, text, first, last, False, gap, next_special)
        at += len(bytetext.to_bytes(part))


def explain_cut(tok: Tokenizer, pre_token: PreToken, place: Place) -> PreTokenCut:
    """Explain what matched a pre-token and why it ends where it does."""
    sentence: Sentence
    if pre_token.special:
        return special_cut(pre_token.data)
    pattern = tok.split_pattern
    trace = encode_trace(tok, pre_token.data)
    if pre_token.gap:
        sentence = ("No alternative matches here, so this text becomes a pre-token by itself.",)
        return PreTokenCut(pre_token.data, None, (sentence,), trace)
    try:
        cut = _cut_of(pattern, pre_token)
    except TokvizError as error:
        sentence = (failure_message("The alternative is unknown", error),)
        return PreTokenCut(pre_token.data, None, (sentence,), trace)
    if cut.step:
        return PreTokenCut(
            pre_token.data, cut.alternative, tuple(_step_sentences(pattern, cut)), trace
        )
    if cut.alternative is None:
        sentence = (
            "It is unknown which alternative matched it, because the parts of this regex depend on "
            "each other.",
        )
    else:
        sentence = _match_sentence(pattern, cut.alternative)
    sentences = (sentence, *_end_sentences(pre_token, cut, place))
    return PreTokenCut(pre_token.data, cut.alternative, sentences, trace)


def _step_sentences(pattern: SplitPattern, cut: Cut) -> Iterator[Sentence]:
    """Explain which of several steps cut a pre-token."""
    n_steps, step = len(pattern.steps), pattern.steps[cut.step - 1]
    words = f": {cut.alternative.words}" if cut.alternative and cut.alternative.words else ""
    what = f"its regex matches it{words}" if cut.alternative else "it cut the text around it"
    yield (
        f"Step {cut.step} of {n_steps} ({step.type}, {step.behavior}) makes it a pre-token: "
        f"{what}.",
    )
    if cut.ended_by and cut.ended_by != cut.step:
        yield (f"Step {cut.ended_by} had cut the text at its end.",)


def special_cut(token: bytes) -> PreTokenCut:
    """Explain why a special token is a pre-token."""
    sentence: Sentence = (
        token, " is a special token: it is cut out of the text before the pattern is applied, and "
        "never merges with other text.",
    )  # fmt: skip
    return PreTokenCut(token, None, (sentence,), None)


def _cut_of(pattern: SplitPattern, pre_token: PreToken) -> Cut:
    """Ask the pattern for the match; a guarded pattern runs only in a child process."""
    if pattern.guarded:
        return guarded_cut(pattern, pre_token.text, pre_token.first, pre_token.last)
    return cut_of(pattern, pre_token.text, pre_token.first, pre_token.last)


def _match_sentence(pattern: SplitPattern, alternative: Alternative) -> Sentence:
    words = f": {alternative.words}" if alternative.words else ""
    if alternative.n_alternatives == 1:
        return (f"The pattern {pattern.name} has one alternative, which matches it{words}.",)
    return (
        f"Alternative {alternative.number} of {alternative.n_alternatives} of the pattern "
        f"{pattern.name} matches it{words}.",
    )


def _end_sentences(pre_token: PreToken, cut: Cut, place: Place) -> Iterator[Sentence]:
    """Explain why a pre-token ends where it does."""
    following = pre_token.text[pre_token.last : pre_token.last + 1]
    if not following:
        if pre_token.next_special:
            special = pre_token.next_special.encode("utf-8", "surrogateescape")
            yield ("It ends because the special token ", special, " comes next.")
        elif place.ends:
            yield (f"It ends because {place.ends}.",)
        else:
            yield ("Its end is unknown, because it is too long to be examined.",)
        return
    shown, what = bytetext.to_bytes(following), character_words(following)
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

    >>> [character_words(char) for char in "a7 \n("]
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
