"""The Train screen: choose a corpus, watch a tokenizer learn, use it."""

from tokviz.tui.screens.train.screen import TrainScreen

SCREEN = TrainScreen

__all__ = ["SCREEN", "TrainScreen"]
