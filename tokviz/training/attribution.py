"""Attribution: the number of occurrences that each merge replaced in each file of the corpus.

>>> import tokviz, tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "a.txt").write_text("low low"), (folder / "b.txt").write_text("low new new new")
>>> run = tokviz.train(folder, 260)
>>> run.tokenizer.merges[0]
(b'l', b'o')
>>> [(part.n, pathlib.Path(part.file).name) for part in run.attribution.of(1)]
[(2, 'a.txt'), (1, 'b.txt')]
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from operator import attrgetter, eq, sub, truediv
from typing import TYPE_CHECKING, NamedTuple

from tokviz.kernels.memory import HasMemory
from tokviz.storage.files import absolute
from tokviz.text.glyphs import safe
from tokviz.training.history import TrainingHistory

if TYPE_CHECKING:
    from tokviz.kernels.memory import Memory
    from tokviz.training.pre_token_counts import FileCounts, PreTokenCounts

COLUMNS = ("files", "lengths", "merges", "times")

N_FILES = 3
"""Number of files to list for a merge, or for all merges."""


class FileShare(NamedTuple):
    """A file's share of the occurrences that a merge replaced, or of all merges.

    Attributes:
        file: The file; None for all smaller files together.
        n: Number of occurrences; for all merges, the number of merges that only this file contains.
        share: The share of the occurrences; for all merges, its mean.
    """

    file: str | None
    n: int
    share: float


class Attribution(HasMemory):
    """Counts of each merge in each of the largest files.

    Attributes:
        sources: The files of the corpus.
        memory: `files`: indexes of the largest files in `sources`; `lengths`: the number of
            different merges in each; file by file, `merges`: their indexes from 0, ascending, and
            `times`: their counts.
    """

    def __init__(
        self,
        sources: Sequence[str],
        memory: Mapping[str, Memory],
        history: TrainingHistory,
        n_bytes: int,
    ) -> None:
        """Create the attribution.

        Args:
            sources: The files of the corpus.
            memory: The arrays by name.
            history: The merges.
            n_bytes: Bytes of the corpus: its tokens before the first merge.
        """
        self.sources, self.memory = tuple(sources), dict(memory)
        self._n_tokens, self._n_bytes = history.memory["n_tokens"], n_bytes

    def of(self, k: int) -> list[FileShare]:
        """Return the shares of the files in merge k, largest first, then that of the smaller files.

        Empty if the corpus was a single file or no file. Overlapping occurrences ("aaa") count
        only where they were replaced.
        """
        merges, times = self.memory["merges"], self.memory["times"]
        before = self._n_tokens[k - 2] if k > 1 else self._n_bytes
        rest = total = int(before - self._n_tokens[k - 1])
        parts = []
        for file, first, last in self._spans():
            place = bisect_left(merges, k - 1, first, last)
            if place < last and merges[place] == k - 1:
                n = int(times[place])
                parts.append(FileShare(self.sources[file], n, n / total))
                rest -= n
        parts.sort(key=lambda part: -part.n)
        is_all = not rest or not len(self.memory["files"])
        return parts if is_all else [*parts, FileShare(None, rest, rest / total)]

    def of_all(self) -> list[FileShare]:
        """Return the shares of the files in all merges, largest first. This is slow."""
        n_tokens = self._n_tokens.tolist()
        replaced = [*map(sub, [self._n_bytes, *n_tokens], n_tokens)]
        parts = []
        for file, first, last in self._spans():
            times = self.memory["times"][first:last].tolist()
            totals = [replaced[merge] for merge in self.memory["merges"][first:last].tolist()]
            share = sum(map(truediv, times, totals)) / len(replaced)
            parts.append(FileShare(self.sources[file], sum(map(eq, times, totals)), share))
        return sorted(parts, key=lambda part: -part.share)

    def label_of(self, part: FileShare) -> str:
        """Return the shortest path that identifies a file, or the number of smaller files.

        >>> sources, memory = ["/c/a/x.py", "/c/b/x.py"], {"files": array("i", [0])}
        >>> attribution = Attribution(sources, memory, TrainingHistory.empty(), 0)
        >>> attribution.label_of(FileShare("/c/a/x.py", 1, 0.5))
        'a/x.py'
        >>> attribution.label_of(FileShare(None, 1, 0.5))
        '1 smaller file'
        """
        if part.file is None:
            n_files = len(self.sources) - len(self.memory["files"])
            return "1 smaller file" if n_files == 1 else f"{n_files:,} smaller files together"
        return safe(os.path.relpath(part.file, self._folder))

    @cached_property
    def _folder(self) -> str:
        return folder_of(self.sources)

    def _spans(self) -> Iterator[tuple[int, int, int]]:
        """Iterate over the files with start and end of their items."""
        ends = accumulate(self.memory["lengths"].tolist(), initial=0)
        spans = pairwise(ends)
        for file, (first, last) in zip(self.memory["files"].tolist(), spans, strict=True):
            yield file, first, last


def folder_of(files: Iterable[str]) -> str:
    """Return the folder that contains all files."""
    return os.path.commonpath([os.path.dirname(absolute(file)) for file in files])


def attribute_merges(
    occurrences: Callable[[Iterable[FileCounts]], tuple[Memory, Memory]],
    pre_tokens: PreTokenCounts,
    sources: Sequence[str],
    history: TrainingHistory,
) -> Attribution:
    """Count the merges in each file after training.

    Args:
        occurrences: The method of the engine that made the merges.
        pre_tokens: The pre-tokens of the corpus, with their counts in each file.
        sources: The files of the corpus.
        history: The merges.
    """
    files, lengths, merges, times = array("i"), array("i"), array("i"), array("q")
    parts = sorted(pre_tokens.by_file if len(history) else (), key=attrgetter("file"))
    for file, counts in groupby(parts, key=attrgetter("file")):
        which, how_often = occurrences(counts)
        files.append(file)
        lengths.append(len(which))
        merges.frombytes(which.tobytes())
        times.frombytes(how_often.tobytes())
    columns = zip(COLUMNS, (files, lengths, merges, times), strict=True)
    memory: dict[str, Memory] = {name: memoryview(column) for name, column in columns}
    return Attribution(sources, memory, history, pre_tokens.n_bytes)
