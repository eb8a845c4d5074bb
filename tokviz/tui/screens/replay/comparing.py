"""Comparing what is replayed with another training, vocabulary or merges file."""

from __future__ import annotations

from tokviz.tui.screens.replay.base import ReplayBase


class Comparing(ReplayBase):
    """Compares in a thread: the newest choice wins."""

    def compare_with(self, other: str) -> None:
        """Compare with a path or a name."""

    def compare_text(self) -> None:
        """Compare what becomes of the user's text."""

    def action_compare(self) -> None:
        """Choose what to compare with."""

    def action_first_difference(self) -> None:
        """Go to the merge at which the two part."""

    def action_end_comparison(self) -> None:
        """Forget the other one."""
        self.end_comparison()

    def end_comparison(self) -> None:
        """Forget the other one."""
        self.comparison = None
