"""Slow, obviously correct versions of fast code in tokviz."""
