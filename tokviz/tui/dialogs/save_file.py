"""Dialog to choose a file to save."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType

from tokviz.process.confinement import confinement
from tokviz.storage.files import is_read_only
from tokviz.storage.listing import typed_path
from tokviz.text.glyphs import safe
from tokviz.tui.dialogs.confirm import ConfirmDialog
from tokviz.tui.dialogs.file_dialog import FileDialog
from tokviz.tui.widgets.view_switcher import neighbour


class SaveFileDialog(FileDialog):
    """Its result is a path in a folder that exists; that an existing file goes was confirmed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+k", "next_kind", show=False, priority=True)
    ]
    seeks = False

    def __init__(
        self,
        folder: Path | None = None,
        name: str = "",
        *,
        title: str = "Save the text as",
        placeholder: str = "Name of the file",
        verb: str = "save",
        existing: Literal["replace", "take", "refuse"] = "replace",
        kinds: Sequence[str] = (),
    ) -> None:
        """Create the dialog.

        Args:
            folder: The initial folder, None for the last one.
            name: The suggested name.
            title: The title.
            placeholder: Placeholder of the field.
            verb: Label of Enter.
            existing: How to handle an existing file: replace it after a question, use it (to append
                to), or refuse it because a folder will be created.
            kinds: Allowed extensions; another name gets the suggested one. Ctrl+K cycles through
                them.
        """
        super().__init__(
            folder,
            title=title,
            placeholder=placeholder,
            verb=verb,
            text=name if safe(name) == name else "",
            offers=("Ctrl+K", ", ".join(kinds), "next_kind") if len(kinds) > 1 else None,
        )
        self._existing = existing
        self._kinds = kinds
        self._kind = next((k for k in kinds if name.endswith(f".{k}")), "".join(kinds[:1]))

    def on_mount(self) -> None:
        """Select the suggested name, so that typing replaces it."""
        self.field.action_select_all()

    def action_choose(self) -> None:
        """Enter the typed or highlighted folder, or save under the name."""
        chosen = self.chosen_path() if self._moved else None
        if chosen is not None:
            self._take(*chosen)
        elif self.field.value:
            path = typed_path(self.field.value, self.folder)
            self._take(path, os.path.isdir(path))
        else:
            self.show_error("Type a name for the file.")

    def _take(self, path: Path, is_folder: bool) -> None:
        if is_folder:
            self.enter_folder(path, os.path.basename(self.field.value) if self._moved else "")
        elif (allowed := confinement()) is not None and not allowed.may_save(path):
            self.show_error(f"{path.name}: this session may save only in its folder for files")
        elif self._kinds and not path.suffix:
            self._take(path.with_name(f"{path.name}.{self._kind}"), is_folder=False)
        elif self._kinds and not path.name.lower().endswith(tuple(f".{k}" for k in self._kinds)):
            *others, last = (f".{kind}" for kind in self._kinds)
            endings = " or ".join(filter(None, (", ".join(others), last)))
            self.show_error(f"End the name in {endings}: that is the kind of file.")
        elif os.path.lexists(path):
            self._take_existing(path)
        elif not os.path.isdir(path.parent):
            self.show_error(f"{path.parent.name}: there is no such folder")
        elif not os.access(path.parent, os.W_OK):
            self.show_error(f"{path.parent}: no permission to write there")
        else:
            self.finish(path)

    def _take_existing(self, path: Path) -> None:
        reasons = {
            "already exists and is not a folder": self._existing == "refuse",
            "is not a regular file": path.exists() and not path.is_file(),
            "is read-only": is_read_only(path),
        }
        for reason in (reason for reason, is_true in reasons.items() if is_true):
            self.show_error(f"{path.name} {reason}.")
            return
        if self._existing == "take":
            self.finish(path)
            return

        def answered(replace: bool | None) -> None:
            if replace:
                self.finish(path)

        question = f"Replace {path.name}? It already exists in {path.parent}."
        self.app.push_screen(ConfirmDialog("Save", question, "replace", danger=True), answered)

    def action_next_kind(self) -> None:
        """Change the end of the name."""
        path = Path(self.field.value or "tokens")
        self._kind = neighbour(self._kinds, path.suffix.lower().removeprefix("."))
        self.field.put(str(path.with_suffix(f".{self._kind}")))
