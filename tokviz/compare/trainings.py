"""First difference of two trainings and its cause, to debug a trainer with other merges.

>>> import tokviz
>>> a = tokviz.train(["xy zw"], 258, split_pattern="gpt2", tie_break="first")
>>> b = tokviz.train(["xy zw"], 258, split_pattern="gpt2", tie_break="lexicographic")
>>> difference = diff_merges(a, b).first_difference
>>> difference.k, difference.a.token, difference.b.token, difference.kind
(1, b'xy', b'zw', 'tie')
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, islice, pairwise, takewhile
from os import PathLike
from pathlib import Path
from typing import Literal

from tokviz.compare.boundaries import Comparison
from tokviz.errors import InputFileError, VocabularyError
from tokviz.formats.merge_files import of_merges
from tokviz.formats.recognize import RecognizedFile, kind_of
from tokviz.formats.registry import is_builtin
from tokviz.formats.subprocess_loader import load, read
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, format_sentences
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.split import split
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.replay.replay import Replay, times_in_words
from tokviz.training.replay.steps import MergeStep
from tokviz.training.run import TrainingRun
from tokviz.training.ties import TIE_BREAKS

Kind = Literal["end", "parts", "tie", "pattern", "specials", "corpus", "counts", "unknown"]
"""Kinds of differences: one training ends; the same token has different parts; several pairs are
tied; the split pattern or special tokens cut a pre-token differently; a pre-token occurs more
often; the counts differ for an unknown reason; or the counts are unknown."""

NAMES = "ABC"
"""Names of the compared trainings, which limit their number."""

MOST_PRE_TOKENS = 5_000
"""Maximum number of pre-tokens with a pair that are checked for one with different counts."""
_LONGEST_PRE_TOKEN, _MOST_PARTS = 100, 4
_RUNGS_BEFORE, _RUNGS = 2, 8

Rung = tuple[int, tuple[MergeStep | None, ...]]
"""A merge number, and that merge in each training, None if the training has ended."""


Source = str | PathLike[str] | Replay | TrainingRun | Tokenizer | Sequence[Merge]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first merge at which two trainings differ.

    Attributes:
        k: Its number.
        a: The merge of the first one; None if it has ended.
        b: The merge of the second one; None if it has ended.
        kind: The kind of difference.
        sentences: An explanation in words and tokens.
        count_in_a: The count of the pair of `b` in the corpus of the first one just before the
            merge; None if unknown.
        count_in_b: The count of the pair of `a` in the corpus of the second one.
    """

    k: int
    a: MergeStep | None
    b: MergeStep | None
    kind: Kind
    sentences: tuple[Sentence, ...]
    count_in_a: int | None = None
    count_in_b: int | None = None

    def __str__(self) -> str:
        """Return the sentences, with bytes as Python literals."""
        return format_sentences(self.sentences)


@dataclass(frozen=True, slots=True)
class MergesDiff:
    """Comparison of two lists of merges.

    Attributes:
        a: The first one.
        b: The second one.
        first_difference: The first difference; None if all merges are equal.
        only_in: For each, the merged tokens that no other has, in the order of its merges.
        n_shared: Number of merged tokens shared by the first two.
        settings: Settings that differ, as far as they are known: (name, a's, b's).
        more: Comparisons of the first one with others.
    """

    a: Replay
    b: Replay
    first_difference: Difference | None
    only_in: tuple[list[bytes], ...]
    n_shared: int
    settings: tuple[tuple[str, str, str], ...]
    more: tuple[MergesDiff, ...] = ()

    @property
    def replays(self) -> tuple[Replay, ...]:
        """All compared trainings."""
        return self.a, self.b, *(diff.b for diff in self.more)

    @property
    def first_number(self) -> int | None:
        """The number of the first merge that differs in any of them; None if all are equal."""
        differences = [diff.first_difference for diff in (self, *self.more)]
        return min(
            (difference.k for difference in differences if difference is not None), default=None
        )

    def rungs(self, at: int | None = None) -> list[Rung]:
        """Return the merges around a number, or around the first one that differs."""
        first = max(1, (at or self.first_number or 1) - _RUNGS_BEFORE)
        last = min(first + _RUNGS, max(replay.n_merges for replay in self.replays) + 1)
        return [
            (k, tuple(it.step(k) if k <= it.n_merges else None for it in self.replays))
            for k in range(first, last)
        ]

    @property
    def n_equal(self) -> int:
        """Number of equal merges before the first difference."""
        if self.first_difference is None:
            return self.a.n_merges
        return self.first_difference.k - 1

    def effect(self, text: str, parse_specials: bool = True) -> Comparison:
        """Compare the encodings of byte text.

        Raises:
            VocabularyError: If one of the two has no token for a byte of it.
        """
        comparison = Comparison(text, [self.a.tokenizer, self.b.tokenizer], parse_specials)
        len(comparison.spans)  # compute them now, so that displaying them is fast
        return comparison


