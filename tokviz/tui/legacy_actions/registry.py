"""Tables of actions of the screens that do not declare them yet."""

from __future__ import annotations

from importlib import import_module

from textual.binding import Binding

from tokviz.tui.actions import Action, Gesture, bindings_of


def table_of(group: str) -> tuple[list[Action], list[Gesture]]:
    """Read the table of a screen."""
    module = import_module(f"tokviz.tui.legacy_actions.{group}")
    return list(module.ACTIONS), list(module.GESTURES)


def bindings_for(group: str) -> list[Binding]:
    """Make the key bindings of a screen."""
    return bindings_of(table_of(group)[0])
