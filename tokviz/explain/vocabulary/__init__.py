"""Vocabulary lookups: an index of tokens, a search language, relations."""
