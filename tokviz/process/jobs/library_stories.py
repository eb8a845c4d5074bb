"""Explanations of the library's encodings, for the job `huggingface_tokenizer`.

The library reports tokens, but no reasons. Here its normalizer and pre-tokenizer are applied again,
and the algorithm of its model (`tokviz.explain.algorithms`) encodes the result. An explanation is
given only if its ids are those of the library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count, groupby, islice
from typing import Any

import tokenizers

from tokviz.errors import JobError
from tokviz.explain.algorithms.bpe import BpeModel
from tokviz.explain.algorithms.longest_match import WordPieceModel, trie_story, word_level_story
from tokviz.explain.algorithms.story import MAX_STORY_CHARS, MOST_STORIES, Story
from tokviz.explain.algorithms.unigram import UnigramModel
from tokviz.formats.rwkv import RwkvTokenizer
from tokviz.process.protocol import Body
from tokviz.text import bytetext


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
        groups = groupby(range(len(found.ids)), found.word_ids.__getitem__)
        words = [range((numbers := list(group))[0], numbers[-1] + 1) for _, group in groups]
        added = [word.start for word in words if self._is_added(text, found, word)]
        touched = [word for word in words if word.start < stop and word.stop > first]
        pre_tokens = self._pre_tokens(text, found, added)
        splits = pre_tokens.get_splits("original", "char")
        bodies: list[dict[str, Any]] = []
        wanted: dict[int, range] = {}
        for word in touched[:MOST_STORIES]:
            bodies.append({"first": word.start, "stop": word.stop})
            if word.start in added:
                continue
            place = found.word_ids[word.start] - sum(number < word.start for number in added)
            pre_token = splits[place][0] if place < len(splits) else ""
            tokens = self._tokenizer.model.tokenize(pre_token)
            chosen = _around(pre_token, tokens, first - word.start, stop - word.start)
            characters = _characters(pre_token, tokens, chosen)
            part = pre_token[characters.start : characters.stop]
            is_long = len(part) > MAX_STORY_CHARS
            told = Story(b"", ()) if is_long else self._story(part, len(chosen) < len(tokens))
            here = range(word.start + chosen.start, word.start + chosen.stop)
            if [token_id for _, token_id in told.tokens] != found.ids[here.start : here.stop]:
                bodies[-1]["problem"] = _TOO_LONG if is_long else _OTHER_IDS
                continue
            wanted[place] = characters
            bodies[-1] = {"first": here.start, "stop": here.stop, "place": place}
            bodies[-1]["story"] = told.packed(self._show)
        # Divided into characters, each has its own place in the text.
        pre_tokens.split(lambda number, piece: [piece[n : n + 1] for n in wanted.get(number, ())])
        aligned = iter(pre_tokens.get_splits("original", "char"))
        for body in bodies:
            if "place" in body:
                part = list(islice(aligned, len(wanted[body.pop("place")])))
                body["changes"] = list(dict.fromkeys(self._changes(text, part)))
        return {"stories": bodies, "n_words": len(touched)}

    def _is_added(self, text: str, found: Any, word: range) -> bool:
        """Return whether a pre-token is an added token, which the model does not encode."""
        token = self._added.get(found.ids[word.start])
        start, end = found.offsets[word.start]
        return bool(token) and len(word) == 1 and (
            token.normalized or text[start:end].strip() == token.content.strip()
        )  # fmt: skip

    def _pre_tokens(self, text: str, found: Any, added: list[int]) -> Any:
        """Normalize and pre-tokenize a text, as the library does, without its added tokens."""
        normalizer, pre_tokenizer = self._tokenizer.normalizer, self._tokenizer.pre_tokenizer
        borders = [0, *chain.from_iterable(found.offsets[number] for number in added), len(text)]

        def normalized(_: int, whole: Any) -> list[Any]:
            parts = [
                whole[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True)
            ]
            parts = [part for part in parts if part is not None]  # an empty slice is None
            for part in parts if normalizer is not None else ():
                normalizer.normalize(part)
            return parts

        result = tokenizers.PreTokenizedString(text)
        result.split(normalized)
        if pre_tokenizer is not None:
            pre_tokenizer.pre_tokenize(result)
        return result

    def _changes(self, text: str, aligned: list[Any]) -> Iterator[tuple[str, str]]:
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


def trie_stories(tokenizer: RwkvTokenizer, text: str, first: int, stop: int) -> Body:
    """Explain some tokens of RWKV, for which a whole text is one pre-token."""
    body: dict[str, Any] = {"first": first, "stop": stop}
    data = tokenizer.stretch(text, first, stop)
    if len(data) > MAX_STORY_CHARS:
        return {"stories": [body | {"problem": _TOO_LONG}], "n_words": 1}
    told = trie_story(data, tokenizer.token_id, tokenizer.longest)
    body |= {"story": told.packed(bytes), "changes": []}
    return {"stories": [body], "n_words": 1}


_TOO_LONG = f"More than {MAX_STORY_CHARS} characters are too long to show step by step."
_OTHER_IDS = "The steps are not shown, because they lead to other ids than the library's."


def _around(pre_token: str, tokens: Sequence[Any], first: int, stop: int) -> range:
    """Return the tokens of a pre-token, or of the words around some of them if it has several.

    Words start with `▁`, because models without a pre-tokenizer encode whole texts.
    """
    starts = [n for n, token in enumerate(tokens) if token.value.startswith("▁")]
    if "▁" not in pre_token[1:]:
        starts = []
    return range(
        max((start for start in starts if start <= max(0, first)), default=0),
        min((start for start in starts if start >= stop), default=len(tokens)),
    )


def _characters(pre_token: str, tokens: Sequence[Any], chosen: range) -> range:
    """Return the characters of a pre-token that some of its tokens cover."""
    if len(chosen) == len(tokens):
        return range(len(pre_token))
    ends = tokens[chosen.start].offsets[0], tokens[chosen.stop - 1].offsets[1]
    return range(*(len(pre_token.encode()[:end].decode(errors="ignore")) for end in ends))


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
            names = ("fuse_unk", "byte_fallback", "ignore_merges")
            flags = {name: bool(content[name]) for name in names}
            suffix = content.get("end_of_word_suffix") or ""

            def rank(left: str, right: str) -> int | None:
                return ranks.get(f"{len(left)} {left}{right}")

            return BpeModel(token_id, rank, unk, prefix=prefix, suffix=suffix, **flags).story
        case kind:
            raise JobError(f"the algorithm {kind} is not explained")
