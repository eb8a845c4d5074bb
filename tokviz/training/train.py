"""Learn a tokenizer from a corpus.

>>> import tokviz
>>> run = tokviz.train(["low low lower", "newest newest"], 260, split_pattern="whitespace")
>>> run.tokenizer.merges
[(b'l', b'o'), (b'lo', b'w'), (b'n', b'e'), (b'ne', b'w')]
>>> run.history.count.tolist()
[3, 3, 2, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.errors import CorpusError
from tokviz.tokenizer.pretokenize.scan import scanner_of
from tokviz.training.attribution import attribute_merges
from tokviz.training.corpus.corpus import DELIMITER, Corpus
from tokviz.training.counting import CountProgress, count_pre_tokens
from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.progress import (
    N_NEWEST,
    Clock,
    NewMerge,
    Phase,
    TrainProgress,
    cells_at_end,
    expected_cells,
    merging_seconds,
    reading_seconds,
)
from tokviz.training.python_trainer import PythonTrainer, is_small
from tokviz.training.run import TrainingRun, TrainTimings, tokenizer_of
from tokviz.training.settings import N_BYTES, SpecialIds, TrainSettings
from tokviz.training.ties import get_tie_break

if TYPE_CHECKING:
    from distributed import Client

    from tokviz.tokenizer.pretokenize.patterns import SplitPattern
    from tokviz.training.compiled_trainer import CompiledTrainer
    from tokviz.training.progress import ClusterState

    Engine = PythonTrainer | CompiledTrainer

SECONDS_BETWEEN_REPORTS = 0.05
_SECONDS_BETWEEN_CLUSTER_CHECKS = 1.0

Source = str | PathLike[str] | Iterable[str | PathLike[str]] | Corpus
OnProgress = Callable[[TrainProgress], object]


def train(
    source: Source,
    vocab_size: int,
    *,
    split_pattern: str | SplitPattern = "gpt4",
    special_tokens: Sequence[str] = (),
    special_ids: SpecialIds = "last",
    tie_break: str = "first",
    min_count: int = 1,
    delimiter: str | None = DELIMITER,
    field: str = "text",
    max_chars: int | None = None,
    max_doc_chars: int | None = None,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
    workers: int | None = None,
    client: Client | str | None = None,
    work_folder: str | PathLike[str] | None = None,
    skip_unreadable: bool = False,
) -> TrainingRun:
    """Learn a byte-level BPE tokenizer.

    Training ends early, and the run says so, when no pair is left to merge.

    Args:
        source: A path, several paths, or an iterable of str; see
            `tokviz.training.corpus.corpus.Corpus`. A file that is named twice is read once.
        vocab_size: The requested number of tokens: 256 bytes, merged tokens and special tokens
            together.
        split_pattern: A named split pattern or a regex, which runs in child processes because a
            regex can take practically forever on a few characters. A `SplitPattern` that is not
            guarded may run in this process. No merge crosses a pre-token.
        special_tokens: Special tokens. They are cut out of the corpus first, so that no token
            contains a part of one.
        special_ids: The position of their ids: "last" (after all others), "first" (before them),
            or "after-bytes" (from 256, before the merged tokens).
        tie_break: The tie-breaking rule: the pair to merge when several have the highest count;
            see `tokviz.training.ties`.
        min_count: The lowest count at which a pair is merged.
        delimiter: Text between documents, which is cut out like a special token; None for none.
        field: The field of JSON lines, or the column of tables, that contains the text.
        max_chars: Limit of characters in total; the document that reaches it is the last one.
        max_doc_chars: Limit of characters per document.
        on_progress: Called about twenty times a second, and at the end of every phase.
        should_stop: Called as often. When it returns True, training ends with the merges so far.
        workers: Count with a new Dask cluster of this many workers. The result is the same.
        client: Count on this cluster: a `distributed.Client`, or the address of a scheduler.
        work_folder: The folder where workers save their counts, so that an interrupted training
            can continue; all workers must see it by this name. None for a temporary folder.
        skip_unreadable: Leave out files that do not exist and, with workers, those that cannot be
            read to their end; the run's `left_out` lists them.

    Raises:
        VocabularyError: If the vocabulary cannot hold the bytes and the special tokens.
        SpecialTokenError: If a special token is empty, listed twice, or a single byte.
        PatternError: If the split pattern is not a valid regex, or a step from one pre-token to the
            next takes too long.
        InputFileError: If a file cannot be read.
        CorpusError: If the corpus contains no text.
        TokvizError: If another argument is out of range.
    """
    settings = TrainSettings.checked(
        vocab_size,
        split_pattern=split_pattern,
        special_tokens=special_tokens,
        special_ids=special_ids,
        tie_break=tie_break,
        min_count=min_count,
    )
    if not isinstance(source, Corpus):
        source = Corpus(
            source,
            delimiter=delimiter,
            field=field,
            max_chars=max_chars,
            max_doc_chars=max_doc_chars,
            skip_unreadable=skip_unreadable,
        )
    training = _Training(source, settings, on_progress, should_stop)
    if workers is None and client is None:
        return training.run()
    # These import Dask.
    from tokviz.training.cluster.client import count_on_cluster, shared_folder
    from tokviz.training.dask_cluster import cluster_state, open_cluster

    with (
        open_cluster(workers, client, training.should_stop) as cluster,
        shared_folder(work_folder) as folder,
    ):
        training.count = partial(
            count_on_cluster, client=cluster, folder=folder, skip_unreadable=skip_unreadable
        )
        training.cluster_state = partial(cluster_state, cluster)
        return training.run()


def train_bpe(
    input_path: str | PathLike[str], vocab_size: int, special_tokens: Sequence[str]
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Train a tokenizer as specified by Stanford CS336's assignment 1.

    GPT-2's split pattern cuts the text, no merge crosses a special token, and of pairs with equal
    counts the lexicographically greatest is merged.

    Args:
        input_path: A text file.
        vocab_size: The requested number of tokens, including special tokens.
        special_tokens: The special tokens; their ids come last.

    Returns:
        The vocabulary (id → bytes) and the merges in the order in which they were learned.

    Raises:
        TokvizError: As `train` does.
    """
    run = train(
        Path(input_path),
        vocab_size,
        split_pattern="gpt2",
        special_tokens=special_tokens,
        tie_break="lexicographic",
        delimiter=None,
    )
    return run.tokenizer.vocab, run.tokenizer.merges


