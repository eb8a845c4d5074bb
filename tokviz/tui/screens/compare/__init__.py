"""Compare screen: the text in several tokenizers, and the causes of disagreements."""

from tokviz.tui.screens.compare.screen import CompareScreen

SCREEN = CompareScreen

__all__ = ["SCREEN", "CompareScreen"]
