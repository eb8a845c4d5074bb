"""The messages of a conversation, one part of which is edited in place."""
