"""Dialog to save a tokenizer: first the format, with its losses, then the location."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tokviz.formats.examine import losses
from tokviz.formats.registry import short_name
from tokviz.formats.save import FORMATS, SaveFormat
from tokviz.text.glyphs import safe
from tokviz.text.sentences import failure_message
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.dialogs.base import ListDialog, rule
from tokviz.tui.dialogs.file_dialog import SaveFileDialog
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.fit import column
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Span


class Known(NamedTuple):
    """Losses of a format, or the reason why it cannot store the tokenizer."""

    lost: Sequence[str] = ()
    error: str = ""


class SaveTokenizerDialog(ListDialog[Path, SaveFormat]):
    """Dialog whose result is the location of the saved tokenizer."""

    DEFAULT_CSS = """
    SaveTokenizerDialog {
        #formats { height: 4; }
        #lost-text { height: auto; min-height: 5; max-height: 12; overflow-y: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", show=False)]
    verb = "choose the location"

    def __init__(self, tokenizer: Tokenizer, folder: Path | None = None) -> None:
        """Create the dialog with a tokenizer and the initial folder."""
        super().__init__(_paint, "formats")
        self.dialog_title = f"Save {short_name(tokenizer.name)} as"
        self._tokenizer = tokenizer
        self._folder = folder
        self._known: dict[str, Known] = {}

    def compose_body(self) -> ComposeResult:
        """Yield the formats, and the losses of the highlighted one."""
        yield self.rows
        yield rule()
        yield Static(classes="error")
        yield Static(id="lost-text")
        yield rule()

    def on_mount(self) -> None:
        """Show the formats, and determine their losses."""
        self.rows.show(list(FORMATS.values()), 0)

        def find_out(task: Task) -> None:
            losses(self._tokenizer, partial(task.tell, self._take))

        in_thread(
            self,
            "lost",
            find_out,
            failed=lambda error: self.show_error(failure_message("Not checked", error)),
        )

    def _take(self, name: str, lost: Sequence[str], error: str) -> None:
        self._known[name] = Known(lost, error)
        self._tell()

    @on(RowList.Highlighted)
    def _tell(self) -> None:
        chosen = self.rows.row
        known = self._known.get(chosen.name) if chosen is not None else None
        if known is None:
            text = Content("Checking the format…")
        elif known.error:
            text = Content.styled(f"✗ {safe(known.error)}", "$text-error")
        elif known.lost:
            heading = Content.styled("⚠ Not stored in the file:", "$text-warning")
            lines = [Content(f"· {safe(sentence)}") for sentence in known.lost]
            text = Content("\n").join([heading, *lines])
        else:
            text = Content.styled(
                "✓ Nothing is lost: the file gives the same ids.", "$text-success"
            )
        self.query_one("#lost-text", Static).update(text)

    @on(RowList.Picked)
    def _clicked(self, event: RowList.Picked) -> None:
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
                in_thread(
                    self,
                    "save",
                    lambda task: self._tokenizer.save(path, chosen.name),
                    lambda _: self.dismiss(path),
                    failed=lambda error: self.show_error(failure_message("Not saved", error)),
                    exclusive=False,
                )

        self.app.push_screen(dialog, placed)


def _paint(row: SaveFormat, width: int) -> list[Span]:
    name = f" {row.default_name}{'/' if row.is_folder else ''} "
    if len(row.title) + 1 + len(name) > width:
        name = ""
    return [Span(column(f" {row.title}", width - len(name)), "heading"), Span(name, "dim")]
