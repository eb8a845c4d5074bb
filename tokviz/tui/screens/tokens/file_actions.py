"""Opening and saving, without ever losing what the user typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work
from textual.worker import get_current_worker

from tokviz import bytetext
from tokviz.errors import TokvizError
from tokviz.files import read_file, write_file
from tokviz.opening import notes_about, sample_text
from tokviz.tui.screens.tokens.base import TokensBase

if TYPE_CHECKING:
    from tokviz.autosave import Autosave, Recovered

AUTOSAVE_SECONDS = 5.0
"""How long a change may wait until it is safe from a crash."""


class FileActions(TokensBase):
    """New, open, save, sample and restore."""

    _autosave: Autosave | None = None
    _autosaved_edits = 0
    _recovered: Recovered | None = None

    # -- opening

    def action_open_file(self) -> None:
        """Choose a file; unsaved changes are asked about first."""
        from tokviz.tui.dialogs.open_file import OpenFileDialog

        self._unless_unsaved(
            lambda: self.app.push_screen(OpenFileDialog(self._folder()), self._open_chosen)
        )

    def _open_chosen(self, path: Path | None) -> None:
        if path is not None:
            self.open_path(path)

    @work(thread=True, exclusive=True, group="open", exit_on_error=False)
    def open_path(self, path: Path) -> None:
        """Read a file in a thread, then show it; the old text stays if that fails."""
        worker = get_current_worker()
        try:
            data = read_file(path)
        except TokvizError as error:
            self.call_here(self.say, str(error), "error")
            return
        text = bytetext.from_bytes(data)
        notes = notes_about(data, text)
        if not worker.is_cancelled:
            self.call_here(self._show_opened, text, path, notes)

    def _show_opened(self, text: str, path: Path, notes: list[str]) -> None:
        self.load_text(text, path)
        self.tokviz.change_settings(folder=str(path.resolve().parent))
        for note in notes:
            self.say(note, "warning")

    def action_new_text(self) -> None:
        """Begin with an empty text; undo brings the old one back."""
        self.replace_all("")
        self.path = None
        self.is_sample = False
        self.saved_edits = self.edits
        self.refresh_document()

    def action_sample_text(self) -> None:
        """Show the sample text instead of this one; undo brings the old one back."""
        self.replace_all(sample_text())
        self.path = None
        self.is_sample = True
        self.saved_edits = self.edits
        self.refresh_document()

    def _unless_unsaved(self, go_on: Callable[[], object]) -> None:
        """Go on at once, or after the user agreed to lose unsaved changes."""
        if not self.modified or (self.is_sample and self.path is None):
            go_on()
            return
        from tokviz.tui.dialogs.confirm import ConfirmDialog

        name = self.path.name if self.path else "This text"
        question = f"{name} has changes that are not saved."
        dialog = ConfirmDialog("Unsaved changes", question, "Discard them", danger=True)

        def answered(agreed: bool | None) -> None:
            if agreed:
                go_on()

        self.app.push_screen(dialog, answered)

    def _folder(self) -> Path | None:
        if self.path is not None:
            return self.path.resolve().parent
        return Path(self.settings.folder) if self.settings.folder else None

    # -- saving

    def action_save_file(self) -> None:
        """Save to the file the text came from, or ask for one."""
        if self.path is None:
            self.action_save_as()
        else:
            self._save(self.path)

    def action_save_as(self) -> None:
        """Ask for a file and save there."""
        from tokviz.tui.dialogs.save_file import SaveFileDialog

        name = self.path.name if self.path else "text.txt"
        self.app.push_screen(SaveFileDialog(self._folder(), name), self._save_chosen)

    def _save_chosen(self, path: Path | None) -> None:
        if path is not None:
            self._save(path)

    def _save(self, path: Path) -> None:
        self._write(path, self.live.chunk_texts(), self.edits)

    @work(thread=True, group="save", description="save", exit_on_error=False)
    def _write(self, path: Path, texts: list[str], edits: int) -> None:
        data = bytetext.to_bytes("".join(texts))
        try:
            write_file(path, data)
        except TokvizError as error:
            self.call_here(self.say, f"Not saved. {error}", "error")
            return
        self.call_here(self._saved, path, len(data), edits)

    def _saved(self, path: Path, n_bytes: int, edits: int) -> None:
        self.path = path
        self.saved_edits = edits
        self.tokviz.change_settings(folder=str(path.resolve().parent))
        self.say(f"Saved {n_bytes:,} bytes to {path}.")
        self.refresh_document()
        self.file_saved()
        if not self.modified and self._autosave is not None:
            self._autosave.clear()

    def file_saved(self) -> None:
        """Do what follows from a file having been saved."""

    # -- surviving a crash

    def start_autosave(self) -> None:
        """Offer what an earlier crash left behind, and keep changes safe from now on."""
        if not self.tokviz.remember:
            return
        from tokviz.autosave import Autosave

        self._autosave = Autosave()
        self.set_interval(AUTOSAVE_SECONDS, self._keep_safe)
        self._look_for_recovered()

    @work(thread=True, group="recover", exit_on_error=False)
    def _look_for_recovered(self) -> None:
        assert self._autosave is not None
        recovered = self._autosave.pending()
        if recovered is not None:
            self.call_here(self._offer, recovered)

    def _offer(self, recovered: Recovered) -> None:
        self._recovered = recovered
        source = f" of {recovered.source}" if recovered.source else ""
        self.notify(
            f"The text{source} from {recovered.when:%Y-%m-%d %H:%M} was not saved. "
            "“Restore the recovered text” in the command palette brings it back.",
            title="Recovered",
            timeout=15,
            markup=False,
        )

    def _keep_safe(self) -> None:
        if self.edits != self._autosaved_edits and self.modified:
            self._autosaved_edits = self.edits
            self._write_autosave(self.live.chunk_texts(), self.path)

    @work(
        thread=True, exclusive=True, group="autosave", description="autosave", exit_on_error=False
    )
    def _write_autosave(
        self, texts: list[str], path: Path | None, replaces: Recovered | None = None
    ) -> None:
        if self._autosave is None:
            return
        note = self._autosave.write("".join(texts), path)
        if note:
            self.call_here(self.say, note, "warning")
        elif replaces is not None:
            self._autosave.discard(replaces)

    def action_restore_text(self) -> None:
        """Bring back what was not saved before a crash; undo takes it away again."""
        recovered = self._recovered
        if recovered is None:
            self.say("There is no recovered text.")
            return
        self.replace_all(recovered.text)
        self.path = recovered.source
        self.is_sample = False
        self._recovered = None
        self._write_autosave([recovered.text], recovered.source, recovered)
        self.refresh_document()

    def end_autosave(self, *, keep: bool) -> None:
        """Leave nothing behind after a clean end, but for a text that was not saved."""
        if self._autosave is None:
            return
        if keep:
            self._autosave.write(self.live.text, self.path)
        else:
            self._autosave.clear()
