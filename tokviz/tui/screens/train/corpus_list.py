"""The list of the files and folders of the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import BindingType
from textual.message import Message

from tokviz.storage.listing import home_label, size_label
from tokviz.text.glyphs import safe
from tokviz.training.corpus.entries import EXCLUDE, CorpusEntry
from tokviz.tui.actions import action, bindings_of, declared_in
from tokviz.tui.widgets.fit import fit, fit_end
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Role, Span

_REMOVE = " ✕ "
MOST_ROWS = 6
"""Maximum number of visible rows."""


class CorpusList(RowList[CorpusEntry], can_focus=True):
    """Files, folders and globs with their sizes. Delete or a click on ✕ removes one."""

    DEFAULT_CSS = """
    CorpusList {
        height: 1;
        &:blur > .row-list--highlighted { background: transparent; color: $foreground; }
        &:nocolor:blur > .row-list--highlighted { text-style: none; }
    }
    """

    class Removed(Message):
        """Posted after the user removed an entry."""

        def __init__(self, entry: CorpusEntry) -> None:
            """Create the message with the entry."""
            super().__init__()
            self.entry = entry

    def __init__(self) -> None:
        """Create an empty list."""
        super().__init__(paint_corpus_entry, id="corpus")

    def show_entries(self, entries: Sequence[CorpusEntry], highlighted: int) -> None:
        """Show entries, and fit the height of the list."""
        self.display = bool(entries)
        self.styles.height = min(max(len(entries), 1), MOST_ROWS)
        self.show(entries, min(max(highlighted, 0), len(entries) - 1) if entries else None)

    @action(
        "Remove it from the list",
        "delete",
        "backspace",
        section="In the list of the corpus",
        footer="remove",
        priority=False,
    )
    def action_remove(self) -> None:
        """Remove the highlighted file or folder from the corpus."""
        if self.row is not None:
            self.post_message(self.Removed(self.row))

    def on_click(self, event: events.Click) -> None:
        """Highlight an entry, or remove it."""
        event.prevent_default()
        offset = event.get_content_offset(self)
        remove_from = self.scrollable_content_region.width - len(_REMOVE)
        if self.take_click(event) is not None and offset is not None and offset.x >= remove_from:
            self.action_remove()

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(declared_in(locals()))]


def paint_corpus_entry(entry: CorpusEntry, width: int) -> list[Span]:
    """Draw a row: the name, the number of files, their size or error, and a ✕."""
    role: Role = "dim"
    if entry.error:
        about, role = f"! {entry.error}", "warning"
    elif entry.source.startswith(EXCLUDE):
        about = "left out"
    elif entry.n_files is None:
        about = "looking…"
    else:
        files = "" if entry.n_files == 1 else f"{entry.n_files:,} files"
        about = f"{files}  {size_label(entry.n_bytes):>7}"
    room = width - len(_REMOVE)
    about = fit(about, max(8, room * 2 // 3))
    name = fit_end(safe(home_label(Path(entry.source))), room - cell_len(about) - 2)
    gap = " " * max(1, room - cell_len(name) - cell_len(about))
    return [Span(name), Span(gap), Span(about, role), Span(_REMOVE, "dim")]
