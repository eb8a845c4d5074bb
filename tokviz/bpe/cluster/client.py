"""Asks a Dask cluster to count: one that is started here, or one that is there already."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tokviz.bpe.cluster.parts import Part, Rules, Span, parts_of
from tokviz.bpe.counting import CountProgress, PieceCounts
from tokviz.corpus.readers import encode
from tokviz.errors import JobError, TokvizError
from tokviz.files import read_file, write_file, writing

if TYPE_CHECKING:
    from distributed import Client, Future

    from tokviz.corpus.corpus import Corpus
    from tokviz.pretokenize.patterns import SplitPattern

_LEAST_PART_BYTES, _MOST_PART_BYTES = 1 << 23, 1 << 28
_PARTS_OF_A_WORKER = 4
_BUCKET_BYTES = 1 << 31
"""A bucket for so many bytes of corpus: what one worker holds at once when it joins."""
_LEAST_BUCKETS, _MOST_BUCKETS = 8, 1024
_SECONDS_BETWEEN_LOOKS = 0.02
_SECONDS_TO_CONNECT = 30
_DEATHS_OF_A_TASK = 10
"""How many workers may die with a task before it is given up."""
_ABOUT = "inputs.json"
_CHILDREN = {
    "DASK_LOGGING__DISTRIBUTED": "error",
    # How long they look for a scheduler that has ended before they do, too.
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
    # Dask has every large block of memory given back at once; to get it again takes a third longer.
    "DASK_DISTRIBUTED__NANNY__PRE_SPAWN_ENVIRON": str(
        {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 25}
    ),
}


@contextmanager
def local_cluster(n_workers: int) -> Iterator[Client]:
    """Start workers on this machine, which end with the block or with this process.

    Raises:
        TokvizError: If Dask is not installed.
        JobError: If no worker can be started.
    """
    _check_installed()
    import psutil  # type: ignore[import-untyped]

    with TemporaryDirectory(prefix="tokviz-", ignore_cleanup_errors=True) as folder:
        file = os.path.join(folder, "scheduler.json")
        options = {
            "scheduler-file": file,
            "nworkers": n_workers,
            "nthreads": 1,
            "death-timeout": _SECONDS_TO_CONNECT,
            "local-directory": folder,
        }
        # Workers by a command of their own: those of `multiprocessing` run the caller's program
        # again. They load what they need while this process does.
        command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard"]
        command += [f"--{name}={value}" for name, value in options.items()]
        with psutil.Popen(command, env=_CHILDREN | os.environ) as workers:
            try:
                with _scheduler(file, n_workers) as client:
                    yield client
            finally:
                _kill(workers)


def _kill(process: Any) -> None:
    from psutil import NoSuchProcess

    with suppress(NoSuchProcess):
        for child in process.children():
            _kill(child)
        process.kill()


@contextmanager
def _scheduler(file: str, n_workers: int) -> Iterator[Client]:
    """Schedule in this process; a file says where."""
    import dask

    distributed = _distributed()
    options = {
        "host": "127.0.0.1",
        "dashboard": _has_dashboard(),
        "dashboard_address": ":0",
        "scheduler_file": file,
    }
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": _DEATHS_OF_A_TASK}),
        distributed.SpecCluster(
            scheduler={"cls": distributed.Scheduler, "options": options}, silence_logs="ERROR"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        try:
            client.wait_for_workers(n_workers, timeout=_SECONDS_TO_CONNECT)
        except TimeoutError:
            raise JobError("no worker has started") from None
        yield client


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler.

    Raises:
        TokvizError: If Dask is not installed or nobody answers there.
    """
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        raise TokvizError(f"no scheduler answers at {address}: {error}") from None
    with client:
        yield client


def _check_installed() -> None:
    if find_spec("distributed") is None:
        reason = "workers need the package distributed: pip install 'tokviz-tui[cluster]'"
        raise TokvizError(reason)


def _distributed() -> Any:
    _check_installed()
    import distributed

    return distributed


def _has_dashboard() -> bool:
    return find_spec("bokeh") is not None


@contextmanager
def at_cluster(workers: int | None, client: Client | str | None) -> Iterator[Client]:
    """Reach the cluster that a caller named: so many workers, an address, or a client.

    Raises:
        TokvizError: If that is impossible.
    """
    if workers is not None and client is not None:
        raise TokvizError("give a number of workers or a cluster that is there, not both")
    if workers is not None:
        if workers < 1:
            raise TokvizError(f"{workers} workers cannot count anything: give at least 1")
        with local_cluster(workers) as made:
            yield made
    elif isinstance(client, str):
        with connected(client) as reached:
            yield reached
    else:
        assert client is not None
        yield client


@contextmanager
def _own_folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="tokviz-")
    try:
        yield folder
    finally:
        # Nobody who is still at work makes a file where there is no such folder any more.
        ended = f"{folder}.ended"
        os.rename(folder, ended)
        shutil.rmtree(ended)


