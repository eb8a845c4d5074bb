"""Pre-tokenization: how text is cut into pre-tokens before any merge."""
