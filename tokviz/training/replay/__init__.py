"""Replay: the state after any merge of a training or of a vocabulary."""

LADDER_BYTES = 1_000
"""Maximum size of a corpus whose pre-tokens are drawn after every merge, one row per merge."""
