"""Actions of the user, declared on the methods that run them.

Key bindings, command palette, footer and help page are all built from the declarations of a screen,
its controllers and the app.

A key has the same meaning on all screens: `tokviz/guide/settings.md` lists the keys, and
`tests/tui/test_actions.py` checks this. Single letters are keys only where the user cannot type
text; digits never are.

Keys are chosen for a plain xterm over ssh: `ctrl` with a letter and the function keys. `alt` keys
are second choices, because many terminals do not send them. Three obvious kinds of keys are not
used:

- `ctrl+shift+letter` is the same byte as `ctrl+letter`, or is taken by the terminal itself.
- `alt+digit` reaches a Textual app as the character that macOS types with it ("¡" for alt+1).
- `shift+f3` is sent by xterm as a cursor position report, so it always has a companion.

A key can be a chord, such as `ctrl+l n`: the leader, then a second key. Chords replace keys that a
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
"""Marks the bindings that stay in the narrowest footer."""
LEADER = "ctrl+l"
"""The key before the second key of a chord."""
KEYS: dict[str, tuple[str, ...]] = {}
"""The user's keys for actions; see `remap`."""
PREFIX = "action_"
"""Prefix of action methods that Textual finds by name, on a screen or widget."""


class Action(NamedTuple):
    """An action of the user."""

    id: str
    """The name of the action."""
    method: str
    """The name of its method, without `action_`."""
    title: str
    """The title in the command palette and the help."""
    help: str
    """A sentence that describes the effect."""
    section: str
    """Its heading on the help page."""
    keys: tuple[str, ...] = ()
    """Its keys in Textual's spelling, the most portable one first."""
    footer: str = ""
    """Word for the footer, which shows the first key; empty if it is not in the footer."""
    stays: bool = False
    """Whether it stays in the narrowest footer."""
    priority: bool = True
    """True if its keys reach it before the focused widget. Printable keys never do."""
    bound: bool = True
    """False if a widget binds the keys itself and the action is only listed."""
    call: str = ""
    """The call to run: the name of the method, with arguments if it takes any."""
    when: Callable[[Any], bool] | None = None
    """Returns, given the object with the method, whether it is possible now; None for always."""
    words: str = ""
    """More search words for the command palette."""

    def second_keys(self) -> list[str]:
        """List the second keys of its chords."""
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
    """Declare that a method is an action. Its docstring is the help text.

    A method with arguments has one declaration per call that it offers.

    Args:
        title: The title in the palette and the help.
        *keys: Its keys, the most portable one first.
        section: The heading on the help page.
        id: The name of the action, by default that of the method.
        help: The help text, by default the docstring.
        call: The call, such as `show_view('ids')`, of a method with arguments.
        footer: A word for the footer.
        stays: Whether it stays in the narrowest footer.
        priority: Whether its keys reach it before the focused widget.
        bound: False if a widget binds the keys itself.
        when: Returns, given the object with the method, whether it is possible now.
        words: More search words for the command palette.
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
    """A panel, view or screen with a tab.

    Attributes:
        id: The name.
        title: The title of the tab.
        help: A description for the user.
        keys: The keys that show it.
        words: More search words for the command palette.
    """

    id: str
    title: str
    help: str
    keys: tuple[str, ...] = ()
    words: str = ""


def action_each(
    kinds: Iterable[Any], title: str, *, call: str, section: str, words: str = ""
) -> Callable[[Method], Method]:
    """Declare an action of one method for each panel or view.

    Args:
        kinds: The panels or views: `Kind`, or objects with the same attributes.
        title: The title of the action, such as "{} panel", with the title of the tab.
        call: The name of the method, which takes the id.
        section: The heading on the help page.
        words: More search words for all of them.
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
    """List the actions declared in a class body, in order."""
    return [found for thing in names.values() for found in getattr(thing, "declared_actions", ())]


def declared_by(owner: type) -> list[Action]:
    """List the actions that a class and its bases declare, the bases' first."""
    return [found for kind in reversed(owner.__mro__) for found in declared_in(vars(kind))]


def bindings_of(actions: Iterable[Action]) -> list[Binding]:
    """Create key bindings. Chords have none, because the dialog of the leader handles second keys.

    Printable keys get no priority, so that the focused editor receives them.
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
    """Yield the actions of some nodes, such as the screen and the app, that are possible now."""
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
    r"""Return the label of a key.

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
    """Return Textual's spelling of a key or chord written by a user; empty if it is invalid.

    >>> key_of("Ctrl+O"), key_of("ctrl+]"), key_of("Ctrl+L n"), key_of("hyper+x")
    ('ctrl+o', 'ctrl+right_square_bracket', 'ctrl+l n', '')
    """
    if " " in label.strip():
        found = [key_of(part) for part in label.split()]
        return " ".join(found) if len(found) == 2 and found[0] == LEADER and found[1] else ""
    *modifiers, name = re.split(r"\+(?=.)", label.strip())
    names = {shown: key for key, shown in _KEY_NAMES.items()}
    # A single capital letter is a different key, but after Ctrl it means the small letter.
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
"""Keys with a name and no other label."""


def remap(keys: Any) -> None:
    """Set the user's keys for actions, before the modules with actions are imported.

    Bindings, footer, palette and help then use them.

    Args:
        keys: A key or a list of keys by the name of an action. Invalid keys are skipped.
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
    """Return the labels of all keys of an action, empty if it has none."""
    return "  ".join(key_label(key) for key in found.keys)


# -- keys of every text, list and panel: widgets bind them, the help lists them


def _keys(title: str, help: str, *keys: str) -> Action:
    return Action("", "", title, help, "Keys everywhere", keys)


_EVERYWHERE = (
    _keys(
        "Move",
        "In a text, a list or tokens; on a setting, to its next value. With Shift: select.",
        *("up", "down", "left", "right", "pageup", "pagedown", "home", "end"),
    ),
    _keys(
        "Move by words, or to an end",
        "In a text; the last two also in a list.",
        *("ctrl+left", "ctrl+right", "ctrl+home", "ctrl+end"),
    ),
    _keys("Choose", "Run the action of the current row, link or button.", "enter", "space"),
    _keys(
        "Next or previous field",
        "In a text that takes Tab as a character, F5 moves the focus.",
        *("tab", "shift+tab"),
    ),
    _keys("Cut, copy, paste", "In a text or a field.", "ctrl+x", "ctrl+c", "ctrl+v"),
    _keys("Undo, redo", "Changes of a text or a field.", "ctrl+z", "ctrl+y"),
    _keys(
        "Delete",
        "The selected text, otherwise the character before or after the cursor.",
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
    """List the keys with the same meaning everywhere, except those that some actions use."""
    used = {key for found in taken for key in found.keys}
    left = [
        found._replace(keys=tuple(key for key in found.keys if key not in used))
        for found in _EVERYWHERE
    ]
    return [found for found in left if found.keys]
