"""The screens by name. To add one, add a folder with its `screen.py` and one entry to `SCREENS`."""

from __future__ import annotations

from tokviz.tui.actions import Kind

SCREENS: tuple[Kind, ...] = (
    Kind("tokens", "Tokens", "Type a text and see its tokens.", ("alt+k",)),
    Kind(
        "compare",
        "Compare",
        "See your text in several tokenizers, with the cause of every disagreement.",
        ("alt+q",),
        "versus vs diff difference side by side tokenizers",
    ),
    Kind(
        "chat",
        "Chat",
        "See which tokens of a conversation a model learns from, and why.",
        ("alt+h",),
    ),
    Kind(
        "train",
        "Train",
        "Train your own tokenizer on your files.",
        ("alt+r",),
    ),
    Kind(
        "replay",
        "Replay",
        "Step through a training, or any vocabulary, merge by merge.",
        ("alt+y",),
    ),
    Kind(
        "vocabulary",
        "Vocabulary",
        "Search and browse the tokens of the tokenizer.",
        ("alt+v",),
    ),
)
"""Every screen, in the order of the tabs; the app starts with the first.

The id is the app's mode and what `Request.screen` holds. Ctrl+L and a tab's number switch to it.
The class is `SCREEN` in the module `tokviz.tui.screens.<id>`, imported when it is first shown.
"""
