"""Comparison of a learner's merges with the reference, and the mistake that explains them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest
from operator import itemgetter
from typing import NamedTuple

from tokviz.compare.check_bpe.encoder import Encoded, EncodingCheck, check_encoding
from tokviz.compare.check_bpe.mistakes import COMBINABLE, MISTAKES, Mistake
from tokviz.compare.check_bpe.trainer import Setup, Table, count, learn, pair_table
from tokviz.errors import CorpusError, SpecialTokenError, TokvizError, VocabularyError
from tokviz.text.common_prefix import n_common
from tokviz.text.glyphs import n_cells
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.corpus.corpus import Corpus, Source
from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.settings import N_BYTES
from tokviz.training.ties import TIE_BREAKS, get_tie_break

SECONDS = 9.0
"""Time limit of the search for mistakes, in which small corpora are searched completely."""

_COLUMN = 22
"""Columns of the pairs of the reference."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Mistakes that reproduce the learner's merges.

    Attributes:
        mistakes: One mistake or two.
        n_equal: Number of the learner's merges that they reproduce from the start.
    """

    mistakes: tuple[Mistake, ...]
    n_equal: int


@dataclass(frozen=True, slots=True)
class BpeCheck:
    """Result of `check_bpe`. `str(check)` is the report.

    Attributes:
        merges: The learner's merges.
        reference: The correct merges, as many if the corpus has them.
        n_equal: Number of equal merges before the first difference.
        tie_break: The tie-breaking rule of the reference.
        explanations: The best explanations of the difference, all equally good.
        complete: Whether the search for mistakes ended before its time limit.
        problems: Problems of the vocabulary.
        table: The most frequent pairs before the first merge that differs, in the reference.
        their_table: The same with the mistakes; empty if there is no explanation.
        encoding: The comparison of encoded texts; None without any.
        is_stopped: Whether the check was stopped before the reference had as many merges.
    """

    merges: Sequence[Merge]
    reference: Sequence[Merge]
    n_equal: int
    tie_break: str
    explanations: tuple[Explanation, ...]
    complete: bool
    problems: tuple[str, ...]
    table: Table
    their_table: Table
    encoding: EncodingCheck | None = None
    is_stopped: bool = False

    @property
    def identical(self) -> bool:
        """Whether all merges are equal."""
        return self.n_equal == len(self.merges)

    @property
    def first_difference(self) -> int | None:
        """The number of the first merge that differs; None if no difference is known."""
        return None if self.identical or self.is_stopped else self.n_equal + 1

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The names of the mistakes of the first explanation, and of those of the encoder."""
        found = [it.name for one in self.explanations[:1] for it in one.mistakes]
        return (*found, *(self.encoding.mistakes if self.encoding else ()))

    @property
    def is_correct(self) -> bool:
        """Whether merges and encoded texts are equal and the vocabulary has no problems."""
        encoding = self.encoding
        is_encoded = encoding is None or encoding.n_equal == encoding.n_texts
        return self.identical and is_encoded and not self.problems

    @property
    def text(self) -> str:
        """The report."""
        return "\n".join(self.lines())

    def __str__(self) -> str:
        """Return the report."""
        return self.text

    def lines(self, show: Callable[[bytes], str] = repr) -> Iterator[str]:
        """Yield the report; `show` formats a token."""
        n, k = len(self.merges), self.n_equal
        if self.identical:
            yield f"identical: {k:,} of {pluralize(n, 'merge')}"
        elif self.first_difference is None:
            yield f"stopped: the first {k:,} of {pluralize(n, 'merge')} are equal"
        else:
            yield f"merge {k + 1:,} differs: {k:,} of {pluralize(n, 'merge')} are equal"
            for name, merges in (("reference", self.reference), ("yours", self.merges)):
                pair = " + ".join(map(show, merges[k])) if k < len(merges) else "no pair is left"
                yield f"  {name:<9}  {pair}"
        yield f"tie-breaking rule: {self.tie_break}"
        for explanation in self.explanations:
            yield from _explained(explanation, n)
        if self.first_difference is not None and not self.explanations:
            yield "no known mistake reproduces this merge" + " so far" * (not self.complete)
        if not (self.complete or (self.explanations and self.explanations[0].n_equal == n)):
            yield "the search was stopped: a smaller corpus allows more combinations"
        if self.table:
            yield f"pairs before merge {k + 1:,}, in the reference and in yours:"
            columns = (
                [f"{n:7,}  {show(left)} + {show(right)}" for (left, right), n in table]
                for table in (self.table, self.their_table)
            )
            for row, theirs in zip_longest(*columns, fillvalue=""):
                yield (row + " " * max(1, _COLUMN - n_cells(row)) + theirs).rstrip()
        yield from (f"vocabulary: {problem}" for problem in self.problems)
        if self.encoding is not None:
            yield from self.encoding.lines(show)


