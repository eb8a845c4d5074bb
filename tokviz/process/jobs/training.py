"""A training for the command and the Train screen, with reports, a run folder and a summary."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.formats.run import check_target, counting_folder
from tokviz.process.jobs.train_messages import HeldOut, TrainRequest, TrainSummary
from tokviz.process.memory import memory_bytes, peak_memory_bytes, share_one_heap
from tokviz.text import bytetext
from tokviz.training.attribution import N_FILES
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.corpus.held_out import HeldOutCorpus
from tokviz.training.corpus.storage import is_url
from tokviz.training.progress import TrainProgress, saving_seconds
from tokviz.training.replay.advice import advise
from tokviz.training.train import train

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer
    from tokviz.training.progress import Phase, TrainProgress
    from tokviz.training.run import TrainingRun

COMPARED_WITH = ("gpt2", "cl100k_base")
"""The well-known tokenizers to compare a new one with."""

NEW = "new"
"""The new tokenizer's name in a comparison."""


class Training:
    """One training, step by step: `learn`, `save`, `compare`, `summary`."""

    def __init__(
        self,
        request: TrainRequest,
        on_report: Callable[[TrainProgress], object],
        should_stop: Callable[[], bool],
    ) -> None:
        """Check the request before training.

        Args:
            request: The requested training.
            on_report: Called often, in the thread that trains.
            should_stop: Called often; once it returns True, training ends with the merges so far.

        Raises:
            TokvizError: If an input does not exist, or the run cannot be saved in its folder.
        """
        check_target(request.run_folder)
        self._request = request
        self._corpus = open_corpus(request)
        self._on_report = on_report
        self._should_stop = should_stop
        self._started = time.monotonic()
        self._last = TrainProgress("starting", 0.0, 0.0, None, 0, 0, 0, 0, 0)
        self._seconds: dict[str, float] = {}
        self._run: TrainingRun | None = None
        self._held_out: HeldOut | None = None
        has_workers = request.workers is not None or request.scheduler is not None
        folder = counting_folder(Path(os.path.normpath(request.run_folder)))
        self._work_folder = folder if has_workers else None

    @property
    def learned(self) -> TrainingRun:
        """The result of `learn`."""
        assert self._run is not None
        return self._run

    @property
    def counted_so_far(self) -> Path | None:
        """The folder with counts of workers from which the same training can continue, if any."""
        folder = self._work_folder
        return folder if folder is not None and folder.is_dir() else None

    def learn(self) -> None:
        """Read the corpus and learn the merges.

        Raises:
            TokvizError: If an input or a setting is wrong.
        """
        request = self._request
        share_one_heap()  # reuse the memory of text blocks instead of returning it to the system
        self._run = train(
            self._corpus,
            request.vocab_size,
            split_pattern=request.split_pattern,
            special_tokens=request.special_tokens,
            special_ids=request.special_ids,
            tie_break=request.tie_break,
            min_count=request.min_count,
            on_progress=self._take_progress,
            should_stop=self._should_stop,
            workers=request.workers,
            client=request.scheduler,
            work_folder=self._work_folder,
            skip_unreadable=request.skip_unreadable,
        )
        self._seconds.update(self._run.timings._asdict())

    def save(self) -> None:
        """Write the run folder.

        Raises:
            OutputFileError: If that fails.
        """
        with self._phase("saving"):
            self.learned.save(self._request.run_folder)
            if self._work_folder is not None and self.learned.pre_token_counts.complete:
                shutil.rmtree(self._work_folder, ignore_errors=True)

    @property
    def n_held_out(self) -> int:
        """Bytes of held-out text."""
        return sum(map(len, getattr(self._corpus, "held_out", ())))

    def compare(self) -> None:
        """Compare tokenizers on the held-out text, if there is any."""
        if isinstance(self._corpus, HeldOutCorpus) and self._corpus.held_out:
            with self._phase("comparing"):
                self._held_out = compare(self.learned.tokenizer, self._corpus.held_out)
                width = self._request.advise
                if width is not None:
                    advice = advise(self.learned.tokenizer, self._corpus.held_out, width)
                    self._held_out = self._held_out._replace(advice=advice)

    def summary(self) -> TrainSummary:
        """Return the summary of the training."""
        run = self.learned
        tokenizer, pre_tokens, history = run.tokenizer, run.pre_token_counts, run.history
        lengths = tokenizer.tables.lengths()
        longest = tokenizer.tables.ids()[lengths.index(max(lengths))]
        return TrainSummary(
            run_folder=self._request.run_folder,
            n_vocab=tokenizer.n_vocab,
            n_merges=len(history),
            n_merges_wanted=run.settings.n_merges,
            stopped_early=run.stopped_early,
            seconds_by_phase=self._seconds,
            n_bytes=pre_tokens.n_bytes,
            n_chars=pre_tokens.n_chars,
            n_documents=pre_tokens.n_documents,
            n_invalid=pre_tokens.n_invalid,
            n_pre_tokens=len(pre_tokens),
            n_tokens=run.n_tokens,
            longest_token=tokenizer.token_bytes(longest),
            peak_memory_bytes=peak_memory_bytes(),
            held_out=self._held_out,
            files=() if run.attribution is None else tuple(run.attribution.of_all()[:N_FILES]),
            left_out=run.left_out,
        )

    def report(self) -> TrainProgress:
        """Return the current progress."""
        return self._last._replace(
            seconds=time.monotonic() - self._started,
            memory_bytes=memory_bytes(),
            peak_memory_bytes=peak_memory_bytes(),
        )

    def _take_progress(self, progress: TrainProgress) -> None:
        self._last = TrainProgress(*progress)
        if progress.eta_seconds is not None:
            left = progress.eta_seconds + saving_seconds(progress.n_merges_wanted)
            self._last = self._last._replace(eta_seconds=left)
        self._on_report(self.report())

    @contextmanager
    def _phase(self, name: Phase) -> Iterator[None]:
        """Time a short phase, and report its start."""
        self._last = self._last._replace(phase=name, fraction=0.0, eta_seconds=None)
        self._on_report(self.report())
        started = time.perf_counter()
        yield
        self._seconds[name] = time.perf_counter() - started


def compare(tokenizer: Tokenizer, texts: Sequence[bytes]) -> HeldOut:
    """Measure how the tokenizer and well-known ones compress texts."""
    from tokviz.formats.loader import load  # few trainings compare

    tokenizers = {NEW: tokenizer} | {name: load(name) for name in COMPARED_WITH}
    n_bytes, decoded = sum(map(len, texts)), [*map(bytetext.from_bytes, texts)]
    ratios = {
        name: n_bytes / sum(map(len, tokenizer.byte_text.encode_all(decoded, "all")))
        for name, tokenizer in tokenizers.items()
    }
    return HeldOut(n_bytes, ratios)


def open_corpus(request: TrainRequest) -> Corpus:
    """Return the corpus of a training."""
    kind = HeldOutCorpus if request.compare else Corpus
    return kind(
        # A list of names could be taken for texts; a path makes one slash of two.
        [source if is_url(source) else Path(source) for source in request.sources],
        delimiter=request.delimiter,
        field=request.field,
        skip_unreadable=request.skip_unreadable,
        max_chars=request.max_chars,
        max_doc_chars=request.max_doc_chars,
        exclude=request.exclude,
    )
