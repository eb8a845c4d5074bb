"""Tokens with their mask: which of them a model learns from, and why."""
