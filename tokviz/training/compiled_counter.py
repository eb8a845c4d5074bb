"""Counting pre-tokens with compiled loops, on several processors at once.

Blocks are cut where a pre-token ends regardless of the following text, so each block can be counted
independently. Every thread has its own table, and records which pre-tokens are new in which block.
At the end the tables are joined block by block, in the order of the first occurrences.
"""

from __future__ import annotations

from collections.abc import Callable

from tokviz.process.limits import n_processors
from tokviz.tokenizer.pretokenize.scan import Scanner
from tokviz.training import counting_kernels
from tokviz.training.corpus.text_blocks import REST, TextBlock
from tokviz.training.pre_token_counts import FileCounts, PreTokenCounts, Tick
from tokviz.training.pre_token_table import PreTokenTable
from tokviz.training.threads import Threads


class CompiledCounter:
    """Count with compiled loops; memory grows with the number of distinct pre-tokens."""

    share = 1.0
    """The counted share of the added text: blocks wait only briefly."""

    def __init__(self, scanner: Scanner, n_threads: int | None = None) -> None:
        """Create a counter.

        Args:
            scanner: The scanner that cuts texts into pre-tokens.
            n_threads: Number of threads that count while this one reads; 0 to count in this
                thread, None to choose by the number of processors.
        """
        n_threads = n_processors() if n_threads is None else n_threads
        self._scanner = scanner
        self._own = _Table(scanner)
        self._shares = [_Table(scanner) for _ in range(n_threads)]
        self._threads = Threads([share.count for share in self._shares]) if n_threads else None
        self._joined = PreTokenTable(2)
        self._by_file: list[FileCounts] = []
        self._n_blocks = 0
        self._undecided: list[bytes] = []
        self._scan_at = 0

    @property
    def n_unique(self) -> int:
        """A lower bound of the number of distinct pre-tokens so far."""
        return max(len(table.pre_tokens) for table in self._tables())

    @property
    def n_waiting(self) -> int:
        """Bytes of an incomplete pre-token."""
        return sum(map(len, self._undecided))

    def _tables(self) -> list[_Table]:
        return [self._own, *self._shares]

    def add(self, block: TextBlock, tick: Tick) -> None:
        """Count the texts of a block, except the undecided end of an open text."""
        if self._collects(block):
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
        """Wait until all blocks are counted or counting is stopped; then join the tables."""
        if self._threads:
            self._threads.finish(lambda: tick(self.n_unique))
        used = [table for table in self._tables() if len(table.pre_tokens)]
        for table in used:
            table.switch_to(REST)
            self._by_file += table.by_file
        if len(used) < 2:
            self._joined = used[0].pre_tokens if used else PreTokenTable()
            return
        order = sorted(
            (number, i, *new)
            for i, table in enumerate(used)
            for number, new in table.new_by_block.items()
        )
        total = sum(len(table.pre_tokens) for table in used)
        self._joined = PreTokenTable(2 << total.bit_length())
        for _, i, first, last in order:
            self._joined.add(used[i].pre_tokens, first, last)
            tick(self.n_unique)
        for table in used:
            for found in table.by_file:
                counting_kernels.renumber(
                    found.pre_tokens, len(found.pre_tokens), table.pre_tokens.counts
                )

    def close(self) -> None:
        """Stop all threads."""
        if self._threads:
            self._threads.close()

    def _collects(self, block: TextBlock) -> bool:
        """Collect a block if the incomplete pre-token has not yet doubled since the last scan.

        This makes the time for a pre-token longer than many blocks linear in its length.
        """
        if not (block.is_open and len(block.starts) == 1 and self._undecided):
            return False
        start, end = block.starts[0], block.ends[0]
        if self.n_waiting + end - start >= self._scan_at:
            return False
        self._undecided.append(block.data[start:end])
        return True

    def _with_undecided(self, block: TextBlock) -> TextBlock:
        """Return a block with the undecided bytes prepended."""
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
        """Return the counts."""
        return self._joined.counted(n_documents, complete, self._by_file)


class _Table:
    """A table that records which pre-tokens were new in which block.

    Attributes:
        pre_tokens: The table.
        new_by_block: Start and end of a block's new pre-tokens, by the block's number.
        by_file: Counts of the tracked files that are complete.
    """

    def __init__(self, scanner: Scanner) -> None:
        self.pre_tokens = PreTokenTable()
        self.new_by_block: dict[int, tuple[int, int]] = {}
        self.by_file: list[FileCounts] = []
        self._file = REST
        self._scanner = scanner

    def count(self, number: int, block: TextBlock, should_stop: Callable[[], bool]) -> int:
        """Count a block, and return the start of its undecided rest."""
        self.switch_to(block.file)
        first = len(self.pre_tokens)
        reached = self.pre_tokens.count(block, self._scanner, should_stop)
        self.new_by_block[number] = first, len(self.pre_tokens)
        return reached

    def switch_to(self, file: int) -> None:
        """Save the counts of the current file if the next block is from another one."""
        if file != self._file:
            found = self.pre_tokens.take_new(self._file)
            self.by_file += [found] if self._file != REST else []
            self._file = file
