"""Token counts of files, summed by folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy

from tokviz.live.text_blocks import InputCounts

Counts = Sequence[InputCounts]
"""The counts of a text, one per tokenizer."""


def sum_counts(total: list[InputCounts], counts: Counts) -> None:
    """Add the counts of a text to a total, which is empty at first."""
    if not total:
        total += map(copy, counts)
        return
    for one, other in zip(total, counts, strict=True):
        one += other


class CountTree:
    """A file with its counts, or a folder with those of all files in it.

    Attributes:
        path: The path of the file or folder.
        counts: The counts, one per tokenizer.
        n_files: Number of files in it; 0 for a file.
        children: Files and folders in it, most tokens first.
    """

    def __init__(self, path: str, counts: Counts = ()) -> None:
        """Create a tree without children."""
        self.path, self.counts, self.n_files = path, [*counts], 0
        self.children: list[CountTree] = []

    @property
    def name(self) -> str:
        """Its name without the folders."""
        return os.path.basename(self.path) or self.path or "."

    def rows(
        self, is_open: Callable[[CountTree], bool] = lambda folder: True
    ) -> Iterator[tuple[int, CountTree]]:
        """Yield the folder and everything in it with their depths, without closed folders."""
        stack = [(0, self)]
        while stack:
            depth, node = stack.pop()
            yield depth, node
            if is_open(node):
                stack += [(depth + 1, child) for child in reversed(node.children)]


def count_tree(files: Iterable[tuple[str, Counts]], root: str = "") -> CountTree:
    """Sum the counts of files by folder.

    Args:
        files: The files with their counts, at least one.
        root: A folder that contains all of them; by default the deepest one.
    """
    leaves = [CountTree(os.path.normpath(path), counts) for path, counts in files]
    if not root:
        with suppress(ValueError):  # absolute and relative paths
            root = os.path.commonpath([os.path.dirname(leaf.path) for leaf in leaves])
    root = os.path.normpath(root) if root not in ("", os.curdir) else ""
    folders = {root: CountTree(root)}
    for leaf in leaves:
        child, is_new = leaf, True
        while child.path != root:
            above = os.path.dirname(child.path)
            above = root if above == child.path else above
            was_new, is_new = is_new, above not in folders
            folder = folders.setdefault(above, CountTree(above))
            if was_new:
                folder.children.append(child)
            folder.n_files += 1
            sum_counts(folder.counts, leaf.counts)
            child = folder
    for folder in folders.values():
        folder.children.sort(key=lambda child: (-child.counts[0].n_tokens, child.path))
    return folders[root]
