"""What an action is, and how its keys are spelled.

Keys are chosen for a plain xterm over ssh: `ctrl` with a letter and the function keys. `alt` keys
are second choices, since many terminals send nothing usable for them. Three keys that look natural
are left out on purpose:

- `ctrl+shift+letter` is the same byte as `ctrl+letter`, or is taken by the terminal itself.
- `alt+digit` reaches a Textual app as the character that macOS types with it ("¡" for alt+1).
- `shift+f3` is sent by xterm as a cursor position report, so it always has a companion.
"""

from __future__ import annotations

from typing import NamedTuple


class Action(NamedTuple):
    """Something the user can do, under one name everywhere."""

    id: str
    """Its name, and that of the `action_<id>` method that does it unless `call` names another."""
    title: str
    """What the command palette and the help call it."""
    help: str
    """A sentence that says what happens."""
    section: str
    """The heading of the help page under which it stands."""
    keys: tuple[str, ...] = ()
    """Its keys in Textual's spelling, the one that works everywhere first."""
    footer: str = ""
    """A word for the footer, empty for an action that is not shown there."""
    priority: bool = True
    """Whether its keys reach it before the focused widget. Printable keys never do."""
    bound: bool = True
    """False where a widget binds the keys itself and the entry only makes them known."""
    call: str = ""
    """What to run where that is more than the id: an action with arguments."""


class Gesture(NamedTuple):
    """Something the mouse does, for the help page."""

    gesture: str
    help: str


_KEY_NAMES = {
    "question_mark": "?",
    "right_square_bracket": "]",
    "backslash": "\\",
    "escape": "Esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "left": "←",
    "right": "→",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "slash": "/",
    "full_stop": ".",
    "comma": ",",
}


def key_label(key: str) -> str:
    r"""Spell a key for people.

    >>> key_label("ctrl+o"), key_label("shift+f3"), key_label("ctrl+backslash")
    ('Ctrl+O', 'Shift+F3', 'Ctrl+\\')
    """
    *modifiers, name = key.split("+")
    alone = not modifiers and len(name) == 1
    shown = _KEY_NAMES.get(name, name if alone else name.capitalize())
    return "+".join([*(modifier.capitalize() for modifier in modifiers), shown])


def keys_label(action: Action) -> str:
    """Spell all keys of an action for people, empty where it has none."""
    return "  ".join(key_label(key) for key in action.keys)
