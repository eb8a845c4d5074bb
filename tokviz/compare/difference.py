"""Difference of two tokenizers: a verdict, their parts, and texts whose ids differ.

The parts prove that two tokenizers encode every text as the same ids. Nothing proves the opposite
but a text, so a search encodes texts that aim at the difference. Without such a text and without a
proof, the verdict says that no difference was found, and how many texts were tried.

>>> import tokviz
>>> found = tokviz.diff("gpt2", "gpt-4")
>>> found.verdict
'different'
>>> found.split_pattern.texts
('gpt2', 'gpt4')
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, zip_longest
from operator import itemgetter
from os.path import isfile, join
from random import Random
from time import monotonic
from typing import Literal, NamedTuple, TypeVar

from tokviz.chat.model_files import MAX_TEMPLATE_BYTES, model_files_of
from tokviz.compare.boundaries import Comparison
from tokviz.compare.causes import Cause
from tokviz.compare.report import parallel_texts, sample_texts
from tokviz.compare.vocabularies import Int64s, VocabularyDifference, diff_vocabularies
from tokviz.errors import PatternError
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.formats.loader import AnyTokenizer, as_tokenizer
from tokviz.formats.self_check import SAMPLES
from tokviz.storage.assets import asset_path
from tokviz.storage.json_file import read_json
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, pluralize
from tokviz.tokenizer.encoding.packed import PackedRanks
from tokviz.tokenizer.tokenizer import Tokenizer

Item = TypeVar("Item")
Verdict = Literal["same ids", "no difference found", "other special tokens", "different"]
SEARCH_SECONDS = 60
"""The longest search for texts."""
_MOST_EXAMPLES, _MOST_EXPLAINED, _BATCH = 3, 10, 200
"""Texts to find for each aim of the search; texts to explain in each batch; size of a batch."""
_SUMMARIES: dict[Verdict, str] = {
    "same ids": "Same ids: all parts that encode text are equal.",
    "no difference found": "No difference found: {tried} have the same ids (no proof for all).",
    "other special tokens": "Same vocabulary, other special tokens: {plain} the same ids in both.",
    "different": "Different: the same text can have other ids.",
}  # fmt: skip


class Part(NamedTuple):
    """One part of two tokenizers.

    Attributes:
        name: Its name.
        same: Whether it is equal in both; None if that is unknown.
        texts: A description of it in each tokenizer.
        note: The difference in words; empty for none.
    """

    name: str
    same: bool | None
    texts: tuple[str, str]
    note: str = ""


class Example(NamedTuple):
    """A text that two tokenizers encode as different ids.

    Attributes:
        text: The text, as byte text.
        ids: The ids of the first tokenizer, and those of the second one.
        cause: The part that makes them differ; "ids" for the same tokens with other ids.
        why: The cause in sentences.
    """

    text: str
    ids: tuple[list[int], list[int]]
    cause: Cause | Literal["ids"]
    why: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class TokenizerDiff:
    """The difference of two tokenizers.

    Attributes:
        a: The first tokenizer.
        b: The second one.
        tokens: The difference of their vocabularies.
        same_ids: Whether the parts prove that every text has the same ids.
        vocabulary: The ordinary tokens and their ids.
        merges: The merges in their order.
        special_tokens: The special tokens, their ids and flags, and those added around a text.
        split_pattern: The split pattern, or the pre-tokenizer of a library.
        normalizer: The normalization before text is split.
        chat_template: The chat templates beside each file.
        padded_size: The rows of the model's embedding, from `config.json` beside the file.
        examples: Texts whose ids differ, in the order of the search.
        n_same: Number of texts of the search that both encode as the same ids.
        complete: Whether all texts of the search were tried.
    """

    a: Tokenizer
    b: Tokenizer
    tokens: VocabularyDifference = field(compare=False)
    same_ids: bool
    vocabulary: Part
    merges: Part
    special_tokens: Part
    split_pattern: Part
    normalizer: Part
    chat_template: Part
    padded_size: Part
    examples: tuple[Example, ...] = ()
    n_same: int = 0
    complete: bool = True

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts; the first four decide about texts without special tokens."""
        plain = self.vocabulary, self.merges, self.split_pattern, self.normalizer
        return (*plain, self.special_tokens, self.chat_template, self.padded_size)

    @property
    def verdict(self) -> Verdict:
        """Whether the ids of texts can differ."""
        if not self.examples:
            return "same ids" if self.same_ids else "no difference found"
        is_equal = all(part.same is not False for part in self.parts[:4])
        only_specials = all(example.cause == "specials" for example in self.examples)
        return "other special tokens" if is_equal and only_specials else "different"

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        tried = f"{self.n_same:,} texts" + ("" if self.complete else " until the time limit")
        is_proven = all(part.same for part in self.parts[:4])
        plain = "text without them has" if is_proven else f"{tried} have"
        return _SUMMARIES[self.verdict].format(tried=tried, plain=plain)


