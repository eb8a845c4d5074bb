"""The messages of a conversation: a list of blocks, one of which is edited in place."""
