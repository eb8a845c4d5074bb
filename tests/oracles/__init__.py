"""Slow, obviously right twins of what tokviz does fast."""
