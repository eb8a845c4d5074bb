"""Explanations of pre-tokens of tokenizers that a library encodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from tokviz.errors import TokvizError
from tokviz.explain.algorithms.story import Story
from tokviz.explain.places import Place
from tokviz.explain.pre_token_cuts import PreTokenCut, special_cut
from tokviz.explain.trace import Explanation
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, failure_message

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer


@runtime_checkable
class Storyteller(Protocol):
    """A tokenizer that explains its encodings; see `HuggingFaceTokenizer.stories`."""

    def stories(self, text: str, parse_specials: bool, tokens: range) -> Mapping[str, Any]:
        """Explain the encoding of the pre-tokens of some tokens."""


class LibraryCuts(NamedTuple):
    """The explained pre-tokens of a place, their number, and notes."""

    cuts: tuple[PreTokenCut, ...] = ()
    n_pre_tokens: int = 0
    notes: tuple[Sentence, ...] = ()


def library_cuts(
    tok: Tokenizer, place: Place, spans: Sequence[tuple[int, int]], tokens: range
) -> LibraryCuts:
    """Explain the pre-tokens of some tokens, as far as tokviz finds the library's ids itself.

    Args:
        tok: The tokenizer.
        place: The place.
        spans: The byte spans of all tokens of the place's text.
        tokens: The numbers of the tokens.
    """
    if not isinstance(tok, Storyteller):
        return LibraryCuts()
    try:
        answer = tok.stories(place.text, place.parse_specials, tokens)
    except TokvizError as error:
        return LibraryCuts(notes=((failure_message("The steps are unknown", error),),))
    data = bytetext.to_bytes(place.text)
    cuts, notes = [], []
    for body in answer["stories"]:
        pre_token = data[spans[body["first"]][0] : spans[body["stop"] - 1][1]]
        if "problem" in body:
            notes.append(("The steps of ", pre_token, _OTHER_IDS))
            cuts.append(PreTokenCut(pre_token, None, (), None))
        elif "story" in body:
            story = Story.unpacked(body["story"])
            read = _read(story, body["changes"])
            cuts.append(PreTokenCut(pre_token, None, (read,) if read else (), None, story))
        else:
            cuts.append(special_cut(pre_token))
    return LibraryCuts(tuple(cuts), answer["n_words"], tuple(notes))


_OTHER_IDS = " are not shown, because tokviz finds other ids than the library."


def _read(story: Story, changes: Sequence[tuple[str, str]]) -> Sentence:
    """Describe what normalization and the pre-tokenizer made of the text."""
    parts: list[str | bytes] = []
    for before, after in changes:
        parts += [
            ", " if parts else ": ",
            bytetext.to_bytes(before),
            " → ",
            bytetext.to_bytes(after),
        ]
    return ("The model reads ", story.text, *parts, ".") if parts else ()


def explanation_of(story: Story) -> Explanation:
    """Explain why a pre-token is or is not one token."""
    if len(story.tokens) == 1:
        token, token_id = story.tokens[0]
        return Explanation("one token", (("Here it is the token ", token, f", id {token_id}."),))
    if story.whole is None:
        return Explanation(
            "not in the vocabulary", (("The vocabulary has no token ", story.text, "."),)
        )
    held = f"The vocabulary contains it (id {story.whole}), but the steps above end elsewhere."
    return Explanation("unreachable", ((held,),))
