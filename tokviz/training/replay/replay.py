"""Replay of a training or of any vocabulary: the state after k merges, for any k.

Merges only join tokens. So one number for every two adjacent bytes, that of the merge that joins
them, describes the states for all k (see `tokviz.training.replay.text`); the rest is counting.

>>> import tokviz
>>> run = tokviz.train(["abababcb"], 259, split_pattern="none")
>>> replay = Replay.open(run)
>>> replay.step(1).token, replay.step(1).count
(b'ab', 3)
>>> [pair.left + pair.right for pair in replay.state(1).top_pairs(2)]
[b'abab', b'abc']
>>> replay.text("abab").at(1).ids.tolist()
[256, 256]
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from tokviz.errors import TokvizError
from tokviz.formats.registry import is_path_of_file
from tokviz.formats.run import ABOUT
from tokviz.formats.subprocess_loader import load
from tokviz.process.runner import JobDroppedError
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, format_sentences
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.encoding.segment_encoder import SegmentEncoder
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.attribution import N_FILES, Attribution
from tokviz.training.replay.corpus import (
    CorpusPreparation,
    ReplayCorpus,
    TokenizedPreToken,
    open_corpus,
)
from tokviz.training.replay.pairs import TieOrder
from tokviz.training.replay.steps import (
    ListedSteps,
    MergeStep,
    MergeSteps,
    RankedSteps,
    RecordedSteps,
)
from tokviz.training.replay.text import ReplayText, TextTimes
from tokviz.training.run import TrainingRun
from tokviz.training.ties import TIE_BREAKS, TokenPair, get_tie_break


@dataclass(frozen=True, slots=True)
class MergeReason:
    """The reason for a merge.

    Attributes:
        sentences: The explanation.
    """

    sentences: tuple[Sentence, ...]

    def __str__(self) -> str:
        """Return the sentences, with tokens as Python literals."""
        return format_sentences(self.sentences)


def why_merged(step: MergeStep, tie_break: str | None) -> MergeReason:
    """Explain why a merge happened when it did.

    Args:
        step: The merge.
        tie_break: Name of the tie-breaking rule of the training; None if unknown.
    """
    if step.count is None:
        return MergeReason((_without_counts(step),))
    pair = step.pair.words
    overlaps = tuple(_overlaps(step))
    if step.n_tied is not None and step.n_tied > 1 and tie_break is not None:
        rule = get_tie_break(tie_break)
        tied = (*pair, f" occurs {times_in_words(step.count)}, as {_others(step.n_tied - 1)}.")
        wins = (f"The rule “{rule.name}” takes {rule.title} (as {rule.source}).",)
        compared = () if step.runner_up is None else (rule.why(step.pair, step.runner_up),)
        return MergeReason((tied, wins, *compared, *overlaps))
    if step.runner_up is None:
        alone = (*pair, f" occurs {times_in_words(step.count)}; no other pair is left.")
        return MergeReason((alone, *overlaps))
    ahead = f" occurs {times_in_words(step.count)}, more than any other pair; "
    follows = f" follows with {step.runner_up_count:,}, {step.margin:,} fewer."
    return MergeReason(((*pair, ahead, *step.runner_up.words, follows), *overlaps))


class Term(NamedTuple):
    """The contribution of a pre-token to the count of a pair.

    Attributes:
        pre_token: Its bytes.
        n_pre_tokens: Its occurrences in the corpus.
        n_pairs: Occurrences of the pair in it, including overlapping ones.
    """

    pre_token: bytes
    n_pre_tokens: int
    n_pairs: int


def explain_count(total: int, terms: Sequence[Term]) -> Sentence:
    """Explain a count: "9 = 6 × newest + 3 × widest".

    Args:
        total: Occurrences of the pair.
        terms: Contributions of some pre-tokens; the rest of the total comes from others.
    """
    words: list[str | bytes] = [f"{total:,} = "]
    rest = total
    for term in terms:
        inside = f"{term.n_pairs} in " if term.n_pairs > 1 else ""
        words += [f"{term.n_pre_tokens:,} × {inside}", term.pre_token, " + "]
        rest -= term.n_pre_tokens * term.n_pairs
    words[-1] = f" + {rest:,} in other pre-tokens." if rest else "."
    return tuple(words)


def other_rules(taken: TokenPair, others: Mapping[str, TokenPair]) -> Iterator[Sentence]:
    """Name the tie-breaking rules that would have merged another pair.

    Args:
        taken: The pair that was merged.
        others: The pair that each other rule chooses.
    """
    for name, pair in others.items():
        if pair[:2] != taken[:2]:
            yield (f"The rule “{name}” would have merged ", *pair.words, ".")


def files_of_merge(attribution: Attribution | None, k: int) -> Sentence:
    """Name the files that a merge comes from, largest share first.

    Args:
        attribution: The attribution of the training, if it kept one.
        k: The merge number.
    """
    if attribution is None:
        return ("This training did not record which files a merge comes from.",)
    parts = sorted(attribution.of(k), key=lambda part: -part.n)
    if not parts:
        return ("The corpus was a single file or text.",)
    if len(parts) == 1:
        return (f"All of it comes from {attribution.label_of(parts[0])}.",)
    shown = [
        f"{attribution.label_of(part)} ({part.n:,}, {part.share:.0%})" for part in parts[:N_FILES]
    ]
    more = " and others" if len(parts) > N_FILES else ""
    return (f"It comes from {', '.join(shown)}{more}.",)


def effect_on_text(step: MergeStep, n_places: int, n_before: int, n_after: int) -> Sentence:
    """Describe the effect of a merge on the user's text, for a vocabulary with unknown corpus."""
    if not step.is_reached:
        return _without_counts(step)
    if not n_places:
        return (*step.pair.words, " does not occur in your text at this point.")
    tokens = f" occurs {times_in_words(n_places)} in your text: {n_before:,} → {n_after:,} tokens."
    return (*step.pair.words, tokens)


