"""Choosing what to replay, or what to compare it with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from tokviz.formats.run import is_run
from tokviz.glyphs import safe
from tokviz.listing import cleaned_path
from tokviz.replay.sources import (
    Source,
    builtin_sources,
    fitting,
    source_named,
    trained_sources,
)
from tokviz.runs import runs_folder
from tokviz.tui.dialogs.base import Field, Hint, field_row, rule
from tokviz.tui.dialogs.list_dialog import ListDialog
from tokviz.tui.dialogs.open_file import OpenFileDialog
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.lists import Cell, RowList


class SourceDialog(ListDialog[Source, Source]):
    """Lists what there is; a path can be typed, pasted or looked for."""

    DEFAULT_CSS = """
    SourceDialog {
        #empty { height: 1fr; color: $text-muted; display: none; }
        &.-empty #empty { display: block; }
        &.-empty RowList { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "browse", show=False, priority=True),
    ]

    def __init__(self, title: str, at_hand: Source, takes: str) -> None:
        """Take what is known already.

        Args:
            title: What the choice is for.
            at_hand: What to list first.
            takes: What else can be chosen, in words.
        """
        super().__init__(paint_source, "sources")
        self.dialog_title = title
        self._at_hand = at_hand
        self._takes = takes
        self._trained: list[Source] = []

    def compose_body(self) -> ComposeResult:
        """Yield the field, the list and the hints."""
        yield field_row(Field(placeholder="Name, or a path"))
        yield Static(classes="error")
        yield rule()
        yield self.rows
        yield Static(Content(safe(f"Nothing of that name. {self._takes}")), id="empty")
        yield rule()

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        enter, escape, move = super().hints()
        return [enter, escape, ("Ctrl+O", "look for a file or folder", "browse"), move]

    def on_mount(self) -> None:
        """Show what is known, and look for the rest."""
        self._show()
        in_thread(self, "runs", self._look, self._take_trained, failed=lambda error: None)

    def _look(self, task: Task) -> list[Source]:
        return trained_sources(runs_folder(), lambda: task.cancelled)

    def _take_trained(self, sources: list[Source]) -> None:
        chosen = self.rows.row
        self._trained = [source for source in sources if source.opens != self._at_hand.opens]
        self._show(chosen)

    def wanted_height(self) -> int:
        """Take a good part of the screen."""
        return 18

    @property
    def _typed(self) -> str:
        return self.query_one(Field).value.strip()

    @on(Input.Changed)
    def _filter(self) -> None:
        self.show_error("")
        self._show()

    def _show(self, chosen: Source | None = None) -> None:
        first = self._at_hand
        known = first.opens if isinstance(first.opens, str) else first.name
        others = [source for source in builtin_sources() if source.opens != known]
        found = fitting([first, *self._trained, *others], self._typed)
        self.set_class(not found, "-empty")
        at = found.index(chosen) if chosen in found else 0
        self.rows.show(found, at if found else None)

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """End with what is highlighted, or with the path that is typed."""
        typed = os.path.expanduser(cleaned_path(self._typed))
        if typed and os.path.lexists(typed):
            self.dismiss(source_named(str(Path(typed).absolute())))
            return
        self._finish()

    @on(RowList.Picked)
    def _finish(self) -> None:
        if self.rows.row is not None:
            self.dismiss(self.rows.row)
        else:
            self.show_error(f"{self._typed}: neither in the list nor a file or folder")

    def action_browse(self) -> None:
        """Look for a file or a folder."""
        dialog = OpenFileDialog(
            title="Open a run folder or a file", takes_any=True, takes_folder=is_run
        )
        self.app.push_screen(dialog, self._browsed)

    def _browsed(self, path: Path | None) -> None:
        if path is not None:
            self.dismiss(source_named(str(path)))


def paint_source(source: Source, width: int) -> list[Cell]:
    """Draw a row: the name and what it is."""
    name_width = max(8, min(30, width // 2))
    about = fit(safe(source.about), max(0, width - name_width - 4))
    return [
        ("  ", ""),
        (column(safe(source.name), name_width), "strong"),
        ("  ", ""),
        (about, "muted"),
    ]
