"""Commands that open and save files, and keep unsaved text safe."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.text import Text

from tokviz.errors import TokvizError
from tokviz.storage.listing import home_label
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.safekeeping import Safekeeping, Unsaved, unless_unsaved
from tokviz.tui.screens.tokens.encoding import SLICE_SECONDS
from tokviz.tui.screens.tokens.text import TextAtHand
from tokviz.tui.tasks import Task
from tokviz.workspace.session import (
    Opened,
    TextSaved,
    TrainWith,
    notes_about,
    read_text,
    sample_text,
)


class Files(Controller):
    """New, open, save, sample and restore."""

    def __init__(self, screen: TokvizScreen, text: TextAtHand) -> None:
        """Take the text."""
        super().__init__(screen)
        self._text = text
        self.safe = Safekeeping(
            screen,
            self._unsaved,
            {self.session.path: self.session.state_read} if self.session.path else {},
            save_first=self.save_file,
        )

    # -- opening

    @action("Open a file", "ctrl+o", section="Text", footer="open", words="load import")
    def open_file(self) -> None:
        """Choose a file and show its tokens, or a folder to see the tokens of each file in it."""
        from tokviz.tui.dialogs.file_dialog import OpenFileDialog

        dialog = OpenFileDialog(self._folder(), folder_verb="count this folder")
        self.unless_unsaved(lambda: self.ask(dialog, self.open_path))

    def open_path(self, path: Path) -> None:
        """Read a file in a thread, then show it. The current text stays if that fails.

        For a folder, let the user choose a file among those in it, which are counted.
        """
        if path.is_dir():
            from tokviz.tui.dialogs.folder_counts import FolderDialog

            specials = self.session.live.parse_specials
            dialog = FolderDialog(path, self.session.tokenizer, parse_specials=specials)
            self.ask(dialog, lambda file: self.unless_unsaved(lambda: self.open_path(file)))
            return
        if self.session.open_session_file(path):
            return

        def read(task: Task) -> Opened:
            opened = read_text(path)
            text = "".join(opened.text)
            self._text.editor.prepare(text)
            return opened._replace(text=text)

        version = self.session.version

        def show(opened: Opened) -> None:
            if self.session.version is version:
                self._show(opened)
            else:  # the text was edited meanwhile
                self.unless_unsaved(lambda: self._show(opened))

        self.in_thread("open", read, show)

    def _show(self, opened: Opened) -> None:
        assert isinstance(opened.text, str)
        self._text.load(opened.text, opened.path)
        self._text.editor.focus()
        if opened.path is not None:
            self.safe.files[opened.path] = opened.state
            self.session.remember_folder(opened.path)
        for note in notes_about(opened.is_binary, self.session.live.n_raw_bytes):
            self.say(note, "warning")

    @action("Save the text", "ctrl+s", section="Text", footer="save")
    def save_file(self, then: Callable[[], object] = lambda: None) -> None:
        """Write the text to the file it came from, byte for byte."""
        if self.session.path is None:
            self.save_as(then)
        else:
            self._save(self.session.path, replaces=False, then=then)

    @action("Save the text as…", "f12", section="Text", words="export write")
    def save_as(self, then: Callable[[], object] = lambda: None) -> None:
        """Write the text to another file."""
        from tokviz.tui.dialogs.file_dialog import SaveFileDialog

        name = self.session.path.name if self.session.path else "text.txt"
        dialog = SaveFileDialog(*self.safe.offer(self._folder(), name))
        self.ask(dialog, partial(self._save, then=then))

    @action("New text", "ctrl+n", section="Text")
    def new_text(self) -> None:
        """Start with an empty text. Undo restores the previous one."""
        self._put("", is_sample=False)

    @action("Show the sample text", section="Text", words="tutorial example demo")
    def sample_text(self) -> None:
        """A short text with words, code, numbers, several scripts and emoji."""
        self._put(sample_text(), is_sample=True)

    @action("Train on this text", section="Text", words="learn corpus bpe")
    def train_on_text(self) -> None:
        """Add the current text to the corpus of the Train screen."""
        from tokviz.training.corpus.entries import save_text

        path, parts = self.session.path, self._text.live.parts()
        if path is not None and not self.session.modified:
            self.session.ask(TrainWith(sources=(str(path),)))
            return
        name = "text.txt" if path is None else path.name
        self.in_thread(
            "train",
            lambda task: save_text((part.data for part in parts), name),
            lambda kept: self.session.ask(TrainWith(sources=(kept,))),
        )

    def _put(self, text: str, *, is_sample: bool) -> None:
        def noted() -> None:
            self.session.mark_replaced(None, is_sample=is_sample)
            self._text.refresh()
            self._text.editor.focus()

        self.unless_unsaved(lambda: self._text.replace_all(text, noted))

    def _folder(self) -> Path | None:
        path = self.session.path
        return self.session.folder if path is None else path.resolve().parent

    # -- saving

    def _save(
        self, path: Path, *, replaces: bool = True, then: Callable[[], object] = lambda: None
    ) -> None:
        self._text.editor.history.checkpoint()  # undo returns to the saved text
        parts, version = self._text.live.parts(), self.session.version
        begun = self.session.text_id

        def saved(n_bytes: int) -> None:
            if self.session.text_id is begun:  # otherwise the text has changed
                self.session.path = path
                self.session.saved_version = version
            self.session.remember_folder(path)
            self.say(f"Saved {pluralize(n_bytes, 'byte')} to {home_label(path)}.")
            self._text.refresh()
            self.session.tell(TextSaved(path))
            then()

        self.safe.save(
            path,
            lambda: b"".join([part.data for part in parts]),
            saved,
            replaces=replaces,
            save_as=partial(self.save_as, then),
            reload=self.open_path,
        )

    # -- unsaved text

    def _unsaved(self) -> list[Unsaved]:
        session = self.session
        if not session.modified or (session.is_sample and session.path is None):
            return []
        live = self._text.live
        return [Unsaved(live.revision, live.parts, session.path, "this text")]

    def unless_unsaved(self, go_on: Callable[[], object]) -> None:
        """Continue, after asking to discard unsaved changes if there are any."""
        again = partial(self.unless_unsaved, go_on)
        unless_unsaved(self.app, self.safe.unsaved(), "discard them", go_on, again)

    def restore(
        self, text: str, path: Path | None, row: object, then: Callable[[], object]
    ) -> None:
        """Restore an unsaved text, unless the user keeps the current one."""

        def restored() -> None:
            self.session.path, self.session.is_sample = path, False
            self.session.text_id = object()
            self._text.refresh()
            then()

        self.unless_unsaved(lambda: self._text.replace_all(text, restored))


class ReadingOn(Controller):
    """Read the rest of a long text after its head is shown. Keys wait until it is read.

    Attributes:
        share: The share of the text that is read, from 0 to 1; None once all of it is.
    """

    def __init__(
        self, screen: TokvizScreen, text: TextAtHand, show_status: Callable[[], object]
    ) -> None:
        """Take the text, and a callback that shows the progress."""
        super().__init__(screen)
        self._text, self._show_status = text, show_status
        self.share = 0.0 if text.live.has_rest else None

    def start(self, then: Callable[[], object]) -> None:
        """Read the rest, and call `then` when it is read; the app ends if that fails."""
        live, state = self._text.live, self.session.state_read
        n_bytes = state.n_bytes if state else 0

        def read(task: Task) -> None:
            told = time.monotonic()
            for n_read in live.read_on():
                if task.cancelled:
                    break
                if time.monotonic() - told > SLICE_SECONDS:
                    task.tell(self._tell, min(n_read / max(n_bytes, n_read), 1.0))
                    told = time.monotonic()

        def done(nothing: None) -> None:
            live.append_rest()
            self.share = None
            self._text.editor.lay_out_anew()
            self._text.refresh()
            then()

        def failed(error: TokvizError) -> None:
            self.app.exit(return_code=1, message=Text(f"tokviz: {safe(str(error))}"))

        self.in_thread("open", read, done, failed=failed)

    def _tell(self, share: float) -> None:
        self.share = share
        self._show_status()