def _overlaps(step: MergeStep) -> Iterator[Sentence]:
    """Explain why fewer pairs are replaced than occur, if so."""
    replaced = step.n_replaced
    if replaced is not None and replaced != step.count:
        made = f"{replaced:,} replacement{'s' * (replaced != 1)}"
        yield (
            f"The merge makes {made}, not {step.count:,}: occurrences that overlap share a token, "
            "and a token is merged only once.",
        )


def _without_counts(step: MergeStep) -> Sentence:
    if not step.is_reached:
        return (
            "No merge makes ",
            step.token,
            ": it is used only as a whole pre-token, or never.",
        )
    unknown = " was recovered from the vocabulary; its count is unknown."
    return *step.pair.words, unknown


def times_in_words(n: int) -> str:
    """Return "once", "twice" or "3 times"."""
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")


def _others(n: int) -> str:
    return "does one other pair" if n == 1 else f"do {n:,} other pairs"


ReplaySource = str | PathLike[str] | TrainingRun | Tokenizer

N_TERMS = 4
"""Maximum number of pre-tokens named in the explanation of a count."""

TINY_CORPUS_BYTES = 2_000
"""A corpus with up to this many bytes of distinct pre-tokens fits on a screen."""


@dataclass(frozen=True, slots=True)
class PairCount:
    """A pair of adjacent tokens with its count.

    Attributes:
        left_id: The id of the left token.
        right_id: The id of the right token.
        left: The bytes of the left token.
        right: The bytes of the right token.
        count: Occurrences of the pair in the corpus, including overlapping ones.
        is_next: Whether it is merged next.
    """

    left_id: int
    right_id: int
    left: bytes
    right: bytes
    count: int
    is_next: bool


