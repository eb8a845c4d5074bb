"""Choosing one of some named things, with a sentence about the highlighted one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from tokviz.guide.glossary import glossary, words_in
from tokviz.text.bytetext import from_bytes
from tokviz.text.glyphs import safe
from tokviz.tui.dialogs.base import About, Hint, ListDialog, rule
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Span
from tokviz.workspace.recovery_journal import RecoverableText

_LEAST_TITLE, _LEAST_NOTE = 20, 14
"""Columns that a row's title and note have at least, if they need them and there are as many."""

_SEEN, _BEFORE = 120, 40
"""Minimum visible characters of a text, and characters shown before a match."""


class Option(NamedTuple):
    """An option.

    Attributes:
        value: The dialog's result.
        title: Its title.
        note: A few words at the right.
        help: Description in a sentence.
    """

    value: str
    title: str
    note: str = ""
    help: str = ""


class PickDialog(ListDialog[str, Option]):
    """Lists options; typing filters them by words. Its result is a value."""

    DEFAULT_CSS = """
    PickDialog {
        #about { height: 3; }
        &.-plain #about, &.-plain #below { display: none; }
    }
    """
    nothing = "No matches."

    def __init__(
        self,
        title: str,
        options: Sequence[Option],
        *,
        current: str = "",
        highlighted: str | None = None,
        typed: Callable[[str], Option | None] = lambda text: None,
    ) -> None:
        """Create the dialog.

        Args:
            title: The title.
            options: The options.
            current: The current value, which is marked.
            highlighted: The initially highlighted value, by default the current one.
            typed: Converts typed text, such as a path, to an option.
        """
        self._plain = not any(option.help for option in options)
        super().__init__(self._paint, "options", classes="-plain" if self._plain else None)
        self.dialog_title = title
        self._options = options
        self._current = current
        self._typed = typed
        self._first = current if highlighted is None else highlighted
        self._wanted = ""

    def compose_body(self) -> ComposeResult:
        """Yield the field, the list and the description of the highlighted option."""
        yield from self.compose_search(Field(placeholder="Type to search"))
        yield About(id="about")

    def on_mount(self) -> None:
        """Show all of them, by the words that are known by now."""
        self.query_one("#dialog").border_title = self.dialog_title
        self._show("")

    def show_options(self, title: str, options: Sequence[Option]) -> None:
        """Change the texts of the same values; the input and the highlight remain."""
        self.dialog_title, self._options = title, options
        if not self.is_mounted:
            return
        self.query_one("#dialog").border_title = title
        row = self.rows.row
        self._first = self._first if row is None else row.value
        self._show(self.query_one(Field).value, self._first)

    def wanted_height(self) -> int:
        """Reserve room for every option."""
        return len(self._options) + (3 if self._plain else 7)

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, query: str, highlighted: str = "") -> None:
        wanted = self._wanted = query.casefold().strip()
        found = [option for option in self._options if wanted in " ".join(option).casefold()]
        found.sort(key=lambda option: wanted not in option.title.casefold())
        by_itself = self._typed(query.strip()) if wanted else None
        if by_itself is not None:
            found.append(by_itself)
        values = [option.value for option in found]
        value = highlighted or ("" if wanted else self._first)
        at = values.index(value) if value in values else 0
        self.rows.show(found, at if found else None)
        self._tell()

    @on(RowList.Highlighted)
    def _tell(self) -> None:
        option = self.rows.row
        about = option.help if option else ""
        at = about.casefold().find(self._wanted)
        # Show the matching part of a long text.
        self.query_one(About).tell(about if at < _SEEN else f"…{about[at - _BEFORE :]}")

    def _paint(self, option: Option, width: int) -> list[Span]:
        sign = "● " if option.value == self._current else "  "
        title = safe(option.title)
        # Truncate a long note rather than the title, which distinguishes the options.
        spare = width - max(_LEAST_TITLE, len(sign) + cell_len(title) + 1)
        note = fit(safe(option.note), max(0, spare, min(_LEAST_NOTE, width - _LEAST_TITLE)))
        room = max(1, width - len(sign) - cell_len(note) - 1)
        title = fit(title, room)
        gap = " " * (room - cell_len(title) + 1)
        return [Span(sign, "accent"), Span(title, "heading"), Span(gap), Span(note, "dim")]

    @on(Input.Submitted)
    @on(RowList.Picked)
    def action_choose(self) -> None:
        """End with the highlighted option."""
        option = self.rows.row
        if option is not None:
            self.dismiss(option.value)


class GlossaryDialog(PickDialog):
    """Lists the glossary entries, those on the screen first, and explains one."""

    DEFAULT_CSS = "GlossaryDialog #about { height: 6; color: $foreground; }"
    rows_wanted = 22
    """Height for a dozen words and an explanation."""

    def __init__(self, word: str, shown: str) -> None:
        """Create the dialog with an initial word and the text on the screen."""
        here = list(dict.fromkeys(name for _, _, name in words_in(shown)))
        words = [glossary()[name] for name in dict.fromkeys((*here, *glossary()))]
        options = [
            Option(
                entry.name,
                entry.name,
                ", ".join(entry.also),
                f"{entry.say} {entry.example}",
            )
            for entry in words
        ]
        super().__init__("Glossary", options, highlighted=word or options[0].value)

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [("Esc", "close", "cancel"), ("↑↓", "move", "")]


_MOST_ROWS = 12

Row = tuple[str, RecoverableText]


class UnsavedDialog(ListDialog[tuple[RecoverableText, bool], Row]):
    """Dialog whose result is an entry, and whether to restore or discard it."""

    DEFAULT_CSS = """
    UnsavedDialog #about { height: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "restore", show=False),
        Binding("d,delete", "discard", show=False),
    ]
    dialog_title = "Unsaved work"

    def __init__(self, offered: Sequence[Row]) -> None:
        """Create the dialog with the entries and their titles."""
        super().__init__(self._paint, "unsaved")
        self._offered = offered

    def compose_body(self) -> ComposeResult:
        """Yield the list and the source of the highlighted entry."""
        yield self.rows
        yield About(id="about")
        yield rule()

    def hints(self) -> Sequence[Hint]:
        """Name the answers."""
        keys: list[Hint] = [
            ("Enter", "restore", "restore"),
            ("D", "discard", "discard"),
            ("Esc", "later", "cancel"),
        ]
        return [*keys, *super().hints()[2:]]

    def on_mount(self) -> None:
        """Show all of them."""
        self.rows.show(self._offered, 0)
        self.rows.styles.height = min(len(self._offered), _MOST_ROWS)
        self.rows.focus()

    @on(RowList.Highlighted)
    def _tell(self) -> None:
        if self.rows.row is not None:
            leftover = self.rows.row[1]
            about = leftover.damage or f"{leftover.source or 'It has no file yet.'}"
            if leftover.beginning:
                about += f" It begins: {from_bytes(leftover.beginning)}"
            self.query_one(About).tell(about)

    def _paint(self, row: Row, width: int) -> list[Span]:
        return [Span(fit(row[0], width), "heading" if row[1].is_readable else "dim")]

    def _answer(self, is_wanted: bool) -> None:
        if self.rows.row is not None:
            self.dismiss((self.rows.row[1], is_wanted))

    @on(RowList.Picked)
    def action_restore(self) -> None:
        """End with the highlighted one, to be restored."""
        self._answer(True)

    def action_discard(self) -> None:
        """End with the highlighted one, to be discarded."""
        self._answer(False)
