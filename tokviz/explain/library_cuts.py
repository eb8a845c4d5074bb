"""Explanations of pre-tokens of tokenizers that a library encodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokviz.errors import TokvizError
from tokviz.explain.algorithms.story import Story
from tokviz.explain.places import Place
from tokviz.explain.pre_token_cuts import PreTokenCut, special_cut
from tokviz.explain.trace import Explanation
from tokviz.formats.huggingface_tokenizer import LibraryTextEncoder
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, failure_message

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer


def library_cuts(
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


def explanation_of(story: Story) -> Explanation:
    """Explain why a pre-token is or is not one token."""
    if len(story.tokens) == 1:
        token, token_id = story.tokens[0]
        return Explanation("one token", (("Here it is the token ", token, f", id {token_id}."),))
    if story.whole is None:
        lacking: Sentence = ("The vocabulary has no token ", story.text, ".")
        return Explanation("not in the vocabulary", (lacking,))
    held = f"The vocabulary contains it (id {story.whole}), but the steps lead to other tokens."
    return Explanation("unreachable", ((held,),))
