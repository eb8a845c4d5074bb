"""The Chat screen: which tokens of a conversation a model learns from, and why."""

from tokviz.tui.screens.chat.screen import ChatScreen

SCREEN = ChatScreen

__all__ = ["SCREEN", "ChatScreen"]