def open_merges(source: Source, split_pattern: SplitPattern | None = None) -> Replay:
    """Load merges from any source.

    Args:
        source: A run folder, the name of a built-in tokenizer, a tokenizer file, a file of merges
            or ranks (see `tokviz.formats.merge_files`), or the content of any of these.
        split_pattern: The split pattern for merges without one; None for that of GPT-2, or for
            ranks the one that their number suggests.

    Raises:
        InputFileError: If a file cannot be read, or its merges are inconsistent.
        VocabularyError: If merges given as a list are inconsistent.
        UnknownTokenizerError: If there is neither a file nor a tokenizer with this name.
    """
    if isinstance(source, Replay):
        return source
    if isinstance(source, (TrainingRun, Tokenizer)):
        return Replay.open(source)
    pattern: str | SplitPattern = split_pattern or "gpt2"
    if not isinstance(source, (str, PathLike)):
        return Replay.open(of_merges(source, pattern, "merges"))
    named = isinstance(source, str) and is_builtin(source)
    if named or not os.path.isfile(source):
        return Replay.open(source)
    kind = kind_of(source)
    name = os.fspath(source)
    try:
        if kind == "tiktoken":
            return Replay(load(source, split_pattern=split_pattern), None, name)
        if kind != "merges":
            return Replay.open(source)
        tokenizer = read(RecognizedFile(kind, Path(source)), pattern, name)
    except VocabularyError as error:
        raise InputFileError(source, str(error)) from None
    assert isinstance(tokenizer, Tokenizer)  # a list of merges needs no library
    return Replay.open(tokenizer)


def diff_merges(a: Source, b: Source, *more: Source) -> MergesDiff:
    """Compare two or more trainings, vocabularies or lists of merges.

    Args:
        a: A run folder, a name, a file, or the content of one; see `open_merges`.
        b: The same. Merges without a split pattern get the pattern of the other one.
        more: Others to compare with the first one.

    Raises:
        InputFileError: If a file cannot be read, or its merges are inconsistent.
        VocabularyError: If merges given as a list are inconsistent.
        UnknownTokenizerError: If there is neither a file nor a tokenizer with this name.
    """
    one = open_merges(a)
    others = [open_merges(source, one.tokenizer.split_pattern) for source in (b, *more)]
    first, *rest = (_diff(one, *pair) for pair in zip(others, NAMES[1:], strict=False))
    return replace(first, more=tuple(rest), only_in=_only_in(one, *others)) if rest else first


def _only_in(*replays: Replay) -> tuple[list[bytes], ...]:
    tokens = [replay.tokens for replay in replays]
    n_having = Counter(chain.from_iterable(map(set, tokens)))
    return tuple([token for token in own if n_having[token] == 1] for own in tokens)


