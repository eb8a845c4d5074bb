"""Byte pair encoding of a pre-token, with ranks or with a list of merges."""
