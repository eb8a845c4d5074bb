"""The screens by name. To add one, add a folder with its `screen.py` and one entry to `SCREENS`."""

from __future__ import annotations

from typing import NamedTuple


class ScreenKind(NamedTuple):
    """A screen that the user can go to.

    Its class is `SCREEN` in the module `tokviz.tui.screens.<id>`, which is imported when the screen
    is first asked for.

    Attributes:
        id: Its name: the app's mode, and what `Request.screen` says.
        title: Its tab.
        help: A sentence that says what it is for.
        keys: Its keys, as in `tokviz.tui.actions`; the number of its tab is one besides.
        words: What people call it besides, for the command palette.
    """

    id: str
    title: str
    help: str
    keys: tuple[str, ...]
    words: str = ""


SCREENS: tuple[ScreenKind, ...] = (
    ScreenKind("tokens", "Tokens", "Type a text and see its tokens.", ("alt+k",)),
    ScreenKind(
        "compare",
        "Compare",
        "See your text in several tokenizers, where they disagree, and why.",
        ("alt+q",),
        "versus vs diff difference side by side tokenizers",
    ),
    ScreenKind(
        "chat",
        "Chat",
        "See which tokens of a conversation a model learns from, and why.",
        ("alt+h",),
    ),
    ScreenKind(
        "train",
        "Train",
        "Train a tokenizer of your own on your files.",
        ("alt+r",),
    ),
    ScreenKind(
        "replay",
        "Replay",
        "Go through a training, or any vocabulary, merge by merge.",
        ("alt+y",),
    ),
    ScreenKind(
        "vocabulary",
        "Vocabulary",
        "Search and browse the tokens of the tokenizer.",
        ("alt+v",),
    ),
)
"""Every screen, in the order of the tabs. The app begins with the first."""