def _diff(one: Replay, other: Replay, name: str) -> MergesDiff:
    k = _first_difference(one, other)
    return MergesDiff(
        one,
        other,
        None if k is None else _difference(one, other, k, name),
        _only_in(one, other),
        len({*one.tokens} & {*other.tokens}),
        tuple(_settings(one, other)),
    )


def _first_difference(a: Replay, b: Replay) -> int | None:
    """Return the number of the first merge that differs, or None."""
    n_both = min(a.n_merges, b.n_merges)
    tokens = zip(a.tokens, b.tokens, strict=False)
    n_same = next((i for i, (one, other) in enumerate(tokens) if one != other), n_both)
    # Merges of ranks follow from the tokens, and recovering them would take seconds.
    if not (a.tokenizer.by_ranks and b.tokenizer.by_ranks):
        n_same = next((i for i in range(n_same) if a.merge(i + 1) != b.merge(i + 1)), n_same)
    return None if n_same == a.n_merges == b.n_merges else n_same + 1


def _difference(a: Replay, b: Replay, k: int, name: str) -> Difference:
    in_a = a.step(k) if k <= a.n_merges else None
    in_b = b.step(k) if k <= b.n_merges else None
    if in_a is None or in_b is None:
        return Difference(k, in_a, in_b, "end", (_end(a, b, in_a, in_b, name),))
    count_in_a, count_in_b = _count_of(a, in_b, k), _count_of(b, in_a, k)
    views = [
        _View(which, replay, own, other, count)
        for which, replay, own, other, count in (
            ("A", a, in_a, in_b, count_in_a),
            (name, b, in_b, in_a, count_in_b),
        )
        if count is not None
    ]
    kind, reasons = _reasons(views, k)
    if in_a.token == in_b.token and kind == "unknown":
        kind = "parts"
    sentences = (
        ("A merges ", *in_a.pair.words, *_counted(in_a), "."),
        (f"{name} merges ", *in_b.pair.words, *_counted(in_b), "."),
        *reasons,
    )
    return Difference(k, in_a, in_b, kind, sentences, count_in_a, count_in_b)


def _counted(step: MergeStep) -> Sentence:
    return () if step.count is None else (f", which occurs {times_in_words(step.count)}",)


def _end(
    a: Replay, b: Replay, in_a: MergeStep | None, in_b: MergeStep | None, name: str
) -> Sentence:
    other, which, ended, step = (name, "A", a, in_b) if in_a is None else ("A", name, b, in_a)
    assert step is not None
    has_all = f"{other} has all {ended.n_merges:,} merges of {which}, and continues with "
    return (has_all, *step.pair.words, ".")


def _count_of(replay: Replay, step: MergeStep, k: int) -> int | None:
    """Return the count of the other one's pair in a training's corpus, 0 without such tokens."""
    if not replay.has_counts:
        return None
    ids = [replay.tokenizer.token_id(token) for token in (step.left, step.right)]
    if ids[0] is None or ids[1] is None:
        return 0
    return replay.state(k - 1).pair_count(ids[0], ids[1])


@dataclass(frozen=True, slots=True)
class _View:
    """A training with counts, and both merges.

    Attributes:
        which: Its displayed name.
        replay: The training.
        own: Its merge.
        other: The merge of the other one.
        count: The count of the other one's pair in its corpus.
    """

    which: str
    replay: Replay
    own: MergeStep
    other: MergeStep
    count: int

    @property
    def is_tie(self) -> bool:
        """True if both pairs are tied."""
        return self.count == self.own.count


def _reasons(views: list[_View], k: int) -> tuple[Kind, list[Sentence]]:
    """Explain why two trainings differ, as far as their corpora are known."""
    if not views:
        return "unknown", [("The counts of both pairs are unknown.",)]
    if not all(view.is_tie for view in views):
        sentences = [_less(view) for view in views if not view.is_tie]
        cause = _cause(views[0], views[1], k) if len(views) == 2 else None
        if cause is not None:
            return cause[0], [cause[1], *sentences]
        advice = (
            "The two counted differently. Check the corpus, the split pattern, the special "
            "tokens, and the counts that an earlier merge should have changed."
        )
        return "counts", [*sentences, (advice,)]
    if len(views) == 2:
        return "tie", _tie_of_both(*views)
    return "tie", _tie_of_one(views[0], k)


