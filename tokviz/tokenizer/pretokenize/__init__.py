"""Pre-tokenization: how text is cut into pieces before any merge."""
