"""The Tokens screen: type or paste text and see its tokens."""

from tokviz.tui.screens.tokens.screen import TokensScreen

SCREEN = TokensScreen

__all__ = ["SCREEN", "TokensScreen"]
