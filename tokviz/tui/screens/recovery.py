"""Offer the unsaved work of earlier sessions in a bar below the title."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from textual import events, on

from tokviz.storage.listing import size_label
from tokviz.text.glyphs import safe
from tokviz.tui.actions import LEADER, action
from tokviz.tui.screens.bars import short_key
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.screens.safekeeping import Safekeeping
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.spans import Span
from tokviz.workspace.recovery_journal import RecoveryJournal

if TYPE_CHECKING:
    from tokviz.workspace.recovery_journal import RecoverableText


class Kept(NamedTuple):
    """Unsaved work that a screen stores in a separate folder.

    Attributes:
        screen: The id of the screen.
        noun: The name of one item, such as "conversation".
        folder: The name of the folder, in the user's state folder.
    """

    screen: str
    noun: str
    folder: str


CONVERSATIONS = Kept("chat", "conversation", "conversations")


def title_of(leftover: RecoverableText, noun: str, now: datetime) -> str:
    """Return the title of unsaved work, such as "Unsaved text of 14:03 (a.txt), 12 KB"."""
    day = "%H:%M" if leftover.when.date() == now.date() else "%Y-%m-%d %H:%M"
    row = f", row {leftover.row[0] + 1:,}" if leftover.row else ""
    source = f" ({leftover.source.name}{row})" if leftover.source else ""
    size = size_label(leftover.n_bytes) if leftover.is_readable else "damaged"
    return safe(f"Unsaved {noun} of {leftover.when:{day}}{source}, {size}")


def _answer(word: str, action: str) -> BarItem:
    return BarItem((Span(word, "key"),), f"screen.{action}")


def _is_offered(recovery: Recovery) -> bool:
    return bool(recovery.leftovers)


def _is_anything_offered(recovery: Recovery) -> bool:
    return bool(recovery.leftovers or recovery.elsewhere)


class Recovery(Controller):
    """Offers unsaved work, the newest first. The next session offers it again until it is answered.

    Attributes:
        leftovers: Offers without an answer, locked so that no other session offers them.
        elsewhere: Offers of another screen, which locks them when it is shown.
        bar: Shows the newest offer with its answers.
    """

    def __init__(
        self,
        screen: TokvizScreen,
        safe: Safekeeping,
        noun: str,
        restore: Callable[[str, Path | None, tuple[int, str] | None, Callable[[], object]], object],
        other: Kept | None = None,
    ) -> None:
        """Create the controller.

        Args:
            screen: The screen.
            safe: Stores unsaved work of the screen.
            noun: The name of one item, such as "text".
            restore: Shows a restored text, then calls a function.
            other: Unsaved work of another screen, to point the user there.
        """
        super().__init__(screen)
        self._safe, self._noun, self._restore, self._other = safe, noun, restore, other
        self.leftovers: list[RecoverableText] = []
        self.elsewhere: list[RecoverableText] = []
        self.bar = Bar(id="recovery")
        self.bar.display = False

    def begin(self) -> None:
        """Find unsaved work of earlier sessions."""
        if self.session.remember:
            self.in_thread("recover", lambda task: self._safe.leftovers(), self.offer)
            self._look_elsewhere()

    def _look_elsewhere(self) -> None:
        other = self._other
        if other is None:
            return

        def look(task: Task) -> list[RecoverableText]:
            found = RecoveryJournal(below=other.folder).recoverable_texts()
            for leftover in found:
                leftover.lock.release()
            return found

        def show(found: list[RecoverableText]) -> None:
            self.elsewhere = found
            self.offer(self.leftovers)

        self.in_thread("recover elsewhere", look, show)

    @on(events.ScreenResume)
    def _look_again(self) -> None:
        """Drop offers that the user has answered on the other screen."""
        if self.elsewhere:
            self._look_elsewhere()

    def end(self) -> None:
        """Unlock the offers without an answer for other sessions."""
        for leftover in self.leftovers:
            leftover.lock.release()

    def offer(self, leftovers: list[RecoverableText]) -> None:
        """Offer these, the first one in the bar."""
        self.leftovers = leftovers
        own = self._answers(leftovers[0]) if leftovers else []
        self.bar.display = _is_anything_offered(self)
        if self.bar.display and not self.bar.is_attached:
            self.screen.mount_below_title(self.bar)
        self.bar.show([*own, *self._way_elsewhere(alone=not own)])

    def _answers(self, leftover: RecoverableText) -> list[BarItem]:
        others = len(self.leftovers) - 1
        title = title_of(leftover, self._noun, datetime.now().astimezone())
        short = f"Unsaved {leftover.when:%H:%M}"
        restore = [_answer("Restore", "restore_unsaved")] if leftover.is_readable else []
        more = f" {others} more" if others else " list"
        return [
            BarItem((Span(f"{title}:", "heading"),), "", (Span(short, "heading"),)),
            *restore,
            _answer("Discard", "discard_unsaved"),
            _answer("Later", "ask_later"),
            BarItem((Span("^B", "key"), Span(more)), "screen.list_unsaved"),
        ]

    def _way_elsewhere(self, *, alone: bool) -> list[BarItem]:
        """Return the key of the other screen with offers, and a title if it is alone in the bar."""
        if self._other is None or not self.elsewhere:
            return []
        screen, noun, _ = self._other
        number, title = next(
            (at, one.title) for at, one in enumerate(SCREENS, 1) if one.id == screen
        )
        there = f"app.show_screen('{screen}')"
        key = f"{short_key(LEADER)} {number}"
        if not alone:
            # After the key, a number would look like a count.
            return [BarItem((Span(f"unsaved {noun}: "), Span(key, "key")), there)]
        what = title_of(self.elsewhere[0], noun, datetime.now().astimezone())
        return [
            BarItem((Span(f"{what}:", "heading"),), "", (Span(f"Unsaved {noun}:", "heading"),)),
            BarItem((Span(key, "key"), Span(f" {title} screen")), there, (Span(f"{key}", "key"),)),
            _answer("Later", "ask_later"),
        ]

    # -- answers

    @action("List unsaved work", "ctrl+b", section="Recovery", when=_is_offered)
    def list_unsaved(self) -> None:
        """List work that an earlier session did not save, to restore or discard it."""
        from tokviz.tui.dialogs.pick import UnsavedDialog

        now = datetime.now().astimezone()
        titles = [title_of(leftover, self._noun, now) for leftover in self.leftovers]

        def answered(answer: tuple[RecoverableText, bool]) -> None:
            leftover, is_wanted = answer
            (self._take if is_wanted else self._discard)(leftover)
            if not is_wanted and self.leftovers:
                # Reopen the list, so that a second D is not typed into the text.
                self.list_unsaved()

        self.ask(UnsavedDialog(list(zip(titles, self.leftovers, strict=True))), answered)

    @action("Restore unsaved work", section="Recovery", when=_is_offered)
    def restore_unsaved(self) -> None:
        """Restore the work that an earlier session did not save."""
        self._take(self.leftovers[0])

    @action("Discard unsaved work", section="Recovery", when=_is_offered)
    def discard_unsaved(self) -> None:
        """Delete the offered work for good."""
        self._discard(self.leftovers[0])

    @action("Decide later about unsaved work", section="Recovery", when=_is_anything_offered)
    def ask_later(self) -> None:
        """Hide the offer until the next start."""
        self.elsewhere = []
        self.bar.display = False

    def _take(self, leftover: RecoverableText) -> None:
        if not leftover.is_readable:
            self.say(leftover.damage, "error")
            return
        self.in_thread("recover", lambda task: leftover.text(), partial(self._taken, leftover))

    def _taken(self, leftover: RecoverableText, text: str) -> None:
        def restored() -> None:
            if leftover.source is not None:
                self._safe.files[leftover.source] = leftover.state
            self._safe.keep(replaces=leftover)
            if leftover.damage:
                self.say(f"Only a part was restored. {leftover.damage}", "warning")
            self._answered(leftover)

        self._restore(text, leftover.source, leftover.row, restored)

    def _discard(self, leftover: RecoverableText) -> None:
        leftover.discard()
        self._answered(leftover)

    def _answered(self, leftover: RecoverableText) -> None:
        self.offer([other for other in self.leftovers if other is not leftover])