class Replay:
    """A training, or a vocabulary without one, with its state after any merge.

    Attributes:
        name: The name or path it was opened with.
        tokenizer: The tokenizer.
        n_merges: Number of merges; they are numbered from 1.
        run: The training; None for a vocabulary without one.
    """

    def __init__(self, tokenizer: Tokenizer, run: TrainingRun | None, name: str) -> None:
        """Create from a tokenizer and its training; see `open`.

        Raises:
            TokvizError: If the tokenizer has no merges, because another library encodes with it.
        """
        self.name = name
        self.tokenizer = tokenizer
        self.run = run
        self._steps: MergeSteps
        if tokenizer.remote:
            raise TokvizError(
                f"{name}: its own library encodes with it, so its merges are unknown. "
                "Choose a training, or a tokenizer that tokviz can encode with"
            )
        if run is not None:
            self._steps = RecordedSteps(tokenizer, run.history, run.pre_token_counts.n_bytes)
        elif tokenizer.by_ranks:
            self._steps = RankedSteps(tokenizer)
        else:
            self._steps = ListedSteps(tokenizer)
        self.n_merges = self._steps.n_merges
        self._texts = TextTimes(tokenizer, self._steps)
        self._corpus: ReplayCorpus | None = None
        self._preparation: CorpusPreparation | None = None
        self._tie_orders: dict[str, TieOrder] = {}
        self._lock, self._text_lock = RLock(), RLock()

    @classmethod
    def open(cls, source: ReplaySource, *, prepare: bool = True) -> Replay:
        """Open a training or any vocabulary.

        Args:
            source: A training run or its folder, with counts; or a tokenizer, the name of a
                built-in one, or the path of a tokenizer file, without counts.
            prepare: Whether to call `prepare` too, which takes more than half of the time for a
                large run. Merges, curves and texts do not need it.

        Raises:
            InputFileError: If a folder is not a run, or a file cannot be read or is damaged.
            UnknownTokenizerError: If neither a file nor a tokenizer has that name.
            TokvizError: If the history of a run does not fit its pre-tokens, or a tokenizer has no
                merges.
        """
        if isinstance(source, TrainingRun):
            replay = cls(source.tokenizer, source, source.tokenizer.name)
        elif not isinstance(source, (str, PathLike)):
            replay = cls(source, None, source.name)
        elif is_path_of_file(source) and os.path.exists(os.path.join(source, ABOUT)):
            preparation = CorpusPreparation()
            run = TrainingRun.load(
                source, on_parts=preparation.start, read_tokenizer=lambda folder: load(Path(folder))
            )
            replay = cls(run.tokenizer, run, os.fspath(source))
            replay._preparation = preparation
        else:
            tokenizer = load(source)
            try:
                replay = cls(tokenizer, None, os.fspath(source))
            except TokvizError:
                tokenizer.close()
                raise
        if prepare:
            replay.prepare()
        return replay

    def prepare(self) -> None:
        """Open the corpus now, which the first state needs.

        Raises:
            TokvizError: If the history of the run does not fit its pre-tokens.
        """
        if self.run is not None:
            self.corpus()

    # -- facts

    @property
    def has_counts(self) -> bool:
        """True if the corpus of the training is known."""
        return self.run is not None

    @property
    def tokens(self) -> Sequence[bytes]:
        """The tokens that the merges make, in order."""
        return self._steps.tokens

    @property
    def tie_break(self) -> str | None:
        """The name of the tie-breaking rule; None if unknown."""
        return None if self.run is None else self.run.settings.tie_break

    @property
    def n_bytes(self) -> int | None:
        """Number of bytes of the corpus; None if unknown."""
        return None if self.run is None else self.run.pre_token_counts.n_bytes

    @property
    def n_pre_tokens(self) -> int | None:
        """Number of distinct pre-tokens of the corpus; None if unknown."""
        return None if self.run is None else len(self.run.pre_token_counts)

    @property
    def is_tiny(self) -> bool:
        """True if the whole corpus fits on a screen."""
        return self.run is not None and len(self.run.pre_token_counts.data) <= TINY_CORPUS_BYTES

    # -- merges

    def step(self, k: int) -> MergeStep:
        """Return merge k, from 1 to `n_merges`.

        Raises:
            IndexError: If k is out of range.
        """
        if not 1 <= k <= self.n_merges:
            raise IndexError(f"there is no merge {k:,}, only 1 to {self.n_merges:,}")
        return self._steps.step(k)

    def merge(self, k: int) -> Merge | None:
        """Return the two tokens of merge k, None if it never happens; faster than `step`."""
        return self._steps.merge(k)

    def token(self, k: int) -> bytes:
        """Return the bytes of the token that merge k makes; faster than `step`."""
        return self._steps.tokens[k - 1]

    def why(self, k: int) -> MergeReason:
        """Explain why merge k happened when it did."""
        return why_merged(self.step(k), self.tie_break)

    def details(
        self, k: int, pre_tokens: Sequence[TokenizedPreToken] | None = None
    ) -> tuple[Sentence, ...]:
        """Explain the count of merge k, and what other tie-breaking rules would have merged.

        This takes a moment for a large corpus.

        Args:
            k: The merge number.
            pre_tokens: The result of `pre_tokens_of_next` for the state before it, if known.

        Returns:
            Sentences; none without counts.
        """
        step, run = self.step(k), self.run
        if run is None or step.count is None:
            return ()
        before, wanted = self.state(k - 1), (step.left_id, step.right_id)
        if pre_tokens is None:
            pre_tokens = before.pre_tokens_of_next(N_TERMS)
        terms = [
            Term(
                pre_token.data,
                pre_token.count,
                sum(pair == wanted for pair in pairwise(pre_token.ids)),
            )
            for pre_token in pre_tokens[:N_TERMS]
        ]
        others = {}
        if step.n_tied is not None and step.n_tied > 1:
            for name in (rule for rule in TIE_BREAKS if rule != self.tie_break):
                best = before.top_pairs(1, name)[0]
                others[name] = TokenPair(best.left_id, best.right_id, best.left, best.right)
        # A long pre-token, such as a whole document, is known only in part and is unreadable.
        is_whole = not any(part.start or part.is_cut for part in pre_tokens[:N_TERMS])
        sums = [explain_count(step.count, terms)] if is_whole else []
        return *sums, *other_rules(step.pair, others)

    def files(self, k: int) -> tuple[Sentence, ...]:
        """Name the files of the corpus that merge k comes from; empty unless there are several."""
        run = self.run
        return () if run is None or len(run.sources) < 2 else (files_of_merge(run.attribution, k),)

    def find(self, query: str) -> Iterator[int]:
        """Find merges by their token's text or by their number.

        Args:
            query: "#123" for only merge 123, or text.

        Yields:
            The merge with that number, if the text is one; the merge that makes exactly this
            token; the one that makes it with a space before it; and those whose token contains it.
        """
        number = query.strip().removeprefix("#")
        if number.isascii() and number.isdigit() and 1 <= int(number[:12]) <= self.n_merges:
            yield int(number)
        else:
            number = ""
        if query.startswith("#") and query[1:].isdigit():
            return
        tokens, containing, wanted = self._steps.tokens, list[int](), b""
        # Users may type a space as it is displayed.
        for typed in dict.fromkeys((query, query.replace("·", " "))):
            wanted = bytetext.to_bytes(bytetext.as_byte_text(typed))
            containing = [k for k, token in enumerate(tokens, 1) if wanted and wanted in token]
            if containing:
                break
        exact = [k for k in containing if tokens[k - 1] == wanted]
        spaced = [k for k in containing if tokens[k - 1] == b" " + wanted]
        first = [int(number)] if number else []
        yield from list(dict.fromkeys(first + exact + spaced + containing))[len(first) :]

    def merge_of_pair(self, left_id: int, right_id: int) -> int | None:
        """Return the number of the merge of a pair, None if it is never merged."""
        left, right = map(self.tokenizer.token_bytes, (left_id, right_id))
        return self.tokenizer.pair_number(left, right)

    # -- states

    def state(self, k: int) -> ReplayState:
        """Return the state after k merges, from 0 to `n_merges`.

        Raises:
            IndexError: If k is out of range.
        """
        if not 0 <= k <= self.n_merges:
            raise IndexError(f"there is no merge {k:,}, only 0 to {self.n_merges:,}")
        return ReplayState(self, k)

    def pre_token(self, index: int, k: int, start: int = 0) -> TokenizedPreToken:
        """Return a distinct pre-token of the corpus with its tokens after k merges.

        Args:
            index: Its index among the pre-tokens.
            k: Number of merges.
            start: Start of the wanted part of a long pre-token, a `TokenizedPreToken.start`.

        Raises:
            IndexError: If the index is out of range.
        """
        if self.run is None or not 0 <= index < len(self.run.pre_token_counts):
            raise IndexError(f"there is no pre-token {index:,}")
        return self.corpus().pre_token(index, k, start)

    def text(self, text: str, parse_specials: bool = True) -> ReplayText:
        """Prepare byte text for any number of merges.

        Raises:
            VocabularyError: If the vocabulary has no token for a byte of the text.
        """
        with self._text_lock:
            return self._texts.prepare(text, parse_specials)

    def tokenizer_after(self, k: int) -> Tokenizer:
        """Return a tokenizer that encodes as after k merges, fast for any k.

        Only encoding is limited to k merges; `merges` and ranks remain complete.
        """
        return self.tokenizer.encoding_by(_PrefixEncoder(self, k))

    # -- the corpus

    def corpus(self) -> ReplayCorpus:
        """Return the corpus of the training, opened on first use; only if `has_counts`.

        Raises:
            TokvizError: If the history of the run does not fit its pre-tokens.
        """
        assert self.run is not None and isinstance(self._steps, RecordedSteps)
        with self._lock:
            if self._corpus is None:
                layout, pre_tokens = self.run.settings.layout, self.run.pre_token_counts
                try:
                    self._corpus = open_corpus(pre_tokens, self._steps, layout, self._preparation)
                except JobDroppedError:
                    raise
                except TokvizError as error:
                    raise TokvizError(f"{self.name}: {error}") from None
            return self._corpus

    def _tie_order(self, rule: str | None) -> TieOrder:
        assert self.run is not None
        name = self.run.settings.tie_break if rule is None else rule
        if name not in self._tie_orders:
            tokens = [bytes([byte]) for byte in range(256)]
            self._tie_orders[name] = TieOrder(
                get_tie_break(name),
                [*tokens, *self._steps.tokens],
                self.run.pre_token_counts.offsets,
            )
        return self._tie_orders[name]


