"""The list of merges and the search in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from tokviz.tui.dialogs.base import Field
from tokviz.tui.screens.replay.base import ReplayBase
from tokviz.tui.screens.replay.card import paint_merge
from tokviz.tui.widgets.lists import Cell, PickList

if TYPE_CHECKING:
    from tokviz.replay.replay import Replay

_MOST_FOUND = 100_000


class MergesPanel(Vertical):
    """A field and the merges: all of them, or those that fit what is typed."""

    DEFAULT_CSS = """
    MergesPanel {
        #search-row { height: 1; }
        #search-row .prompt { width: 2; color: $text-accent; }
        #search { width: 1fr; }
        #found { width: auto; color: $text-muted; }
        #merges { height: 1fr; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("down", "to_list", show=False)]

    def __init__(self, *, id: str) -> None:
        """Begin without merges."""
        super().__init__(id=id)
        self._replay: Replay | None = None
        self.found: Sequence[int] | None = None
        """The merges that fit, best first; None while nothing is looked for."""

    def compose(self) -> ComposeResult:
        """Yield the field and the list."""
        with Horizontal(id="search-row"):
            yield Static("›", classes="prompt")
            yield Field(placeholder="token, or #number", id="search")
            yield Static(id="found")
        self.merges = PickList[int](self._paint, id="merges")
        yield self.merges

    def _paint(self, number: int, width: int) -> list[Cell]:
        assert self._replay is not None
        return paint_merge(self._replay.step(number), width)

    def show_replay(self, replay: Replay) -> None:
        """Show other merges."""
        self._replay = replay
        self.found = None
        with self.prevent(Input.Changed):
            self.query_one("#search", Field).value = ""
        self._tell("")
        self.merges.show(range(1, replay.n_merges + 1), None)

    def show_found(
        self, found: Sequence[int] | None, number: int, *, complete: bool = True
    ) -> None:
        """Show what a search has found, None for all merges; highlight the one that is shown."""
        if self._replay is None:
            return
        self.found = found
        if found is None:
            self._tell("")
            self.merges.show(range(1, self._replay.n_merges + 1), None)
            self.follow(number)
            return
        self._tell(f"{len(found):,}{'' if complete else '+'} found")
        self.merges.show(found, 0 if found else None)

    def action_to_list(self) -> None:
        """Go from the field to the list."""
        self.merges.focus()

    def _tell(self, text: str) -> None:
        self.query_one("#found", Static).update(Content(text))

    def follow(self, number: int) -> None:
        """Highlight a merge, if it is listed."""
        if self._replay is None:
            return
        if not number:
            self.merges.highlighted = None
            return
        if self.found is None:
            index = min(number, self._replay.n_merges) - 1
        elif number in self.found:
            index = self.found.index(number)
        else:
            return
        self.merges.follow(index)


class Finding(ReplayBase):
    """Looks for merges in a thread: the newest question wins."""

    merges: MergesPanel

    class Found(Message):
        """A search has ended."""

        def __init__(self, replay: Replay, query: str, found: list[int], complete: bool) -> None:
            """Take what was looked for where, and the merges that fit."""
            super().__init__()
            self.replay = replay
            self.query = query
            self.found = found
            self.complete = complete

    def action_find_merge(self) -> None:
        """Put the keyboard into the field."""
        self.show_view("merges", focus=False)
        field = self.query_one("#search", Field)
        field.focus()
        field.select_all()

    @on(Input.Changed, "#search")
    def _search_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.replay is None:
            return
        if event.value.strip():
            self._search(self.replay, event.value)
        else:
            self.merges.show_found(None, self.position.number)

    @work(thread=True, exclusive=True, group="find", description="find", exit_on_error=False)
    def _search(self, replay: Replay, query: str) -> None:
        worker = get_current_worker()
        found: list[int] = []
        for number in islice(replay.find(query), _MOST_FOUND):
            if worker.is_cancelled:
                return
            found.append(number)
        self.post_message(self.Found(replay, query, found, len(found) < _MOST_FOUND))

    @on(Found)
    def _take_found(self, event: Found) -> None:
        event.stop()
        if event.replay is self.replay and event.query == self.query_one("#search", Field).value:
            self.merges.show_found(event.found, self.position.number, complete=event.complete)

    @on(Input.Submitted, "#search")
    def _search_submitted(self, event: Input.Submitted) -> None:
        """Go to the best match; the keyboard then moves through the list."""
        event.stop()
        if self.merges.merges.row is not None:
            self.jump_to(self.merges.merges.row)
            self.merges.merges.focus()

    def clear_search(self) -> None:
        """List all merges again."""
        field = self.query_one("#search", Field)
        with field.prevent(Input.Changed):
            field.value = ""
        self.merges.show_found(None, self.position.number)

    @on(PickList.Moved, "#merges")
    @on(PickList.Picked, "#merges")
    def _merge_picked(self, event: PickList.Moved) -> None:
        event.stop()
        number = self.merges.merges.rows[event.index]
        if number != self.position.number:
            self.jump_to(number)
