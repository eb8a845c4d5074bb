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
from tokviz.training.cluster import tasks
from tokviz.training.cluster.parts import Part, Rules, Span, parts_of
from tokviz.training.corpus.readers import encode
from tokviz.training.counting import CountProgress
from tokviz.training.dask_cluster import run_tasks
from tokviz.training.pre_token_counts import PreTokenCounts

if TYPE_CHECKING:
    from distributed import Client

    from tokviz.tokenizer.pretokenize.patterns import SplitPattern
    from tokviz.training.corpus.corpus import Corpus

LEAST_PART_BYTES, MOST_PART_BYTES = 1 << 23, 1 << 28
_PARTS_OF_A_WORKER = 4
_BUCKET_BYTES = 1 << 31
"""Bytes of corpus per bucket. A worker holds one bucket in memory when it joins the counts."""
_LEAST_BUCKETS, _MOST_BUCKETS = 8, 1024
_ABOUT = "inputs.json"


@contextmanager
def shared_folder(requested: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Provide the requested folder, or a temporary one on this machine."""
    if requested is not None:
        yield Path(requested)
        return
    folder = tempfile.mkdtemp(prefix="tokviz-")
    try:
        yield Path(folder)
    finally:
        # After this, a task that is still running cannot create a file in the folder.
        ended = f"{folder}.ended"
        os.rename(folder, ended)
        shutil.rmtree(ended)


def count_on_cluster(
    corpus: Corpus,
    pattern: SplitPattern,
    special_tokens: Iterable[str] = (),
    *,
    client: Client,
    folder: Path,
    skip_unreadable: bool = False,
    on_progress: Callable[[CountProgress], object] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> PreTokenCounts:
    """Count the distinct pre-tokens of a corpus on a cluster; see `count_pre_tokens`.

    Args:
        corpus: The corpus.
        pattern: The split pattern.
        special_tokens: Special tokens, which are cut out of the corpus.
        client: The cluster.
        folder: The folder where workers save their counts; all must see it by this name. Counts
            of the same corpus that an earlier run saved there are reused.
        skip_unreadable: Leave out files that cannot be read, and list them in the corpus.
        on_progress: Called often.
        should_stop: Called often; True stops counting.

    Raises:
        OutputFileError: If the folder cannot be written.
        JobError: If workers die repeatedly.
        TokvizError: If only one process can read the corpus, or as `count_pre_tokens` does.
    """
    if reason := corpus.why_sequential():
        raise TokvizError(
            f"{reason} needs a corpus that one process reads: train it without workers"
        )
    specials, delimiter = tuple(map(encode, special_tokens)), encode(corpus.delimiter)
    rules = Rules(pattern, specials, delimiter, corpus.field, skip_unreadable, corpus.max_doc_chars)
    total = corpus.n_bytes_total or 0
    n_threads = max(1, sum(client.nthreads().values()))  # type: ignore[no-untyped-call]
    part_bytes = total // (n_threads * _PARTS_OF_A_WORKER)
    part_bytes = min(max(part_bytes, LEAST_PART_BYTES), MOST_PART_BYTES)
    n_buckets = min(max(total // _BUCKET_BYTES, _LEAST_BUCKETS), _MOST_BUCKETS)
    parts = _parts(corpus, rules, part_bytes, n_buckets, folder)
    progress = CountProgress(0, corpus.n_bytes_total, 0)

    def report() -> bool:
        on_progress(progress)
        return should_stop()

    count = partial(tasks.count_part, rules=rules, n_buckets=n_buckets, folder=str(folder))
    sums: dict[int, tasks.PartSums] = {}
    for number, part_sums in run_tasks(client, count, parts, report):
        sums[number] = part_sums
        progress = progress._replace(
            n_bytes_read=progress.n_bytes_read + parts[number].n_bytes,
            n_unique=max(progress.n_unique, part_sums.n_unique),
        )
    if len(sums) < len(parts):
        return PreTokenCounts.of({}, complete=False)
    named = [(part.number, part.file) for part in parts]
    join = partial(tasks.join_bucket, parts=named, folder=str(folder))
    if len([*run_tasks(client, join, range(n_buckets), report)]) < n_buckets:
        return PreTokenCounts.of({}, complete=False)
    pre_tokens, by_file = tasks.read_buckets([*range(n_buckets)], str(folder))
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


def _parts(
    corpus: Corpus, rules: Rules, part_bytes: int, n_buckets: int, folder: Path
) -> list[Part]:
    """Divide the corpus into parts: the saved ones, if an earlier run counted the same corpus."""
    path = folder / _ABOUT
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if not corpus.files:
        return list(parts_of(corpus, rules, part_bytes))
    cut_out = [*map(list, rules.specials)], list(rules.delimiter)
    about = {
        "inputs": [[file, *info] for file, info in zip(corpus.files, corpus.stored, strict=True)],
        "rules": [*rules.pattern, *cut_out, *rules[3:], n_buckets],
    }
    with writing(folder):
        for stale in folder.glob("bucket-*"):
            stale.unlink()
        kept = json.loads(read_file(path)) if path.exists() else {}
        if {name: kept.get(name) for name in about} == json.loads(json.dumps(about)):
            return [
                Part(number, tuple(Span(*span) for span in spans), (), size, file)
                for number, spans, _, size, file in kept["parts"]
            ]
        for stale in folder.glob("part-*"):
            stale.unlink()
    parts = list(parts_of(corpus, rules, part_bytes))
    write_file(path, json.dumps({**about, "parts": parts}).encode())
    return parts
