"""The tokens of the files in a folder, as a tree from which a file can be opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tokviz.compare.file_counts import CountTree, FileCount, count_files, count_tree
from tokviz.errors import TokvizError
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

_Row = tuple[int, CountTree, str]
"""A row: its depth, its file or folder, and a sign for an open or a closed folder."""


class _Progress(NamedTuple):
    """What has been counted so far; the tree is None before the first file."""

    tree: CountTree | None
    note: str


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
        Binding("right", "unfold", show=False),
        Binding("left", "fold", show=False),
        Binding("home", "page(-1000000)", show=False),
        Binding("end", "page(1000000)", show=False),
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
        row = self.rows.row
        verb = "open" if row is None or not row[2] else "fold" if row[2] == "▾" else "unfold"
        return [
            ("Enter", verb, "choose"),
            ("Esc", "stop" if self._is_counting else "close", "cancel"),
            ("←→", "fold", ""),
            ("↑↓", "move", ""),
        ]

    def on_mount(self) -> None:
        """Start to count."""
        self._worker = in_thread(self, "count", self._count, self._show_all, failed=self._fail)

    def _count(self, task: Task) -> _Progress:
        counts: list[tuple[str, FileCount]] = []
        skipped, n_unreadable = Counter[str](), 0

        def on_error(error: TokvizError) -> None:
            nonlocal n_unreadable
            n_unreadable += 1

        def progress(word: str) -> _Progress:
            tree = count_tree(counts, str(self._folder)) if counts else None
            notes = [word, pluralize(len(counts), "file")]
            if tree is not None:
                notes[1:1] = [f"{tree.count.n_tokens[0]:,} tokens in {safe(self._tokenizer.name)}"]
            notes += [f"{number:,} {reason}" for reason, number in sorted(skipped.items())]
            notes += [f"{n_unreadable:,} unreadable"] if n_unreadable else []
            return _Progress(tree, " · ".join(filter(None, notes)))

        files = project_files(
            str(self._folder),
            on_skip=lambda path, reason: skipped.update([f"{reason} skipped"]),
            on_error=on_error,
        )
        due = monotonic()
        for path, found in count_files(
            files,
            lambda file: read_texts(file, any_content=False),
            [self._tokenizer],
            self._parse_specials,
        ):
            if task.cancelled:
                break
            if isinstance(found, FileCount):
                counts.append((path, found))
            elif isinstance(found, BinaryFileError):
                skipped["binary skipped"] += 1
            else:
                on_error(found)
            if monotonic() >= due:
                started = monotonic()
                task.tell(self._show, progress("Counting…"))
                due = monotonic() + max(_PAUSE, 5 * (monotonic() - started))
        return progress("")

    def _show_all(self, progress: _Progress) -> None:
        self._is_counting = False
        self.rows.empty_text = "No text file is in this folder."
        self._show(progress)

    def _fail(self, error: TokvizError) -> None:
        self._show_all(_Progress(self._tree, str(error)))

    def _show(self, progress: _Progress) -> None:
        self._tree = progress.tree
        self.query_one("#counted", Static).update(Content(progress.note))
        self._show_rows()

    def _show_rows(self) -> None:
        before = self.rows.row
        shown = [*self._tree.rows(lambda node: node.path in self._open)] if self._tree else []
        rows = [(depth, node, self._sign(node)) for depth, node in shown]
        paths = [node.path for _, node, _ in rows]
        path = before[1].path if before is not None else ""
        self.rows.show(rows, paths.index(path) if path in paths else 0)
        self.show_hints()

    def _sign(self, node: CountTree) -> str:
        return ("▾" if node.path in self._open else "▸") if node.n_files else ""

    def action_choose(self) -> None:
        """Open the highlighted file, or fold or unfold the folder."""
        row = self.rows.row
        if row is not None and row[2]:
            self._open ^= {row[1].path}
            self._show_rows()
        elif row is not None:
            self.dismiss(Path(row[1].path))

    def action_unfold(self) -> None:
        """Unfold the highlighted folder, or move to its first entry."""
        row = self.rows.row
        if row is not None and row[2] == "▸":
            self.action_choose()
        elif row is not None and row[2]:
            self.action_move(1)

    def action_fold(self) -> None:
        """Fold the highlighted folder, or move to the folder of the file."""
        row, at = self.rows.row, self.rows.highlighted
        if row is None or at is None:
            return
        if row[2] == "▾":
            self.action_choose()
        else:
            above = (i for i in range(at - 1, -1, -1) if self.rows.rows[i][0] < row[0])
            self.rows.follow(next(above, at))

    @on(RowList.Picked)
    def _clicked(self, event: RowList.Picked) -> None:
        row: _Row = event.row
        if event.again or row[2]:
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
        depth, node, sign = row
        n_tokens = node.count.n_tokens[0]
        most = self._tree.count.n_tokens[0] if self._tree else 0
        spans = [Span(f"{n_tokens:>12,}  ", "text")]
        more = ""
        if width >= _WIDE:
            bar = bar_text(n_tokens, most, _BAR_CELLS)
            spans.append(Span(f"{bar:<{_BAR_CELLS + 2}}", "accent"))
            more = pluralize(node.n_files, "file") + " " if node.n_files else ""
        indent = "  " * min(depth, max(0, (width - 40) // 2))
        room = width - sum(cell_len(span.text) for span in spans) - len(more) - len(indent) - 3
        name = fit(safe(node.name) + "/" * bool(sign), max(room, 1))
        spans.append(Span(f"{indent}{sign or ' '} {name}", "heading" if sign else "text"))
        gap = " " * max(0, room - cell_len(name))
        return [*spans, Span(gap), Span(more, "dim")]
