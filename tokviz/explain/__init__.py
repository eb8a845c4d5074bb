"""Explanations of tokens and pre-tokens: their meaning, their merges, and why they are split."""
