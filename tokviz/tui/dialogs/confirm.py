"""A question with two answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tokviz.text.glyphs import safe
from tokviz.tui.dialogs.base import Dialog, Hint


class ConfirmDialog(Dialog[bool]):
    """A question. Its result is True for yes; closing it in any other way means no."""

    DEFAULT_CSS = """
    ConfirmDialog {
        #dialog { width: 60; }
        &.-danger.-framed #dialog { border: round $warning; }
        #question { height: auto; padding: 1 0; }
        &.-short #dialog { height: 100%; }
        &.-short #question { height: 1fr; padding: 0; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "default", show=False),
        Binding("y", "yes", show=False),
        Binding("n", "cancel", show=False),
        Binding("s", "save", show=False),
    ]

    def __init__(
        self,
        title: str,
        question: str,
        yes: str,
        *,
        danger: bool = False,
        save: Callable[[], object] | None = None,
    ) -> None:
        """Create the question with a title and the label for yes.

        If something would be lost (`danger`), Enter does not answer, so that an accidental second
        Enter cannot destroy anything. `save` offers to save it first.
        """
        super().__init__(classes="-danger" if danger else None)
        self.dialog_title = title
        self._question = question
        self._yes = yes
        self._danger = danger
        self._save = save

    def compose_body(self) -> ComposeResult:
        """Yield the question and the two answers."""
        yield Static(Content(safe(self._question)), id="question")

    def hints(self) -> Sequence[Hint]:
        """Name the answers."""
        yes = ("Y" if self._danger else "Enter", self._yes, "yes")
        save = [("S", "save first", "save")] if self._save else []
        return [yes, ("Esc", "cancel", "cancel"), *save]

    def on_paste(self, event: events.Paste) -> None:
        """Ignore pastes."""
        event.stop()

    def action_default(self) -> None:
        """Answer yes if nothing can be lost."""
        if not self._danger:
            self.action_yes()

    def action_yes(self) -> None:
        """Answer yes."""
        self.dismiss(True)

    def action_save(self) -> None:
        """Answer no, and save instead."""
        if self._save is not None:
            self.dismiss(False)
            self.app.call_later(self._save)

    def action_cancel(self) -> None:
        """Answer no."""
        self.dismiss(False)
