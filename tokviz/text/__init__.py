"""Bytes as text, safe display, Unicode characters and sentences."""
