"""Protect unsaved work: write and offer a recovery journal, and ask before changes are lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from textual import events, on
from textual.app import App

from tokviz.errors import TokvizError
from tokviz.storage.files import FileState, file_state, is_read_only, write_file
from tokviz.storage.listing import size_label
from tokviz.text.glyphs import safe
from tokviz.text.sentences import failure_message
from tokviz.tui.actions import LEADER, action
from tokviz.tui.screens.bars import short_key
from tokviz.tui.screens.base import Controller, Loss, TokvizScreen
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.spans import Span
from tokviz.workspace.recovery_journal import RecoveryJournal

if TYPE_CHECKING:
    from tokviz.text.snapshots import TextPart
    from tokviz.tui.dialogs.confirm import ConfirmDialog
    from tokviz.workspace.recovery_journal import RecoverableText, RecoveryJournal


AUTOSAVE_SECONDS = 0.5
"""Seconds between writing changes to the recovery journal."""

AGAIN_SECONDS = 5.0
"""Seconds until the next attempt after a failure, because disk space may be free again."""


_CHANGED = "has changed on disk"


class Unsaved(NamedTuple):
    """Unsaved work.

    Attributes:
        version: An object that differs after every change.
        parts: Returns the text in parts. A thread iterates over them, so they must not change. An
            unchanged part should be the same object as before.
        path: The file of the text, None if it has no file.
        name: The name of the text without a file.
        row: Its row in the file and the digest of that row, if the file is a dataset.
    """

    version: object
    parts: Callable[[], Iterable[str | TextPart]]
    path: Path | None
    name: str
    row: tuple[int, str] | None = None


class Safekeeping(Controller):
    """Writes unsaved text to a recovery journal, and saves it without overwriting other changes."""

    def __init__(
        self,
        screen: TokvizScreen,
        unsaved: Callable[[], Sequence[Unsaved]],
        files: dict[Path, FileState | None],
        *,
        save_first: Callable[[Callable[[], object]], object],
        folder: str = "",
    ) -> None:
        """Create the controller.

        Args:
            screen: The screen.
            unsaved: Returns the unsaved work: the current text first, then earlier ones.
            files: The state of each file when it was last read or written.
            save_first: Saves the current text, and then calls a function.
            folder: A subfolder of the user's state folder, "" for that folder itself.
        """
        super().__init__(screen)
        self._unsaved, self.files = unsaved, files
        self._writing = Lock()
        self._save_first = save_first
        self._folder = folder
        self._kept: list[object] = []
        self._journals: dict[RecoveryJournal, object] = {}
        """Each journal with the version that it stores, None for nothing."""
        self._told: str | None = None
        self._again_at: float | None = None
        self._refused: Path | None = None

    def _journal(self) -> RecoveryJournal:
        return RecoveryJournal(below=self._folder)

    def leftovers(self) -> list[RecoverableText]:
        """Return the unsaved work of earlier sessions, the newest first."""
        return self._journal().recoverable_texts()

    def begin(self) -> None:
        """Write changes to the journal from now on."""
        if self.session.remember:
            self.screen.set_interval(AUTOSAVE_SECONDS, self.keep)

    def keep(self, replaces: RecoverableText | None = None) -> None:
        """Write unsaved work to the journal if it has changed.

        Args:
            replaces: The offer that it was restored from, deleted after a successful write.
        """
        unsaved = self._unsaved()
        is_again = self._again_at is not None and monotonic() >= self._again_at
        is_kept = [one.version for one in unsaved] == self._kept
        if (is_kept and not is_again) or not self.session.remember:
            return
        self._want(unsaved)

        journals = list(self._journals)

        def write(task: Task) -> str | None:
            complaint = next(filter(None, [journal.flush() for journal in journals]), None)
            if replaces is not None and complaint is None:
                replaces.discard()
            return complaint

        self.in_thread("autosave", write, self._tell, exclusive=False)

    def _want(self, unsaved: Sequence[Unsaved]) -> None:
        """Assign a journal to each unsaved text: its previous one, otherwise a free one."""
        self._kept = [one.version for one in unsaved]
        self._again_at = None
        free, self._journals = self._journals, {}
        # The current text comes last, so that it gets the remaining journal: only it changes.
        for one in reversed(unsaved):

            def fitness(
                journal: RecoveryJournal, version: object = one.version
            ) -> tuple[bool, bool]:
                return free[journal] == version, free[journal] is not None

            journal = max(free, key=fitness, default=None) or self._journal()
            if free.pop(journal, None) != one.version:
                journal.set_text(one.parts(), one.path, one.row)
            self._journals[journal] = one.version
        for journal in free:
            journal.set_text(None)
            self._journals[journal] = None

    def _tell(self, complaint: str | None) -> None:
        """Report a failure once, not after every key, and schedule another attempt."""
        self._again_at = None
        if complaint is not None:
            self._again_at = monotonic() + AGAIN_SECONDS
            # Any journal may have failed, so write all of them again.
            self._journals = dict.fromkeys(self._journals, complaint)
        if complaint is not None and complaint != self._told:
            self.say(complaint, "warning")
        self._told = complaint

    def save(
        self,
        path: Path,
        data: Callable[[], bytes | Iterable[bytes]],
        saved: Callable[[int], object],
        *,
        replaces: bool,
        save_as: Callable[[], object],
        reload: Callable[[Path], object],
        kept: str = "",
    ) -> None:
        """Write a file in a thread; ask first if it is read-only or changed on disk.

        Args:
            path: The file.
            data: Returns the content; called in the thread.
            saved: Takes the size in bytes.
            replaces: Whether the user agreed to overwrite the file in any state.
            save_as: Asks for another file to save to.
            reload: Opens the file again.
            kept: A sentence about what stays of a file that changed on disk; empty for nothing.
        """

        def write(task: Task) -> int | list[str]:
            # One write at a time, so that our own write does not count as a change on disk.
            with self._writing:
                has_changed = file_state(path) not in (self.files.get(path), None)
                found = {"is read-only": is_read_only(path), _CHANGED: has_changed}
                doubts = [doubt for doubt, is_true in found.items() if is_true]
                if doubts and not replaces:
                    return doubts
                content = data()
                write_file(path, content, replace_read_only=replaces)
                self.files[path] = file_state(path)
            return len(content) if isinstance(content, bytes) else 0

        def done(result: int | list[str]) -> None:
            self._refused = None
            if isinstance(result, list):
                answers = {"save as": save_as, "overwrite": overwrite}
                if _CHANGED in result:
                    answers["reload"] = partial(reload, path)
                self._ask_about(result, path.name, answers, kept)
                return
            saved(result)
            self.keep()

        def overwrite() -> None:
            self.save(path, data, saved, replaces=True, save_as=save_as, reload=reload, kept=kept)

        def failed(error: TokvizError) -> None:
            self._refused = path
            self.say(failure_message("Not saved", error), "error")

        stoppable = f"Saving {path.name}" if kept else ""
        self.in_thread("save", write, done, failed=failed, exclusive=False, stoppable=stoppable)

    def offer(self, folder: Path | None, name: str) -> tuple[Path | None, str]:
        """Return the folder and the name for "Save as": those that failed last, if any."""
        refused = self._refused
        return (folder, name) if refused is None else (refused.parent, refused.name)

    def _ask_about(
        self, doubts: list[str], name: str, answers: dict[str, Callable[[], object]], kept: str
    ) -> None:
        from tokviz.tui.dialogs.pick import Option, PickDialog

        lost = "Its changes on disk are lost." if _CHANGED in doubts else "It stays read-only."
        verb = "Save anyway into" if kept else "Overwrite"
        options = [
            Option("save as", "Save as…", "", f"Save to another file. {name} is not changed."),
            Option("reload", f"Reload {name}", "", "Your changes are lost."),
            Option("overwrite", f"{verb} {name}", "", kept or lost),
        ]
        dialog = PickDialog(
            f"The file {' and '.join(doubts)}", [one for one in options if one.value in answers]
        )
        self.ask(dialog, lambda answer: answers[answer]())

    def end(self) -> None:
        """Delete the journals, except those of unsaved work."""
        if self.session.remember:
            self._want(self._unsaved())
            for journal in self._journals:
                journal.flush()
                journal.end()

    def unsaved(self) -> list[Loss]:
        """Return the unsaved work."""
        names = [one.path.name if one.path else one.name for one in self._unsaved()]
        return [(name, self._save_first) for name in names]


def unless_unsaved(
    app: App[Any],
    losses: Sequence[Loss],
    yes: str,
    go_on: Callable[[], object],
    again: Callable[[], object],
    after: str = "",
) -> ConfirmDialog | None:
    """Continue at once, or after the user agreed to lose unsaved work.

    Args:
        app: The app.
        losses: The unsaved work.
        yes: The verb for continuing, such as "quit".
        go_on: Continues.
        again: Starts over, after the first item has been saved.
        after: A sentence about the unsaved work if the user continues.

    Returns:
        The dialog, None if there is no question.
    """
    if not losses:
        go_on()
        return None
    from tokviz.tui.dialogs.confirm import ConfirmDialog

    names = ", ".join(dict.fromkeys(name for name, _ in losses))
    question = f"Unsaved: {names}. {after}".rstrip()
    save = partial(losses[0][1], again)
    dialog = ConfirmDialog("Unsaved changes", question, yes, danger=True, save=save)

    def take(agreed: bool | None) -> None:
        if agreed:
            go_on()

    app.push_screen(dialog, take)
    return dialog


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

    _safe: Safekeeping
    """Stores unsaved work of the screen."""
    _noun: str
    """The name of one item, such as "text"."""
    _restore: Callable[[str, Path | None, tuple[int, str] | None, Callable[[], object]], object]
    """Shows a restored text, then calls a function."""
    _other: Kept | None = None
    """Unsaved work of another screen, to point the user there."""

    def set_up(self) -> None:
        """Create the other fields."""
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
