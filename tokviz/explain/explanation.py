"""Explanations of a token or selection: what cut its pre-tokens, and which merges made it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokviz.errors import TokvizError
from tokviz.explain.algorithms.story import Story
from tokviz.explain.places import ELSEWHERE, MOST_BYTES, Place
from tokviz.explain.pre_token_cuts import PreTokenCut, explain_cut, pre_tokens_of, special_cut
from tokviz.explain.stability import sentences_of, unstable_end
from tokviz.explain.trace import (
    LEFT_OUT,
    Explanation,
    LineageNode,
    lineage,
    render_lineage,
    why_not_one_token,
)  # fmt: skip
from tokviz.formats.huggingface_tokenizer import LibraryTextEncoder
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, failure_message, format_sentences, pluralize

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

MOST_PRE_TOKENS = 8
"""Maximum number of pre-tokens of a selection that are explained."""
MOST_TOKENS = 256
"""Maximum number of tokens of a selection that are listed."""
_NEAR_END = 4
"""The end is explained only for this many of the last tokens."""


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
        single_token: Explanation of why the stretch is or is not one token; for a token, the same
            about its pre-token.
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
    single_token: Explanation | None = None
    lineage: LineageNode | None = None
    notes: tuple[Sentence, ...] = ()
    at_end: tuple[Sentence, ...] = ()

    def brief(self) -> Why:
        """Return the explanation with only the best paths through a Unigram model's lattice."""
        cuts = (replace(cut, story=cut.story and cut.story.brief()) for cut in self.cuts)
        return replace(self, cuts=tuple(cuts))


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
    tokenization = tok.byte_text.tokenize(place.text, place.parse_specials)
    for token_id, (start, end) in zip(
        tokenization.ids, tokenization.byte_spans.tolist(), strict=True
    ):
        if start <= place.start < end:
            return replace(place, start=start, end=end, id=token_id, is_point=False)
    return place


def _explained(tok: Tokenizer, place: Place, empty: Why, end: bool) -> Why:
    tokenization = tok.byte_text.tokenize(place.text, place.parse_specials)
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
    spans = tokenization.byte_spans.tolist()
    if tok.remote:
        cuts, n_pre_tokens = _library_cuts(tok, place, spans, range(touched[0], touched[-1] + 1))
    else:
        found = pre_tokens_of(tok, place)
        near = [one for one in found if one.start < place.end and one.end > place.start]
        cuts = tuple(explain_cut(tok, pre_token, place) for pre_token in near[:MOST_PRE_TOKENS])
        n_pre_tokens = len(near)
    # Explain a token together with its pre-token, because merges are applied to pre-tokens.
    is_whole = n_pre_tokens == 1 and (place.id is not None or cuts[0].pre_token == place.data)
    explained = cuts[0].pre_token if is_whole else place.data
    if is_whole and cuts[0].story is not None:
        single_token = _explanation_of(cuts[0].story)
    else:
        single_token = why_not_one_token(tok, explained, place.parse_specials)
    why = replace(
        empty,
        tokens=tokens,
        n_tokens=len(touched),
        cuts=cuts,
        n_pre_tokens=n_pre_tokens,
        single_token=single_token,
        notes=tuple(_notes(tok, place, [token_id for _, token_id in tokens])),
    )
    if end and place.is_end and len(tokenization.ids) - touched[-1] <= _NEAR_END and not tok.remote:
        unstable = unstable_end(tok, place.text, place.parse_specials)
        if place.end >= len(bytetext.to_bytes(place.text)) - len(unstable.data):
            why = replace(why, at_end=tuple(sentences_of(unstable)))
    if len(touched) != 1:
        return why
    node = lineage(tok, tokens[0][1])
    return why if tok.remote and node.merge is None else replace(why, lineage=node)


