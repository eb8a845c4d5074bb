"""The Replay screen: every merge of a training, or of any vocabulary, one after another."""

from tokviz.tui.screens.replay.screen import ReplayScreen

__all__ = ["ReplayScreen"]