class ClusterCount:
    """Counts the different pieces of a corpus by workers, as `bpe.counting.count_pieces` does."""

    def __init__(
        self,
        client: Client,
        folder: str | os.PathLike[str] | None = None,
        skip_unreadable: bool = False,
        part_bytes: int | None = None,
    ) -> None:
        """Take the cluster and what it may do.

        Args:
            client: The cluster.
            folder: Where the workers keep what they have counted; all must see it by this name.
                What a run before has left there of the same corpus is not counted again. None for
                a folder of this machine that is removed at the end.
            skip_unreadable: Leave out files that cannot be read, and note them in the corpus.
            part_bytes: About how much a worker counts at once.
        """
        self._client = client
        self._given_folder = folder
        self._folder = Path()
        self._skip_unreadable = skip_unreadable
        self._part_bytes = part_bytes
        self._progress = CountProgress(0, None, 0)
        self._on_progress: Callable[[CountProgress], None] = lambda progress: None
        self._should_stop: Callable[[], bool] = lambda: False

    def __call__(
        self,
        corpus: Corpus,
        pattern: SplitPattern,
        special_tokens: Iterable[str] = (),
        *,
        on_progress: Callable[[CountProgress], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> PieceCounts:
        """Count; see `count_pieces`, of which the arguments are.

        Raises:
            OutputFileError: If the folder cannot be written.
            JobError: If workers die again and again.
            TokvizError: If the corpus can only be read by one, or as `count_pieces` does.
        """
        if reason := corpus.must_be_whole():
            raise TokvizError(
                f"{reason} needs a corpus that one process reads: train it without workers"
            )
        specials = tuple(map(encode, special_tokens))
        delimiter = encode(corpus.delimiter)
        rules = Rules(pattern, specials, delimiter, corpus.field, self._skip_unreadable)
        self._on_progress = on_progress or self._on_progress
        self._should_stop = should_stop or self._should_stop
        with (
            _own_folder() if self._given_folder is None else nullcontext(self._given_folder) as path
        ):
            self._folder = Path(path)
            return self._count(corpus, rules)

    def _count(self, corpus: Corpus, rules: Rules) -> PieceCounts:
        from tokviz.bpe.cluster import tasks

        total = corpus.n_bytes_total or 0
        part_bytes = self._part_bytes
        if part_bytes is None:
            n_threads = max(1, sum(self._client.nthreads().values()))  # type: ignore[no-untyped-call]
            part_bytes = total // (n_threads * _PARTS_OF_A_WORKER)
            part_bytes = min(max(part_bytes, _LEAST_PART_BYTES), _MOST_PART_BYTES)
        n_buckets = min(max(total // _BUCKET_BYTES, _LEAST_BUCKETS), _MOST_BUCKETS)
        parts = self._parts(corpus, rules, part_bytes, n_buckets)
        self._progress = CountProgress(0, corpus.n_bytes_total, 0)
        folder = str(self._folder)
        counting = {
            part.number: self._client.submit(
                tasks.count_part, part, rules, n_buckets, folder, pure=False, priority=-part.number
            )
            for part in parts
        }
        sums: dict[int, tasks.PartSums] = {}
        for number, future in self._finished(counting):
            sums[number] = self._result(future)
            self._progress = self._progress._replace(
                n_bytes_read=self._progress.n_bytes_read + parts[number].n_bytes,
                n_unique=max(self._progress.n_unique, sums[number].n_unique),
            )
        if len(sums) < len(parts):
            return _stopped()
        numbers = sorted(sums)
        joining = {
            number: self._client.submit(tasks.join_bucket, number, numbers, folder, pure=False)
            for number in range(n_buckets)
        }
        joined = [self._result(future) for _, future in self._finished(joining)]
        if len(joined) < n_buckets:
            return _stopped()
        pieces = tasks.gathered([*range(n_buckets)], folder)
        in_order = [sums[number] for number in numbers]
        for part in in_order:
            corpus.unreadable += part.unreadable
        return PieceCounts(
            pieces.data,
            pieces.offsets(),
            pieces.counts,
            lengths=pieces.lengths,
            n_bytes=sum(part.n_bytes for part in in_order),
            n_chars=sum(part.n_chars for part in in_order),
            n_invalid=sum(part.n_invalid for part in in_order),
            n_documents=tasks.n_documents(in_order),
        )

    def _parts(self, corpus: Corpus, rules: Rules, part_bytes: int, n_buckets: int) -> list[Part]:
        """Cut the corpus; as a run before has cut it, if there was one of the same."""
        path = self._folder / _ABOUT
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        if not corpus.files:
            return list(parts_of(corpus, rules, part_bytes))
        cut_out = [*map(list, rules.specials)], list(rules.delimiter)
        about = {
            "inputs": [[file, *it] for file, it in zip(corpus.files, corpus.stored, strict=True)],
            "rules": [*rules.pattern, *cut_out, *rules[3:], n_buckets],
        }
        with writing(self._folder):
            for stale in self._folder.glob("bucket-*"):
                stale.unlink()
            kept = json.loads(read_file(path)) if path.exists() else {}
            if {name: kept.get(name) for name in about} == json.loads(json.dumps(about)):
                return [
                    Part(number, tuple(Span(*span) for span in spans), (), size)
                    for number, spans, _, size in kept["parts"]
                ]
            for stale in self._folder.glob("part-*"):
                stale.unlink()
        parts = list(parts_of(corpus, rules, part_bytes))
        write_file(path, json.dumps({**about, "parts": parts}).encode())
        return parts

    def _finished(self, futures: dict[int, Future[Any]]) -> Iterator[tuple[int, Future[Any]]]:
        """Give tasks as they end; none any more once somebody asks to stop."""
        pending = dict(futures)
        try:
            while pending:
                done = [number for number, future in pending.items() if future.status != "pending"]
                for number in done:
                    yield number, pending.pop(number)
                self._on_progress(self._progress)
                if self._should_stop():
                    return
                if not done:
                    time.sleep(_SECONDS_BETWEEN_LOOKS)
        finally:
            self._client.cancel(  # type: ignore[no-untyped-call]
                list(pending.values()), force=True
            )

    def _result(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except TokvizError:
            raise
        except Exception as error:  # every way in which a cluster can fail
            raise JobError(f"the workers failed: {type(error).__name__}: {error}") from None


def _stopped() -> PieceCounts:
    return PieceCounts.of({}, n_chars=0, n_invalid=0, n_documents=0, complete=False)
