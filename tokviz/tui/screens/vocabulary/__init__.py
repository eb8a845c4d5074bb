"""Vocabulary screen: search and browse the tokens of the current tokenizer."""

from tokviz.tui.screens.vocabulary.screen import VocabularyScreen

SCREEN = VocabularyScreen

__all__ = ["SCREEN", "VocabularyScreen"]
