"""Count the pre-tokens of a corpus on a Dask cluster."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.errors import TokvizError
from tokviz.storage.files import read_file, write_file, writing
from tokviz.training.cluster.parts import Part, Rules, Span, parts_of
from tokviz.training.corpus.readers import encode
from tokviz.training.counting import CountProgress
from tokviz.training.dask_cluster import finished
from tokviz.training.pre_token_counts import PreTokenCounts

if TYPE_CHECKING:
    from distributed import Client

    from tokviz.tokenizer.pretokenize.patterns import SplitPattern
    from tokviz.training.corpus.corpus import Corpus

_LEAST_PART_BYTES, _MOST_PART_BYTES = 1 << 23, 1 << 28
_PARTS_OF_A_WORKER = 4
_BUCKET_BYTES = 1 << 31
"""A bucket for so many bytes of corpus: what one worker holds at once when it joins."""
_LEAST_BUCKETS, _MOST_BUCKETS = 8, 1024
_ABOUT = "inputs.json"


@contextmanager
def shared_folder(given: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Give the folder that a caller named, or one of this machine that is removed at the end."""
    if given is not None:
        yield Path(given)
        return
    folder = tempfile.mkdtemp(prefix="tokviz-")
    try:
        yield Path(folder)
    finally:
        # Nobody who is still at work makes a file where there is no such folder any more.
        ended = f"{folder}.ended"
        os.rename(folder, ended)
        shutil.rmtree(ended)


class ClusterCount:
    """Count the distinct pre-tokens of a corpus on a cluster, as `count_pre_tokens` does."""

    def __init__(self, client: Client, folder: Path, skip_unreadable: bool = False) -> None:
        """Take the cluster and what it may do.

        Args:
            client: The cluster.
            folder: Where the workers keep what they have counted; all must see it by this name.
                What a run before has left there of the same corpus is not counted again.
            skip_unreadable: Leave out files that cannot be read, and note them in the corpus.
        """
        self._client = client
        self._folder = folder
        self._skip_unreadable = skip_unreadable
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
    ) -> PreTokenCounts:
        """Count; see `count_pre_tokens`, of which the arguments are.

        Raises:
            OutputFileError: If the folder cannot be written.
            JobError: If workers die again and again.
            TokvizError: If the corpus can only be read by one, or as `count_pre_tokens` does.
        """
        if reason := corpus.must_be_whole():
            raise TokvizError(
                f"{reason} needs a corpus that one process reads: train it without workers"
            )
        specials = tuple(map(encode, special_tokens))
        rules = Rules(
            pattern, specials, encode(corpus.delimiter), corpus.field, self._skip_unreadable,
            corpus.max_doc_chars,
        )  # fmt: skip
        self._on_progress = on_progress or self._on_progress
        self._should_stop = should_stop or self._should_stop
        return self._count(corpus, rules)

    def _count(self, corpus: Corpus, rules: Rules) -> PreTokenCounts:
        from tokviz.training.cluster import tasks

        total = corpus.n_bytes_total or 0
        n_threads = max(1, sum(self._client.nthreads().values()))  # type: ignore[no-untyped-call]
        part_bytes = total // (n_threads * _PARTS_OF_A_WORKER)
        part_bytes = min(max(part_bytes, _LEAST_PART_BYTES), _MOST_PART_BYTES)
        n_buckets = min(max(total // _BUCKET_BYTES, _LEAST_BUCKETS), _MOST_BUCKETS)
        parts = self._parts(corpus, rules, part_bytes, n_buckets)
        self._progress = CountProgress(0, corpus.n_bytes_total, 0)
        folder = str(self._folder)
        count = partial(tasks.count_part, rules=rules, n_buckets=n_buckets, folder=folder)
        sums: dict[int, tasks.PartSums] = {}
        for number, found in finished(self._client, count, parts, self._look):
            sums[number] = found
            self._progress = self._progress._replace(
                n_bytes_read=self._progress.n_bytes_read + parts[number].n_bytes,
                n_unique=max(self._progress.n_unique, sums[number].n_unique),
            )
        if len(sums) < len(parts):
            return _stopped()
        named = [(part.number, part.file) for part in parts]
        join = partial(tasks.join_bucket, parts=named, folder=folder)
        joined = [*finished(self._client, join, range(n_buckets), self._look)]
        if len(joined) < n_buckets:
            return _stopped()
        pre_tokens, by_file = tasks.gathered([*range(n_buckets)], folder)
        in_order = [sums[number] for number in sorted(sums)]
        for part in in_order:
            corpus.unreadable += part.unreadable
        return PreTokenCounts(
            pre_tokens.data,
            pre_tokens.offsets(),
            pre_tokens.counts,
            lengths=pre_tokens.lengths,
            n_bytes=sum(part.n_bytes for part in in_order),
            n_chars=sum(part.n_chars for part in in_order),
            n_invalid=sum(part.n_invalid for part in in_order),
            n_documents=tasks.n_documents(in_order),
            by_file=by_file,
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
                    Part(number, tuple(Span(*span) for span in spans), (), size, file)
                    for number, spans, _, size, file in kept["parts"]
                ]
            for stale in self._folder.glob("part-*"):
                stale.unlink()
        parts = list(parts_of(corpus, rules, part_bytes))
        write_file(path, json.dumps({**about, "parts": parts}).encode())
        return parts

    def _look(self) -> bool:
        self._on_progress(self._progress)
        return self._should_stop()


def _stopped() -> PreTokenCounts:
    return PreTokenCounts.of({}, complete=False)
