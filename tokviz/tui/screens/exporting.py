"""Taking what is on the screen elsewhere: as a web page, a picture, Markdown, or lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.files import write_file
from tokviz.listing import home_label
from tokviz.sentences import why
from tokviz.share import ENDINGS, written
from tokviz.tui.actions import LEADER, action
from tokviz.tui.screens.base import Controller, TokvizScreen

if TYPE_CHECKING:
    from tokviz.share.figure import Figure

Shown = tuple[str, Callable[[], "Figure"]] | str
"""What it is called and what makes a figure of it, in a thread; or why there is nothing."""


class Exporting(Controller):
    """Exports what the screen shows, in any of the forms."""

    def __init__(self, screen: TokvizScreen, shown: Callable[[], Shown]) -> None:
        """Take what says what is shown."""
        super().__init__(screen)
        self._shown = shown

    @action("Export what is shown…", f"{LEADER} e", section="Copy",
            words="save as html svg png web page picture markdown table share tokens")  # fmt: skip
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
        self.export_as(name, title, ENDINGS, lambda form: written(make(), form))

    def export_as(
        self,
        name: str,
        title: str,
        forms: Mapping[str, str],
        make: Callable[[str], Iterable[bytes]],
    ) -> None:
        """Ask for a file, and write it in a thread.

        Args:
            name: What the file is called, without its ending.
            title: What the dialog says.
            forms: The endings that its name may have, and the form that each asks for.
            make: Makes what is written, in a form.
        """
        from tokviz.tui.dialogs.save_file import SaveFileDialog

        def export_to(path: Path) -> None:
            form = forms[path.suffix.lower().removeprefix(".")]
            self.in_thread(
                "export",
                lambda task: write_file(path, make(form)),
                lambda _: self.say(f"Exported to {home_label(path)}."),
                failed=lambda error: self.say(why("Not exported", error), "error"),
                exclusive=False,
            )

        ending, *_ = forms
        dialog = SaveFileDialog(
            self.session.folder,
            f"{Path(name).stem}.{ending}",
            title=title,
            verb="export",
            kinds=tuple(forms),
        )
        self.ask(dialog, export_to)
