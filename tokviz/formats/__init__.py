"""Tokenizer files and names, read and written."""
