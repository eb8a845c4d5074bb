"""Explanations of the library's encodings, for the job `huggingface_tokenizer`.

The library reports tokens, but no reasons. Here its normalizer and pre-tokenizer are applied again,
and the algorithm of its model (`tokviz.explain.algorithms`) encodes the result. An explanation is
given only if its ids are those of the library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import count, groupby, islice
from typing import Any, NamedTuple

import tokenizers

from tokviz.errors import JobError
from tokviz.explain.algorithms.bpe import BpeModel
from tokviz.explain.algorithms.longest_match import WordLevelModel, WordPieceModel
from tokviz.explain.algorithms.story import MOST_STORIES, Model, Piece, Show, Story
from tokviz.explain.algorithms.unigram import UnigramModel
from tokviz.process.protocol import Body

_WORD_START = "▁"


class LibraryStories:
    """Explains the encodings of one `tokenizer.json`."""

    def __init__(self, tokenizer: Any, show: Show) -> None:
        """Read the model of the library's tokenizer.

        Args:
            tokenizer: The tokenizer.
            show: Converts the spelling of a token to the bytes to show.
        """
        self._tokenizer, self._show = tokenizer, show
        self._added = tokenizer.get_added_tokens_decoder()
        hidden = frozenset(token.content for token in self._added.values() if token.special)
        self._model = cache(_models(tokenizer.model, hidden, show))

    def answer(self, text: str, found: Any, first: int, stop: int, specials: str) -> Body:
        """Answer a request.

        Args:
            text: The text.
            found: The library's encoding of it.
            first: The first token to explain.
            stop: One past the last token.
            specials: Whether special tokens are recognized; "none" hides them from the model.
        """
        numbers = range(len(found.ids))
        words = [list(group) for _, group in groupby(numbers, found.word_ids.__getitem__)]
        added = {group[0] for group in words if self._is_added(text, found, group)}
        touched = [group for group in words if group[0] < stop and group[-1] >= first]
        model = self._model(specials == "none")
        pre_tokens = self._pre_tokens(text, found, added)
        splits = pre_tokens.get_splits("original", "char")
        bodies: list[dict[str, Any]] = []
        told: list[_Told] = []
        for group in touched[:MOST_STORIES]:
            bodies.append({"first": group[0], "stop": group[-1] + 1})
            if group[0] in added:
                continue
            place = found.word_ids[group[0]] - sum(number < group[0] for number in added)
            word = splits[place][0] if place < len(splits) else ""
            ids = [found.ids[number] for number in group]
            story = _told(model, word, ids, (first - group[0], stop - group[0]), place)
            if isinstance(story, str):
                bodies[-1]["problem"] = story
                continue
            bodies[-1] |= {"first": group[0] + story.first, "stop": group[0] + story.stop}
            bodies[-1]["told"] = len(told)
            told.append(story)
        stories = self._with_changes(text, pre_tokens, told)
        for body in bodies:
            if "told" in body:
                body["story"] = stories[body.pop("told")].packed()
        return {"stories": bodies, "n_words": len(touched)}

    def _is_added(self, text: str, found: Any, group: Sequence[int]) -> bool:
        """Return whether a pre-token is an added token, which the model does not encode."""
        token = self._added.get(found.ids[group[0]])
        if token is None or len(group) > 1:
            return False
        start, end = found.offsets[group[0]]
        return bool(token.normalized) or text[start:end].strip() == token.content.strip()

    def _pre_tokens(self, text: str, found: Any, added: set[int]) -> Any:
        """Normalize and pre-tokenize a text, as the library does, without its added tokens."""
        normalizer, pre_tokenizer = self._tokenizer.normalizer, self._tokenizer.pre_tokenizer
        of_text: list[tuple[int, int]] = []
        of_normalized: list[tuple[int, re.Pattern[str]]] = []
        for number in sorted(added):
            token = self._added[found.ids[number]]
            if not token.normalized:
                of_text.append(found.offsets[number])
                continue
            content = token.content
            content = normalizer.normalize_str(content) if normalizer is not None else content
            spaces = [r"\s*" if strips else "" for strips in (token.lstrip, token.rstrip)]
            pattern = re.compile(re.escape(content).join(spaces))
            of_normalized.append((found.offsets[number][0], pattern))
        starts = [0, *(end for _, end in of_text)]
        ends = [*(start for start, _ in of_text), len(text)]

        def normalized(number: int, part: Any) -> list[Any]:
            start, stop = kept[number]
            if normalizer is not None:
                normalizer.normalize(part)
            pieces, at = [], 0
            for place, pattern in of_normalized:
                if start <= place < stop and (match := pattern.search(part.normalized, at)):
                    pieces.append(part[at : match.start()])
                    at = match.end()
            pieces.append(part[at:])
            return [piece for piece in pieces if piece is not None]  # an empty slice is None

        kept = [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
        result = tokenizers.PreTokenizedString(text)
        result.split(lambda _, whole: [whole[start:end] for start, end in kept])
        result.split(normalized)
        if pre_tokenizer is not None:
            pre_tokenizer.pre_tokenize(result)
        return result

    def _with_changes(self, text: str, pre_tokens: Any, told: list[_Told]) -> list[Story]:
        """Add to stories what normalization changed, character by character."""
        wanted = {one.place: range(one.start, one.end) for one in told}

        def characters(number: int, part: Any) -> list[Any]:
            return [part[at : at + 1] for at in wanted.get(number, ())]

        pre_tokens.split(characters)
        aligned = iter(pre_tokens.get_splits("original", "char"))
        return [
            replace(
                one.story,
                changes=tuple(
                    _changes(text, list(islice(aligned, one.end - one.start)), self._show)
                ),
            )
            for one in told
        ]


class _Told(NamedTuple):
    """A story about some tokens of a pre-token, and the characters that they cover."""

    story: Story
    place: int
    first: int
    stop: int
    start: int
    end: int


def _told(
    model: Model, word: str, ids: list[int], tokens: tuple[int, int], place: int
) -> _Told | str:
    """Explain the tokens of a pre-token, or those around `tokens` if it is a long text."""
    pieces = model.encode(word)
    if [piece.id for piece in pieces] != ids:
        own = " ".join(str(piece.id) for piece in pieces[:8]) or "none"
        theirs = " ".join(map(str, ids[:8]))
        return f"tokviz finds the ids {own}, the library {theirs}"
    first, stop = 0, len(pieces)
    if _WORD_START in word[1:]:
        first, stop = _around(pieces, *tokens)
    start, end = pieces[first].start, pieces[stop - 1].end
    story = model.story(word[start:end], is_part=stop - first < len(pieces))
    if [token_id for _, token_id in story.tokens] != ids[first:stop]:
        return "tokviz finds other ids for this part of the text than the library"
    return _Told(story, place, first, stop, start, end)


def _around(pieces: list[Piece], first: int, stop: int) -> tuple[int, int]:
    """Extend a range of tokens to whole words, which start with `▁`."""
    first, stop = max(0, first), min(stop, len(pieces))
    while first and not pieces[first].text.startswith(_WORD_START):
        first -= 1
    while stop < len(pieces) and not pieces[stop].text.startswith(_WORD_START):
        stop += 1
    return first, stop


def _changes(
    text: str, aligned: list[tuple[str, tuple[int, int], Any]], show: Show
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the parts of a pre-token that normalization changed: before and after.

    Args:
        text: The original text.
        aligned: The characters of the pre-token, each with its characters in the original text.
        show: Converts what the model reads to the bytes to show.
    """
    at = 0
    last = aligned[0][1][0] if aligned else 0
    while at < len(aligned):
        end = aligned[at][1][1]
        changed = ""
        while at < len(aligned) and (not changed or aligned[at][1][0] < end):
            changed += aligned[at][0]
            end = max(end, aligned[at][1][1])
            at += 1
        before, after = text[last:end].encode("utf-8", "replace"), show(changed)
        if before != after:
            yield before, after
        last = end


