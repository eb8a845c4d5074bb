"""The tokens of the files in a folder, as a tree from which a file can be opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tokviz.compare.count_tree import Counts, CountTree, count_tree
from tokviz.errors import TokvizError
from tokviz.live.text_blocks import count_blocks
from tokviz.storage.listing import home_label
from tokviz.storage.project_files import project_files
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.corpus.readers import BinaryFileError, read_texts
from tokviz.tui.dialogs.base import Hint, ListDialog, rule
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.fit import bar_text, fit, fit_end
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Span

_BAR_CELLS = 12
_WIDE = 60
"""Columns from which on bars and numbers of files are drawn."""
_PAUSE = 0.5
"""Minimum seconds between two updates of the tree."""

_Row = tuple[int, CountTree]
"""A file or folder, and its depth."""


_Progress = tuple[CountTree | None, str]
"""The files counted so far, None before the first one, and a summary."""


class FolderDialog(ListDialog[Path, _Row]):
    """A dialog that counts the tokens of a folder. Its result is the file to open."""

    DEFAULT_CSS = """
    FolderDialog {
        #dialog { width: 112; }
        #counted { height: 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", show=False),
        Binding("right", "fold(True)", show=False),
        Binding("left", "fold(False)", show=False),
    ]
    rows_wanted = 30
    nothing = "No file is counted yet."

    def __init__(self, folder: Path, tokenizer: Tokenizer, *, parse_specials: bool) -> None:
        """Take the folder, and the tokenizer that counts."""
        super().__init__(self._paint, "tree")
        self._folder, self._tokenizer = folder, tokenizer
        self._parse_specials = parse_specials
        self._tree: CountTree | None = None
        self._open = {str(folder)}
        self._is_counting = True
        self.dialog_title = f"Tokens of {fit_end(safe(home_label(folder)), 50)}"

    def compose_body(self) -> ComposeResult:
        """Yield the summary and the tree."""
        yield Static(id="counted")
        yield rule()
        yield self.rows
        yield rule()

    def hints(self) -> Sequence[Hint]:
        """Return the hints of the last line."""
        is_folder = self.rows.row is not None and self.rows.row[1].n_files
        end = "stop" if self._is_counting else "close"
        fold = ("←→", "fold", "")
        return [
            ("Enter", "fold, unfold" if is_folder else "open", "choose"),
            ("Esc", end, "cancel"), fold, ("↑↓", "move", ""),
        ]  # fmt: skip

    def on_mount(self) -> None:
        """Start to count."""
        self._worker = in_thread(self, "count", self._count, self._show_all)

    def _count(self, task: Task) -> _Progress:
        files: list[tuple[str, Counts]] = []
        skipped = Counter[str]()

        def progress(word: str) -> _Progress:
            tree = count_tree(files, str(self._folder)) if files else None
            notes = [word, pluralize(len(files), "file")]
            if tree is not None:
                n_tokens = tree.counts[0].n_tokens
                notes[1:1] = [f"{n_tokens:,} tokens in {safe(self._tokenizer.name)}"]
            notes += [f"{number:,} {reason}" for reason, number in sorted(skipped.items())]
            return tree, " · ".join(filter(None, notes))

        due = monotonic()
        for file in project_files(
            str(self._folder),
            lambda path, reason: skipped.update([f"{reason} skipped"]),
            lambda error: skipped.update(["unreadable"]),
        ):
            if task.cancelled:
                break
            try:
                (text,) = read_texts(file, any_content=False)
                files.append((file, [count_blocks(text, self._tokenizer, self._parse_specials)]))
            except BinaryFileError:
                skipped["binary skipped"] += 1
            except TokvizError:
                skipped["unreadable"] += 1
            if (started := monotonic()) >= due:
                task.tell(self._show, progress("Counting…"))
                due = monotonic() + max(_PAUSE, 5 * (monotonic() - started))
        return progress("")

    def _show_all(self, progress: _Progress) -> None:
        self._is_counting = False
        self.rows.empty_text = "No text file is in this folder."
        self._show(progress)

    def _show(self, progress: _Progress) -> None:
        self._tree, note = progress
        self.query_one("#counted", Static).update(Content(note))
        self._show_rows()

    def _show_rows(self) -> None:
        row = self.rows.row
        rows = [*self._tree.rows(lambda node: node.path in self._open)] if self._tree else []
        paths = [node.path for _, node in rows]
        self.rows.show(rows, paths.index(row[1].path) if row and row[1].path in paths else 0)
        self.show_hints()

    def action_choose(self) -> None:
        """Open the highlighted file, or fold or unfold the folder."""
        row = self.rows.row
        if row is not None and row[1].n_files:
            self._open ^= {row[1].path}
            self._show_rows()
        elif row is not None:
            self.dismiss(Path(row[1].path))

    def action_fold(self, opens: bool) -> None:
        """Unfold the highlighted folder, or fold it."""
        row = self.rows.row
        if row is not None and row[1].n_files and (row[1].path in self._open) != opens:
            self.action_choose()

    @on(RowList.Picked)
    def _clicked(self, event: RowList.Picked) -> None:
        if event.again or event.row[1].n_files:
            self.action_choose()

    @on(RowList.Highlighted)
    def _tell(self) -> None:
        self.show_hints()

    def action_cancel(self) -> None:
        """Stop counting, or close."""
        if not self._is_counting:
            self.dismiss(None)
            return
        self._worker.cancel()
        self._is_counting = False
        note = self.query_one("#counted", Static)
        note.update(Content(str(note.content).replace("Counting…", "Stopped")))
        self.show_hints()

    def _paint(self, row: _Row, width: int) -> list[Span]:
        depth, node = row
        n_tokens, more = node.counts[0].n_tokens, ""
        spans = [Span(f"{n_tokens:>12,}  ", "text")]
        if width >= _WIDE:
            most = self._tree.counts[0].n_tokens if self._tree else 0
            bar = bar_text(n_tokens, most, _BAR_CELLS)
            spans.append(Span(f"{bar:<{_BAR_CELLS + 2}}", "accent"))
            more = pluralize(node.n_files, "file") + " " if node.n_files else ""
        sign = " " if not node.n_files else "▾" if node.path in self._open else "▸"
        start = "  " * min(depth, max(0, (width - 40) // 2)) + sign
        room = width - sum(cell_len(span.text) for span in spans) - len(start) - len(more) - 2
        name = fit(safe(node.name) + "/" * bool(node.n_files), max(room, 1))
        spans.append(Span(f"{start} {name}", "heading" if node.n_files else "text"))
        return [*spans, Span(" " * max(1, room + 1 - cell_len(name))), Span(more, "dim")]
