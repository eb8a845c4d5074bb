"""The Splits panel and what it says."""

from tokviz.tui.widgets.splits.messages import PieceClicked
from tokviz.tui.widgets.splits.panel import SplitsPanel

__all__ = ["PieceClicked", "SplitsPanel"]
