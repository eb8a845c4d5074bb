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

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest
from operator import itemgetter
from os.path import isfile, join
from time import monotonic
from typing import Literal, NamedTuple

from tokviz.chat.model_files import MAX_TEMPLATE_BYTES, model_files_of
from tokviz.compare.boundaries import Comparison
from tokviz.compare.causes import Cause
from tokviz.compare.difference_texts import aimed_texts
from tokviz.compare.vocabularies import Int64s, VocabularyDifference, diff_vocabularies
from tokviz.errors import PatternError
from tokviz.explain.vocabulary.index import Cancelled, VocabularyIndex, never
from tokviz.formats.loader import load
from tokviz.formats.tokenizer_ipc import to_parts
from tokviz.storage.files import StrPath, read_file
from tokviz.storage.json_file import MAX_JSON_BYTES, read_json
from tokviz.text.sentences import Sentence, pluralize
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.tokenizer import Tokenizer

Verdict = Literal["same ids", "no difference found", "other special tokens", "different"]
SEARCH_SECONDS = 60.0
"""The longest search for texts."""
_MOST_EXAMPLES = 3
"""Texts to find for each aim of the search."""
_BATCH, _MOST_SHORTENED, _SHORT = 200, 10, 24
"""Texts encoded between two checks; texts of them that are explained; characters of a text that is
not shortened."""
_DESCRIPTIVE = ("name", "source", "lossy", "doubt", "report", "pattern", "sizes", "post_processor")
"""Entries of a serialized tokenizer that do not change ids; the pattern is compared apart."""
_SPECIAL_TABLES = slice(2, 6)
"""The tables of special tokens, whose order does not matter."""
_MOST_NAMES = 4


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
        same_ids: Whether the parts prove that every text has the same ids.
        vocabulary: The ordinary tokens and their ids.
        merges: The merges in their order.
        special_tokens: The special tokens, their ids and flags, and those added around a text.
        split_pattern: The split pattern, or the pre-tokenizer of a library.
        normalizer: The normalization before text is split.
        chat_template: The default chat template beside each file.
        padded_size: The rows of the model's embedding, from `config.json` beside the file.
        examples: Texts whose ids differ, in the order of the search.
        n_same: Number of texts of the search that both encode as the same ids.
        complete: Whether all texts of the search were tried.
    """

    a: Tokenizer
    b: Tokenizer
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
    def encoding_parts(self) -> tuple[Part, ...]:
        """The parts that decide about the ids of a text without special tokens."""
        return self.vocabulary, self.merges, self.split_pattern, self.normalizer

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts."""
        vocabulary, merges, pattern, normalizer = self.encoding_parts
        rest = self.chat_template, self.padded_size
        return vocabulary, merges, self.special_tokens, pattern, normalizer, *rest

    @property
    def verdict(self) -> Verdict:
        """Whether the ids of texts can differ."""
        if not self.examples:
            return "same ids" if self.same_ids else "no difference found"
        is_equal = all(part.same is not False for part in self.encoding_parts)
        only_specials = all(example.cause == "specials" for example in self.examples)
        return "other special tokens" if is_equal and only_specials else "different"

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        tried = f"{self.n_same:,} texts" + (
            "" if self.complete else ", before the search was stopped,"
        )
        if self.verdict == "same ids":
            return "Same ids: all parts that encode text are equal."
        if self.verdict == "no difference found":
            return (f"No difference found: {tried} have the same ids in both, but their parts do "
                    "not prove that all texts do.")  # fmt: skip
        if self.verdict == "different":
            return "Different: the same text can have other ids."
        is_proven = all(part.same for part in self.encoding_parts)
        proof = "text without them has" if is_proven else f"{tried} have"
        return f"Same vocabulary, other special tokens: {proof} the same ids in both."


