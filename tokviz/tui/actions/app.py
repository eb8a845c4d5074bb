"""What can be done on every screen."""

from __future__ import annotations

from tokviz.tui.actions.action import Action, Gesture
from tokviz.tui.screens.registry import SCREENS

ACTIONS: tuple[Action, ...] = (
    Action(
        "toggle_theme",
        "Dark or light",
        "Change between the dark and the light theme.",
        "View",
        ("f10",),
        priority=False,
    ),
    Action(
        "next_screen",
        "Next screen",
        "Go to the next screen. What this one does goes on.",
        "Screens",
        ("ctrl+l", "f11"),
        footer="screen",
    ),
    *(
        Action(
            f"{kind.id}_screen",
            f"{kind.title} screen",
            kind.help,
            "Screens",
            kind.keys,
            call=f"show_screen('{kind.id}')",
        )
        for kind in SCREENS
    ),
    Action(
        "command_palette",
        "Command palette",
        "Every action by its name.",
        "App",
        ("ctrl+p",),
        bound=False,
    ),
    Action(
        "help",
        "Help",
        "The keys, panels and mouse of the screen you are on. ? does it where you are not typing.",
        "App",
        ("f1", "question_mark"),
        footer="help",
        priority=False,
    ),
    Action(
        "quit",
        "Quit",
        "End tokviz. A text that was not saved comes back at the next start.",
        "App",
        ("ctrl+q",),
    ),
)

GESTURES: tuple[Gesture, ...] = (
    Gesture("Click a tab", "Shows that screen."),
    Gesture("Click outside a dialog", "Closes the dialog, nothing changes."),
)
