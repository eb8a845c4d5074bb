"""The screens by name. To add one, write its module and add one entry to `SCREENS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from textual.screen import Screen

    from tokviz.tui.app import TokvizApp


class ScreenKind(NamedTuple):
    """A screen that the user can go to.

    Attributes:
        id: Its name: the app's mode, and the group of its actions.
        title: Its tab.
        help: A sentence that says what it is for.
        keys: Its keys, as in `tokviz.tui.actions`.
        make: Makes the screen; called when it is first shown, and imports what it needs then.
    """

    id: str
    title: str
    help: str
    keys: tuple[str, ...]
    make: Callable[[TokvizApp], Screen[Any]]


def _make_tokens(app: TokvizApp) -> Screen[Any]:
    from tokviz.tui.screens.tokens import TokensScreen

    return TokensScreen(app.opening, app.settings)


def _make_chat(app: TokvizApp) -> Screen[Any]:
    from tokviz.tui.screens.chat import ChatScreen

    return ChatScreen()


def _make_train(app: TokvizApp) -> Screen[Any]:
    from tokviz.tui.screens.train import TrainScreen

    return TrainScreen()


def _make_replay(app: TokvizApp) -> Screen[Any]:
    from tokviz.tui.screens.replay import ReplayScreen

    return ReplayScreen()


def _make_vocabulary(app: TokvizApp) -> Screen[Any]:
    from tokviz.tui.screens.vocabulary import VocabularyScreen

    return VocabularyScreen()


SCREENS: tuple[ScreenKind, ...] = (
    ScreenKind("tokens", "Tokens", "Type a text and see its tokens.", ("alt+k",), _make_tokens),
    ScreenKind(
        "chat",
        "Chat",
        "See which tokens of a conversation a model learns from, and why.",
        ("alt+h",),
        _make_chat,
    ),
    ScreenKind(
        "train",
        "Train",
        "Train a tokenizer of your own on your files.",
        ("alt+r",),
        _make_train,
    ),
    ScreenKind(
        "replay",
        "Replay",
        "Go through a training, or any vocabulary, merge by merge.",
        ("alt+y",),
        _make_replay,
    ),
    ScreenKind(
        "vocabulary",
        "Vocabulary",
        "Search and browse the tokens of the tokenizer.",
        ("alt+v",),
        _make_vocabulary,
    ),
)
"""Every screen, in the order of the tabs. The app begins with the first."""