def _cause(first: _View, second: _View, k: int) -> tuple[Kind, Sentence] | None:
    """Find a pre-token that the two counted differently, and the cause by experiment.

    The previous merges are equal, so equal pre-tokens have equal tokens. If the pairs have
    different counts, one training must have more of a pre-token that contains its pair.
    """
    both = (first, second), (second, first)
    excesses = [excess for own, other in both for excess in _excesses(own, other, k)]
    if not excesses:
        return None
    _, own, other, pre_token, n_own, n_other = max(excesses, key=lambda excess: excess[0])
    pattern, other_pattern = (view.replay.tokenizer.split_pattern for view in (own, other))
    occurs = f" occurs {times_in_words(n_own)} in {own.which}"
    never = f"{times_in_words(n_other)} in {other.which}" if n_other else f"never in {other.which}"
    specials = other.replay.tokenizer.special_tokens
    inside = next((token.encode() for token in specials if token.encode() in pre_token), None)
    if inside is not None:
        cause = f"The cause is a special token: in {other.which} "
        return "specials", (cause, inside, " is cut out, and ", pre_token, f"{occurs}.")
    if pattern.regex != other_pattern.regex:
        cause = "The cause is the split pattern: "
        cut = _cut_otherwise(pre_token, pattern, other_pattern, other.replay)
        if cut:
            gives = f"in {own.which}, “{pattern.name}” gives "
            parts = [word for part in cut[:_MOST_PARTS] for word in (" ", part)]
            given = f", in {other.which}, “{other_pattern.name}”"
            return "pattern", (cause, gives, pre_token, given, *parts, ".")
        if _size(own.replay) == _size(other.replay):
            return "pattern", (cause, pre_token, occurs, f", {never}.")
    return "corpus", ("The cause is the corpus: ", pre_token, f"{occurs}, {never}.")


def _excesses(
    own: _View, other: _View, k: int
) -> Iterator[tuple[int, _View, _View, bytes, int, int]]:
    """Yield the pre-tokens of which a training has more, and how many of its pairs result."""
    counts = dict(_pre_tokens_of(other.replay))
    pair = own.own.left_id, own.own.right_id
    for pre_token in own.replay.state(k - 1).pre_tokens_of_next(MOST_PRE_TOKENS):
        n_other = counts.get(pre_token.data, 0)
        if pre_token.count > n_other and not (pre_token.start or pre_token.is_cut):
            n_pairs = sum(other == pair for other in pairwise(pre_token.ids))
            excess = n_pairs * (pre_token.count - n_other)
            yield excess, own, other, pre_token.data, pre_token.count, n_other


def _pre_tokens_of(replay: Replay) -> Iterator[tuple[bytes, int]]:
    return iter(()) if replay.run is None else replay.run.pre_token_counts.pre_tokens()


def _cut_otherwise(
    pre_token: bytes, own: SplitPattern, other: SplitPattern, replay: Replay
) -> list[bytes]:
    """Return how another pattern cuts a pre-token: alone, before other text, or within one."""
    for tail in (b"", b"a", b" a", b"\n"):
        cut = _cut(other, pre_token + tail)
        inside = [*takewhile(lambda end: end <= len(pre_token), accumulate(map(len, cut)))]
        if (
            len(inside) > 1
            and inside[-1] == len(pre_token)
            and pre_token in _cut(own, pre_token + tail)
        ):
            return cut[: len(inside)]
    short = (it for it, _ in _pre_tokens_of(replay) if len(it) <= _LONGEST_PRE_TOKEN)
    return [*islice((it for it in short if pre_token in it and pre_token in _cut(own, it)), 1)]


