"""Byte pair encoding: encoding, tracing and recovering merges."""
