"""Chat screen: the tokens of a conversation that a model learns from, with reasons."""

from tokviz.tui.screens.chat.screen import ChatScreen

SCREEN = ChatScreen

__all__ = ["SCREEN", "ChatScreen"]
