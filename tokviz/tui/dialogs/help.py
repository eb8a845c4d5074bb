"""The help page of a screen, made from the actions that it and its parts declare."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tokviz.tui.actions import Action, Gesture, keys_label
from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.page import PageDialog

_KEYS_WIDTH = 19
_TITLE_WIDTH = 34
_WIDE = 92
"""From this width on, the explanation stands beside the title."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the help page."""

    keys: str
    title: str
    help: str


def help_sections(actions: Iterable[Action], gestures: Iterable[Gesture]) -> dict[str, list[Entry]]:
    """Sort what can be done into sections: heading → entries, in the order in which they come."""
    sections: dict[str, list[Entry]] = {}
    for action in actions:
        entry = Entry(keys_label(action), action.title, action.help)
        sections.setdefault(action.section, []).append(entry)
    sections["Mouse"] = [Entry("", gesture.gesture, gesture.help) for gesture in gestures]
    return sections


def help_content(sections: dict[str, list[Entry]], width: int) -> Content:
    """Lay the help page out for a width in cells."""
    parts: list[Content] = []
    for heading, entries in sections.items():
        parts += (Content.styled(line, "bold $text-accent") for line in _wrapped(heading, width))
        for entry in entries:
            parts += _wide(entry, width) if width >= _WIDE else _narrow(entry, width)
        parts.append(Content(""))
    parts += [Content.assemble((line, "$text-muted")) for line in _wrapped(_CLOSING, width)]
    return Content("\n").join(parts)


_CLOSING = (
    "Ctrl+L and then a second key does what your keyboard or terminal has no key for: many need "
    "AltGr for Ctrl+], GNOME Terminal keeps F1, F10 and F11 for itself, macOS keeps F11, and not "
    "all send keys with Alt. Actions without a key are in the command palette: Ctrl+P does the "
    "same everywhere."
)


def _wide(entry: Entry, width: int) -> Iterable[Content]:
    """Draw an entry as three columns."""
    column = _KEYS_WIDTH + _TITLE_WIDTH
    rows = _wrapped(entry.help, width - column - 2)
    columns = (_key_rows(entry.keys), _wrapped(entry.title, _TITLE_WIDTH - 1), rows)
    for keys, title, line in zip_longest(*columns, fillvalue=""):
        yield Content.assemble(
            "  ",
            (keys.ljust(_KEYS_WIDTH), "$text-accent"),
            title.ljust(_TITLE_WIDTH),
            (line, "$text-muted"),
        )


def _narrow(entry: Entry, width: int) -> Iterable[Content]:
    """Draw an entry as a title with its keys, the explanation below it."""
    keys = f"  {entry.keys}" if entry.keys else ""
    if len(entry.title) + len(keys) <= width:
        gap = " " * (width - len(entry.title) - len(keys))
        yield Content.assemble(entry.title, gap, (keys, "$text-accent"))
    else:
        yield from (Content(line) for line in _wrapped(entry.title, width))
        if keys:
            yield from (
                Content.assemble((f"  {row}", "$text-accent"))
                for row in _key_rows(entry.keys, width - 2)
            )
    for line in _wrapped(entry.help, width - 2):
        yield Content.assemble("  ", (line, "$text-muted"))


def _key_rows(keys: str, width: int = _KEYS_WIDTH - 1) -> list[str]:
    """Break a line of keys, and a chord only where a row has no room for both of its keys."""
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
    HelpDialog {
        #dialog { width: 124; }
        #page { height: 1fr; scrollbar-size-vertical: 1; }
        #help-text { height: auto; width: 1fr; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark,f1,enter", "cancel", show=False),
    ]

    def __init__(self, actions: Sequence[Action], gestures: Sequence[Gesture]) -> None:
        """Take what can be done, by keys and by the mouse."""
        super().__init__()
        self.dialog_title = "Help"
        self._sections = help_sections(actions, gestures)
        self._width = 0
        self.page = VerticalScroll(Static(id="help-text"), id="page", can_focus=False)

    def compose_body(self) -> ComposeResult:
        """Yield the page."""
        yield self.page

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [
            ("Esc", "close", "cancel"),
            ("↑↓", "scroll", "scroll(1)"),
            ("Space", "next page", "page(1)"),
            ("Ctrl+P", "all actions", ""),
        ]

    def wanted_height(self) -> int:
        """Take what the screen has."""
        return 1000

    def on_resize(self, event: events.Resize) -> None:
        """Lay the page out for the new width."""
        super().on_resize(event)
        self.call_after_refresh(self._lay_out)

    def _lay_out(self) -> None:
        width = self.page.scrollable_content_region.width - 2
        if width > 0 and width != self._width:
            self._width = width
            self.query_one("#help-text", Static).update(help_content(self._sections, width))
