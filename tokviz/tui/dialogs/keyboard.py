"""Keys that mean the same in every text, list and panel. Widgets bind them; the help lists them."""

from __future__ import annotations

from collections.abc import Iterable

from tokviz.tui.actions import Action


def _keys(title: str, help: str, *keys: str) -> Action:
    return Action("", "", title, help, "Keys everywhere", keys)


_EVERYWHERE = (
    _keys(
        "Move",
        "Through a text, a list or tokens; on a setting, to its next value. With Shift: select.",
        *("up", "down", "left", "right", "pageup", "pagedown", "home", "end"),
    ),
    _keys(
        "Move by words, or to an end",
        "In a text; the last two also in a list.",
        *("ctrl+left", "ctrl+right", "ctrl+home", "ctrl+end"),
    ),
    _keys("Choose", "Do what the chosen row, link or button says.", "enter", "space"),
    _keys(
        "Next part, or the one before",
        "From field to field. A text that takes Tab as a character is left by F5.",
        *("tab", "shift+tab"),
    ),
    _keys("Cut, copy, paste", "In a text or a field.", "ctrl+x", "ctrl+c", "ctrl+v"),
    _keys("Undo, redo", "What was typed, in a text or a field.", "ctrl+z", "ctrl+y"),
    _keys(
        "Delete",
        "The selected text, else the character before or behind the cursor.",
        *("backspace", "delete", "ctrl+d"),
    ),
    _keys(
        "Delete more",
        "The word before the cursor, to the start of the line, to its end.",
        *("ctrl+w", "ctrl+u", "ctrl+k"),
    ),
    _keys("Start of the line", "In a text or a field.", "ctrl+a"),
    _keys("End of the line", "In a text or a field.", "ctrl+e"),
)


def everywhere_but(taken: Iterable[Action]) -> list[Action]:
    """List the keys that mean the same everywhere, but for those that some actions take."""
    used = {key for found in taken for key in found.keys}
    left = [
        found._replace(keys=tuple(key for key in found.keys if key not in used))
        for found in _EVERYWHERE
    ]
    return [found for found in left if found.keys]
