"""Comparison of a learner's encoder with the reference, and the mistake that explains it.

An encoder that makes a known mistake must return the same ids.
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
from tokviz.tokenizer.pretokenize.split import split
from tokviz.tokenizer.tokenizer import Tokenizer

Encoded = Mapping[str, Sequence[int] | Mapping[str, Any]]
"""The ids of texts, or `{"ids": ids, "decoded": text}`; decoded is None if decoding has failed."""

_SHOWN = 6


class EncodingCheck(NamedTuple):
    """Result of `check_encoding`.

    Attributes:
        n_texts: Number of texts.
        n_equal: Number of texts with equal ids, and equal decoded texts if they are known.
        mistakes: The names of the mistakes that explain most of the other texts.
        n_explained: Number of texts that the first of them reproduces.
        text: The first text that differs; empty if all are equal.
        at: The index of the first id that differs.
        ours: The ids of the reference.
        theirs: The learner's ids.
        decoded: Text of the learner's ids, as the reference decodes them.
        vocab: The tokens by id.
    """

    n_texts: int
    n_equal: int
    mistakes: tuple[str, ...] = ()
    n_explained: int = 0
    text: str = ""
    at: int = 0
    ours: Sequence[int] = ()
    theirs: Sequence[int] = ()
    decoded: str = ""
    vocab: Mapping[int, bytes] = {}

    def lines(self, show: Callable[[bytes], str] = repr) -> Iterator[str]:
        """Yield the report; `show` formats a token."""
        yield f"encoder: {self.n_equal:,} of {self.n_texts:,} texts are equal"
        if self.n_equal == self.n_texts:
            return
        where = f"differs at id {self.at + 1:,}" if self.ours != self.theirs else "is decoded wrong"
        yield f"  {show(self.text.encode('utf-8', 'replace'))} {where}"
        for name, ids in (("reference", self.ours), ("yours", self.theirs)):
            shown = (f"{it} {self._token(it, show)}" for it in ids[self.at :][:_SHOWN])
            yield f"  {name:<9}  {'  '.join(shown) or 'no more ids'}"
        if self.ours != self.theirs and self.decoded != self.text:
            yield f"  your ids decode to another text: {show(self.decoded.encode())}"
        yield from (f"mistake: {it}: {MISTAKES[it].sentence}" for it in self.mistakes)
        if self.mistakes:
            yield f"  explains {self.n_explained:,} of {self.n_texts:,} texts"
        else:
            yield "no known mistake of an encoder explains these ids"

    def _token(self, token_id: int, show: Callable[[bytes], str]) -> str:
        token = self.vocab.get(token_id)
        return "(not in the vocabulary)" if token is None else show(token)


def check_encoding(tokenizer: Tokenizer, encoded: Encoded) -> EncodingCheck:
    """Compare ids with those of a correct encoder, and find the mistake that explains them.

    Args:
        tokenizer: The tokenizer, with the learner's vocabulary and merges.
        encoded: The learner's ids, and decoded texts if they are known.

    Raises:
        TokvizError: If the ids of a text are not a list of ints.
    """
    texts = [*encoded]
    entries = [it if isinstance(it, Mapping) else {"ids": it} for it in encoded.values()]
    for text, entry in zip(texts, entries, strict=True):
        ids = entry.get("ids")
        if not isinstance(ids, Sequence) or any(type(it) is not int for it in ids):
            raise TokvizError(f"the ids of the text {text[:40]!r} are not a list of ints")
    theirs = [[*entry["ids"]] for entry in entries]
    ours = [tokenizer.encode(text) for text in texts]
    vocab = tokenizer.vocab
    tokens = [[vocab.get(it, b"") for it in ids] for ids in theirs]
    decoded = [b"".join(it).decode("utf-8", "replace") for it in tokens]
    said = [entry.get("decoded", text) for entry, text in zip(entries, decoded, strict=True)]
    is_equal = [a == b and c == d for a, b, c, d in zip(ours, theirs, decoded, said, strict=True)]
    n, n_equal = len(texts), sum(is_equal)
    if n_equal == n:
        return EncodingCheck(n, n)
    attempts: dict[str, list[list[Any]]] = {
        name: [[*zip(encode(tokenizer, texts), decoded, strict=True)] for encode in encoders]
        for name, encoders in ENCODERS.items()
    }
    attempts["decode-errors"] = [
        [*zip(ours, map(decode, tokens), strict=True)] for decode in _DECODERS
    ]
    results = [*zip(theirs, said, strict=True)]
    n_explained = {
        name: max(sum(map(eq, results, attempt)) for attempt in tried)
        for name, tried in attempts.items()
    }
    best = max(n_explained.values())
    first = is_equal.index(False)
    pairs = zip(ours[first], theirs[first], strict=False)
    at = next((k for k, (a, b) in enumerate(pairs) if a != b), None)
    return EncodingCheck(
        n,
        n_equal,
        tuple(name for name, number in n_explained.items() if number == best > n_equal),
        best,
        texts[first],
        min(len(ours[first]), len(theirs[first])) if at is None else at,
        ours[first],
        theirs[first],
        decoded[first],
        vocab,
    )


Merging = Callable[[Tokenizer, bytes], list[bytes]]
"""Merges the bytes of a pre-token to tokens."""


def _merge_by(
    key: Callable[[int, int, bytes], Any], tokenizer: Tokenizer, data: bytes
) -> list[bytes]:
    """Merge the pair with the lowest key of its rank, place and merged token until none is left."""
    tokens = [data[i : i + 1] for i in range(len(data))]
    while True:
        pairs = [
            (key(rank, place, left + right), place)
            for place, (left, right) in enumerate(pairwise(tokens))
            if (rank := tokenizer.pair_number(left, right)) is not None
        ]
        if not pairs:
            return tokens
        place = min(pairs)[1]
        tokens[place : place + 2] = [tokens[place] + tokens[place + 1]]


def _sweep(tokenizer: Tokenizer, data: bytes) -> list[bytes]:
    """Merge any pair from left to right, again and again."""
    before, tokens = list[bytes](), [data[i : i + 1] for i in range(len(data))]
    while len(before) != len(tokens):
        before, tokens, place = tokens, [], 0
        while place < len(before):
            pair = before[place : place + 2]
            is_merge = len(pair) == 2 and tokenizer.pair_number(*pair) is not None
            tokens.append(b"".join(pair) if is_merge else pair[0])
            place += 1 + is_merge
    return tokens


def _longest_prefix(tokenizer: Tokenizer, data: bytes) -> list[bytes]:
    tokens = []
    while data:
        ends = range(len(data), 0, -1)
        end = next((it for it in ends if tokenizer.token_id(data[:it]) is not None), 1)
        tokens.append(data[:end])
        data = data[end:]
    return tokens


_by_rank: Merging = partial(_merge_by, lambda rank, place, token: rank)


def _encode(
    tokenizer: Tokenizer,
    texts: Iterable[str],
    *,
    merge: Merging = _by_rank,
    specials: Callable[[Iterable[str]], Iterable[str]] = lambda texts: sorted(texts, key=len)[::-1],
    key: Callable[[bytes], Any] = bytes,
    keeps_cache: bool = True,
) -> list[list[int]]:
    """Encode texts by any rules; the defaults are correct.

    Args:
        tokenizer: The vocabulary, the merges and the split pattern.
        texts: The texts.
        merge: Merges the bytes of a pre-token.
        specials: Returns the special tokens to recognize, the preferred ones first.
        key: Returns the key of a pre-token in the cache.
        keeps_cache: Whether all texts share a cache.
    """
    encoded, cache = [], dict[Any, list[int]]()
    special = "|".join(map(re.escape, specials(tokenizer.special_tokens)))
    for text in texts:
        ids: list[int] = []
        cache = cache if keeps_cache else {}
        for part in re.split(f"({special})", text) if special else [text]:
            if special and part in tokenizer.special_tokens:
                ids.append(tokenizer.special_tokens[part])
                continue
            for start, end in split(tokenizer.split_pattern, part).spans():
                pre_token = part[start:end].encode("utf-8", "replace")
                if key(pre_token) not in cache:
                    tokens = map(tokenizer.token_id, merge(tokenizer, pre_token))
                    cache[key(pre_token)] = [-1 if it is None else it for it in tokens]
                ids += cache[key(pre_token)]
        encoded.append(ids)
    return encoded


ENCODERS: dict[str, list[Callable[[Tokenizer, Iterable[str]], list[list[int]]]]] = {
    "encode-longest-first": [
        partial(_encode, merge=partial(_merge_by, lambda rank, place, token: -len(token))),
        partial(_encode, merge=_longest_prefix),
    ],
    "encode-text-order": [
        partial(_encode, merge=partial(_merge_by, lambda rank, place, token: place)),
        partial(_encode, merge=_sweep),
    ],
    "encode-specials-split": [partial(_encode, specials=lambda texts: ())],
    "encode-shortest-special": [
        partial(_encode, specials=lambda texts: sorted(texts, key=len)),
        partial(_encode, specials=sorted),
        partial(_encode, specials=list),
    ],
    "encode-cache-key": [
        partial(_encode, key=key, keeps_cache=keeps)
        for key in (bytes.strip, bytes.lower, len, lambda it: bytes(sorted(it)))
        for keeps in (True, False)
    ],
}
"""Encoders with a mistake, by its name; several if there are several ways to make it."""


def _decode(errors: str, each: bool, tokens: Sequence[bytes]) -> str | None:
    """Decode the tokens one by one or together; None if that fails."""
    try:
        return "".join(
            it.decode("utf-8", errors) for it in (tokens if each else [b"".join(tokens)])
        )
    except UnicodeDecodeError:
        return None


_DECODERS = [
    partial(_decode, errors, each)
    for errors in ("strict", "ignore", "replace")
    for each in (False, True)
]
