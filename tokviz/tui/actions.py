"""Actions: declared at the method that performs them, and collected from there.

Key bindings, command palette, footer and help page are all made from the declarations of a screen,
its controllers and the app; there is no second table.

A key has one meaning on all screens, which the table in `tokviz/guide/settings.md` lists and
`tests/tui/test_actions.py` checks. Letters without a modifier are keys only where no text is typed;
digits never are.

Keys are chosen for a plain xterm over ssh: `ctrl` with a letter and the function keys. `alt` keys
are alternatives, because many terminals do not send them. Three natural choices are excluded:

- `ctrl+shift+letter` is the same byte as `ctrl+letter`, or is taken by the terminal itself.
- `alt+digit` reaches a Textual app as the character that macOS types with it ("¡" for alt+1).
- `shift+f3` is sent by xterm as a cursor position report, so it always has a companion.

A key may be a chord, such as `ctrl+l n`: the leader, then a second key. Chords replace keys that a
keyboard or a terminal lacks: Ctrl with a bracket or a backslash needs AltGr on German and
French keyboards, GNOME Terminal takes F1, F10 and F11, macOS takes F11.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from textual.binding import Binding
from textual.dom import DOMNode

Method = TypeVar("Method", bound=Callable[..., Any])

STAYS = Binding.Group("stays")
"""Marks the bindings that stay in the footer however little room there is."""
LEADER = "ctrl+l"
"""The key before the second key of a chord."""
KEYS: dict[str, tuple[str, ...]] = {}
"""Keys that the user assigned to actions; see `remap`."""
PREFIX = "action_"
"""Prefix of action methods that Textual finds by name, on a screen or widget."""


class Action(NamedTuple):
    """Something the user can do, under one name everywhere."""

    id: str
    """Its name."""
    method: str
    """The name of the method that does it, without `action_`."""
    title: str
    """Title in the command palette and the help."""
    help: str
    """Description in a sentence."""
    section: str
    """Heading on the help page."""
    keys: tuple[str, ...] = ()
    """Keys in Textual's spelling, the most portable one first."""
    footer: str = ""
    """Word for the footer, which shows the first key; empty if it is not in the footer."""
    stays: bool = False
    """True if it stays in the footer even if there is little room."""
    priority: bool = True
    """True if its keys reach it before the focused widget. Printable keys never do."""
    bound: bool = True
    """False if a widget binds the keys itself, and the entry only documents them."""
    call: str = ""
    """Name of the method, with arguments if it takes any."""
    when: Callable[[Any], bool] | None = None
    """Predicate on the object that performs it: whether it is available now; None for always."""
    words: str = ""
    """Other names, for the command palette."""

    def second_keys(self) -> list[str]:
        """Return the second keys of its chords."""
        return [key.partition(" ")[2] for key in self.keys if " " in key]


class Gesture(NamedTuple):
    """A mouse gesture, for the help page."""

    gesture: str
    help: str


def action(
    title: str,
    *keys: str,
    section: str,
    id: str = "",
    help: str = "",
    call: str = "",
    footer: str = "",
    stays: bool = False,
    priority: bool = True,
    bound: bool = True,
    when: Callable[[Any], bool] | None = None,
    words: str = "",
) -> Callable[[Method], Method]:
    """Declare a method as an action. Its docstring is the help.

    A method with arguments has one declaration for each call.

    Args:
        title: Title in the palette and the help.
        *keys: Keys, the most portable one first.
        section: Heading on the help page.
        id: Name, if it differs from the method's.
        help: Description, if the docstring is not meant for users.
        call: Call of a method with arguments, such as `show_view('ids')`.
        footer: Word for the footer.
        stays: True to keep it in the footer even if there is little room.
        priority: True if its keys reach it before the focused widget.
        bound: False if a widget binds the keys itself.
        when: Predicate on the object that performs it: whether it is available now.
        words: Other names, for the command palette.
    """

    def declare(method: Method) -> Method:
        name = method.__name__.removeprefix(PREFIX)
        own = KEYS.get(id or name, keys) if bound else keys
        text = help or " ".join((inspect.getdoc(method) or "").split())
        found = Action(
            id or name, name, title, text, section, own, footer, stays, priority, bound,
            call or name, when, words,
        )  # fmt: skip
        declared: list[Action] = method.__dict__.setdefault("declared_actions", [])
        declared.insert(0, found)
        return method

    return declare


