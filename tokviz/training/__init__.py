"""Training: counting pre-tokens, learning merges, and the result."""
