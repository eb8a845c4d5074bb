"""Time travel through a training, and through any vocabulary: the state after k merges, for any k.

Merges only join tokens. So for every two neighbouring bytes one number, that of the merge that
joins them, holds the states of all k at once (see `tokviz.training.replay.times`); the rest is
counting.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from threading import RLock

from tokviz.errors import TokvizError
from tokviz.formats.registry import is_path_of_file
from tokviz.formats.run import ABOUT
from tokviz.formats.subprocess_loader import load
from tokviz.process.runner import JobDroppedError
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.encoding.segment_encoder import SegmentEncoder
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.replay.corpus import CorpusAhead, ReplayCorpus, TokenizedPreToken, open_corpus
from tokviz.training.replay.merge_reasons import (
    MergeReason,
    Term,
    arithmetic,
    by_file,
    other_rules,
    why_merged,
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

Source = str | PathLike[str] | TrainingRun | Tokenizer

N_TERMS = 4
"""Pre-tokens that are named as those a count comes from."""

TINY_CORPUS_BYTES = 2_000
"""Up to so many bytes of different pre-tokens a corpus fits on a screen."""


@dataclass(frozen=True, slots=True)
class PairCount:
    """A pair of neighbouring tokens, and how often it occurs.

    Attributes:
        left_id: The left token.
        right_id: The right token.
        left: Its bytes.
        right: Its bytes.
        count: Its occurrences in the corpus, overlapping ones too.
        is_next: Whether it is merged next.
    """

    left_id: int
    right_id: int
    left: bytes
    right: bytes
    count: int
    is_next: bool


class Replay:
    """A training, or a vocabulary without one, that can be looked at after every merge.

    Attributes:
        name: What it was opened as.
        tokenizer: The tokenizer.
        n_merges: The number of merges; they are numbered from 1.
        run: The training; None for a vocabulary without one.
    """

    def __init__(self, tokenizer: Tokenizer, run: TrainingRun | None, name: str) -> None:
        """Take a tokenizer and its training; `open` finds them.

        Raises:
            TokvizError: If the tokenizer has no merges, because another library encodes with it.
        """
        self.name = name
        self.tokenizer = tokenizer
        self.run = run
        self._steps: MergeSteps
        if tokenizer.remote:
            raise TokvizError(
                f"{name}: it is more than byte pair encoding, so no merges lead to its tokens. "
                "Choose a training, or a tokenizer that tokviz encodes with by itself"
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
        self._ahead: CorpusAhead | None = None
        self._tie_orders: dict[str, TieOrder] = {}
        self._lock, self._text_lock = RLock(), RLock()

    @classmethod
    def open(cls, source: Source, *, prepare: bool = True) -> Replay:
        """Open a training, or any vocabulary.

        Args:
            source: A training run or its folder, which know the counts; or a tokenizer, the name of
                a built-in one, or a file that holds one, which do not.
            prepare: Whether to call `prepare` too, which takes more than half of the time for a
                large run: merges, curves and texts need it not.

        Raises:
            InputFileError: If a folder is no run, or a file cannot be read, or is damaged.
            UnknownTokenizerError: If there is neither a file nor a tokenizer of that name.
            TokvizError: If the history of a run does not fit its pre-tokens, or a tokenizer has no
                merges.
        """
        if isinstance(source, TrainingRun):
            replay = cls(source.tokenizer, source, source.tokenizer.name)
        elif not isinstance(source, (str, PathLike)):
            replay = cls(source, None, source.name)
        elif is_path_of_file(source) and os.path.exists(os.path.join(source, ABOUT)):
            ahead = CorpusAhead()
            run = TrainingRun.load(
                source, on_parts=ahead.begin, read_tokenizer=lambda folder: load(Path(folder))
            )
            replay = cls(run.tokenizer, run, os.fspath(source))
            replay._ahead = ahead
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
        """Do now what would otherwise delay the first state.

        Raises:
            TokvizError: If the history of the run does not fit its pre-tokens.
        """
        if self.run is not None:
            self._opened_corpus()

    # -- what is known

    @property
    def has_counts(self) -> bool:
        """Whether the corpus of the training is known."""
        return self.run is not None

    @property
    def tokens(self) -> Sequence[bytes]:
        """The tokens that the merges make, in order."""
        return self._steps.tokens

    @property
    def tie_break(self) -> str | None:
        """The name of the rule for ties; None if it is not known."""
        return None if self.run is None else self.run.settings.tie_break

    @property
    def n_bytes(self) -> int | None:
        """The bytes of the corpus; None if it is not known."""
        return None if self.run is None else self.run.pre_token_counts.n_bytes

    @property
    def n_pre_tokens(self) -> int | None:
        """The different pre-tokens of the corpus; None if it is not known."""
        return None if self.run is None else len(self.run.pre_token_counts)

    @property
    def is_tiny(self) -> bool:
        """Whether all of the corpus fits on a screen."""
        return self.run is not None and len(self.run.pre_token_counts.data) <= TINY_CORPUS_BYTES

    # -- merges

    def step(self, k: int) -> MergeStep:
        """Give merge k, from 1 to `n_merges`.

        Raises:
            IndexError: If there is no such merge.
        """
        if not 1 <= k <= self.n_merges:
            raise IndexError(f"there is no merge {k:,}, only 1 to {self.n_merges:,}")
        return self._steps.step(k)

    def merge(self, k: int) -> Merge | None:
        """Give the two tokens of merge k, None if it never happens: quicker than the whole step."""
        return self._steps.merge(k)

    def token(self, k: int) -> bytes:
        """Give the bytes of the token that merge k makes: quicker than the whole step."""
        return self._steps.tokens[k - 1]

    def why(self, k: int) -> MergeReason:
        """Say why merge k happened when it did."""
        return why_merged(self.step(k), self.tie_break)

    def details(
        self, k: int, holding: Sequence[TokenizedPreToken] | None = None
    ) -> tuple[Sentence, ...]:
        """Say how the count of merge k comes about, and what other rules would have merged.

        Takes a moment for a large corpus. Empty without counts.

        Args:
            k: The number of the merge.
            holding: What `pre_tokens_of_next` gives of the state before it, if that is known.
        """
        step, run = self.step(k), self.run
        if run is None or step.count is None:
            return ()
        before, wanted = self.state(k - 1), (step.left_id, step.right_id)
        pre_tokens = before.pre_tokens_of_next(N_TERMS) if holding is None else holding[:N_TERMS]
        terms = [
            Term(
                pre_token.data,
                pre_token.count,
                sum(pair == wanted for pair in pairwise(pre_token.ids)),
            )
            for pre_token in pre_tokens
        ]
        others = {}
        if step.n_tied is not None and step.n_tied > 1:
            for name in (rule for rule in TIE_BREAKS if rule != self.tie_break):
                best = before.top_pairs(1, name)[0]
                others[name] = TokenPair(best.left_id, best.right_id, best.left, best.right)
        # Of whole documents only a part is known, and they would be no term to be read.
        is_known = not any(pre_token.start or pre_token.is_cut for pre_token in pre_tokens)
        sums = [arithmetic(step.count, terms)] if is_known else []
        return *sums, *other_rules(step.pair, others)

    def files(self, k: int) -> tuple[Sentence, ...]:
        """Say which files of the corpus paid for merge k; empty for one file, or none."""
        run = self.run
        return () if run is None or len(run.sources) < 2 else (by_file(run.attribution, k),)

    def find(self, query: str) -> Iterator[int]:
        """Find merges by their token's text or by their number.

        Args:
            query: "#123" for merge 123 alone; or text, which may be a number too. A merge of that
                number comes first, then the one that makes exactly this token, then the one with a
                space before it, then those whose token holds it.
        """
        number = query.strip().removeprefix("#")
        if number.isascii() and number.isdigit() and 1 <= int(number[:12]) <= self.n_merges:
            yield int(number)
        else:
            number = ""
        if query.startswith("#") and query[1:].isdigit():
            return
        tokens, found, wanted = self._steps.tokens, list[int](), b""
        # A space may be typed as it is displayed.
        for typed in dict.fromkeys((query, query.replace("·", " "))):
            wanted = bytetext.to_bytes(bytetext.as_byte_text(typed))
            found = [k for k, token in enumerate(tokens, 1) if wanted and wanted in token]
            if found:
                break
        exact = [k for k in found if tokens[k - 1] == wanted]
        spaced = [k for k in found if tokens[k - 1] == b" " + wanted]
        first = [int(number)] if number else []
        yield from list(dict.fromkeys(first + exact + spaced + found))[len(first) :]

    def merge_of_pair(self, left_id: int, right_id: int) -> int | None:
        """Give the number of the merge of a pair, None if it is never merged."""
        left, right = map(self.tokenizer.token_bytes, (left_id, right_id))
        return self.tokenizer.pair_number(left, right)

    # -- states

    def state(self, k: int) -> ReplayState:
        """Give the state after k merges, from 0 to `n_merges`.

        Raises:
            IndexError: If k is out of range.
        """
        if not 0 <= k <= self.n_merges:
            raise IndexError(f"there is no merge {k:,}, only 0 to {self.n_merges:,}")
        return ReplayState(self, k)

    def pre_token(self, index: int, k: int, start: int = 0) -> TokenizedPreToken:
        """Give one of the different pre-tokens of the corpus with its tokens after k merges.

        Args:
            index: Its place among the pre-tokens.
            k: The number of merges.
            start: Where the part of a long pre-token begins that is wanted, one of
                `TokenizedPreToken`.

        Raises:
            IndexError: If there is no such pre-token.
        """
        if self.run is None or not 0 <= index < len(self.run.pre_token_counts):
            raise IndexError(f"there is no pre-token {index:,}")
        return self._opened_corpus().pre_token(index, k, start)

    def text(self, text: str, parse_specials: bool = True) -> ReplayText:
        """Prepare byte text to be shown after any number of merges.

        Raises:
            VocabularyError: If it holds a byte for which the vocabulary has no token.
        """
        with self._text_lock:
            return self._texts.prepare(text, parse_specials)

    def tokenizer_after(self, k: int) -> Tokenizer:
        """Give the tokenizer as it was after k merges: quick for any k.

        Only its ids are those after k merges: its merges and ranks are still those of the whole.
        """
        return self.tokenizer.encoding_by(_EarlyEncoder(self, k))

    # -- the corpus

    def _opened_corpus(self) -> ReplayCorpus:
        assert self.run is not None and isinstance(self._steps, RecordedSteps)
        with self._lock:
            if self._corpus is None:
                layout, pre_tokens = self.run.settings.layout, self.run.pre_token_counts
                try:
                    self._corpus = open_corpus(pre_tokens, self._steps, layout, self._ahead)
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
    """The state after k merges. What the corpus would tell is empty or None without counts.

    Attributes:
        k: The number of merges made.
    """

    def __init__(self, replay: Replay, k: int) -> None:
        """Take the replay; states are cheap until they are asked for counts."""
        self._replay = replay
        self.k = k

    @property
    def n_tokens(self) -> int | None:
        """The tokens of the whole corpus."""
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
        """List the n most frequent pairs, in the order in which they would be merged next.

        Args:
            n: How many.
            rule: The rule that orders pairs with equal counts; None for that of the training.

        Raises:
            TokvizError: If there is no such rule.
        """
        replay = self._replay
        if replay.run is None:
            return []
        with replay._lock:
            pairs = replay._opened_corpus().pairs
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
        """Count the occurrences of a pair in the corpus, overlapping ones too."""
        replay = self._replay
        if replay.run is None:
            return None
        import numpy as np

        layout = replay.run.settings.layout
        left, right = layout.numbers_of(np.array([left_id, right_id], np.int32)).tolist()
        with replay._lock:
            pairs = replay._opened_corpus().pairs
            pairs.move_to(self.k)
            return pairs.pair_count(left, right)

    def pre_tokens(self, first: int = 0, n: int = 100) -> list[TokenizedPreToken]:
        """Return n distinct pre-tokens of the corpus, in the order of their first occurrence."""
        if self._replay.run is None:
            return []
        return self._replay._opened_corpus().pre_tokens(first, n, self.k)

    def pre_tokens_of_next(self, n: int = 20) -> list[TokenizedPreToken]:
        """Give the pre-tokens in which the next merge happens, as they are before it.

        Those that occur most often come first.
        """
        if self._replay.run is None or self.k >= self._replay.n_merges:
            return []
        with self._replay._lock:
            return self._replay._opened_corpus().pre_tokens_of_merge(self.k + 1, n)


class _EarlyEncoder(SegmentEncoder):
    """Encodes with the first k merges of a replay."""

    def __init__(self, replay: Replay, k: int) -> None:
        super().__init__(replay.tokenizer.tables, whole=False)
        self._replay, self._k = replay, k

    def prepare(self) -> None:
        """Do nothing: long texts need no preparation."""

    def _encode_pre_tokens(self, pattern: SplitPattern, text: str) -> Sequence[int]:
        ids: list[int] = self._replay.text(text, parse_specials=False).at(self._k).ids.tolist()
        return ids
