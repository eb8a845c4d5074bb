"""The Compare screen: the text in several tokenizers, where they disagree, and why."""

from tokviz.tui.screens.compare.screen import CompareScreen

SCREEN = CompareScreen

__all__ = ["SCREEN", "CompareScreen"]
