"""New, sample, paste, open and save, without losing typed text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from errno import ENOSPC
from functools import partial
from pathlib import Path

from textual import on

from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import SOURCES, Dataset, is_plain_text
from tokviz.chat.dataset_rows import keeps_shape
from tokviz.chat.dataset_shapes import SHAPES
from tokviz.chat.messages import ConversationError
from tokviz.errors import InputFileError
from tokviz.storage import json_file
from tokviz.storage.assets import asset_path
from tokviz.storage.files import output_error, read_file
from tokviz.storage.listing import home_label
from tokviz.text import bytetext
from tokviz.text.sentences import pluralize
from tokviz.tui.actions import action
from tokviz.tui.dialogs.file_dialog import OpenFileDialog, SaveFileDialog
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.chat import editing
from tokviz.tui.screens.chat.state import ConversationAtHand, Origin, State
from tokviz.tui.screens.safekeeping import CONVERSATIONS, Safekeeping, Unsaved
from tokviz.tui.widgets.conversation.rows import PartPlace
from tokviz.tui.widgets.conversation.view import PartEditor

_SAMPLES = "conversations"


class Files(Controller):
    """Opens and saves conversations."""

    _chat: ConversationAtHand
    """The conversation."""
    _open_path: Callable[[Path], object]
    """Opens a file with one or more conversations."""
    _reopen: Callable[[Origin], object]
    """Reads the dataset of a row again."""
    _show: Callable[[], object]
    """Shows the new source of the conversation."""

    def set_up(self) -> None:
        """Create the other fields."""
        # A separate folder, because the other one has texts of the Tokens screen.
        self.safe = Safekeeping(
            self.screen,
            self._unsaved,
            self._chat.file_states,
            save_first=lambda then: self.save_file(then, self._chat.unsaved[0]),
            folder=CONVERSATIONS.folder,
        )

    def _folder(self) -> Path | None:
        path = self._chat.state.origin.path
        return self.session.folder if path is None else path.resolve().parent

    # -- opening and saving

    @action("Open a conversation or a dataset", "ctrl+o", section="File", footer="open")
    def open_file(self) -> None:
        """Choose a file: a conversation as JSON, or many as JSONL, JSON or parquet."""
        title = "Open a conversation or a dataset"
        self.ask(OpenFileDialog(self._folder(), title=title, takes_any=True), self._open_path)

    @action("Save the conversation", "ctrl+s", section="File", footer="save")
    def save_file(
        self, then: Callable[[], object] = lambda: None, state: State | None = None
    ) -> None:
        """Write the conversation to its file, or its row into its dataset.

        A table or a compressed dataset is not changed: the dataset goes to a new file.
        """
        state = state or self._chat.state
        path, row, _ = state.origin
        if self._is_raw(state):
            return
        if path is None:
            self.save_as(then, state)
        elif row is None:
            self.save(path, replaces=False, then=then, state=state)
        elif not self._chat.is_unsaved(state):
            self.say(f"Row {row + 1:,} has no changes. F12 saves it to a separate file.")
        elif keeps_shape(state.conversation):
            self._save_row(then, state)
        else:
            self._ask_about_shape(then, state)

    def _ask_about_shape(self, then: Callable[[], object], state: State) -> None:
        shape = SHAPES[state.conversation.shape].looks
        options = [
            Option("messages", 'Save it as {"messages": [...]}', "", "The row gets another shape."),
            Option("save as", "Save as…", "", "To a separate file. The dataset is not changed."),
        ]

        def picked(choice: str) -> None:
            if choice == "messages":
                self._save_row(then, state)
            else:
                self.save_as(then, state)

        self.ask(PickDialog(f"The conversation no longer fits {shape}", options), picked)

    def _save_row(
        self, then: Callable[[], object], state: State, target: Path | None = None
    ) -> None:
        """Replace a row of a dataset in a thread."""
        conversation, origin = state.conversation, state.origin
        path, row, digest = origin
        assert path is not None and row is not None
        if target is None and not is_plain_text(path):
            self._ask_for_dataset(then, state)
            return
        written = target or path

        def data() -> Iterator[bytes]:
            dataset = Dataset.open(path)
            if not dataset.has_row(row) or digest not in ("", dataset.digest(row)):
                reason = f"row {row + 1:,} changed on disk. Save the conversation to another file"
                raise InputFileError(path, reason)
            return dataset.with_row(row, conversation)

        def saved(_: int) -> None:
            where = f"row {row + 1:,} of {home_label(written)}"
            self.say(f"Saved to {where}. The other rows are unchanged.")
            self._chat.mark_saved(conversation)
            new = Origin(written, row)
            self._chat.history.relocate_row(origin, new)
            self.session.remember_folder(written)
            self._reopen(new)
            self._show()
            then()

        self.safe.save(
            written,
            data,
            saved,
            replaces=target is not None,
            save_as=partial(self.save_as, then, state),
            reload=self._open_path,
            kept="Replaces only this row; other changes on disk stay. If the row itself changed "
            "there, nothing is saved.",
        )

    def _ask_for_dataset(self, then: Callable[[], object], state: State) -> None:
        """Ask for the file of a dataset that cannot be changed in place."""
        path = state.origin.path
        assert path is not None
        name = path if path.suffix.lower() in SOURCES else Path(path.stem)
        stem = name.stem.removesuffix("-edited")
        offered = self.safe.offer(path.resolve().parent, f"{stem}-edited{name.suffix}")
        dialog = SaveFileDialog(*offered, title="Save the dataset with this row as")
        self.ask(dialog, partial(self._save_row, then, state))

    @action("Save the conversation as…", "f12", section="File", words="export")
    def save_as(
        self, then: Callable[[], object] = lambda: None, state: State | None = None
    ) -> None:
        """Write the conversation as JSON to another file."""
        state = state or self._chat.state
        if self._is_raw(state):
            return
        origin = state.origin
        name = "conversation.json"
        if origin.path is not None:
            row = "" if origin.row is None else f"-{origin.row + 1}"
            name = f"{origin.path.stem}{row}.json"
        offered = self.safe.offer(self._folder(), name)
        dialog = SaveFileDialog(*offered, title="Save the conversation as")
        self.ask(dialog, partial(self.save, then=then, state=state))

    def _is_raw(self, state: State) -> bool:
        """Return whether the row is unreadable, and report it."""
        is_raw = editing.raw_index(state.conversation) is not None
        if is_raw:
            self.say("This row is not a conversation yet. Repair its text first.", "warning")
        return is_raw

    def save(
        self,
        path: Path,
        *,
        replaces: bool = True,
        then: Callable[[], object] = lambda: None,
        state: State | None = None,
    ) -> None:
        """Write a conversation in a thread: the present one, or that of another state."""
        state = state or self._chat.state
        conversation = state.conversation

        def saved(_: int) -> None:
            self.say(f"Saved to {home_label(path)}.")
            self._chat.mark_saved(conversation)
            self._chat.history.relocate(conversation, Origin(path))
            self.session.remember_folder(path)
            self._show()
            then()

        self.safe.save(
            path,
            lambda: bytetext.to_bytes(editing.json_of(conversation, indent=2) + "\n"),
            saved,
            replaces=replaces,
            save_as=partial(self.save_as, then, state),
            reload=self._open_path,
        )

    @action("Append to a JSONL file…", "alt+j", section="File")
    def append_jsonl(self) -> None:
        """Append it as a line to a file, which is created if necessary."""
        if self._is_raw(self._chat.state):
            return
        dialog = SaveFileDialog(
            self._folder(),
            "conversations.jsonl",
            title="Append the conversation to",
            placeholder="Name of a .jsonl file, old or new",
            verb="append",
            existing="take",
        )
        self.ask(dialog, self._append)

    def _append(self, path: Path) -> None:
        conversation = self._chat.conversation

        def work() -> None:
            append_line(path, bytetext.to_bytes(editing.json_of(conversation)))

        self.write(path, work, "Appended")

    # -- new, sample, paste

    @action("New conversation", "ctrl+n", section="File")
    def new_conversation(self) -> None:
        """Start with an empty user message. Undo brings the old conversation back."""
        self._chat.load(editing.EMPTY, Origin())

    @action("Show a sample conversation…", section="File")
    def sample_conversation(self) -> None:
        """Choose one of the sample conversations."""
        names = sorted(path.name for path in asset_path(_SAMPLES).iterdir())
        options = [Option(name, name.rsplit(".", 1)[0].replace("_", " ")) for name in names]

        def picked(name: str) -> None:
            stem, _, ending = name.partition(".")
            if ending == "json":
                # It has no file, so that Ctrl+S cannot overwrite a sample.
                sample = sample_conversation(stem)
                self._chat.mark_saved(sample)
                self._chat.load(sample, Origin())
            else:
                self._open_path(Path(str(asset_path(_SAMPLES) / name)))

        self.ask(PickDialog("Sample conversations", options), picked)

    @on(PartEditor.Pasted)
    def _pasted(self, message: PartEditor.Pasted) -> None:
        """Ask what to do with a conversation unless there is but the sample; else it is text."""
        text = message.text if "\n" in message.text else message.text.replace("\r", "\n")
        insert = partial(self._chat.messages.editor.insert_pasted, text)
        try:
            conversation = Conversation.from_json(json_file.loads(text))
        except (ConversationError, ValueError, RecursionError):
            insert()
            return
        if self._chat.is_sample:
            self._chat.load(conversation, Origin())
            return
        here, of = self._chat.conversation, pluralize(len(conversation.messages), "message")
        options = [
            Option(
                "show",
                f"Show the conversation of {of}",
                "",
                "Replace this one. Undo restores it.",
            ),
            Option("append", f"Append its {of} to this conversation", "", "At the end."),
            Option("text", "Insert it as text", "", "As it is, at the cursor."),
        ]

        def picked(choice: str) -> None:
            if choice == "show":
                self._chat.load(conversation, Origin())
            elif self._chat.conversation is not here:
                # Another file was opened in the meantime and must not be appended to.
                self.say("The conversation changed, so nothing was pasted.", "warning")
            elif choice == "append":
                longer = editing.with_messages_of(here, conversation)
                self._chat.change(longer, PartPlace(len(here.messages)))
            else:
                insert()

        self.ask(PickDialog("A conversation was pasted", options), picked)

    # -- surviving a crash

    def _unsaved(self) -> list[Unsaved]:
        here, states = self._chat.state, self._chat.unsaved
        n_earlier = sum(state is not here for state in states)
        earlier = pluralize(n_earlier, f"earlier {CONVERSATIONS.noun}")
        unsaved = []
        for state in states:
            conversation, (path, row, digest) = state.conversation, state.origin
            name = f"this {CONVERSATIONS.noun}" if state is here else earlier
            parts = partial(editing.json_parts, conversation)
            of = None if row is None else (row, digest)
            unsaved.append(Unsaved(conversation, parts, path, name, of))
        return unsaved

    def restore(
        self,
        text: str,
        path: Path | None,
        row: tuple[int, str] | None,
        then: Callable[[], object],
    ) -> None:
        """Restore an unsaved conversation; undo returns to the current one."""
        try:
            conversation = Conversation.from_json(json_file.loads(text), byte_text=True)
        except (ConversationError, ValueError, RecursionError):
            conversation = editing.raw_row(text)
        self._chat.load(conversation, Origin(path, *(row or ())), is_there=False)
        then()


def sample_conversation(name: str = "welcome") -> Conversation:
    """Read one of the samples; the first one can be written by every template."""
    path = asset_path(f"{_SAMPLES}/{name}.json")
    return Conversation.from_json(json_file.loads(read_file(path)))


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a file, completely or not at all; create the file if necessary.

    Raises:
        OutputFileError: If it cannot be written.
    """
    try:
        with open(path, "a+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    line = b"\n" + line
            try:
                # Unbuffered, so that `close` does not retry after the disk is full.
                if os.write(file.fileno(), line + b"\n") <= len(line):
                    raise OSError(ENOSPC, os.strerror(ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), size)
                raise
    except (OSError, ValueError) as error:
        raise output_error(path, error) from None
