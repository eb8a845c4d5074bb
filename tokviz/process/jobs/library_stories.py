"""Explanations of the library's encodings, for the job `huggingface_tokenizer`.

The library reports tokens, but no reasons. Here its normalizer and pre-tokenizer are applied again,
and the algorithm of its model (`tokviz.explain.algorithms`) encodes the result. An explanation is
given only if its ids are those of the library.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import count, groupby, islice
from typing import Any, NamedTuple

import tokenizers

from tokviz.errors import JobError
from tokviz.explain.algorithms.bpe import BpeModel
from tokviz.explain.algorithms.longest_match import WordPieceModel
from tokviz.explain.algorithms.story import MAX_STORY_BYTES, MOST_STORIES, Story
from tokviz.explain.algorithms.unigram import UnigramModel
from tokviz.process.protocol import Body
from tokviz.text import bytetext

_WORD_START = "▁"


class _Part(NamedTuple):
    """A story about the tokens `first` to `stop` of a pre-token, and the characters they cover."""

    story: Story
    place: int
    first: int
    stop: int
    characters: range


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
        parts: list[tuple[_Part, dict[str, Any]]] = []
        for group in touched[:MOST_STORIES]:
            bodies.append({"first": group[0], "stop": group[-1] + 1})
            if group[0] in added:
                continue
            place = found.word_ids[group[0]] - sum(number < group[0] for number in added)
            word = splits[place][0] if place < len(splits) else ""
            ids = [found.ids[number] for number in group]
            part = self._part(word, ids, place, first - group[0], stop - group[0])
            if part is None:
                bodies[-1]["problem"] = True
                continue
            bodies[-1] = {"first": group[0] + part.first, "stop": group[0] + part.stop}
            bodies[-1]["story"] = part.story.packed(self._show)
            parts.append((part, bodies[-1]))
        wanted = {part.place: part.characters for part, _ in parts}

        def characters(number: int, piece: Any) -> list[Any]:
            return [piece[at : at + 1] for at in wanted.get(number, ())]

        pre_tokens.split(characters)
        aligned = iter(pre_tokens.get_splits("original", "char"))
        for part, body in parts:
            changes = self._changes(text, list(islice(aligned, len(part.characters))))
            body["changes"] = list(dict.fromkeys(changes))
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

    def _part(
        self, word: str, ids: list[int], place: int, wanted: int, wanted_stop: int
    ) -> _Part | None:
        """Explain a pre-token, or the words around some tokens if it contains several.

        Words start with `▁`, because models without a pre-tokenizer encode whole texts.

        Returns:
            The story; None if its ids are not those of the library.
        """
        tokens = self._tokenizer.model.tokenize(word)
        if [token.id for token in tokens] != ids:
            return None
        first, stop = 0, len(tokens)
        if _WORD_START in word[1:]:
            starts = [n for n, token in enumerate(tokens) if token.value.startswith(_WORD_START)]
            first = max((start for start in starts if start <= max(0, wanted)), default=0)
            stop = min((start for start in starts if start >= wanted_stop), default=stop)
        before, part = "", word
        if stop - first < len(tokens):
            start, end = tokens[first].offsets[0], tokens[stop - 1].offsets[1]
            before = word.encode()[:start].decode(errors="ignore")
            part = word.encode()[start:end].decode(errors="ignore")
        if len(part.encode()) > MAX_STORY_BYTES:
            shown = tuple((token.value.encode(), token.id) for token in tokens[first:stop])
            told = Story(part.encode(), shown, sentences=(_TOO_LONG,))
        else:
            told = self._story(part, stop - first < len(tokens))
        if [token_id for _, token_id in told.tokens] != ids[first:stop]:
            return None
        return _Part(told, place, first, stop, range(len(before), len(before) + len(part)))

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


def _story_function(model: Any) -> Callable[[str, bool], Story]:
    """Return the function that explains a model's encoding of a text.

    The library writes its model as JSON, whose numbers are the library's own: it rounds the
    log-probabilities of a file differently than Python does.

    Raises:
        JobError: If its algorithm is unknown.
    """
    content = json.loads(model.__getstate__())
    unk = content.get("unk_token") or ""
    fallback = bool(content.get("byte_fallback"))
    match type(model).__name__:
        case "Unigram":
            return UnigramModel(content["vocab"], content["unk_id"], fallback).story
        case "WordLevel":
            return WordPieceModel(model.token_to_id, unk, None, sys.maxsize).story
        case "WordPiece":
            prefix, longest = (
                content[key] for key in ("continuing_subword_prefix", "max_input_chars_per_word")
            )
            return WordPieceModel(model.token_to_id, unk, prefix, longest).story
        case "BPE":
            # A text takes less memory than a pair.
            keys = (f"{len(left)} {left}{right}" for left, right in content["merges"])
            ranks = dict(zip(keys, count()))
            return BpeModel(
                model.token_to_id,
                lambda left, right: ranks.get(f"{len(left)} {left}{right}"),
                content.get("unk_token"),
                bool(content.get("fuse_unk")),
                fallback,
                bool(content.get("ignore_merges")),
                content.get("continuing_subword_prefix") or "",
                content.get("end_of_word_suffix") or "",
            ).story
        case kind:
            raise JobError(f"the algorithm {kind} is not explained")
