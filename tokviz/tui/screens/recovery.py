"""What earlier sessions of the app left unsaved, offered in a line that is not in the way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.glyphs import safe
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.safekeeping import Safekeeping
from tokviz.tui.widgets.bar import Bar, BarItem

if TYPE_CHECKING:
    from tokviz.autosave import Leftover


def title_of(leftover: Leftover, noun: str, now: datetime) -> str:
    """Name something that was not saved, such as "Unsaved text of 14:03 (a.txt), 12 KB"."""
    from tokviz.listing import size_label

    day = "%H:%M" if leftover.when.date() == now.date() else "%Y-%m-%d %H:%M"
    source = f" ({leftover.source.name})" if leftover.source else ""
    size = size_label(leftover.n_bytes) if leftover.is_readable else "damaged"
    return safe(f"Unsaved {noun} of {leftover.when:{day}}{source}, {size}")


def _answer(word: str, action: str) -> BarItem:
    return BarItem(((word, "key"),), f"screen.{action}")


def _is_offered(recovery: Recovery) -> bool:
    return bool(recovery.leftovers)


class Recovery(Controller):
    """Offers what is not saved, the newest first; what is not answered is offered next time.

    Attributes:
        leftovers: What has not been answered. It is held: no other session of the app offers it.
        bar: Shows the newest of them with its answers.
    """

    def __init__(
        self,
        screen: TokvizScreen,
        safe: Safekeeping,
        noun: str,
        restore: Callable[[str, Path | None], object],
    ) -> None:
        """Take what keeps things safe, what they are called, and what shows one again."""
        super().__init__(screen)
        self._safe, self._noun, self._restore = safe, noun, restore
        self.leftovers: list[Leftover] = []
        self.bar = Bar(id="recovery")

    def begin(self) -> None:
        """Look for what was not saved."""
        if self.session.remember:
            autosave = self._safe.autosave
            self.in_thread("recover", lambda task: autosave.leftovers(), self.offer)

    def end(self) -> None:
        """Let another session offer what was not answered."""
        for leftover in self.leftovers:
            leftover.lock.release()

    def offer(self, leftovers: list[Leftover]) -> None:
        """Offer these, the first one in the bar."""
        self.leftovers = leftovers
        self._show(bool(leftovers))

    def _show(self, shown: bool) -> None:
        self.bar.set_class(shown, "-offered")
        if not shown:
            return
        leftover, others = self.leftovers[0], len(self.leftovers) - 1
        title = title_of(leftover, self._noun, datetime.now().astimezone())
        short = f"Unsaved {leftover.when:%H:%M}"
        restore = [_answer("Restore", "restore_unsaved")] if leftover.is_readable else []
        more = f" {others} more" if others else " list"
        self.bar.show(
            [
                BarItem(((f"{title}:", "active"),), "", ((short, "active"),)),
                *restore,
                _answer("Discard", "discard_unsaved"),
                _answer("Later", "ask_later"),
                BarItem((("^B", "key"), (more, "plain")), "screen.list_unsaved"),
            ]
        )

    # -- answers

    @action("List what was not saved", "ctrl+b", section="Recovery", when=_is_offered)
    def list_unsaved(self) -> None:
        """What tokviz ended without saving, to restore, discard or leave for later."""
        from tokviz.tui.dialogs.unsaved import UnsavedDialog

        now = datetime.now().astimezone()
        titles = [title_of(leftover, self._noun, now) for leftover in self.leftovers]

        def answered(answer: tuple[int, bool]) -> None:
            number, is_wanted = answer
            (self._take if is_wanted else self._discard)(self.leftovers[number])
            if not is_wanted and self.leftovers:
                # One who discards goes on: a second D must not go to the text.
                self.list_unsaved()

        self.ask(UnsavedDialog(list(zip(titles, self.leftovers, strict=True))), answered)

    @action("Restore what was not saved", section="Recovery", when=_is_offered)
    def restore_unsaved(self) -> None:
        """Show again what was there when tokviz last ended without saving it."""
        self._take(self.leftovers[0])

    @action("Discard what was not saved", section="Recovery", when=_is_offered)
    def discard_unsaved(self) -> None:
        """Delete what is offered: it cannot be restored any more."""
        self._discard(self.leftovers[0])

    @action("Decide later about what was not saved", section="Recovery", when=_is_offered)
    def ask_later(self) -> None:
        """Hide the offer. It comes again at the next start."""
        self._show(False)

    def _take(self, leftover: Leftover) -> None:
        if not leftover.is_readable:
            self.say(leftover.damage, "error")
            return
        self.in_thread("recover", lambda task: leftover.text(), partial(self._taken, leftover))

    def _taken(self, leftover: Leftover, text: str) -> None:
        if leftover.source is not None:
            self._safe.files[leftover.source] = leftover.state
        self._restore(text, leftover.source)
        self._safe.keep(replaces=leftover)
        if leftover.damage:
            self.say(f"Not all of it is there. {leftover.damage}", "warning")
        self._answered(leftover)

    def _discard(self, leftover: Leftover) -> None:
        leftover.discard()
        self._answered(leftover)

    def _answered(self, leftover: Leftover) -> None:
        self.offer([other for other in self.leftovers if other is not leftover])
