"""Check settings that only the app knows: themes, panels, keys of actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from textual.binding import Binding
from textual.widgets import TextArea

from tokviz.storage.toml_file import line_of, read_toml
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tui.actions import Action, key_label, key_of
from tokviz.tui.screens.tokens.panels import PANELS
from tokviz.tui.themes import THEMES, load_user_themes
from tokviz.workspace.settings import Choices, SettingError, check_file, did_you_mean

_TAKEN = (
    "enter escape tab shift+tab backspace ctrl+i ctrl+m ctrl+j ctrl+h ctrl+left_square_bracket "
    "alt+b alt+f"
)
"""Keys that dialogs and lists need, and keys that terminals send as one of these.

Many terminals send Alt+B and Alt+F for Option or Alt with an arrow, which moves by words.
"""

_IN_TEXTS = {
    key: found.description
    for found in TextArea.BINDINGS
    if isinstance(found, Binding)
    for key in found.key.split(",")
}
"""Keys that text areas need, with their action."""

CHOICES: Choices = {
    "theme": THEMES,
    "panel": [kind.id for kind in PANELS],
    "split_patterns": SPLIT_PATTERNS,
}
"""Valid values of settings."""


def check_config(path: Path, screens: Mapping[str, Sequence[Action]]) -> list[SettingError]:
    """List the errors in a settings file, and in the user's themes.

    Args:
        path: The file, which may be missing.
        screens: The actions of each screen, by its title.

    Raises:
        InputFileError: If the file cannot be read.
    """
    found = load_user_themes() + check_file(path, CHOICES)
    if not path.exists():
        return found
    table, text = read_toml(path)
    keys = table.get("keys")
    for name, reason in key_faults(keys if isinstance(keys, dict) else {}, screens):
        found.append(SettingError(path, line_of(text, "keys", name), f"keys.{name}", reason))
    return found


def key_faults(
    keys: Mapping[str, Any], screens: Mapping[str, Sequence[Action]]
) -> Iterator[tuple[str, str]]:
    """Yield the errors in the user's keys, each with its action.

    Args:
        keys: The `keys` table: a key or a list of keys, by the name of an action.
        screens: See `check_config`.
    """
    listed = [found for actions in screens.values() for found in actions if found.id]
    known = sorted({found.id for found in listed})
    fixed = {found.id for found in listed if not found.bound}
    own: dict[str, tuple[str, ...]] = {}
    for name, given in keys.items():
        labels = [given] if isinstance(given, str) else given
        if name not in known:
            yield name, f"there is no such action{did_you_mean(name, known)}"
        elif name in fixed:
            yield name, "its keys cannot be changed"
        elif not isinstance(labels, list) or not all(isinstance(one, str) for one in labels):
            yield name, 'must be a key such as "ctrl+g", or a list of keys'
        else:
            own[name] = tuple(filter(None, map(key_of, labels)))
            for label in labels:
                key = key_of(label)
                if not key:
                    yield name, f"there is no key {label!r}: write it as in the help (F1)"
                elif key in _TAKEN.split():
                    yield (
                        name,
                        f"{key_label(key)} cannot be its key, because dialogs or terminals need it",
                    )
                elif use := _IN_TEXTS.get(key):
                    yield name, f"{key_label(key)} cannot be its key, because texts need it ({use})"
    reported: set[tuple[str, str, str]] = set()
    for title, actions in screens.items():
        first: dict[str, Action] = {}
        # The user's keys first, so that the message names the other action.
        named = [found for found in actions if found.id]
        for found in sorted(named, key=lambda found: found.id not in own):
            for key in own.get(found.id, found.keys):
                other = first.setdefault(key, found)
                clash = other.id, key, found.id
                if other.id in own and other is not found and clash not in reported:
                    reported.add(clash)
                    yield (
                        other.id,
                        (
                            f"{key_label(key)} is “{found.title}” on the {title} screen too"
                            + (f": give {found.id} another key, or []" if found.bound else "")
                        ),
                    )