def _size(replay: Replay) -> tuple[int, ...]:
    """Return properties of a corpus that do not depend on the split pattern."""
    pre_tokens = replay.run and replay.run.pre_token_counts
    return (pre_tokens.n_bytes, pre_tokens.n_chars, pre_tokens.n_documents) if pre_tokens else ()


def _cut(pattern: SplitPattern, pre_token: bytes) -> list[bytes]:
    text = bytetext.from_bytes(pre_token)
    return [bytetext.to_bytes(text[start:end]) for start, end in split(pattern, text).spans()]


def _less(view: _View) -> Sentence:
    count, own = view.count, view.own.count
    occurs = "does not occur" if not count else f"occurs only {times_in_words(count)}"
    where = f" {occurs} in the corpus of {view.which}, which merges a pair that occurs "
    return (*view.other.pair.words, f"{where}{times_in_words(own or 0)}.")


def _tie_of_both(first: _View, second: _View) -> list[Sentence]:
    rules = first.replay.tie_break or "", second.replay.tie_break or ""
    tie: Sentence = (f"It is a tie: both pairs occur {times_in_words(first.count)}.",)
    if rules[0] == rules[1]:
        same = f"Both use the tie-breaking rule “{rules[0]}”: their texts or their ids differ."
        return [tie, (same,)]
    which = zip((first.which, second.which), rules, strict=True)
    takes = (
        f"The tie-breaking rule of {one}, “{rule}”, picks {TIE_BREAKS[rule].title}."
        for one, rule in which
    )
    return [tie, *((sentence,) for sentence in takes)]


def _tie_of_one(view: _View, k: int) -> list[Sentence]:
    """List the rules that would pick the pair of the training whose rule is unknown."""
    n_more = (view.own.n_tied or 2) - 2
    more = "" if not n_more else f", and so {_do(n_more)}"
    tie = f"It is a tie: both pairs occur {times_in_words(view.count)}{more}."
    rule = TIE_BREAKS[view.replay.tie_break or "first"]
    own = f"The tie-breaking rule of {view.which}, “{rule.name}”, picks {rule.title}."
    state = view.replay.state(k - 1)
    sentences: list[Sentence] = [(tie,), (own,)]
    for name, rule in TIE_BREAKS.items():
        best = state.top_pairs(1, name)[0]
        if (best.left, best.right) == (view.other.left, view.other.right):
            taken = f" is picked by the rule “{name}”: {rule.title} (as {rule.source})."
            sentences.append((*view.other.pair.words, taken))
    if len(sentences) == 2:
        sentences.append((*view.other.pair.words, " is not picked by any known rule."))
    return sentences


def _do(n: int) -> str:
    return "does one other" if n == 1 else f"do {n:,} others"


def _settings(a: Replay, b: Replay) -> list[tuple[str, str, str]]:
    """Return the settings of two trainings that differ."""
    rows = [
        ("merges", f"{a.n_merges:,}", f"{b.n_merges:,}"),
        ("split pattern", a.tokenizer.split_pattern.name, b.tokenizer.split_pattern.name),
        ("special tokens", _n_specials(a), _n_specials(b)),
    ]
    if a.run is not None and b.run is not None:
        rows += [
            ("corpus bytes", f"{a.n_bytes:,}", f"{b.n_bytes:,}"),
            ("unique pre-tokens", f"{a.n_pre_tokens:,}", f"{b.n_pre_tokens:,}"),
            ("tie-breaking rule", f"{a.tie_break}", f"{b.tie_break}"),
            ("lowest count", f"{a.run.settings.min_count}", f"{b.run.settings.min_count}"),
        ]
    patterns = a.tokenizer.split_pattern.regex, b.tokenizer.split_pattern.regex
    return [
        row
        for row in rows
        if row[1] != row[2] or (row[0] == "split pattern" and patterns[0] != patterns[1])
    ]


def _n_specials(replay: Replay) -> str:
    return f"{len(replay.tokenizer.special_tokens):,}"
