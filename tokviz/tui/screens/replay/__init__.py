"""The Replay screen: every merge of a training, or of any vocabulary, one after another."""

from tokviz.tui.screens.replay.screen import ReplayScreen

SCREEN = ReplayScreen

__all__ = ["SCREEN", "ReplayScreen"]
