"""Comparison of a learner's encoder with the reference, and the mistake that explains it.

An encoder that makes a known mistake must return the same ids. To add one, add its words to
`assets/words/mistakes.toml` and its rules to `ENCODERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import eq
from typing import Any, NamedTuple

from tokviz.compare.check_bpe.mistakes import MISTAKES
from tokviz.errors import TokvizError
from tokviz.text.common_prefix import n_common
from tokviz.tokenizer.pretokenize.split import split
from tokviz.tokenizer.tokenizer import Tokenizer

Encoded = Mapping[str, Sequence[int] | Mapping[str, Any]]
"""The ids of texts, or `{"ids": ids, "decoded": text}`; decoded is None if decoding has failed."""

Result = tuple[list[int], str | None]
"""The ids of a text, and their decoded text."""

_SHOWN = 6


class EncodingCheck(NamedTuple):
    """Result of `check_encoding`.

    Attributes:
        n_texts: Number of texts.
        n_equal: Number of texts with equal ids and equal decoded texts.
        mistakes: The names of the mistakes that explain most of the other texts.
        n_explained: Number of texts that the first of them reproduces.
        text: The first text that differs; empty if all are equal.
        ours: The ids of the reference.
        theirs: The learner's ids.
        vocab: The tokens by id.
    """

    n_texts: int
    n_equal: int
    mistakes: tuple[str, ...] = ()
    n_explained: int = 0
    text: str = ""
    ours: Sequence[int] = ()
    theirs: Sequence[int] = ()
    vocab: Mapping[int, bytes] = {}

    def lines(self, show: Callable[[bytes], str] = repr) -> Iterator[str]:
        """Yield the report; `show` formats a token."""
        yield f"encoder: {self.n_equal:,} of {self.n_texts:,} texts are equal"
        if self.n_equal == self.n_texts:
            return
        at, text = n_common(self.ours, self.theirs), self.text.encode("utf-8", "replace")
        are_equal = self.ours == self.theirs
        yield f"  {show(text)} {'is decoded wrong' if are_equal else f'differs at id {at + 1:,}'}"
        for name, ids in (("reference", self.ours), ("yours", self.theirs)):
            tokens = [f"{it} {show(self.vocab.get(it, b'?'))}" for it in ids[at:][:_SHOWN]]
            yield f"  {name:<9}  {'  '.join(tokens) or 'no more ids'}"
        unknown = [it for it in self.theirs if it not in self.vocab]
        decoded = b"".join(self.vocab.get(it, b"") for it in self.theirs)
        if unknown:
            yield f"  your vocabulary has no id {unknown[0]}"
        elif decoded != text:
            yield f"  your ids decode to another text: {show(decoded)}"
        yield from (f"mistake: {it}: {MISTAKES[it].sentence}" for it in self.mistakes)
        explained = f"explains {self.n_explained:,} of {self.n_texts:,} texts"
        yield f"  {explained}" if self.mistakes else "no known mistake explains these ids"


def check_encoding(tokenizer: Tokenizer, encoded: Encoded) -> EncodingCheck:
    """Compare ids with those of a correct encoder, and find the mistake that explains them.

    Args:
        tokenizer: The tokenizer, with the learner's vocabulary and merges.
        encoded: The learner's ids, and decoded texts if they are known.

    Raises:
        TokvizError: If the ids of a text are not a list of ints.
    """
    vocab, texts, theirs = tokenizer.vocab, [*encoded], list[Result]()
    for text, entry in encoded.items():
        fields: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"ids": entry}
        ids = fields.get("ids")
        if not isinstance(ids, Sequence) or any(type(it) is not int for it in ids):
            raise TokvizError(f"the ids of the text {text[:40]!r} are not a list of ints")
        theirs.append(([*ids], fields.get("decoded", _decode(vocab, ids))))

    def results(
        decode: Callable[[Mapping[int, bytes], Sequence[int]], str | None] = _decode, **rules: Any
    ) -> list[Result]:
        return [(ids, decode(vocab, ids)) for ids in _encode(tokenizer, texts, **rules)]

    ours = [(ids, _decode(vocab, ids)) for ids in map(tokenizer.encode, texts)]
    is_equal = [*map(eq, ours, theirs)]
    if all(is_equal):
        return EncodingCheck(len(texts), len(texts))
    n_explained = {
        name: max(sum(map(eq, results(**rules), theirs)) for rules in variants)
        for name, variants in ENCODERS.items()
    }
    first, best = is_equal.index(False), max(n_explained.values())
    names = tuple(name for name, n in n_explained.items() if n == best > sum(is_equal))
    ids = ours[first][0], theirs[first][0]
    return EncodingCheck(len(texts), sum(is_equal), names, best, texts[first], *ids, vocab)


def _encode(
    tokenizer: Tokenizer,
    texts: Iterable[str],
    merge: Callable[[Tokenizer, bytes], list[bytes]] | None = None,
    key: Callable[[bytes], Any] = bytes,
    specials: Callable[[Iterable[str]], Iterable[str]] | None = None,
) -> Iterator[list[int]]:
    """Encode texts by any rules; the defaults are correct.

    Args:
        tokenizer: The vocabulary, the merges and the split pattern.
        texts: The texts.
        merge: Merges the bytes of a pre-token.
        key: Returns the key of a pre-token in the cache.
        specials: Returns the special tokens to recognize, the preferred ones first.
    """
    cache = dict[Any, list[int]]()
    ids_of = tokenizer.special_tokens
    for text in texts:
        ids: list[int] = []
        listed = specials(ids_of) if specials else sorted(ids_of, key=len, reverse=True)
        special = "|".join(map(re.escape, listed))
        for part in re.split(f"({special})", text) if special else [text]:
            if special and part in ids_of:
                ids.append(ids_of[part])
                continue
            for start, end in split(tokenizer.split_pattern, part).spans():
                pre_token = part[start:end].encode("utf-8", "replace")
                if key(pre_token) not in cache:
                    tokens = (merge or _merge)(tokenizer, pre_token)
                    found = map(tokenizer.token_id, tokens)
                    cache[key(pre_token)] = [-1 if it is None else it for it in found]
                ids += cache[key(pre_token)]
        yield ids


def _merge(tokenizer: Tokenizer, data: bytes, is_by_place: bool = False) -> list[bytes]:
    tokens = [data[i : i + 1] for i in range(len(data))]
    while pairs := [
        (0 if is_by_place else rank, place)
        for place, pair in enumerate(pairwise(tokens))
        if (rank := tokenizer.pair_number(*pair)) is not None
    ]:
        place = min(pairs)[1]
        tokens[place : place + 2] = [tokens[place] + tokens[place + 1]]
    return tokens


def _longest_tokens(tokenizer: Tokenizer, data: bytes) -> list[bytes]:
    tokens = []
    while data:
        prefixes = (data[:end] for end in range(len(data), 0, -1))
        token = next((it for it in prefixes if tokenizer.token_id(it) is not None), data[:1])
        tokens.append(token)
        data = data[len(token) :]
    return tokens


def _decode(
    vocab: Mapping[int, bytes], ids: Iterable[int], errors: str = "replace", each: bool = False
) -> str | None:
    """Decode tokens together or one by one; None if that fails."""
    tokens = [vocab.get(it, b"") for it in ids]
    try:
        return "".join(
            it.decode("utf-8", errors) for it in (tokens if each else [b"".join(tokens)])
        )
    except UnicodeDecodeError:
        return None


ENCODERS: dict[str, list[dict[str, Any]]] = {
    "encode-longest-first": [{"merge": _longest_tokens}],
    "encode-text-order": [{"merge": partial(_merge, is_by_place=True)}],
    "encode-specials-split": [{"specials": lambda texts: ()}],
    "encode-shortest-special": [
        {"specials": it} for it in (partial(sorted, key=len), sorted, list)
    ],
    "encode-cache-key": [{"key": it} for it in (bytes.strip, bytes.lower, len, frozenset)],
    "decode-errors": [
        {"decode": partial(_decode, errors=errors, each=each)}
        for errors in ("strict", "ignore", "replace")
        for each in (True, False)
    ],
}
"""The rules of encoders with a mistake, by its name; several if there are several ways."""