class ReplayState:
    """The state after k merges. Facts about the corpus are empty or None without counts.

    Attributes:
        k: Number of merges.
    """

    def __init__(self, replay: Replay, k: int) -> None:
        """Create a state, which is cheap until counts are requested."""
        self._replay = replay
        self.k = k

    @property
    def n_tokens(self) -> int | None:
        """Number of tokens of the whole corpus."""
        run = self._replay.run
        if run is None:
            return None
        return int(run.history.n_tokens[self.k - 1]) if self.k else run.pre_token_counts.n_bytes

    @property
    def bytes_per_token(self) -> float | None:
        """The compression of the corpus."""
        n_tokens, n_bytes = self.n_tokens, self._replay.n_bytes
        return None if not n_tokens or n_bytes is None else n_bytes / n_tokens

    def top_pairs(self, n: int = 10, rule: str | None = None) -> list[PairCount]:
        """Return the n most frequent pairs, in the order in which they would be merged next.

        Args:
            n: Maximum number of pairs.
            rule: Name of the tie-breaking rule; None for that of the training.

        Raises:
            TokvizError: If the rule is unknown.
        """
        replay = self._replay
        if replay.run is None:
            return []
        with replay._lock:
            pairs = replay.corpus().pairs
            pairs.move_to(self.k)
            best = pairs.top(n, replay._tie_order(rule))
        id_of, token_bytes = replay.run.settings.layout.id_of, replay.tokenizer.token_bytes
        merged_next = self._next_pair()
        pairs_by_id = ((id_of(left), id_of(right), count) for left, right, count in best)
        return [
            PairCount(
                *(left, right, token_bytes(left), token_bytes(right), count),
                is_next=(left, right) == merged_next,
            )
            for left, right, count in pairs_by_id
        ]

    def _next_pair(self) -> tuple[int, int] | None:
        if self.k >= self._replay.n_merges:
            return None
        step = self._replay.step(self.k + 1)
        return step.left_id, step.right_id

    def pair_count(self, left_id: int, right_id: int) -> int | None:
        """Count the occurrences of a pair in the corpus, including overlapping ones."""
        replay = self._replay
        if replay.run is None:
            return None
        layout = replay.run.settings.layout
        left, right = layout.numbers_of(np.array([left_id, right_id], np.int32)).tolist()
        with replay._lock:
            pairs = replay.corpus().pairs
            pairs.move_to(self.k)
            return pairs.pair_count(left, right)

    def pre_tokens(self, first: int = 0, n: int = 100) -> list[TokenizedPreToken]:
        """Return n distinct pre-tokens of the corpus, in the order of their first occurrence."""
        if self._replay.run is None:
            return []
        return self._replay.corpus().pre_tokens(first, n, self.k)

    def pre_tokens_of_next(self, n: int = 20) -> list[TokenizedPreToken]:
        """Return the pre-tokens in which the next merge happens, as they are before it.

        The most frequent ones come first.
        """
        if self._replay.run is None or self.k >= self._replay.n_merges:
            return []
        with self._replay._lock:
            return self._replay.corpus().pre_tokens_of_merge(self.k + 1, n)


class _PrefixEncoder(SegmentEncoder):
    """Encoder with only the first k merges of a replay."""

    def __init__(self, replay: Replay, k: int) -> None:
        super().__init__(replay.tokenizer.tables, whole=False)
        self._replay, self._k = replay, k

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling if the replay does."""
        return _PrefixEncoder, self.content

    @property
    def content(self) -> tuple[object, ...]:
        """All that the tokens of a text depend on."""
        return self._replay, self._k

    def prepare(self) -> None:
        """Do nothing: long texts need no preparation."""

    def _encode_pre_tokens(self, pattern: SplitPattern, text: str) -> Sequence[int]:
        ids: list[int] = self._replay.text(text, parse_specials=False).at(self._k).ids.tolist()
        return ids