def diff(
    a: StrPath | Tokenizer,
    b: StrPath | Tokenizer,
    *,
    tokens: VocabularyDifference | None = None,
    seconds: float = SEARCH_SECONDS,
    cancelled: Callable[[], bool] = never,
    on_progress: Callable[[float], object] = lambda share: None,
) -> TokenizerDiff:
    """Compare two tokenizers: their parts, and the ids of texts that aim at the difference.

    Args:
        a: A tokenizer, or a name or path as for `tokviz.load`.
        b: Another one.
        tokens: The difference of their vocabularies, if it is known.
        seconds: The longest search for texts; it always tries the same texts in the same order.
        cancelled: Called regularly; the work ends once it returns True.
        on_progress: Called with the completed share of the search.

    Raises:
        Cancelled: If `cancelled` returned True.
        TokvizError: If one of them cannot be loaded, or cannot encode any more.
    """
    a, b = (one if isinstance(one, Tokenizer) else load(one) for one in (a, b))
    if tokens is None:
        indexes = [VocabularyIndex(one, cancelled=cancelled) for one in (a, b)]
        tokens = diff_vocabularies(indexes[0], indexes[1], cancelled)
    is_proven = _prove_same(a, b)
    vocabulary, specials = _vocabulary(a, b, tokens), _specials(a, b)
    same_ids = is_proven and specials.same is True
    search = _Search(a, b, seconds, cancelled, on_progress)
    examples = () if same_ids else (*_added(a, b), *search.examples(aimed_texts(tokens)))

    def part(name: str, texts: tuple[str, str], same: bool) -> Part:
        is_unknown = (a.remote or b.remote) and same and not is_proven
        return Part(name, None if is_unknown else same, texts)

    patterns = a.split_pattern, b.split_pattern
    normalizers = _normalizer(a), _normalizer(b)
    return TokenizerDiff(
        a,
        b,
        same_ids,
        vocabulary,
        _merges(a, b, is_proven, vocabulary.same),
        specials,
        part(
            "split pattern",
            (patterns[0].name, patterns[1].name),
            a.remote != b.remote or _is_same_pattern(*patterns),
        ),
        part("normalizer", normalizers, normalizers[0] == normalizers[1]),
        _chat_template(a, b),
        _padded_size(a, b),
        examples,
        search.n_same,
        search.complete,
    )


# -- the parts


def _prove_same(a: Tokenizer, b: Tokenizer) -> bool:
    """Return whether the parts prove that texts without special tokens have the same ids."""
    if a.remote or b.remote:
        files = [one.load_report.subject if one.load_report else "" for one in (a, b)]
        if a.remote != b.remote or not all(map(isfile, files)):
            return False
        one, other = (sha256(read_file(file, limit=MAX_JSON_BYTES)).digest() for file in files)
        return one == other
    (head_a, tables_a), (head_b, tables_b) = to_parts(a), to_parts(b)
    heads = [{key: head[key] for key in head if key not in _DESCRIPTIVE}
             for head in (head_a, head_b)]  # fmt: skip
    del tables_a[_SPECIAL_TABLES], tables_b[_SPECIAL_TABLES]
    return (
        heads[0] == heads[1]
        and _is_same_pattern(a.split_pattern, b.split_pattern)
        and tables_a == tables_b
    )


def _is_same_pattern(a: SplitPattern, b: SplitPattern) -> bool:
    """Return whether two patterns have the same regex in the same version of Unicode."""
    return (a.regex, a.unicode_of_tiktoken) == (b.regex, b.unicode_of_tiktoken)


def _counted(**counts: int) -> str:
    named = ((name.replace("_", " "), number) for name, number in counts.items())
    return ", ".join(f"{number:,} {name}" for name, number in named if number)


def _vocabulary(a: Tokenizer, b: Tokenizer, found: VocabularyDifference) -> Part:
    def ordinary(index: VocabularyIndex, rows: Int64s, other: Tokenizer) -> int:
        tokens = (index.tokens[row] for row in rows[~index.special[rows]].tolist())
        specials = {name.encode() for name in other.special_tokens}
        return sum(token not in specials for token in tokens)

    moved = found.in_a[found.under_other_ids]
    note = _counted(
        only_in_A=ordinary(found.a, found.only_in_a, b),
        only_in_B=ordinary(found.b, found.only_in_b, a),
        with_other_ids=int((~found.a.special[moved]).sum()),
    )

    def size(index: VocabularyIndex) -> str:
        return pluralize(int((~index.special).sum()), "token")

    return Part("vocabulary", not note, (size(found.a), size(found.b)), note)


