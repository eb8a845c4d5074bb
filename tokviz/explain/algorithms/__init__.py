"""Encoding algorithms step by step: BPE over characters, Unigram, WordPiece, WordLevel, a trie."""
