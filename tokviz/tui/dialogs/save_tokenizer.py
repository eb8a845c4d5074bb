"""Saving a tokenizer: first the format, with what it cannot hold, then the place."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tokviz.errors import TokvizError
from tokviz.formats.save import FORMATS, SaveFormat, what_is_lost
from tokviz.glyphs import safe
from tokviz.places import short_name
from tokviz.tokenizer import Tokenizer
from tokviz.tui.dialogs.base import HintBar, rule
from tokviz.tui.dialogs.list_dialog import ListDialog
from tokviz.tui.dialogs.save_file import SaveFileDialog
from tokviz.tui.widgets.lists import Cell, RowList


class SaveTokenizerDialog(ListDialog[Path, SaveFormat]):
    """Its result is where the tokenizer was saved."""

    DEFAULT_CSS = """
    SaveTokenizerDialog {
        #formats { height: 4; }
        #lost-text { height: auto; min-height: 5; max-height: 12; overflow-y: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", show=False)]

    class Known(Message):
        """It is known what a format cannot hold."""

        def __init__(self, name: str, lost: list[str], error: str) -> None:
            """Take the format, what it loses, and why it cannot hold the tokenizer at all."""
            super().__init__()
            self.name = name
            self.lost = lost
            self.error = error

    class Saved(Message):
        """The file is written, or could not be."""

        def __init__(self, path: Path, error: str) -> None:
            """Take the path, and what went wrong if anything did."""
            super().__init__()
            self.path = path
            self.error = error

    def __init__(self, tokenizer: Tokenizer, folder: Path | None = None) -> None:
        """Take what to save, and the folder to begin in."""
        super().__init__(_paint, "formats")
        self.dialog_title = f"Save {short_name(tokenizer.name)} as"
        self._tokenizer = tokenizer
        self._folder = folder
        self._known: dict[str, SaveTokenizerDialog.Known] = {}

    def compose_body(self) -> ComposeResult:
        """Yield the formats, and what the highlighted one loses."""
        yield self.rows
        yield rule()
        yield Static(classes="error")
        yield Static(id="lost-text")
        yield rule()
        yield HintBar(
            [
                ("Enter", "choose the place", "choose"),
                ("Esc", "cancel", "cancel"),
                ("↑↓", "move", ""),
            ]
        )

    def on_mount(self) -> None:
        """Show the formats, and find out what they lose."""
        self.rows.show(list(FORMATS.values()), 0)
        self._find_out()

    @work(thread=True, exclusive=True, group="lost", exit_on_error=False)
    def _find_out(self) -> None:
        for name in FORMATS:
            try:
                lost, error = what_is_lost(self._tokenizer, name), ""
            except TokvizError as problem:
                lost, error = [], str(problem)
            self.post_message(self.Known(name, lost, error))

    @on(Known)
    def _take(self, event: Known) -> None:
        event.stop()
        self._known[event.name] = event
        self._tell()

    @on(RowList.Highlighted)
    def _tell(self) -> None:
        chosen = self.rows.row
        known = self._known.get(chosen.name) if chosen is not None else None
        if known is None:
            text = Content("Looking what the format can hold…")
        elif known.error:
            text = Content.styled(f"✗ {safe(known.error)}", "$text-error")
        elif known.lost:
            heading = Content.styled("⚠ What the file will not hold:", "$text-warning")
            lines = [Content(f"· {safe(sentence)}") for sentence in known.lost]
            text = Content("\n").join([heading, *lines])
        else:
            text = Content.styled(
                "✓ Nothing is lost: the file gives the same ids.", "$text-success"
            )
        self.query_one("#lost-text", Static).update(text)

    @on(RowList.Picked)
    def _clicked(self, event: RowList.Picked) -> None:
        event.stop()
        if event.again:
            self.action_choose()

    def action_choose(self) -> None:
        """Ask for the place."""
        chosen = self.rows.row
        known = self._known.get(chosen.name) if chosen is not None else None
        if chosen is None or (known is not None and known.error):
            return
        dialog = SaveFileDialog(
            self._folder,
            chosen.default_name,
            title=f"Save as {chosen.title}",
            placeholder="Name of a new folder" if chosen.is_folder else "Name of the file",
            existing="refuse" if chosen.is_folder else "replace",
        )

        def placed(path: Path | None) -> None:
            if path is not None:
                self._save(path, chosen.name)

        self.app.push_screen(dialog, placed)

    @work(thread=True, group="save", description="save", exit_on_error=False)
    def _save(self, path: Path, name: str) -> None:
        error = ""
        try:
            self._tokenizer.save(path, name)
        except TokvizError as problem:
            error = str(problem)
        self.post_message(self.Saved(path, error))

    @on(Saved)
    def _saved(self, event: Saved) -> None:
        event.stop()
        if event.error:
            self.show_error(f"Not saved. {event.error}")
        else:
            self.dismiss(event.path)


def _paint(row: SaveFormat, width: int) -> list[Cell]:
    shown = f" {row.title}"
    name = f"{row.default_name}{'/' if row.is_folder else ''} "
    return [(shown.ljust(width - len(name)), "strong"), (name, "muted")]