def _merges(a: Tokenizer, b: Tokenizer, is_proven: bool, same_vocabulary: bool | None) -> Part:
    def described(one: Tokenizer) -> str:
        if one.remote or one.by_ranks:
            return "in the library" if one.remote else "ranks of the tokens"
        option = ", ignore_merges" if one.ignore_merges else ""
        return pluralize(len(one.merges), "merge") + option

    texts = described(a), described(b)
    if a.remote or b.remote or a.by_ranks or b.by_ranks:
        by_ranks = same_vocabulary if a.by_ranks and b.by_ranks else None
        return Part("merges", is_proven or by_ranks, texts)
    pairs = enumerate(zip_longest(a.merges, b.merges), 1)
    first = next((number for number, (one, other) in pairs if one != other), None)
    note = f"first difference at merge {first:,}" if first else ""
    return Part("merges", not note and a.ignore_merges == b.ignore_merges, texts, note)


def _specials(a: Tokenizer, b: Tokenizer) -> Part:
    ids_a, ids_b, flags = a.special_tokens, b.special_tokens, (a.specials, b.specials)
    shared = [name for name in ids_a if name in ids_b]
    normalized, non_special = (
        set(one) ^ set(other)
        for one, other in ((flags[0].normalized, flags[1].normalized),
                           (flags[0].non_special, flags[1].non_special))
    )  # fmt: skip
    groups = {
        "only in A": [name for name in ids_a if name not in ids_b],
        "only in B": [name for name in ids_b if name not in ids_a],
        "with other ids": [name for name in shared if ids_a[name] != ids_b[name]],
        "with other flags": [name for name in shared if name in normalized | non_special],
    }
    notes = [
        f"{len(names):,} {group}: " + ", ".join(names[:_MOST_NAMES])
        + (", …" if len(names) > _MOST_NAMES else "")
        for group, names in groups.items() if names
    ]  # fmt: skip
    if _around(a) != _around(b):
        notes.append(f"added around a text: {_adding(a)} in A, {_adding(b)} in B")
    texts = pluralize(len(ids_a), "token"), pluralize(len(ids_b), "token")
    return Part("special tokens", not notes, texts, "; ".join(notes))


