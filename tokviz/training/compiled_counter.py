"""Counting pre-tokens with compiled loops, on several processors at once.

Blocks are cut where a pre-token ends whatever follows, so that each can be counted alone. Every
thread has a table of its own, and notes which pre-tokens are new in which block; at the end the
tables are joined block by block, so that the pre-tokens come in the order of their first
occurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from tokviz.kernels.memory import zeros
from tokviz.process.limits import n_processors
from tokviz.tokenizer.pretokenize.scan import Scanner
from tokviz.training import counting_kernels
from tokviz.training.corpus.text_blocks import REST, TextBlock
from tokviz.training.pre_token_counts import FileCounts, PreTokenCounts, Tick
from tokviz.training.pre_token_table import PreTokenTable
from tokviz.training.threads import Threads

_PRE_TOKENS_AT_ONCE = 1 << 15


class CompiledCounter:
    """Count with compiled loops; memory grows with the number of distinct pre-tokens."""

    share = 1.0
    """How much of what was given is counted: it is never far behind."""

    def __init__(self, scanner: Scanner, n_threads: int | None = None) -> None:
        """Take the scanner that cuts texts into pre-tokens.

        Args:
            scanner: The scanner.
            n_threads: How many threads count while this one reads; 0 to count where it is read,
                None for as many as there are processors, within reason.
        """
        n_threads = n_processors() if n_threads is None else n_threads
        self._scanner = scanner
        self._own = _Table(scanner)
        self._shares = [_Table(scanner) for _ in range(n_threads)]
        self._n_threads = n_threads
        self._threads = Threads([share.count for share in self._shares]) if n_threads else None
        self._joined = PreTokenTable(2)
        self._by_file: list[FileCounts] = []
        self._n_blocks = 0
        self._undecided: list[bytes] = []
        self._scan_at = 0

    @property
    def n_unique(self) -> int:
        """How many different pre-tokens there are so far, at least."""
        return max(len(table.pre_tokens) for table in self._tables())

    @property
    def n_waiting(self) -> int:
        """The bytes of a pre-token that wait for its end."""
        return sum(map(len, self._undecided))

    def _tables(self) -> list[_Table]:
        return [self._own, *self._shares]

    def add(self, block: TextBlock, tick: Tick) -> None:
        """Count the texts of a block; the undecided end of the last one waits while it is open."""
        if self._waits(block):
            return
        block = self._with_undecided(block)
        if block.is_open:
            start, end = block.starts[-1], block.ends[-1]
            cut = self._scanner.last_cut(block.data, start, end)
            if cut > start:
                self._undecided.append(block.data[cut:end])
                self._scan_at = 0
                block.ends[-1], block.is_open = cut, False
        self._n_blocks += 1

        def should_stop() -> bool:
            return tick(self.n_unique)

        if self._threads and not block.is_open:
            self._threads.put(self._n_blocks, block, should_stop)
            return
        reached = self._own.count(self._n_blocks, block, should_stop)
        if block.is_open:
            rest = block.data[reached : block.ends[-1]]
            self._undecided.append(rest)
            self._scan_at = 2 * len(rest)

    def finish(self, tick: Tick) -> None:
        """Wait until all is counted, or somebody asks to stop; then join the tables."""
        if self._threads:
            self._threads.finish(lambda: tick(self.n_unique))
        used = [table for table in self._tables() if len(table.pre_tokens)]
        for table in used:
            table.turn_to(REST)
            self._by_file += table.by_file
        if len(used) < 2:
            self._joined = used[0].pre_tokens if used else PreTokenTable()
            return
        news = sorted(
            (number, i, *new) for i, table in enumerate(used) for number, new in table.news.items()
        )
        self._joined = join(
            [table.pre_tokens for table in used],
            [new[1:] for new in news],
            self._n_threads,
            lambda: tick(self.n_unique),
        )
        for table in used:
            for found in table.by_file:
                counting_kernels.rename(
                    found.pre_tokens, len(found.pre_tokens), table.pre_tokens.counts
                )

    def close(self) -> None:
        """Let no thread go on."""
        if self._threads:
            self._threads.close()

    def _waits(self, block: TextBlock) -> bool:
        """Let a pre-token without an end grow to double its size before it is looked at again.

        So the time for a pre-token longer than many blocks is linear in its length.
        """
        if not (block.is_open and len(block.starts) == 1 and self._undecided):
            return False
        start, end = block.starts[0], block.ends[0]
        if self.n_waiting + end - start >= self._scan_at:
            return False
        self._undecided.append(block.data[start:end])
        return True

    def _with_undecided(self, block: TextBlock) -> TextBlock:
        """Put the undecided bytes before a block."""
        if not self._undecided:
            return block
        undecided = b"".join(self._undecided)
        self._undecided.clear()
        first = block.starts[0]
        shift = len(undecided) - first
        starts = [0, *(start + shift for start in block.starts[1:])]
        ends = [end + shift for end in block.ends]
        data = undecided + (block.data[first:] if first else block.data)
        return TextBlock(data, starts, ends, block.ends_document, block.is_open, block.file)

    def result(self, n_documents: int, complete: bool) -> PreTokenCounts:
        """Give what has been counted."""
        return self._joined.counted(n_documents, complete, self._by_file)


class _Table:
    """A table, and which of its pre-tokens were new in which block.

    Attributes:
        pre_tokens: The table.
        news: The first of a block's new pre-tokens and the first that is none, by the block's
            number.
        by_file: What the files that are told apart have of them, once another one has begun.
    """

    def __init__(self, scanner: Scanner) -> None:
        self.pre_tokens = PreTokenTable()
        self.news: dict[int, tuple[int, int]] = {}
        self.by_file: list[FileCounts] = []
        self._file = REST
        self._scanner = scanner

    def count(self, number: int, block: TextBlock, should_stop: Callable[[], bool]) -> int:
        """Count a block, and tell where its undecided rest begins."""
        self.turn_to(block.file)
        first = len(self.pre_tokens)
        reached = self.pre_tokens.count(block, self._scanner, should_stop)
        self.news[number] = first, len(self.pre_tokens)
        return reached

    def turn_to(self, file: int) -> None:
        """Note what was counted of a file before another one begins."""
        if file != self._file:
            found = self.pre_tokens.take_new(self._file)
            self.by_file += [found] if self._file != REST else []
            self._file = file


def join(
    tables: Sequence[PreTokenTable],
    order: Sequence[tuple[int, int, int]],
    n_threads: int,
    tick: Callable[[], bool],
) -> PreTokenTable:
    """Join tables; the counts of their pre-tokens become their places among the joined ones.

    Args:
        tables: The tables, at least one.
        order: Runs of pre-tokens in the order that they are to have: the table's place, the run's
            first pre-token, and the first behind it. Every pre-token is in one.
        n_threads: How many threads may work.
        tick: Called often.

    Returns:
        The different pre-tokens and their counts. Nothing can be looked up in it.
    """
    bases = [0, *accumulate(map(len, tables))]
    names = zeros(bases[-1], "q")
    _find_same(tables, names, bases, n_threads, tick)
    n, n_bytes = bases[-1], sum(len(table.data) for table in tables)
    joined = PreTokenTable.of(zeros(n_bytes, "B"), zeros(n + 1, "q"), zeros(n, "q"))
    joined.table.numbers[counting_kernels.N_UNIQUE] = 0  # so far
    for i, first, last in order:
        place = tables[i].table, first, last, names, bases[i]
        counting_kernels.join_pre_tokens(*place, joined.table)
        tick()
    return joined


def _find_same(
    tables: Sequence[PreTokenTable],
    names: memoryview,
    bases: Sequence[int],
    n_threads: int,
    tick: Callable[[], bool],
) -> None:
    """Name each pre-token by the first table that has it; see the kernel."""

    def find(i: int, first: int, _: Callable[[], bool]) -> None:
        last = min(first + _PRE_TOKENS_AT_ONCE, len(tables[i]))
        for j in range(i):
            there = tables[j].table, bases[j]
            counting_kernels.find_same(tables[i].table, first, last, names, bases[i], *there)

    def go_on() -> bool:
        tick()
        return False

    threads = Threads([find] * n_threads)
    try:
        for i in range(1, len(tables)):
            for first in range(0, len(tables[i]), _PRE_TOKENS_AT_ONCE):
                threads.put(i, first, go_on)
        threads.finish(go_on)
    finally:
        threads.close()
