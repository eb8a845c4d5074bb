"""Texts at which two tokenizers are likely to differ, for `tokviz.compare.difference`.

The texts aim at the difference: special tokens, tokens and merges of one tokenizer, texts that
split patterns cut differently, and characters that normalization changes. They are the same for the
same pair of tokenizers.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from random import Random

from tokviz.compare.report import parallel_texts, sample_texts
from tokviz.compare.vocabularies import VocabularyDifference
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.formats.self_check import SAMPLES
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.tokenizer import Tokenizer

_MOST, _MOST_MERGES, _MOST_CHECKED = 2_000, 4_000, 1_000_000
"""Limits: texts of a list of tokens, texts of merges, pairs of merges to check for their order."""
_LONGEST_LINE = 300
_PROBES = (
    "1 12 123 1234 12345 1234567 3.14 1,000 a1b22c333 ١٢٣٤ ²³ Ⅷ ½ 一二三",
    "don't DON'T I'll I'LL we've x's 's ’s l'été 'tis o'clock can'T'S",
    "HelloWorld camelCase HTTPServer ABCdef ǅa aǅ ªº straße İstanbul ſ",
    ".append _name $x #tag @you a/b/c C:\\dir foo.bar() --- !!! ?!/\n...\n\n {\"a\":[1]}",
    "e\u0301 A\u030a \u0301 हिन्दी ไทย किं a\u0300\u0301\u0302b \u1100\u1161\u11a8 שָׁלוֹם",
    "你好世界 東京タワー 한국어 ﾊﾝｶｸ Ｆｕｌｌ 漢字かなカナ。、 中a文1字",
    "👍🏽 👩‍👩‍👧‍👦 🇩🇪 1️⃣ ☕️ \u200b \u200d \ufeff \u00ad \u2028 \u0085 \u00a0 \u3000 \ufffd",
    "▁ Ġ ##a </w>",
    "<s> </s> <unk> <pad> [CLS] [UNK] [MASK] <|endoftext|> <|im_start|> <0x0A> <think>",
)  # fmt: skip
"""Texts that split patterns, normalizers and models treat differently."""
_SPACES = (" ", "  ", "   ", "\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "\t\t", " \n", "\n ", " \t ",
           "\r", "\x0b", "\x0c", "\u3000", "\u00a0", "", " " * 17, "\n" * 9)  # fmt: skip


def aimed_texts(difference: VocabularyDifference) -> list[list[str]]:
    """Return lists of byte texts, those of one aim together."""
    one, other = difference.a, difference.b
    a, b = one.tokenizer, other.tokenizer
    names = sorted({*a.special_tokens, *b.special_tokens})
    names.sort(key=lambda name: a.special_tokens.get(name) == b.special_tokens.get(name))
    specials = [bytetext.as_byte_text(name) for name in names[:_MOST]]
    moved = difference.under_other_ids
    tokens = [
        *_tokens(one, difference.only_in_a.tolist()),
        *_tokens(other, difference.only_in_b.tolist()),
        *_tokens(one, difference.in_a[moved].tolist()),
    ]
    shared = _tokens(one, difference.in_a.tolist())
    merges = [*islice(_merge_texts(a, b), _MOST_MERGES)]
    words = [word for probe in _PROBES for word in probe.split(" ")]
    probes = [*_PROBES, *(bytetext.from_bytes(sample) for sample in SAMPLES)]
    probes += [form for word in words for form in (word, f" {word}", f"a{word}", f"{word}s")]
    sides = ("", ""), ("a", "b"), ("", "b"), ("a", ""), (".", "1"), ("世", "\u0301")
    probes += [f"{left}{spaces}{right}" for spaces in _SPACES for left, right in sides]
    characters = [chr(code) for code in range(0x80, 0x30000) if not 0xD800 <= code < 0xE000]
    changed = [char for char in characters if unicodedata.normalize("NFKC", char) != char]
    some = [*_spread(changed), *_spread(characters)]
    texts = chain((text for _, text in sample_texts()), parallel_texts().values())
    lines = [line[:_LONGEST_LINE] for text in texts for line in text.splitlines()]
    random = Random(0)
    pieces = [*words, *_SPACES, *tokens[:_MOST], *shared, *merges[:_MOST]]
    pools = [pieces, words, specials or words, _SPACES]
    mixed = [
        "".join(random.choice(random.choice(pools)) for _ in range(random.randint(2, 6)))
        for _ in range(_MOST_MERGES)
    ]
    around = [f"a {name} b" for name in specials] + [f"  {name}\n" for name in specials]
    normalized = [text for char in some for text in (char, f"a{char}1 {char}b")]
    found = [specials + around, tokens, merges, probes, normalized, shared, lines, mixed]
    if a.remote or b.remote:  # libraries take text
        found = [[text for text in own if not bytetext.has_raw_bytes(text)] for own in found]
    return found


def _spread(items: Sequence[str]) -> Sequence[str]:
    """Return at most `_MOST` items, evenly spaced."""
    return items[:: -(-len(items) // _MOST) or 1]


def _tokens(index: VocabularyIndex, rows: list[int]) -> list[str]:
    """Return the texts of tokens, valid text first."""
    chosen = rows[:: -(-len(rows) // _MOST) or 1]
    texts = [bytetext.from_bytes(index.tokens[row]) for row in chosen if not index.special[row]]
    return sorted(texts, key=bytetext.has_raw_bytes)


def _merge_texts(a: Tokenizer, b: Tokenizer) -> Iterator[str]:
    """Yield texts at which one tokenizer applies a merge that the other lacks or applies later."""
    if a.by_ranks or b.by_ranks:
        return  # their merges follow from the tokens, and take seconds to recover
    places = [{merge: place for place, merge in enumerate(one.merges)} for one in (a, b)]
    for own, others in (places, places[::-1]):
        yield from (bytetext.from_bytes(b"".join(one)) for one in own if one not in others)
    for merges in islice(_swapped(*places), _MOST_CHECKED):
        if merges is not None:
            yield bytetext.from_bytes(merges)


def _swapped(first: dict[Merge, int], second: dict[Merge, int]) -> Iterator[bytes | None]:
    """Check pairs of merges that share a token; yield their bytes if the order differs."""
    shared = [merge for merge in first if merge in second]
    in_second = sorted(shared, key=second.__getitem__)
    moved = [one for one, other in zip(shared, in_second, strict=True) if one != other]
    starting, ending = defaultdict(list), defaultdict(list)
    for merge in shared:
        starting[merge[0]].append(merge)
        ending[merge[1]].append(merge)
    for merge in moved:
        for others, before in ((starting[merge[1]], False), (ending[merge[0]], True)):
            for other in others:
                swaps = (first[merge] < first[other]) != (second[merge] < second[other])
                parts = (other[0], *merge) if before else (*merge, other[1])
                yield b"".join(parts) if swaps else None