def diff(
    a: AnyTokenizer,
    b: AnyTokenizer,
    *,
    seconds: float = SEARCH_SECONDS,
    on_progress: Callable[[float, TokenizerDiff], object] = lambda share, found: None,
) -> TokenizerDiff:
    """Compare two tokenizers: their parts, and the ids of texts that aim at the difference.

    Args:
        a: A tokenizer, or a name or path as for `tokviz.load`.
        b: Another one.
        seconds: The longest search for texts; it always tries the same texts in the same order.
        on_progress: Called with the completed share of the search, and the result so far; an
            exception from it ends the work.

    Raises:
        TokvizError: If one of them cannot be loaded, or can no longer encode.
    """
    a, b = map(as_tokenizer, (a, b))
    tokens = diff_vocabularies(VocabularyIndex(a), VocabularyIndex(b))
    is_proven, specials, vocabulary = _prove_same(a, b), _specials(a, b), _vocabulary(a, b, tokens)
    merges, *others = _other_parts(a, b, is_proven)
    is_same = is_proven and specials.same is True
    parts = (vocabulary, merges, specials, *others)
    found = TokenizerDiff(a, b, tokens, is_same, *parts)  # type: ignore[arg-type]  # seven parts
    on_progress(0, found)
    for share, found in () if is_same else _search(found, monotonic() + seconds):  # noqa: B020
        on_progress(share, found)
    return found


# -- the parts


def _prove_same(a: Tokenizer, b: Tokenizer) -> bool:
    """Return whether texts without special tokens are certain to have the same ids."""
    return a.byte_text.content == b.byte_text.content


def _vocabulary(a: Tokenizer, b: Tokenizer, found: VocabularyDifference) -> Part:
    def n_only(index: VocabularyIndex, rows: Int64s, other: Tokenizer) -> int:
        tokens = (index.tokens[row] for row in rows[~index.special[rows]].tolist())
        specials = {name.encode() for name in other.special_tokens}
        return sum(token not in specials for token in tokens)

    moved = found.in_a[found.under_other_ids]
    counts = {
        "only in A": n_only(found.a, found.only_in_a, b),
        "only in B": n_only(found.b, found.only_in_b, a),
        "with other ids": int((~found.a.special[moved]).sum()),
    }
    note = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
    one, other = (f"{int((~index.special).sum()):,} tokens" for index in (found.a, found.b))
    return Part("vocabulary", not note, (one, other), note)


def _specials(a: Tokenizer, b: Tokenizer) -> Part:
    own, other = (
        {text: (token_id, text in one.normalized, text in one.non_special)
         for text, token_id in one.ids.items()}
        for one in (a.specials, b.specials)
    )  # fmt: skip
    groups = {
        "only in A": [text for text in own if text not in other],
        "only in B": [text for text in other if text not in own],
        "with other ids or flags": [it for it in own if own[it] != other.get(it, own[it])],
    }
    notes = [
        f"{len(texts):,} {group}: {', '.join(texts[:4])}" + ", …" * (len(texts) > 4)
        for group, texts in groups.items() if texts
    ]  # fmt: skip
    if _around(a) != _around(b):
        adding = [" … ".join(map(one.decode, _around(one))) for one in (a, b)]
        notes.append(f"added around a text: {adding[0]} in A, {adding[1]} in B")
    texts = pluralize(len(own), "token"), pluralize(len(other), "token")
    return Part("special tokens", not notes, texts, "; ".join(notes))


