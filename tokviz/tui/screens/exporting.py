"""Taking what is on the screen elsewhere: as a web page, a picture, Markdown, or lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tokviz.share import ENDINGS, write_figure
from tokviz.storage.files import write_file
from tokviz.tui.actions import LEADER, action
from tokviz.tui.screens.base import Controller, TokvizScreen

if TYPE_CHECKING:
    from tokviz.share.figure import Figure

FormT = TypeVar("FormT")
Shown = tuple[str, Callable[[], "Figure"]] | str
"""What it is called and what makes a figure of it, in a thread; or why there is nothing."""


class Exporting(Controller):
    """Exports what the screen shows, in any of the forms."""

    def __init__(self, screen: TokvizScreen, shown: Callable[[], Shown]) -> None:
        """Take what says what is shown."""
        super().__init__(screen)
        self._shown = shown

    @action("Export what is shown…", f"{LEADER} e", section="Copy",
            words="save as html svg png web page picture screenshot markdown share")  # fmt: skip
    def export_shown(self) -> None:
        """Write the tokens that are shown as a web page, a picture, Markdown or text.

        On the Tokens screen those of the selection, if there is one.
        """
        shown = self._shown()
        if isinstance(shown, str):
            self.say(shown)
            return
        name, make = shown
        title = "Export what is shown as a web page (html), a picture, Markdown or text"
        export_as(self, name, title, ENDINGS, lambda form: write_figure(make(), form))


def export_as(
    controller: Controller,
    name: str,
    title: str,
    forms: Mapping[str, FormT],
    make: Callable[[FormT], bytes | Iterable[bytes]],
    what: str = "",
) -> None:
    """Ask for a file, and write it in a thread.

    Args:
        controller: Who asks.
        name: What the file is called, without its ending.
        title: What the dialog says.
        forms: The endings that its name may have, and the form that each asks for.
        make: Makes what is written, in a form.
        what: What is said to be exported, empty for nothing.
    """
    from tokviz.tui.dialogs.save_file import SaveFileDialog

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