def actions(*declarations: Callable[[Method], Method]) -> Callable[[Method], Method]:
    """Declare several actions with one method, such as one for each entry of a registry."""

    def declare(method: Method) -> Method:
        for declaration in reversed(declarations):
            declaration(method)
        return method

    return declare


class Kind(NamedTuple):
    """One of several views that share a place, such as a panel.

    Attributes:
        id: Its name.
        title: Its tab.
        help: Description of the panel.
        keys: The keys that show it.
        words: What people call it besides, for the command palette.
    """

    id: str
    title: str
    help: str
    keys: tuple[str, ...] = ()
    words: str = ""


def action_each(
    kinds: Iterable[Any], title: str, *, call: str, section: str, words: str = ""
) -> Callable[[Method], Method]:
    """Declare one action per view that shares a place, all with one method.

    Args:
        kinds: The views, as `Kind` or objects with the same attributes.
        title: Title of each action, such as "{} panel" with the title of its tab.
        call: Name of the method, which takes the id.
        section: The heading of the help page.
        words: Other names for all of them.
    """
    return actions(
        *(
            action(
                title.format(kind.title),
                *kind.keys,
                section=section,
                id=f"show_{kind.id}",
                help=kind.help,
                call=f"{call}('{kind.id}')",
                words=kind.words or words,
            )
            for kind in kinds
        )
    )


def declared_in(names: Mapping[str, object]) -> list[Action]:
    """List the actions that the body of a class declares, in order."""
    return [found for thing in names.values() for found in getattr(thing, "declared_actions", ())]


def declared_by(owner: type) -> list[Action]:
    """List the actions that a class and its bases declare, the bases' first."""
    return [found for kind in reversed(owner.__mro__) for found in declared_in(vars(kind))]


def bindings_of(actions: Iterable[Action]) -> list[Binding]:
    """Make key bindings. Chords have none: the bar that the leader opens takes the second key.

    Printable keys get no priority, so that the editor receives them while it has the focus.
    """
    return [
        Binding(
            key,
            found.call,
            found.footer or found.title,
            show=bool(found.footer) and position == 0,
            priority=found.priority and not _is_printable(key),
            tooltip=found.help,
            id=f"{found.id}.{position}" if position else found.id,
            group=STAYS if found.stays else None,
        )
        for found in actions
        if found.bound
        for position, key in enumerate(found.keys)
        if " " not in key
    ]


def doable(*nodes: DOMNode) -> Iterator[tuple[Action, DOMNode]]:
    """Yield the actions of some nodes, such as the screen and the app, that are available now."""
    for node in nodes:
        listed = getattr(node, "declared", None) or partial(declared_by, type(node))
        for found in listed():
            if hasattr(node, PREFIX + found.method) and node.check_action(found.method, ()):
                yield found, node


def _is_printable(key: str) -> bool:
    return len(key) == 1 or key == "question_mark"


_KEY_NAMES = {
    "question_mark": "?",
    "right_square_bracket": "]",
    "backslash": "\\",
    "escape": "Esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "slash": "/",
    "full_stop": ".",
    "comma": ",",
    "space": "Space",
}


def key_label(key: str) -> str:
    r"""Spell a key for people.

    >>> key_label("ctrl+o"), key_label("shift+f3"), key_label("ctrl+backslash")
    ('Ctrl+O', 'Shift+F3', 'Ctrl+\\')
    >>> key_label("ctrl+l n")
    'Ctrl+L n'
    """
    if " " in key:
        return " ".join(map(key_label, key.split()))
    *modifiers, name = key.split("+")
    alone = not modifiers and len(name) == 1
    shown = _KEY_NAMES.get(name, name if alone else name.capitalize())
    return "+".join([*(modifier.capitalize() for modifier in modifiers), shown])