def _around(one: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return one.post_processor.before, one.post_processor.after


def _adding(one: Tokenizer) -> str:
    before, after = (one.decode(ids) for ids in _around(one))
    return f"{before}…{after}"


def _normalizer(one: Tokenizer) -> str:
    notes = one.load_report.findings if one.load_report else ()
    messages = (note.message for note in notes if note.where == "normalizer")
    in_brackets = (message.partition("(")[2].partition(")")[0] for message in messages)
    return "NFC" if one.nfc else next(in_brackets, "none")


def _chat_template(a: Tokenizer, b: Tokenizer) -> Part:
    def templates(one: Tokenizer) -> Mapping[str, str]:
        files = model_files_of(one)
        return files.templates if files else {}

    def described(found: Mapping[str, str]) -> str:
        return pluralize(sum(map(len, found.values())), "character") if found else "none"

    own, other = templates(a), templates(b)
    same = own == other if a.folder and b.folder else None
    return Part("chat template", same, (described(own), described(other)))


def _padded_size(a: Tokenizer, b: Tokenizer) -> Part:
    rows = _n_rows(a), _n_rows(b)

    def described(n_rows: int | None, n_ids: int) -> str:
        lacking = f", too few for {n_ids:,} ids" if n_rows is not None and n_rows < n_ids else ""
        return "unknown" if n_rows is None else f"{n_rows:,} rows{lacking}"

    texts = described(rows[0], a.n_vocab), described(rows[1], b.n_vocab)
    return Part("padded size", None if None in rows else rows[0] == rows[1], texts)


def _n_rows(one: Tokenizer) -> int | None:
    path = join(one.folder, "config.json")
    if not one.folder or not isfile(path):
        return None
    config = read_json(path, limit=MAX_TEMPLATE_BYTES)
    inner = config.get("text_config") if isinstance(config, dict) else None
    for part in (config, inner):
        size = part.get("vocab_size") if isinstance(part, dict) else None
        if isinstance(size, int):
            return size
    return None


# -- the search


def _added(a: Tokenizer, b: Tokenizer) -> Iterator[Example]:
    """Yield a text to which the two add other special tokens."""
    if _around(a) != _around(b):
        text = "a"
        ids = [[*before, *one.encode(text), *after]
               for one, (before, after) in ((a, _around(a)), (b, _around(b)))]  # fmt: skip
        why = ("With add_special_tokens, the two add other special tokens around a text.",)
        yield Example(text, (ids[0], ids[1]), "specials", (why,))


class _Search:
    """A search for texts whose ids differ.

    Attributes:
        n_same: Number of texts with the same ids so far.
        complete: Whether no time limit has stopped the search.
    """

    def __init__(
        self, a: Tokenizer, b: Tokenizer, seconds: float,
        cancelled: Callable[[], bool], on_progress: Callable[[float], object],
    ) -> None:  # fmt: skip
        self._a, self._b, self._cancelled, self._on_progress = a, b, cancelled, on_progress
        self._end = monotonic() + seconds
        self.n_same, self.complete = 0, True

    def examples(self, aims: list[list[str]]) -> Iterator[Example]:
        """Yield the first texts of each list whose ids differ, shortened if they are long."""
        n_all, n_done, seen = sum(map(len, aims)), 0, set[tuple[Sentence, ...]]()
        for texts in aims:
            n_found = 0
            for start in range(0, len(texts), _BATCH):
                if self._cancelled():
                    raise Cancelled
                self._on_progress((n_done + start) / n_all)
                if n_found >= _MOST_EXAMPLES or not self.complete:
                    break
                self.complete = monotonic() < self._end
                differing = self._differing(texts[start : start + _BATCH])
                for is_renumbered, text in differing[:_MOST_SHORTENED]:
                    if n_found == (1 if is_renumbered else _MOST_EXAMPLES):
                        break
                    example = self._example(self._shortened(text, is_renumbered))
                    if example.why not in seen:
                        seen.add(example.why)
                        n_found += 1
                        yield example
            n_done += len(texts)

    def _differing(self, texts: list[str]) -> list[tuple[bool, str]]:
        """Return the texts whose ids differ, each with whether only the ids of its tokens do."""
        a, b = self._a, self._b
        try:
            ids = zip(*(one.encode_byte_texts(texts, True) for one in (a, b)), strict=True)
            pairs = list(zip(texts, ids, strict=True))
        except PatternError:  # a step takes too long: nothing is known about this text
            alone = texts if len(texts) > 1 else ()
            return [found for text in alone for found in self._differing([text])]
        different = [
            ([*map(a.token_bytes, own)] == [*map(b.token_bytes, other)], text)
            for text, (own, other) in pairs
            if own != other
        ]
        self.n_same += len(texts) - len(different)
        return sorted(different, key=itemgetter(0))

    def _shortened(self, text: str, is_renumbered: bool) -> str:
        """Remove parts of a long text as long as it differs in the same way."""
        size = len(text) // 2 if len(text) > _SHORT else 0
        while size and not self._cancelled():
            start = 0
            while start < len(text):
                shorter = text[:start] + text[start + size :]
                if shorter and self._differing([shorter]) == [(is_renumbered, shorter)]:
                    text = shorter
                else:
                    start += size
            size //= 2
        return text

    def _example(self, text: str) -> Example:
        a, b = self._a, self._b
        ids = a.encode_byte_text(text), b.encode_byte_text(text)
        found = next(iter(Comparison(text, [a, b]).disagreements), None)
        if found is not None:
            return Example(text, ids, found.cause, found.sentences(found.other))
        own, other = next(
            (pair for pair in zip(*ids, strict=False) if pair[0] != pair[1]), (-1, -1)
        )
        why = ("The token ", a.token_bytes(own), f" has the id {own} in A and {other} in B.")
        return Example(text, ids, "specials" if a.is_special(own) else "ids", (why,))
