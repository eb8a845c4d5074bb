"""New, sample, paste and save, without ever losing what the user typed."""

from __future__ import annotations

import json
import os
from pathlib import Path

from textual import work

from tokviz import bytetext
from tokviz.assets import asset_path
from tokviz.autosave import Autosave, Recovered
from tokviz.chat.conversation import Conversation, ConversationError
from tokviz.errors import OutputFileError, TokvizError
from tokviz.files import read_file, write_file
from tokviz.folders import state_folder
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.chat import editing
from tokviz.tui.screens.chat.base import ChatBase
from tokviz.tui.screens.chat.history import Origin
from tokviz.tui.widgets.conversation.editor import PartEditor
from tokviz.tui.widgets.conversation.rows import PartPlace

AUTOSAVE_SECONDS = 5.0
"""How long a change may wait until it is safe from a crash."""
_SAMPLES = "conversations"
_WELCOME = "welcome.json"


class FileActions(ChatBase):
    """Where conversations come from and go to."""

    _autosave: Autosave | None = None
    _autosaved: Conversation | None = None
    _recovered: Recovered | None = None

    # -- new, sample, paste

    def show_sample(self) -> None:
        """Begin with the conversation that shows what there is to see."""
        conversation = _read_sample(_WELCOME)
        self.mark_saved(conversation)
        self.history.restart(
            self.history.state._replace(
                conversation=conversation, place=editing.place_in(conversation, None)
            )
        )

    def action_new_conversation(self) -> None:
        """Begin with an empty user message; undo brings the old conversation back."""
        self.load(editing.EMPTY, Origin())

    def action_sample_conversation(self) -> None:
        """Choose one of the conversations that come with tokviz."""
        names = sorted(path.name for path in asset_path(_SAMPLES).iterdir())
        options = [Option(name, name.rsplit(".", 1)[0].replace("-", " ")) for name in names]
        self.app.push_screen(PickDialog("Sample conversations", options), self._sample_picked)

    def _sample_picked(self, name: str | None) -> None:
        if name is not None:
            self.open_path(Path(str(asset_path(_SAMPLES) / name)))

    def load(self, conversation: Conversation, origin: Origin, *, instead: bool = False) -> None:
        """Show another conversation instead of this one; undo brings this one back.

        Args:
            conversation: The conversation.
            origin: Where it comes from.
            instead: Whether undo passes over the present one, which was only looked at.
        """
        if self.modified:
            self.say("The changes of the conversation before are not saved. Ctrl+Z goes back.")
        if origin.path is not None or conversation is editing.EMPTY:
            self.mark_saved(conversation)
        self.change(conversation, PartPlace(0), origin=origin, instead=instead)

    def on_part_editor_pasted(self, event: PartEditor.Pasted) -> None:
        """Ask what to do with a conversation; everything else is text."""
        event.stop()
        text = event.text if "\n" in event.text else event.text.replace("\r", "\n")
        try:
            conversation = Conversation.from_json(json.loads(text))
        except (ConversationError, ValueError, RecursionError):
            self.messages.editor.insert_pasted(text)
            return
        n_messages = len(conversation.messages)
        of = f"{n_messages:,} message{'s' * (n_messages != 1)}"
        options = [
            Option(
                "show",
                f"Show the conversation of {of}",
                "",
                "In place of this one. Undo brings this one back.",
            ),
            Option("append", f"Append its {of} to this conversation", "", "At the end."),
            Option("text", "Insert it as text", "", "As it is, at the cursor."),
        ]

        def picked(choice: str | None) -> None:
            if choice == "show":
                self.load(conversation, Origin())
            elif choice == "append":
                here = self.conversation
                messages = (*here.messages, *conversation.messages)
                self.change(editing.with_messages(here, messages), PartPlace(len(here.messages)))
            elif choice == "text":
                self.messages.editor.insert_pasted(text)

        self.app.push_screen(PickDialog("A conversation was pasted", options), picked)

    def open_path(self, path: Path) -> None:
        """Open a file of conversations."""
        raise NotImplementedError

    # -- saving

    def action_save_file(self) -> None:
        """Save to the file that the conversation came from, or ask for one."""
        origin = self.history.state.origin
        if origin.path is None or origin.row is not None:
            self.action_save_as()
        else:
            self._save(origin.path)

    def action_save_as(self) -> None:
        """Ask for a file and save there."""
        from tokviz.tui.dialogs.save_file import SaveFileDialog

        origin = self.history.state.origin
        name = "conversation.json"
        if origin.path is not None:
            row = "" if origin.row is None else f"-{origin.row + 1}"
            name = f"{origin.path.stem}{row}.json"
        self.app.push_screen(SaveFileDialog(self.folder(), name), self._save_chosen)

    def _save_chosen(self, path: Path | None) -> None:
        if path is not None:
            self._save(path)

    def _save(self, path: Path) -> None:
        self._write(path, self.conversation)

    @work(thread=True, group="save", description="save", exit_on_error=False)
    def _write(self, path: Path, conversation: Conversation) -> None:
        text = json.dumps(conversation.to_json(), ensure_ascii=False, indent=2)
        try:
            write_file(path, bytetext.to_bytes(text + "\n"))
        except TokvizError as error:
            self.call_here(self.say, f"Not saved. {error}", "error")
            return
        self.call_here(self._saved, path, conversation)

    def _saved(self, path: Path, conversation: Conversation) -> None:
        self.say(f"Saved to {path}.")
        if conversation is self.conversation:
            self.mark_saved(conversation)
            self.history.relocate(Origin(path))
            self.remember_folder(path)
            self.show_rendering()
            if self._autosave is not None:
                self._autosave.clear()

    def action_append_jsonl(self) -> None:
        """Ask for a JSONL file and add the conversation to it."""
        from tokviz.tui.dialogs.save_file import SaveFileDialog

        dialog = SaveFileDialog(
            self.folder(),
            "conversations.jsonl",
            title="Append the conversation to",
            placeholder="Name of a .jsonl file, old or new",
            verb="append",
            existing="take",
        )
        self.app.push_screen(dialog, self._append_chosen)

    def _append_chosen(self, path: Path | None) -> None:
        if path is not None:
            self._append(path, self.conversation)

    @work(thread=True, group="save", description="append", exit_on_error=False)
    def _append(self, path: Path, conversation: Conversation) -> None:
        line = json.dumps(conversation.to_json(), ensure_ascii=False)
        try:
            append_line(path, bytetext.to_bytes(line))
        except TokvizError as error:
            self.call_here(self.say, f"Not appended. {error}", "error")
            return
        self.call_here(self.say, f"Appended to {path}.")

    def folder(self) -> Path | None:
        """Say where dialogs for files begin."""
        path = self.history.state.origin.path
        if path is not None:
            return path.resolve().parent
        return Path(self.settings.folder) if self.settings.folder else None

    def remember_folder(self, path: Path) -> None:
        """Let dialogs for files begin where this file is."""
        self.session.change_settings(folder=str(path.resolve().parent))

    # -- surviving a crash

    def start_autosave(self) -> None:
        """Offer what an earlier crash left behind, and keep changes safe from now on."""
        if not self.session.remember:
            return
        try:
            # A folder of its own: what lies in the other one is text for the Tokens screen.
            self._autosave = Autosave(state_folder() / "conversations")
        except TokvizError as error:
            self.say(f"Unsaved changes are not backed up. {error}", "warning")
            return
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
        self.notify(
            f"A conversation from {recovered.when:%Y-%m-%d %H:%M} was not saved. “Restore the "
            "conversation” in the command palette brings it back.",
            title="Recovered",
            timeout=15,
            markup=False,
        )

    def _keep_safe(self) -> None:
        conversation = self.conversation
        if self.modified and conversation is not self._autosaved:
            self._autosaved = conversation
            self._write_autosave(conversation, self.history.state.origin.path)

    @work(
        thread=True, exclusive=True, group="autosave", description="autosave", exit_on_error=False
    )
    def _write_autosave(
        self, conversation: Conversation, path: Path | None, replaces: Recovered | None = None
    ) -> None:
        if self._autosave is None:
            return
        note = self._autosave.write(_as_text(conversation), path)
        if note:
            self.call_here(self.say, note, "warning")
        elif replaces is not None:
            self._autosave.discard(replaces)

    def action_restore_conversation(self) -> None:
        """Bring back what was not saved before a crash; undo takes it away again."""
        recovered = self._recovered
        if recovered is None:
            self.say("There is no recovered conversation.")
            return
        self._recovered = None
        try:
            conversation = Conversation.from_json(json.loads(recovered.text), byte_text=True)
        except (ConversationError, ValueError, RecursionError) as error:
            self.say(f"It cannot be read: {recovered.file}. {error}", "error")
            return
        self.change(conversation, PartPlace(0), origin=Origin(recovered.source))
        self._write_autosave(conversation, recovered.source, recovered)

    def end_autosave(self) -> None:
        """Leave nothing behind after a clean end, but for a conversation that was not saved."""
        if self._autosave is None:
            return
        if self.modified:
            self._autosave.write(_as_text(self.conversation), self.history.state.origin.path)
        else:
            self._autosave.clear()


def _as_text(conversation: Conversation) -> str:
    return json.dumps(conversation.to_json(), ensure_ascii=False)


def _read_sample(name: str) -> Conversation:
    return Conversation.from_json(json.loads(read_file(asset_path(f"{_SAMPLES}/{name}"))))


def append_line(path: Path, line: bytes) -> None:
    """Add a line to the end of a file, which is made if there is none.

    Raises:
        OutputFileError: If it cannot be written.
    """
    try:
        with open(path, "a+b") as file:
            file.seek(0, os.SEEK_END)
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    line = b"\n" + line
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputFileError(path, reason) from None