def _around(one: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return one.post_processor.before, one.post_processor.after


def _other_parts(a: Tokenizer, b: Tokenizer, is_proven: bool) -> Iterator[Part]:
    """Yield the other parts, in the order of the attributes of `TokenizerDiff`."""
    facts, is_exact = zip(_facts(a), _facts(b), strict=True), not (a.remote or b.remote)
    for (name, kind, own, text), (_, other_kind, other, other_text) in facts:
        is_known = kind == other_kind and own is not None is not other
        same = own == other and (is_exact or kind == "model" or None) if is_known else None
        same = same or (is_proven and kind != "model") or same
        note = ""
        if same is False and kind == "list":
            pairs = enumerate(zip_longest(a.merges, b.merges), 1)
            first = next((number for number, (one, two) in pairs if one != two), None)
            note = f"first difference at merge {first:,}" if first else ""
        yield Part(name, same, (text, other_text), note)


def _facts(one: Tokenizer) -> Iterator[tuple[str, str, object, str]]:
    """Yield parts: a name, a kind, a value to compare with one of the same kind, and a text."""
    kind, tables = "library" if one.remote else "native", one.tables
    if one.remote:
        yield "merges", kind, None, "in the library"
    elif isinstance(tables, PackedRanks):
        yield "merges", "ranks", tables.content, "ranks of the tokens"
    else:
        text = pluralize(len(tables.pairs) // 2, "merge") + ", ignore_merges" * one.ignore_merges
        yield "merges", "list", (one.merges, one.ignore_merges), text
    pattern = one.split_pattern
    value = pattern.name if one.remote else pattern.rules
    yield "split pattern", kind, value, pattern.name
    notes = one.load_report.findings if one.load_report else ()
    messages = [note.message for note in notes if note.where == "normalizer"]
    kinds = "".join(messages).partition("(")[2].partition(")")[0]
    own = one.normalizer
    parts = [own.form, "space before the text" * own.adds_space, kinds]
    normalizer = ", ".join(filter(None, parts)) or "none"
    yield "normalizer", "name", normalizer, normalizer
    files = model_files_of(one)
    templates = files.templates if files else {} if one.folder else None
    text = pluralize(sum(map(len, (templates or {}).values())), "character")
    text = "unknown" if templates is None else text if templates else "none"
    yield "chat template", "model", templates, text
    path = join(one.folder, "config.json")
    config = read_json(path, limit=MAX_TEMPLATE_BYTES) if one.folder and isfile(path) else None
    inner = config.get("text_config", config) if isinstance(config, dict) else None
    n_rows = inner.get("vocab_size") if isinstance(inner, dict) else None
    text = f"{n_rows:,} rows for {one.n_vocab:,} ids" if isinstance(n_rows, int) else "unknown"
    yield "padded size", "model", n_rows, text


# -- the search


def _search(found: TokenizerDiff, end: float) -> Iterator[tuple[float, TokenizerDiff]]:
    """Yield the completed share and the result so far."""
    a, b = found.a, found.b
    for tokenizer in (a, b):
        tokenizer.prepare()  # encodes many short texts 20 times faster
    examples: list[Example] = []
    if _around(a) != _around(b):
        one, other = ([*own[0], *it.encode("a"), *own[1]] for it in (a, b) for own in [_around(it)])
        why: Sentence = ("With add_special_tokens, they add other special tokens around a text.",)
        examples.append(Example("a", (one, other), "specials", (why,)))
    aims, n_done, n_same = _aimed_texts(found.tokens), 0, 0
    n_all = sum(map(len, aims))
    for texts in aims:
        n_found = 0
        for start in range(0, len(texts), _BATCH):
            if n_found == _MOST_EXAMPLES or monotonic() > end:
                break
            same, different = _differing(a, b, texts[start : start + _BATCH])
            n_same += same
            for is_renumbered, text in different[:_MOST_EXPLAINED]:
                if n_found >= (1 if is_renumbered else _MOST_EXAMPLES):
                    break
                example = _example(a, b, text)
                if all(example.why != other.why for other in examples):
                    n_found += 1
                    examples.append(example)
            found = replace(found, examples=tuple(examples), n_same=n_same)
            yield (n_done + start) / n_all, found
        n_done += len(texts)
    yield 1.0, replace(found, examples=tuple(examples), complete=monotonic() <= end)


def _differing(a: Tokenizer, b: Tokenizer, texts: list[str]) -> tuple[int, list[tuple[bool, str]]]:
    """Return the number of texts with equal ids, and the others.

    The bool tells whether their tokens differ only in their ids; those texts come last.
    """
    try:
        ids = [[*one.byte_text.encode_all(texts, True)] for one in (a, b)]
    except PatternError:  # a step of one of them takes too long
        return 0, []
    different = [
        ([*map(a.token_bytes, own)] == [*map(b.token_bytes, other)], text)
        for text, own, other in zip(texts, *ids, strict=True)
        if own != other
    ]
    return len(texts) - len(different), sorted(different, key=itemgetter(0))


def _example(a: Tokenizer, b: Tokenizer, text: str) -> Example:
    ids = a.byte_text.encode(text).tolist(), b.byte_text.encode(text).tolist()
    found = next(iter(Comparison(text, [a, b]).disagreements), None)
    if found is not None:
        return Example(text, ids, found.cause, found.sentences(found.other))
    own, other = next(pair for pair in zip_longest(*ids, fillvalue=-1) if pair[0] != pair[1])
    why = ("The token ", a.bytes_of(own) or b"", f" has the id {own} in A and {other} in B.")
    return Example(text, ids, "specials" if a.is_special(own) else "ids", (why,))


# -- the texts
# They aim at the difference: special tokens, tokens and merges of one tokenizer, texts that split
# patterns cut differently, and characters that normalization changes. They are the same for the
# same pair of tokenizers.

_MOST, _MOST_IN_LIBRARY, _MOST_CHECKED = 4_000, 500, 1_000_000
"""Limits: texts of one kind, with a library, and pairs of merges to check for their order."""
_SHORT = re.compile(r"\s*\S{1,12}\s*\S{0,12}")
"""A short part of a text."""


def _aimed_texts(difference: VocabularyDifference) -> list[list[str]]:
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
