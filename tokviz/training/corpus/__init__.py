"""Corpora: texts from files, folders, streams or Python, read block by block."""
