"""Conversations: how a template renders them, and which tokens a model learns from."""
