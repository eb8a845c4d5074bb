"""Texts at which two tokenizers are likely to differ, for `tokviz.compare.difference`.

The texts aim at the difference: special tokens, tokens and merges of one tokenizer, texts that
split patterns cut differently, and characters that normalization changes. They are the same for the
same pair of tokenizers.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from random import Random
from typing import TypeVar

from tokviz.compare.report import parallel_texts, sample_texts
from tokviz.compare.vocabularies import Int64s, VocabularyDifference
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.formats.self_check import SAMPLES
from tokviz.storage.assets import asset_path
from tokviz.text import bytetext
from tokviz.tokenizer.tokenizer import Tokenizer

Item = TypeVar("Item")
_MOST, _MOST_IN_LIBRARY, _MOST_CHECKED = 4_000, 500, 1_000_000
"""Limits: texts of one kind, with a library, and pairs of merges to check for their order."""
_SHORT = re.compile(r"\s*\S{1,12}\s*\S{0,12}")
"""A short part of a text."""


def aimed_texts(difference: VocabularyDifference) -> list[list[str]]:
    """Return lists of byte texts, those of one aim together."""
    one, other = difference.a, difference.b
    a, b = one.tokenizer, other.tokenizer
    most = _MOST_IN_LIBRARY if a.remote or b.remote else _MOST
    names = sorted({*a.special_tokens, *b.special_tokens})
    names.sort(key=lambda name: a.special_tokens.get(name) == b.special_tokens.get(name))
    specials = [bytetext.as_byte_text(name) for name in names[:most]]
    moved = difference.under_other_ids
    tokens = [
        *_tokens(one, difference.only_in_a, most),
        *_tokens(other, difference.only_in_b, most),
        *_tokens(one, difference.in_a[moved], most),
    ]
    shared = _tokens(one, difference.in_a, most)
    merges = [bytetext.from_bytes(text) for text in islice(_merge_texts(a, b), most)]
    found = json.loads(asset_path("words/probes.json").read_text(encoding="utf-8"))
    texts, spaces = found["texts"], found["spaces"]
    words = [word for text in texts for word in text.split(" ")]
    probes = [form for word in words for form in (word, f" {word}", f"a{word}", f"{word}s")]
    sides = ("", ""), ("a", "b"), ("", "b"), ("a", ""), (".", "1"), ("世", "\u0301")
    probes += [f"{left}{space}{right}" for space in spaces for left, right in sides]
    probes += [*texts, *(bytetext.from_bytes(sample) for sample in SAMPLES)]
    characters = [chr(code) for code in range(0x80, 0x30000) if not 0xD800 <= code < 0xE000]
    changed = [char for char in characters if unicodedata.normalize("NFKC", char) != char]
    some = [*_spread(changed, most), *_spread(characters, most)]
    samples = chain((text for _, text in sample_texts()), parallel_texts().values())
    lines = [part for text in samples for part in _SHORT.findall(text)]
    random = Random(0)
    pieces = [*words, *spaces, *tokens, *shared, *merges]
    pools = [pieces, words, specials or words, spaces]
    mixed = [
        "".join(random.choice(random.choice(pools)) for _ in range(random.randint(2, 6)))
        for _ in range(most)
    ]
    around = [f"a {name} b" for name in specials] + [f"  {name}\n" for name in specials]
    normalized = [text for char in some for text in (char, f"a{char}1 {char}b")]
    found = [tokens, merges, probes, specials + around, normalized, shared, lines, mixed]
    if a.remote or b.remote:  # libraries take text
        found = [[text for text in own if not bytetext.has_raw_bytes(text)] for own in found]
    return found


def _spread(items: Sequence[Item], most: int) -> Sequence[Item]:
    """Return at most that many items, evenly spaced."""
    return items[:: -(-len(items) // most) or 1]


def _tokens(index: VocabularyIndex, rows: Int64s, most: int) -> list[str]:
    """Return the texts of ordinary tokens, valid text first."""
    chosen = _spread(rows[~index.special[rows]].tolist(), most)
    texts = (bytetext.from_bytes(index.tokens[row]) for row in chosen)
    return sorted(texts, key=bytetext.has_raw_bytes)


def _merge_texts(a: Tokenizer, b: Tokenizer) -> Iterator[bytes]:
    """Yield texts at which one tokenizer applies a merge that the other lacks or applies later."""
    if a.by_ranks or b.by_ranks:
        return  # their merges follow from the tokens, and take seconds to recover
    first, second = ({merge: place for place, merge in enumerate(one.merges)} for one in (a, b))
    for own, others in ((first, second), (second, first)):
        yield from (b"".join(merge) for merge in own if merge not in others)
    shared = [merge for merge in first if merge in second]
    in_second = sorted(shared, key=second.__getitem__)
    moved = [one for one, other in zip(shared, in_second, strict=True) if one != other]
    starting, ending = defaultdict(list), defaultdict(list)
    for left, right in shared:
        starting[left].append((left, right))
        ending[right].append((left, right))
    pairs = ((merge, other) for merge in moved for other in starting[merge[1]])
    before = ((other, merge) for merge in moved for other in ending[merge[0]])
    for one, two in islice(chain(pairs, before), _MOST_CHECKED):
        if (first[one] < first[two]) != (second[one] < second[two]):
            yield one[0] + one[1] + two[1]
