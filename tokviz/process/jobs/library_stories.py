"""Explanations of the library's encodings, for the job `huggingface_tokenizer`.

The library reports tokens, but no reasons. Here its normalizer and pre-tokenizer are applied again,
and the algorithm of its model (`tokviz.explain.algorithms`) encodes the result. An explanation is
given only if its ids are those of the library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count, groupby, islice
from typing import Any

import tokenizers

from tokviz.errors import JobError
from tokviz.explain.algorithms.bpe import BpeModel
from tokviz.explain.algorithms.longest_match import WordPieceModel, word_level_story
from tokviz.explain.algorithms.story import MAX_STORY_BYTES, MOST_STORIES, Story
from tokviz.explain.algorithms.unigram import UnigramModel
from tokviz.process.protocol import Body
from tokviz.text import bytetext

_WORD_START = "▁"


class LibraryStories:
    """Explains the encodings of a tokenizer of the library."""

    def __init__(self, tokenizer: Any, show: Callable[[bytes], bytes]) -> None:
        """Read the model of the tokenizer.

        Args:
            tokenizer: The tokenizer.
            show: Converts the spelling of a token to the bytes to show.
        """
        self._tokenizer, self._show = tokenizer, show
        self._added = tokenizer.get_added_tokens_decoder()
        self._story = _story_function(tokenizer.model)

    def answer(self, text: str, found: Any, first: int, stop: int) -> Body:
        """Explain the pre-tokens of some tokens.

        Args:
            text: The text.
            found: The library's encoding of it.
            first: The first token to explain.
            stop: One past the last token.
        """
        numbers = range(len(found.ids))
        words = [list(group) for _, group in groupby(numbers, found.word_ids.__getitem__)]
        added = [group[0] for group in words if self._is_added(text, found, group)]
        touched = [group for group in words if group[0] < stop and group[-1] >= first]
        pre_tokens = self._pre_tokens(text, found, added)
        splits = pre_tokens.get_splits("original", "char")
        bodies: list[dict[str, Any]] = []
        wanted: dict[int, range] = {}
        for group in touched[:MOST_STORIES]:
            bodies.append({"first": group[0], "stop": group[-1] + 1})
            if group[0] in added:
                continue
            place = found.word_ids[group[0]] - sum(number < group[0] for number in added)
            word = splits[place][0] if place < len(splits) else ""
            tokens = self._tokenizer.model.tokenize(word)
            chosen = _around(word, tokens, first - group[0], stop - group[0])
            part, characters = _part(word, tokens, chosen)
            story = self._told(part, tokens[chosen.start : chosen.stop], len(tokens))
            ids = [token_id for _, token_id in story.tokens]
            here = range(group[0] + chosen.start, group[0] + chosen.stop)
            if len(tokens) == len(group) and ids == [found.ids[number] for number in here]:
                wanted[place] = characters
                story = story.packed(self._show)
                bodies[-1] = {
                    "first": here.start,
                    "stop": here.stop,
                    "story": story,
                    "place": place,
                }
            else:
                bodies[-1]["problem"] = True
        pre_tokens.split(lambda number, piece: [piece[n : n + 1] for n in wanted.get(number, ())])
        aligned = iter(pre_tokens.get_splits("original", "char"))
        for body in bodies:
            if "story" in body:
                characters = list(islice(aligned, len(wanted[body.pop("place")])))
                body["changes"] = list(dict.fromkeys(self._changes(text, characters)))
        return {"stories": bodies, "n_words": len(touched)}

    def _is_added(self, text: str, found: Any, group: Sequence[int]) -> bool:
        """Return whether a pre-token is an added token, which the model does not encode."""
        token = self._added.get(found.ids[group[0]])
        if token is None or len(group) > 1:
            return False
        start, end = found.offsets[group[0]]
        return bool(token.normalized) or text[start:end].strip() == token.content.strip()

    def _pre_tokens(self, text: str, found: Any, added: list[int]) -> Any:
        """Normalize and pre-tokenize a text, as the library does, without its added tokens."""
        normalizer, pre_tokenizer = self._tokenizer.normalizer, self._tokenizer.pre_tokenizer
        tokens = [(found.offsets[number], self._added[found.ids[number]]) for number in added]
        of_text = [offsets for offsets, token in tokens if not token.normalized]
        starts = [0, *(end for _, end in of_text)]
        ends = [*(start for start, _ in of_text), len(text)]
        kept = [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]

        def normalized(number: int, part: Any) -> list[Any]:
            if normalizer is not None:
                normalizer.normalize(part)
            pieces, at = [], 0
            start, stop = kept[number]
            for (place, _), token in tokens:
                if not token.normalized or not start <= place < stop:
                    continue
                content = normalizer.normalize_str(token.content) if normalizer else token.content
                spaces = [r"\s*" * strips for strips in (token.lstrip, token.rstrip)]
                match = re.compile(re.escape(content).join(spaces)).search(part.normalized, at)
                if match is not None:
                    pieces.append(part[at : match.start()])
                    at = match.end()
            pieces.append(part[at:])
            return [piece for piece in pieces if piece is not None]  # an empty slice is None

        result = tokenizers.PreTokenizedString(text)
        result.split(lambda _, whole: [whole[start:end] for start, end in kept])
        result.split(normalized)
        if pre_tokenizer is not None:
            pre_tokenizer.pre_tokenize(result)
        return result

    def _told(self, part: str, tokens: Sequence[Any], n_tokens: int) -> Story:
        """Explain a part of a pre-token that has `n_tokens` tokens."""
        if len(part.encode()) <= MAX_STORY_BYTES:
            return self._story(part, len(tokens) < n_tokens)
        shown = tuple((token.value.encode(), token.id) for token in tokens)
        return Story(part.encode(), shown, sentences=(_TOO_LONG,))

    def _changes(
        self, text: str, aligned: list[tuple[str, tuple[int, int], Any]]
    ) -> Iterator[tuple[str, str]]:
        """Yield the parts of a pre-token that normalization changed: before and after.

        Args:
            text: The original text.
            aligned: The characters of the pre-token, each with its characters in the original text.
        """
        last = aligned[0][1][0] if aligned else 0
        for (_, end), group in groupby(aligned, lambda one: one[1]):
            changed = self._show("".join(char for char, _, _ in group).encode())
            if text[last:end].encode() != changed:
                yield text[last:end], bytetext.from_bytes(changed)
            last = max(last, end)


_TOO_LONG = (f"More than {MAX_STORY_BYTES} bytes are too long to show step by step.",)


def _around(word: str, tokens: Sequence[Any], first: int, stop: int) -> range:
    """Return the tokens of a pre-token, or of the words around some of them if it has several.

    Words start with `▁`, because models without a pre-tokenizer encode whole texts.
    """
    if _WORD_START not in word[1:]:
        return range(len(tokens))
    starts = [n for n, token in enumerate(tokens) if token.value.startswith(_WORD_START)]
    return range(
        max((start for start in starts if start <= max(0, first)), default=0),
        min((start for start in starts if start >= stop), default=len(tokens)),
    )


def _part(word: str, tokens: Sequence[Any], chosen: range) -> tuple[str, range]:
    """Return the part of a pre-token that some of its tokens cover, and its characters."""
    if len(chosen) == len(tokens):
        return word, range(len(word))
    data, start, end = (
        word.encode(),
        tokens[chosen.start].offsets[0],
        tokens[chosen.stop - 1].offsets[1],
    )
    before, part = data[:start].decode(errors="ignore"), data[start:end].decode(errors="ignore")
    return part, range(len(before), len(before) + len(part))


def _story_function(model: Any) -> Callable[[str, bool], Story]:
    """Return the function that explains a model's encoding of a text.

    The library writes its model as JSON, whose numbers are the library's own: it rounds the
    log-probabilities of a file differently than Python does.

    Raises:
        JobError: If its algorithm is unknown.
    """
    content = json.loads(model.__getstate__())
    token_id, unk = model.token_to_id, content.get("unk_token")
    prefix = content.get("continuing_subword_prefix") or ""
    match type(model).__name__:
        case "Unigram":
            fallback = bool(content.get("byte_fallback"))
            return UnigramModel(content["vocab"], content["unk_id"], fallback).story
        case "WordLevel":
            return lambda text, is_part: word_level_story(text, token_id, unk)
        case "WordPiece":
            return WordPieceModel(token_id, unk, prefix, content["max_input_chars_per_word"]).story
        case "BPE":
            # A text takes less memory than a pair.
            keys = (f"{len(left)} {left}{right}" for left, right in content["merges"])
            ranks = dict(zip(keys, count()))
            flags = (
                bool(content.get(key)) for key in ("fuse_unk", "byte_fallback", "ignore_merges")
            )
            suffix = content.get("end_of_word_suffix") or ""

            def rank(left: str, right: str) -> int | None:
                return ranks.get(f"{len(left)} {left}{right}")

            return BpeModel(token_id, rank, unk, *flags, prefix, suffix).story
        case kind:
            raise JobError(f"the algorithm {kind} is not explained")
