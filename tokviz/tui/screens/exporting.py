"""Export the visible tokens as a web page, a picture, Markdown or text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tokviz.share import ENDINGS, write_figure
from tokviz.storage.files import write_file
from tokviz.tui.actions import LEADER, action
from tokviz.tui.screens.base import Controller

if TYPE_CHECKING:
    from tokviz.share.figure import Figure

FormT = TypeVar("FormT")
Shown = tuple[str, Callable[[], "Figure"]] | str
"""A name and a function that a thread calls for the figure, or a message why there is none."""


class Exporting(Controller):
    """Exports the visible tokens in any format."""

    _shown: Callable[[], Shown]

    @action("Export this view…", f"{LEADER} e", section="Copy",
            words="save as html svg png web page picture screenshot markdown share")  # fmt: skip
    def export_shown(self) -> None:
        """Save the visible tokens as a web page, a picture, Markdown or text.

        On the Tokens screen, only the selected tokens if there is a selection.
        """
        shown = self._shown()
        if isinstance(shown, str):
            self.say(shown)
            return
        name, make = shown
        title = "Export this view as a web page (html), a picture, Markdown or text"
        export_as(self, name, title, ENDINGS, lambda form: write_figure(make(), form))


def export_as(
    controller: Controller,
    name: str,
    title: str,
    forms: Mapping[str, FormT],
    make: Callable[[FormT], bytes | Iterable[bytes]],
    what: str = "",
) -> None:
    """Ask for a file name, and write the file in a thread.

    Args:
        controller: The controller.
        name: The proposed file name, without suffix.
        title: The title of the dialog.
        forms: The format of each allowed suffix.
        make: Returns the content in a format.
        what: Name of the content for the notification, may be empty.
    """
    from tokviz.tui.dialogs.file_dialog import SaveFileDialog

    def export_to(path: Path) -> None:
        form = forms[path.suffix.lower().removeprefix(".")]
        controller.write(path, lambda: write_file(path, make(form)), "Exported", what)

    ending, *_ = forms
    dialog = SaveFileDialog(
        controller.session.folder,
        f"{Path(name).stem}.{ending}",
        title=title,
        verb="export",
        kinds=tuple(forms),
    )
    controller.ask(dialog, export_to)