def key_of(label: str) -> str:
    """Return Textual's spelling of a key or chord that a user wrote, or "" if it is invalid.

    >>> key_of("Ctrl+O"), key_of("ctrl+]"), key_of("Ctrl+L n"), key_of("hyper+x")
    ('ctrl+o', 'ctrl+right_square_bracket', 'ctrl+l n', '')
    """
    if " " in label.strip():
        found = [key_of(part) for part in label.split()]
        return " ".join(found) if len(found) == 2 and found[0] == LEADER and found[1] else ""
    *modifiers, name = re.split(r"\+(?=.)", label.strip())
    names = {shown: key for key, shown in _KEY_NAMES.items()}
    # A capital letter alone is a separate key; after Ctrl, users write it for the small letter.
    name = (
        names.get(name)
        or names.get(name.capitalize())
        or (name if len(name) == 1 and not modifiers else name.lower())
    )
    known = (len(name) == 1 and name.isalnum()) or name in _KEY_NAMES or name in _NAMED
    wanted = [modifier.lower() for modifier in modifiers]
    good = known and set(wanted) <= {"ctrl", "alt", "shift"}
    return "+".join([*sorted(wanted, key=["alt", "ctrl", "shift"].index), name]) if good else ""


_NAMED = {
    *(f"f{number}" for number in range(1, 25)),
    *("enter", "tab", "backspace", "delete", "insert", "home", "end", "@"),
}
"""Keys that have a name and no other label."""


def remap(keys: Any) -> None:
    """Assign the user's keys to actions, before the modules with actions are imported.

    Bindings, footer, palette and help then use these keys.

    Args:
        keys: A key or list of keys by action name; invalid keys are ignored.
    """
    global LEADER
    keys = keys if isinstance(keys, dict) else {}
    for name in sorted(keys, key="more_keys".__ne__):  # chords are spelled with its key
        listed = [keys[name]] if isinstance(keys[name], str) else keys[name]
        found = tuple(
            filter(None, map(key_of, map(str, listed if isinstance(listed, list) else ())))
        )
        if found or listed == []:
            KEYS[name] = found
        if found and name == "more_keys":
            LEADER = found[0]


def keys_label(found: Action) -> str:
    """Return all keys of an action as users write them, or "" if it has none."""
    return "  ".join(key_label(key) for key in found.keys)


# -- keys that mean the same in every text, list and panel: widgets bind them, the help lists them


def _keys(title: str, help: str, *keys: str) -> Action:
    return Action("", "", title, help, "Keys everywhere", keys)


_EVERYWHERE = (
    _keys(
        "Move",
        "Move in a text, a list or tokens; on a setting, choose the next value. With Shift: "
        "select.",
        *("up", "down", "left", "right", "pageup", "pagedown", "home", "end"),
    ),
    _keys(
        "Move by words, or to an end",
        "In a text; the last two also in a list.",
        *("ctrl+left", "ctrl+right", "ctrl+home", "ctrl+end"),
    ),
    _keys("Choose", "Activate the selected row, link or button.", "enter", "space"),
    _keys(
        "Next or previous part",
        "Move between fields. F5 leaves a text in which Tab is a character.",
        *("tab", "shift+tab"),
    ),
    _keys("Cut, copy, paste", "In a text or a field.", "ctrl+x", "ctrl+c", "ctrl+v"),
    _keys("Undo, redo", "Typed text, in a text or a field.", "ctrl+z", "ctrl+y"),
    _keys(
        "Delete",
        "The selected text, or else the character before or after the cursor.",
        *("backspace", "delete", "ctrl+d"),
    ),
    _keys(
        "Delete more",
        "The word before the cursor, to the start of the line, to its end.",
        *("ctrl+w", "ctrl+u", "ctrl+k"),
    ),
    _keys("Select all", "In a text or a field.", "ctrl+a"),
    _keys("End of the line", "In a text or a field.", "ctrl+e"),
)


def everywhere_but(taken: Iterable[Action]) -> list[Action]:
    """Return the keys with one meaning everywhere, except those used by some actions."""
    used = {key for found in taken for key in found.keys}
    left = [
        found._replace(keys=tuple(key for key in found.keys if key not in used))
        for found in _EVERYWHERE
    ]
    return [found for found in left if found.keys]
