"""Every named action, once: key bindings, command palette and help are made from it.

The module `tokviz.tui.actions.<group>` lists the actions and gestures of a group: "app", or a
screen by its id. It is imported when somebody asks for that group. The app or the screen answers an
action with a method `action_<id>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from textual.binding import Binding

from tokviz.tui.actions.action import Action, Gesture
from tokviz.tui.screens.registry import SCREENS

APP = "app"
"""The group of the actions that every screen has."""


def groups() -> list[str]:
    """List the groups of actions, in the order of the help page and the command palette."""
    return [*(kind.id for kind in SCREENS), APP]


def actions_of(*groups: str) -> Iterator[Action]:
    """Yield the actions that these groups answer, in registry order."""
    for group in groups:
        yield from import_module(f"tokviz.tui.actions.{group}").ACTIONS


def gestures_of(*groups: str) -> Iterator[Gesture]:
    """Yield what the mouse does in these groups."""
    for group in groups:
        yield from import_module(f"tokviz.tui.actions.{group}").GESTURES


def bindings_for(group: str) -> list[Binding]:
    """Make the key bindings of the app (group "app") or of a screen.

    Printable keys get no priority, so that the editor receives them while it has the focus.
    """
    return [
        Binding(
            key,
            action.call or action.id,
            action.footer or action.title,
            show=bool(action.footer) and position == 0,
            priority=action.priority and not _is_printable(key),
            tooltip=action.help,
            id=f"{action.id}.{position}" if position else action.id,
        )
        for action in actions_of(group)
        if action.bound
        for position, key in enumerate(action.keys)
    ]


def _is_printable(key: str) -> bool:
    return len(key) == 1 or key == "question_mark"
