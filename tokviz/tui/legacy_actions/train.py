"""What can be done on the Train screen."""

from __future__ import annotations

from tokviz.tui.legacy_actions.action import Action, Gesture

ACTIONS = (
    Action(
        "add_corpus",
        "Add files to the corpus",
        "Choose a file or a folder to train on.",
        "Corpus",
        ("ctrl+o",),
        footer="add files",
    ),
    Action(
        "clear_corpus",
        "Empty the corpus",
        "Take every file and folder off the list. The files themselves stay.",
        "Corpus",
    ),
    Action(
        "start_training",
        "Start the training",
        "Train a tokenizer on the corpus, in the background. The other screens stay usable.",
        "Training",
        ("ctrl+r", "f5"),
        footer="start",
    ),
    Action(
        "cancel_training",
        "Cancel the training",
        "Stop at once and leave nothing behind.",
        "Training",
        ("escape",),
        footer="cancel",
        priority=False,
    ),
    Action(
        "new_training",
        "Back to the settings",
        "Leave the result and see the settings again, as they were.",
        "Training",
        ("ctrl+n",),
        footer="settings",
    ),
    Action(
        "use_result",
        "Use the trained tokenizer",
        "See the text of the Tokens screen with it.",
        "Result",
        ("ctrl+t",),
        footer="use",
    ),
    Action(
        "replay_result",
        "Replay the training",
        "Go through the training merge by merge.",
        "Result",
        ("ctrl+y",),
        footer="replay",
    ),
    Action(
        "save_result",
        "Save the trained tokenizer as…",
        "Copy its folder, with tokenizer.json and the training's history, to a place of yours.",
        "Result",
        ("ctrl+s",),
        footer="save as",
    ),
)

GESTURES = (
    Gesture("Click ✕ in the corpus", "Takes the file or folder off the list."),
    Gesture("Click a choice", "Takes it: a vocabulary size, a pattern, a rule."),
)
