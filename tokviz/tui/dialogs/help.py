"""The help page of a screen, made from the actions that it and its parts declare."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import ClassVar

from textual.binding import Binding, BindingType

from tokviz.tui.actions import Action, Gesture, keys_label
from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.page import PageDialog
from tokviz.tui.widgets.spans import Row, Span

_KEYS_WIDTH = 23
_TITLE_WIDTH = 35
_GAP = 2
_WIDE = 96
"""Minimum width to show the explanation beside the title."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the help page."""

    keys: str
    title: str
    help: str


def help_sections(actions: Iterable[Action], gestures: Iterable[Gesture]) -> dict[str, list[Entry]]:
    """Group the actions into sections: heading → entries, in order."""
    sections: dict[str, list[Entry]] = {}
    for action in actions:
        entry = Entry(keys_label(action), action.title, action.help)
        sections.setdefault(action.section, []).append(entry)
    sections["Mouse"] = [Entry("", gesture.gesture, gesture.help) for gesture in gestures]
    return sections


def help_rows(sections: dict[str, list[Entry]], width: int) -> list[Row]:
    """Lay the help page out for a width in cells."""
    rows: list[Row] = []
    for heading, entries in sections.items():
        rows += [(Span(line, "heading"),) for line in _wrapped(heading, width)]
        for entry in entries:
            rows += _wide(entry, width) if width >= _WIDE else _narrow(entry, width)
        rows.append(())
    return rows + [(Span(line, "dim"),) for line in _wrapped(_CLOSING, width)]


_CLOSING = (
    "Use Ctrl+L and a second key for keys that your keyboard or terminal lacks: many need "
    "AltGr for Ctrl+], GNOME Terminal keeps F1, F10 and F11 for itself, macOS keeps F11, and not "
    "all send keys with Alt. Actions without a key are in the command palette: Ctrl+P does the "
    "same everywhere."
)


def _wide(entry: Entry, width: int) -> Iterator[Row]:
    """Draw an entry as three columns."""
    column = _KEYS_WIDTH + _TITLE_WIDTH
    rows = _wrapped(entry.help, width - column - 2)
    columns = (_key_rows(entry.keys), _wrapped(entry.title, _TITLE_WIDTH - _GAP), rows)
    for keys, title, line in zip_longest(*columns, fillvalue=""):
        keys, title = f"  {keys:<{_KEYS_WIDTH}}", title.ljust(_TITLE_WIDTH)
        yield (Span(keys, "link"), Span(title), Span(line, "dim"))


def _narrow(entry: Entry, width: int) -> Iterator[Row]:
    """Draw an entry as a title with its keys, the explanation below it."""
    keys = f"  {entry.keys}" if entry.keys else ""
    if len(entry.title) + len(keys) <= width:
        gap = " " * (width - len(entry.title) - len(keys))
        yield (Span(entry.title + gap), Span(keys, "link"))
    else:
        yield from ((Span(line),) for line in _wrapped(entry.title, width))
        if keys:
            yield from ((Span(f"  {row}", "link"),) for row in _key_rows(entry.keys, width - 2))
    for line in _wrapped(entry.help, width - 2):
        yield (Span(f"  {line}", "dim"),)


def _key_rows(keys: str, width: int = _KEYS_WIDTH - _GAP) -> list[str]:
    """Break a line of keys; break a chord only if its keys do not fit into a row."""
    rows = [""]
    for key in (
        part
        for chord in keys.split("  ")
        for part in ([chord] if len(chord) <= width else chord.split(" "))
    ):
        wider = f"{rows[-1]}  {key}" if rows[-1] else key
        if len(wider) <= width or not rows[-1]:
            rows[-1] = wider
        else:
            rows.append(key)
    return rows


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(8, width))


class HelpDialog(PageDialog):
    """Shows the keys, panels and mouse of a screen."""

    DEFAULT_CSS = """
    HelpDialog #dialog { width: 124; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "cancel", show=False),
        Binding("t", "first_steps", show=False),
        Binding("g", "guide", show=False),
    ]

    rows_wanted = 1000
    """The height of the screen."""

    def __init__(self, actions: Sequence[Action], gestures: Sequence[Gesture]) -> None:
        """Create the help with the actions and the mouse gestures."""
        super().__init__()
        self.dialog_title = "Help"
        self._sections = help_sections(actions, gestures)

    def on_mount(self) -> None:
        """Show the page."""
        self.view.show(partial(help_rows, self._sections))

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [
            ("Esc", "close", "cancel"),
            ("↑↓", "scroll", "scroll(1)"),
            ("Space", "next page", "page(1)"),
            ("G", "guide", "guide"),
            ("T", "first steps", "first_steps"),
            ("Ctrl+P", "all actions", ""),
        ]

    def action_first_steps(self) -> None:
        """Close, and start the first steps."""
        self._close_and("first_steps")

    def action_guide(self) -> None:
        """Close, and open the guide."""
        self._close_and("guide")

    def _close_and(self, action: str) -> None:
        self.dismiss()
        self.app.call_later(self.app.run_action, f"app.{action}")