def _explained(explanation: Explanation, n: int) -> Iterator[str]:
    for mistake in explanation.mistakes:
        yield f"mistake: {mistake.name}: {mistake.sentence}"
        yield f"  source: {mistake.source}"
    reached = f"all {n:,}" if explanation.n_equal == n else f"{explanation.n_equal:,} of {n:,}"
    later = "" if explanation.n_equal == n else ", and another mistake follows later"
    yield f"  reproduces {reached} merges{later}"


def check_bpe(
    vocab: Mapping[int, bytes] | None,
    merges: Sequence[Merge],
    *,
    corpus: Source | Corpus,
    split_pattern: str | SplitPattern = "gpt2",
    special_tokens: Sequence[str] = (),
    tie_break: str | None = "lexicographic",
    encoded: Encoded | None = None,
    vocab_size: int | None = None,
    field: str = "text",
    seconds: float = SECONDS,
    on_progress: Callable[[str], object] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> BpeCheck:
    """Find the first wrong merge of a BPE trainer, and the mistake that explains it.

    Mistakes are found by experiment: a trainer that makes a known mistake, or two of them, must
    learn the same merges.

    Args:
        vocab: The learned vocabulary, id → bytes; None to check the merges only.
        merges: The learned merges in order.
        corpus: The corpus, as for `tokviz.train`.
        split_pattern: The split pattern that the trainer should use.
        special_tokens: The special tokens.
        tie_break: The tie-breaking rule; None for the rule that agrees with most merges.
        encoded: Ids by text, to check the encoder too: it should encode with these merges, even if
            they are wrong. `{"ids": ids, "decoded": text}` instead of the ids checks decoding.
        vocab_size: The requested vocabulary size, to check the number of merges.
        field: The field of JSON lines, or the column of tables, that contains the text.
        seconds: Time limit of the search for mistakes.
        on_progress: Called with the name of each mistake that is tried.
        should_stop: Called often; True ends the search with the results so far.

    Raises:
        CorpusError: If the corpus contains no text.
        InputFileError: If a file cannot be read.
        PatternError: If the split pattern is not a valid regex.
        TokvizError: If the tie-breaking rule is unknown, if ids are not ints or come without a
            vocabulary, or if the check is stopped before the corpus is read.
    """
    if encoded and vocab is None:
        raise TokvizError("ids are checked only with a vocabulary: name its file too")
    on_progress("the reference")
    merges = [(left, right) for left, right in merges]
    open_text: list[bytes] = []
    if not isinstance(corpus, Corpus):
        corpus = Corpus(corpus, delimiter=None, field=field)
    blocks = corpus.text_blocks()
    documents = [text for block in blocks for text in block.whole_texts(open_text)]
    if not any(documents):
        raise CorpusError("the corpus holds no text, so there is nothing to check")
    rules = [get_tie_break(tie_break)] if tie_break else [*TIE_BREAKS.values()]
    specials = tuple(text.encode() for text in special_tokens)
    base = Setup(get_split_pattern(split_pattern), specials, rules[0])
    search = _Search(documents, merges, base, should_stop, on_progress)
    if not search.counts.complete:
        raise TokvizError("stopped before the corpus was read")
    trained = []
    for rule in rules:
        base = base._replace(tie_break=rule)
        reference = [*learn(base, search.counts, len(merges), should_stop)]
        trained.append((n_common(reference, merges), base, reference))
    is_over = should_stop() or any(k == len(merges) for k, *_ in trained)
    outcomes = []
    for k, base, reference in trained:
        explanations = [] if is_over else search.explain(base, k, seconds / len(rules))
        n_explained = explanations[0].n_equal if explanations else k
        outcomes.append((n_explained, k, base, reference, explanations))
    _, k, base, reference, explanations = max(outcomes, key=itemgetter(0, 1))
    problems = [*_vocabulary_problems(vocab, merges, special_tokens, vocab_size)]
    encoding = None
    if encoded and vocab is not None:
        try:
            tokenizer = Tokenizer(vocab, merges, special_tokens, split_pattern=base.pattern)
            encoding = check_encoding(tokenizer, encoded)
        except (VocabularyError, SpecialTokenError) as error:
            problems.append(f"the encoder is not checked: {error}")
    table, their_table = Table(), Table()
    if k < min(len(reference), len(merges)):
        table = pair_table(search.counts, reference[: k + 1], merges[k])
        for best in explanations[:1]:
            counts = search.count(best.setup)
            their_table = best.table or pair_table(counts, merges[: k + 1], reference[k])
    return BpeCheck(
        merges,
        reference,
        k,
        base.tie_break.name,
        tuple(Explanation(it.mistakes, it.n_equal) for it in explanations),
        not (search.is_over or should_stop()),
        tuple(problems),
        table,
        their_table,
        encoding,
        is_stopped=should_stop() and k == len(reference) < len(merges),
    )


class _Attempt(NamedTuple):
    """Mistakes that were tried: the rules of a trainer that makes them, and its equal merges.

    Attributes:
        table: The most frequent pairs before the first merge that differs, if they are known.
    """

    mistakes: tuple[Mistake, ...]
    setup: Setup
    n_equal: int
    table: Table


class _Search:
    """Search for the mistakes that reproduce merges.

    Attributes:
        counts: The pre-tokens of the reference.
        n_equal: Number of merges that the reference reproduces.
        is_over: True once the time is over or the user has stopped the search.
    """

    def __init__(
        self,
        documents: Sequence[bytes],
        merges: Sequence[Merge],
        base: Setup,
        should_stop: Callable[[], bool],
        on_progress: Callable[[str], object],
    ) -> None:
        self._documents, self._merges = documents, [*merges]
        self._stop_requested, self._on_progress = should_stop, on_progress
        self._end = float("inf")
        self._counts: dict[object, PreTokenCounts] = {}
        self.n_equal = 0
        self.is_over = False
        self.counts = self.count(base)

    def should_stop(self) -> bool:
        """Return whether the search is over."""
        self.is_over = self.is_over or time.monotonic() > self._end or self._stop_requested()
        return self.is_over

    def count(self, setup: Setup) -> PreTokenCounts:
        """Return the pre-tokens of a setup."""
        counts = self._counts.get(setup.text_rules)
        if counts is None:
            counts = count(setup, self._documents, self.should_stop)
            if counts.complete:
                self._counts[setup.text_rules] = counts
        return counts

    def _n_equal_in(self, merges: Iterable[Merge]) -> int:
        """Return how many of the learner's merges are equal, up to the first difference."""
        n = 0
        for own, other in zip(merges, self._merges, strict=False):
            if own != other or self.should_stop():
                break
            n += 1
        return n

    def explain(self, base: Setup, n_equal: int, seconds: float) -> list[_Attempt]:
        """Return the best explanations: one mistake, two for all merges, or one before another."""
        started = time.monotonic()
        self._end, self.n_equal, self.is_over = started + seconds, n_equal, False
        singles = []
        for explanation in self._tried([((it,), base) for it in MISTAKES.values()]):
            singles.append(explanation)
            if explanation.n_equal == len(self._merges):
                self._end = min(self._end, started + seconds / 2)
        singles.sort(key=lambda explanation: -explanation.n_equal)
        best = self._best(singles)
        if not best or best[0].n_equal < len(self._merges):
            setups = {it.mistakes[0]: it.setup for it in reversed(singles)}
            # The first mistake has its best variant, so those with many variants come second.
            n_variants = {it.mistakes[0]: len([*it.mistakes[0].variants(base)]) for it in singles}
            pairs = [
                ((first, second), setups[first])
                for first, second in combinations(sorted(n_variants, key=n_variants.__getitem__), 2)
                if first.topic != second.topic or first.topic in COMBINABLE
            ]
            pairs.sort(key=lambda pair: n_variants[pair[0][1]])
            for explanation in self._tried(pairs):
                if explanation.n_equal == len(self._merges):
                    return [explanation]
        return best

    def _tried(self, attempts: Iterable[tuple[tuple[Mistake, ...], Setup]]) -> Iterator[_Attempt]:
        for mistakes, setup in attempts:
            self._on_progress(" and ".join(mistake.name for mistake in mistakes))
            for variant in mistakes[-1].variants(setup):
                counts, n, table = self.count(variant), 0, Table()
                if variant.rules != setup.rules or counts.memory != self.count(setup).memory:
                    limit = len(self._merges), self.should_stop
                    n = self._n_equal_in(learn(variant, counts, *limit, self.n_equal, table))
                if self.is_over and n < len(self._merges):
                    return
                yield _Attempt(mistakes, variant, n, table)

    def _best(self, explanations: list[_Attempt]) -> list[_Attempt]:
        most = max((it.n_equal for it in explanations), default=0)
        found = {it.mistakes: it for it in explanations if it.n_equal == most > self.n_equal}
        return [*found.values()]


def _vocabulary_problems(
    vocab: Mapping[int, bytes] | None,
    merges: Sequence[Merge],
    special_tokens: Sequence[str],
    vocab_size: int | None,
) -> Iterator[str]:
    n_specials, n = len(special_tokens), len(merges)
    if vocab_size is not None and n != vocab_size - N_BYTES - n_specials:
        expected = f"{vocab_size:,} tokens need {vocab_size - N_BYTES - n_specials:,} merges"
        name = {vocab_size: "size-without-bytes", vocab_size - N_BYTES: "size-without-specials"}
        mistake = MISTAKES.get(name.get(n, ""))
        cause = f": {mistake.name}: {mistake.sentence}" if mistake else ""
        yield f"{expected}, but there are {n:,}{cause}"
    if vocab is None:
        return
    found = {*vocab.values()}
    for kind, tokens in (
        ("byte", [bytes([byte]) for byte in range(N_BYTES)]),
        ("special token", [text.encode() for text in special_tokens]),
        ("merged token", [left + right for left, right in merges]),
    ):
        missing = [token for token in tokens if token not in found]
        if missing:
            more = f" and {len(missing) - 1:,} more" if missing[1:] else ""
            yield f"the {kind} {missing[0]!r} has no id{more}"
