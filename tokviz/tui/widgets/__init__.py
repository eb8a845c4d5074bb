"""Widgets of the app, which communicate by messages."""