class _Training:
    """A training in progress.

    Attributes:
        should_stop: Called often; returns whether to stop.
        count: Counts the pre-tokens of the corpus, as `count_pre_tokens` does.
        cluster_state: Returns the state of the cluster; None without a cluster.
    """

    cluster_state: Callable[[], ClusterState] | None = None

    count: Callable[..., PreTokenCounts] = staticmethod(count_pre_tokens)

    def __init__(
        self,
        corpus: Corpus,
        settings: TrainSettings,
        on_progress: OnProgress | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self._corpus = corpus
        self._settings = settings
        self._on_progress = on_progress
        self.should_stop = should_stop or (lambda: False)
        self._clock = Clock()
        self._pace = 1.0
        self._n_cells = 0
        self._seen: list[tuple[int, int]] = []
        self._seconds: dict[str, float] = {"reading": 0.0, "merging": 0.0}
        self._tokens = [bytes([byte]) for byte in range(N_BYTES)]

        self._cluster_checked = -_SECONDS_BETWEEN_CLUSTER_CHECKS
        self._now = TrainProgress("reading", 0.0, 0.0, None, 0, 0, 0, settings.n_merges, 0)

    def run(self) -> TrainingRun:
        self._started = self._clock.seconds()  # after the workers have connected
        self._report(0.0)
        pre_tokens = self.count(
            self._corpus,
            self._settings.split_pattern,
            self._settings.special_tokens,
            on_progress=self._report_reading,
            should_stop=self.should_stop,
        )
        if pre_tokens.complete and not len(pre_tokens):
            raise CorpusError("the corpus holds no text, so there is nothing to learn from")
        self._now = self._now._replace(
            n_bytes=pre_tokens.n_bytes, n_pre_tokens=len(pre_tokens), tokens_now=pre_tokens.n_bytes
        )
        self._n_cells = len(pre_tokens.memory["data"])
        engine = self._make_engine(pre_tokens)
        stopped = self._merge(engine) if pre_tokens.complete else True
        history = engine.history()
        attribution = attribute_merges(engine.occurrences, pre_tokens, self._corpus.files, history)
        pre_tokens.by_file = ()
        self._end_phase()
        return TrainingRun(
            tokenizer_of(self._settings, history, self._tokens),
            history.with_ids(self._settings.layout),
            pre_tokens,
            self._settings,
            TrainTimings(**self._seconds),
            stopped_early=self._why_it_ended(engine, pre_tokens, stopped),
            sources=self._corpus.files,
            stored=tuple(self._corpus.stored),
            left_out=tuple(self._corpus.unreadable),
            engine=engine.name,
            attribution=attribution,
        )

    def _make_engine(self, pre_tokens: PreTokenCounts) -> Engine:
        self._start_phase("merging")
        in_python = get_tie_break(self._settings.tie_break).compiled is None
        if in_python or not pre_tokens.complete or is_small(pre_tokens, self._settings.n_merges):
            return PythonTrainer(pre_tokens, self._settings)
        from tokviz.training.compiled_trainer import CompiledTrainer  # imports the kernels

        return CompiledTrainer(pre_tokens, self._settings)

    def _merge(self, engine: Engine) -> bool:
        """Merge until training is finished; True if it was stopped earlier."""
        done = self._settings.n_merges == 0
        while not done:
            if self.should_stop():
                return True
            done = engine.advance(SECONDS_BETWEEN_REPORTS)
            self._take_merges(engine)
            self._report_merging(done)
        return False

    def _take_merges(self, engine: Engine) -> None:
        merges, tokens = engine.merges_from(self._now.n_merges), self._tokens
        for left, right, _ in merges:
            tokens.append(tokens[left] + tokens[right])
        newest = [NewMerge(tokens[left], tokens[right], n) for left, right, n in merges[-N_NEWEST:]]
        self._now = self._now._replace(
            n_merges=engine.n_merges,
            newest=(*self._now.newest, *newest)[-N_NEWEST:],
            tokens_now=engine.n_tokens,
        )

    def _why_it_ended(
        self, engine: Engine, pre_tokens: PreTokenCounts, stopped: bool
    ) -> str | None:
        n_tokens = N_BYTES + len(self._settings.special_tokens) + engine.n_merges
        reached = f"at {n_tokens:,} of {self._settings.vocab_size:,} tokens"
        if not pre_tokens.complete:
            return f"stopped while reading, {reached}"
        if stopped:
            return f"stopped {reached}"
        return None if engine.end is None else f"{engine.end}, {reached}"

    # -- reports

    def _report_reading(self, progress: CountProgress) -> None:
        total = progress.n_bytes_total
        if self._now.phase != "reading":
            self._start_phase("reading")
        self._now = self._now._replace(
            n_bytes=progress.n_bytes_read,
            n_pre_tokens=progress.n_unique,
        )
        if not total:
            return self._report(0.0)
        if not progress.n_bytes_read:  # the pace is measured from the first bytes counted
            self._end_phase()
        fraction = min(1.0, progress.n_bytes_read / total)
        pattern, n_merges = self._settings.split_pattern, self._settings.n_merges
        is_regex = scanner_of(pattern) is None
        whole = reading_seconds(total, is_regex=is_regex)
        pace = self._clock.pace(fraction * whole, whole)
        if not is_regex:  # a slow regex does not slow down merging
            self._pace = pace
        is_split = pattern.name != "none"
        n_cells = expected_cells(total, is_split=is_split)
        if is_split and progress.n_unique and progress.n_bytes_read:
            self._seen.append((progress.n_bytes_read, progress.n_unique))
            n_cells = cells_at_end(total, self._seen)
        merging = self._pace * merging_seconds(n_cells, min(n_merges, n_cells))
        self._report(fraction, pace * (1 - fraction) * whole + merging)

    def _report_merging(self, done: bool) -> None:
        n, n_wanted = self._now.n_merges, self._settings.n_merges
        if done:
            return self._report(1.0, 0.0)
        whole = merging_seconds(self._n_cells, min(n_wanted, self._n_cells))
        so_far = merging_seconds(self._n_cells, n) if n else 0.0
        # The pace is unknown before the first merge, while the memory is prepared.
        pace = self._clock.pace(so_far, whole, self._pace) if n else self._pace
        self._report(n / n_wanted, pace * max(0.0, whole - so_far))

    def _end_phase(self) -> None:
        self._seconds[self._now.phase] += self._clock.start_phase()

    def _start_phase(self, phase: Phase) -> None:
        self._end_phase()
        self._now = self._now._replace(phase=phase)
        self._report(0.0)

    def _report(self, fraction: float, left: float | None = None) -> None:
        if self._on_progress is not None:
            self._update_cluster_state()
            self._now = self._now._replace(
                fraction=fraction,
                seconds=self._clock.seconds(),
                eta_seconds=left,
            )
            self._on_progress(self._now)

    def _update_cluster_state(self) -> None:
        now = self._clock.seconds()
        is_due = now - self._cluster_checked >= _SECONDS_BETWEEN_CLUSTER_CHECKS
        if self.cluster_state is not None and is_due:
            self._cluster_checked = now
            with suppress(Exception):  # a lost scheduler also ends the tasks, which report it
                cluster = self.cluster_state()
                if self._now.phase == "reading":
                    pace = self._now.n_bytes / (self._clock.seconds() - self._started)
                    cluster = cluster._replace(bytes_per_second=pace)
                self._now = self._now._replace(cluster=cluster)
