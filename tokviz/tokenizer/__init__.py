"""Tokenizers: from text to pre-tokens, from pre-tokens to ids, and back."""