def _models(library_model: Any, hidden: frozenset[str], show: Show) -> Callable[[bool], Model]:
    """Return a function that creates the model, with or without tokens that are special.

    The library writes its model as JSON, whose numbers are the library's own: it rounds the
    log-probabilities of a file differently than Python does.

    Raises:
        JobError: If its algorithm is unknown.
    """

    def lookup(hides: bool) -> Callable[[str], int | None]:
        def token_id(text: str) -> int | None:
            found: int | None = library_model.token_to_id(text)
            return None if hides and text in hidden else found

        return token_id

    kind = type(library_model).__name__
    content = json.loads(library_model.__getstate__())
    unk = content.get("unk_token") or ""
    unk_id = library_model.token_to_id(unk)
    if kind == "Unigram":
        vocab = [(text, score) for text, score in content["vocab"]]
        unk_id, fallback = content.get("unk_id"), bool(content.get("byte_fallback"))
        return lambda hides: UnigramModel.of(
            vocab, unk_id, fallback, hidden if hides else frozenset(), show
        )
    if kind == "WordLevel":
        return lambda hides: WordLevelModel(lookup(hides), unk, unk_id, show)
    if kind == "WordPiece":
        prefix = str(content.get("continuing_subword_prefix", "##"))
        longest = int(content.get("max_input_chars_per_word", 100))
        return lambda hides: WordPieceModel(lookup(hides), unk, unk_id, prefix, longest, show)
    if kind != "BPE":
        raise JobError(f"the algorithm {kind} is not explained")
    ranks = dict(zip(_keys(content.pop("merges")), count()))
    model = BpeModel(
        library_model.token_to_id,
        lambda left, right: ranks.get(f"{len(left)} {left}{right}"),
        show,
        content.get("unk_token"),
        bool(content.get("fuse_unk")),
        bool(content.get("byte_fallback")),
        bool(content.get("ignore_merges")),
        content.get("continuing_subword_prefix") or "",
        content.get("end_of_word_suffix") or "",
    )
    return lambda hides: model


def _keys(merges: Sequence[Any]) -> Iterator[str]:
    """Yield a key for each merge, which takes less memory than a pair."""
    for merge in merges:
        if isinstance(merge, str) and merge.startswith("#version"):
            continue
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        yield f"{len(left)} {left}{right}"
