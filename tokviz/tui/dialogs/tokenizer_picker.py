"""Choosing a tokenizer: a built-in one, one used before, a file or folder, one from the hub."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from tokviz.errors import TokvizError
from tokviz.formats.registry import BUILTIN_TOKENIZERS, BuiltinTokenizer, is_builtin, load
from tokviz.glyphs import safe
from tokviz.places import HUB, place_words
from tokviz.tokenizer import Tokenizer
from tokviz.tui.dialogs.base import Field, Hint, field_row, rule
from tokviz.tui.dialogs.list_dialog import ListDialog
from tokviz.tui.dialogs.tokenizer_rows import (
    Match,
    PickerRow,
    SourceRow,
    paint_row,
    picker_rows,
    typed_source,
)
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.lists import Cell, RowList

_PATIENCE = 0.3
"""Seconds after which a loading is worth a word."""


class TokenizerPicker(ListDialog[str, PickerRow]):
    """Its result is what to `load`: the canonical name of a built-in tokenizer, a path, `hf:…`.

    What is chosen is loaded before the dialog ends, so that what is wrong with it is said here and
    the tokenizer in use stays. `loaded` then holds it.
    """

    DEFAULT_CSS = """
    TokenizerPicker {
        #empty { height: 1fr; color: $text-muted; display: none; }
        #about { height: 3; color: $text-muted; }
        .error { max-height: 8; }
        #loading { height: 1; color: $text-accent; display: none; }
        &.-loading #loading { display: block; }
        &.-empty #empty { display: block; }
        &.-empty RowList, &.-empty #about { display: none; }
        &.-short #about { display: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "browse", show=False, priority=True),
        Binding("f8,shift+delete", "forget", show=False, priority=True),
    ]

    dialog_title = "Tokenizer"

    def __init__(
        self,
        current: str | None = None,
        source: str = "",
        *,
        recent: Sequence[str] = (),
        remember: Callable[[tuple[str, ...]], object] = lambda recent: None,
    ) -> None:
        """Take what there is to choose from.

        Args:
            current: What the tokenizer in use was loaded by.
            source: What to load at once, "" for nothing.
            recent: The places that were loaded last, the newest first.
            remember: Called with them when they have changed.
        """
        super().__init__(self._paint, "tokenizers")
        self.current = current
        self.tokenizers = BUILTIN_TOKENIZERS
        self.loaded: Tokenizer | None = None
        """The tokenizer that was chosen."""
        self._recent = list(recent)
        self._remember_places = remember
        self._number = 0
        self._started = 0.0
        self._source = source
        self._timer: Timer | None = None

    def compose_body(self) -> ComposeResult:
        """Yield the search field, the list and what the highlighted one is."""
        yield field_row(Field(placeholder="Name of a tokenizer or model, path, or hf:org/name"))
        yield Static(classes="error")
        yield Static(id="loading")
        yield rule()
        yield self.rows
        yield Static(id="empty")
        yield rule()
        yield Static(id="about")

    def on_mount(self) -> None:
        """Show all of them with the current one highlighted."""
        self._show("")
        if self._source:
            self._put(self._source)
            self._begin(self._source)

    def on_unmount(self) -> None:
        """Let go of what is still being loaded."""
        self._number += 1

    def wanted_height(self) -> int:
        """Leave room for every tokenizer, and for a message."""
        return len(self.tokenizers) + min(len(self._recent), 6) + 9

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line; what was used before can be forgotten."""
        enter, escape, move = super().hints()
        row = self.rows.row
        forget = [("F8", "forget", "forget")] if isinstance(row, SourceRow) and row.recent else []
        return [enter, escape, ("Ctrl+O", "browse files", "browse"), *forget, move]

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self.show_error("")
        self._show(event.value)

    def _show(self, query: str) -> None:
        rows = picker_rows(query, self.tokenizers, self._recent)
        names = [_source_of(row) for row in rows]
        at = names.index(self.current) if not query.strip() and self.current in names else 0
        self.set_class(not rows, "-empty")
        self.rows.show(rows, at if rows else None)
        if not rows:
            self.query_one("#empty", Static).update(Content(_nothing_found(query)))

    @on(RowList.Highlighted)
    def _tell(self) -> None:
        row = self.rows.row
        about = _about_builtin(row.tokenizer) if isinstance(row, Match) else ""
        self.query_one("#about", Static).update(Content(safe(about)))
        self.show_hints()
        if isinstance(row, SourceRow):
            in_thread(
                self,
                "look",
                lambda task: _about_place(row),
                lambda about: self._tell_place(row, about),
            )

    def _tell_place(self, place: SourceRow, about: str) -> None:
        if place == self.rows.row:
            self.query_one("#about", Static).update(Content(safe(about)))

    def _paint(self, row: PickerRow, width: int) -> list[Cell]:
        return paint_row(row, width, current=self.current)

    # -- choosing

    @on(Input.Submitted)
    @on(RowList.Picked)
    def action_choose(self) -> None:
        """Load the highlighted tokenizer, and end with it."""
        row = self.rows.row
        if row is not None and not self.has_class("-loading"):
            self._begin(_source_of(row))

    def _begin(self, source: str) -> None:
        self._number += 1
        self._source = source
        self._started = time.monotonic()
        self.show_error("")
        self._timer = self.set_interval(_PATIENCE, self._show_progress)
        number = self._number

        def work(task: Task) -> Tokenizer:
            tokenizer = load(source)
            tokenizer.prepare()
            if task.cancelled:
                tokenizer.close()
            return tokenizer

        in_thread(
            self,
            "load",
            work,
            lambda tokenizer: self._take(number, source, tokenizer),
            failed=lambda error: self._fail(number, error),
            exclusive=False,
        )

    def _take(self, number: int, source: str, tokenizer: Tokenizer) -> None:
        if number != self._number:
            tokenizer.close()
            return
        self._end_loading()
        self.loaded = tokenizer
        self._remember(source)
        self.dismiss(source)

    def _fail(self, number: int, error: TokvizError) -> None:
        if number == self._number:
            self._end_loading()
            self.show_error(str(error))

    def _show_progress(self) -> None:
        self.add_class("-loading")
        seconds = time.monotonic() - self._started
        name = place_words(self._source)[0]
        shown = f"Loading {name}… {seconds:.0f} s  Esc stops"
        self.query_one("#loading", Static).update(Content(shown))

    def _end_loading(self) -> None:
        self.remove_class("-loading")
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def action_cancel(self) -> None:
        """Stop what is being loaded; with nothing loading, close without a result."""
        if self._timer is None:
            self.dismiss(None)
            return
        self._number += 1
        self._end_loading()
        self.show_error("Stopped. The tokenizer in use stays.")

    # -- places

    def action_browse(self) -> None:
        """Choose a file or folder from a list."""
        from tokviz.tui.dialogs.open_file import OpenFileDialog

        dialog = OpenFileDialog(
            title="Open a tokenizer",
            verb="load or enter",
            takes_any=True,
            folder_verb="load this folder",
        )
        self.app.push_screen(dialog, self._browsed)

    def _browsed(self, path: Path | None) -> None:
        if path is not None:
            self._put(str(path))
            self._begin(str(path))

    def _put(self, text: str) -> None:
        with self.prevent(Input.Changed):
            self.query_one(Field).put(text)
        self._show(text)

    def action_forget(self) -> None:
        """Take a place off the list; the files stay."""
        row = self.rows.row
        if isinstance(row, SourceRow) and row.recent:
            self._recent.remove(row.source)
            self._keep_recent()
            self._show(self.query_one(Field).value)

    def _remember(self, source: str) -> None:
        if is_builtin(source):
            return
        self._recent = [source, *(other for other in self._recent if other != source)]
        self._keep_recent()

    def _keep_recent(self) -> None:
        self._remember_places(tuple(self._recent[:MOST_RECENT]))

    def on_paste(self, event: events.Paste) -> None:
        """A path that is dropped anywhere on the dialog goes into the field."""
        if typed_source(event.text) is not None:
            event.stop()
            self._put(event.text.strip())


MOST_RECENT = 12
"""How many places are remembered."""


def _source_of(row: PickerRow) -> str:
    return row.tokenizer.name if isinstance(row, Match) else row.source


def _about_place(place: SourceRow) -> str:
    if place.source.startswith(HUB):
        return "Its files are fetched from the Hugging Face hub, and kept in its cache."
    from tokviz.formats.recognise import recognise

    where = place_words(place.source)[1]
    kind = recognise(place.source)
    return where if kind is None else f"{where}: {kind}"


def _about_builtin(tokenizer: BuiltinTokenizer) -> str:
    names = ", ".join(tokenizer.aliases)
    also = f" Also {names}" if names else ""
    return f"Splits with the pattern {tokenizer.split_pattern}.{also}"


def _nothing_found(query: str) -> str:
    names = ", ".join(tokenizer.name for tokenizer in BUILTIN_TOKENIZERS)
    return (
        f"No tokenizer fits “{safe(query.strip())}”. There are {names}; "
        "names of models work too, such as gpt-4o, gpt-3.5-turbo or qwen2.5. For a tokenizer of "
        "your own type or drop its path, or a name on the Hugging Face hub: hf:org/name."
    )