def _library_cuts(
    tok: Tokenizer, place: Place, spans: Sequence[tuple[int, int]], tokens: range
) -> tuple[tuple[PreTokenCut, ...], int]:
    """Explain the pre-tokens of some tokens, as far as tokviz finds the library's ids itself.

    Args:
        tok: The tokenizer.
        place: The place.
        spans: The byte spans of all tokens of the place's text.
        tokens: The numbers of the tokens.

    Returns:
        The first pre-tokens, and their number.
    """
    data = bytetext.to_bytes(place.text)
    try:
        assert isinstance(tok.byte_text, LibraryTextEncoder)
        answer = tok.byte_text.stories(place.text, place.parse_specials, tokens)
    except TokvizError as error:
        unknown = failure_message("The steps are unknown", error)
        return (PreTokenCut(place.data, None, ((unknown,),), None),), 1
    cuts = []
    for body in answer["stories"]:
        pre_token = data[spans[body["first"]][0] : spans[body["stop"] - 1][1]]
        if "problem" in body:
            cuts.append(PreTokenCut(pre_token, None, ((body["problem"],),), None))
        elif "story" in body:
            story = Story.unpacked(body["story"])
            cuts.append(PreTokenCut(pre_token, None, _read(story, body["changes"]), None, story))
        else:
            cuts.append(special_cut(pre_token))
    return tuple(cuts), answer["n_words"]


def _read(story: Story, changes: Sequence[tuple[str, str]]) -> tuple[Sentence, ...]:
    """Describe what normalization and the pre-tokenizer made of the text."""
    parts: list[str | bytes] = [story.text]
    for before, after in map(lambda change: map(bytetext.to_bytes, change), changes):
        parts += [": " if len(parts) == 1 else ", ", before, " → ", after]
    return ((*parts, "."),) if changes else ()


def _explanation_of(story: Story) -> Explanation:
    """Explain why a pre-token is or is not one token."""
    if len(story.tokens) == 1:
        token, token_id = story.tokens[0]
        return Explanation("one token", (("Here it is the token ", token, f", id {token_id}."),))
    if story.whole is None:
        lacking: Sentence = ("The vocabulary has no token ", story.text, ".")
        return Explanation("not in the vocabulary", (lacking,))
    held = f"The vocabulary contains it (id {story.whole}), but the steps lead to other tokens."
    return Explanation("unreachable", ((held,),))


def _noted(why: Why, sentence: str) -> Why:
    return replace(why, notes=((sentence,),))


def _notes(tok: Tokenizer, place: Place, ids: list[int]) -> Iterator[Sentence]:
    if place.note:
        yield (place.note,)
    if tok.byte_text.changes(place.text) and not tok.remote:
        yield (f"The text is normalized ({tok.normalizer.name}) before the pattern cuts it.",)
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


def as_text(why: Why) -> str:
    """Return an explanation as plain text, for copying."""
    lines = [f"{why.tokenizer} (pattern {why.pattern})"]
    if why.tokens:
        lines.append(" ".join(f"{token_id} {token!r}" for token, token_id in why.tokens))
    lines += [format_sentences([note]) for note in why.notes]
    for cut in why.cuts:
        lines += ["", f"The pre-token {cut.pre_token!r}"]
        if cut.alternative is not None:
            lines.append(f"  {why.regex[slice(*cut.alternative.span)]}")
        lines += [f"  {format_sentences([sentence])}" for sentence in cut.sentences]
        if cut.trace is not None:
            for step in cut.trace.steps:
                lines.append(f"  {step.number:>7,}  {step.left!r} + {step.right!r}")
            lines += [f"  {cut.trace.note}"] if cut.trace.note else []
        if cut.story is not None:
            for row in cut.story.rows:
                lines.append(f"  {row.label:>9}  {' '.join(map(repr, row.tokens))}")
            lines += [f"  {format_sentences([sentence])}" for sentence in cut.story.sentences]
    if why.n_pre_tokens > len(why.cuts):
        lines += ["", f"… {pluralize(why.n_pre_tokens - len(why.cuts), 'more pre-token')}"]
    if why.single_token is not None:
        lines += ["", str(why.single_token)]
    if why.lineage is not None:
        lines += ["", *map(str, render_lineage(why.lineage))]
    if why.at_end:
        lines += ["", format_sentences(why.at_end)]
    return "\n".join(lines)
