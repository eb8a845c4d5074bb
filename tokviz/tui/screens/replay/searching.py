"""The list of merges and the search in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import islice, takewhile
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.replay.card import merge_text, paint_merge
from tokviz.tui.screens.replay.state import ReplayState
from tokviz.tui.screens.replay.transport import Transport
from tokviz.tui.screens.replay.views import Views
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.lists import PickList
from tokviz.tui.widgets.spans import Span

if TYPE_CHECKING:
    from tokviz.training.replay.replay import Replay

_MOST_FOUND = 100_000


class MergesPanel(Vertical):
    """A search field and the list of all merges, or of the matches."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("down", "to_list", show=False)]

    def __init__(self, state: ReplayState, *, id: str) -> None:
        """Create an empty list."""
        super().__init__(id=id)
        self._state = state
        self.field = Field(placeholder="token, or #number", id="search")
        self.merges = PickList[int](self._paint, id="merges")
        self._told = Static(id="found")
        self.found: Sequence[int] | None = None
        """The matches, best first; None without a search."""

    def compose(self) -> ComposeResult:
        """Yield the field and the list."""
        with Horizontal(id="search-row"):
            yield Static("›", classes="prompt")
            yield self.field
            yield self._told
        yield self.merges

    def _paint(self, number: int, width: int) -> list[Span]:
        replay = self._state.replay
        return [] if replay is None else paint_merge(replay.step(number), width)

    def show_all(self) -> None:
        """Clear the search, and list all merges."""
        with self.prevent(Input.Changed):
            self.field.value = ""
        self.show_found(None)

    def show_found(self, found: Sequence[int] | None, *, complete: bool = True) -> None:
        """List matches, None for all merges, and highlight the current merge."""
        self.found = found
        if found is None:
            self._tell("")
            self.merges.show(range(1, self._state.n_merges + 1), None)
            self.show_merge()
        else:
            self._tell(f"{len(found):,}{'' if complete else '+'} found")
            self.merges.show(found, 0 if found else None)

    def action_to_list(self) -> None:
        """Go from the field to the list."""
        self.merges.focus()

    def _tell(self, text: str) -> None:
        self._told.update(Content(text))

    def show_merge(self) -> None:
        """Highlight the current merge if it is listed."""
        number = self._state.position.number
        if not number:
            self.merges.highlighted = None
        elif self.found is None:
            self.merges.follow(number - 1)
        elif number in self.found:
            self.merges.follow(self.found.index(number))


class MergeSearch(Controller):
    """Search merges in a thread, and copy one. Only the latest query counts."""

    _state: ReplayState
    _panel: MergesPanel
    _views: Views
    _transport: Transport
    _sought: str | None = field(default=None, init=False)
    """The pending query, None if there is none."""
    _goes = False
    """Whether to go to the best match once it is found."""

    @action(
        "Find a merge", "ctrl+f", "ctrl+g", "slash", section="Find", footer="find", priority=False
    )
    def find_merge(self) -> None:
        """Search by number (#123), token, or part of a token. Enter goes to the merge."""
        self._views.show_view("merges", focus=False)
        self._panel.field.focus()
        self._panel.field.select_all()

    @action("Copy this merge", "alt+c", section="Find")
    def copy_merge(self) -> None:
        """Copy its number, pair, token, id and count."""
        if self._state.step is not None:
            self.copy(merge_text(self._state.step), "the merge")

    @on(Input.Changed, "#search")
    def _search_changed(self, event: Input.Changed) -> None:
        self._goes, self._sought = False, None
        replay = self._state.replay
        if replay is None:
            return
        if event.value.strip():
            self._search(replay, event.value)
        else:
            self._panel.show_found(None)

    def _search(self, replay: Replay, query: str) -> None:
        def find(task: Task) -> list[int]:
            numbers = takewhile(lambda number: not task.cancelled, replay.find(query))
            return list(islice(numbers, _MOST_FOUND))

        def show(found: list[int]) -> None:
            if replay is self._state.replay and query == self._panel.field.value:
                self._sought = None
                self._panel.show_found(found, complete=len(found) < _MOST_FOUND)
                if self._goes and self._panel.field.has_focus:
                    self._go_to_best()

        self._sought = query
        self.in_thread("find", find, show)

    @on(Input.Submitted, "#search")
    def _search_submitted(self, event: Input.Submitted) -> None:
        """Go to the best match, and focus the list."""
        if event.value == self._sought:
            self._goes = True
        else:
            self._go_to_best()

    def _go_to_best(self) -> None:
        merges = self._panel.merges
        if merges.row is not None:
            self._transport.jump_to(merges.row)
            merges.focus()

    @on(PickList.Moved, "#merges")
    def _merge_picked(self, event: PickList.Moved) -> None:
        if event.row != self._state.position.number:
            self._transport.jump_to(event.row)
