"""The command palette: every action that can be done now. Imported when it is first opened."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.app import ComposeResult
from textual.command import (
    CommandInput,
    CommandList,
    CommandPalette,
    DiscoveryHit,
    Hit,
    Hits,
    Provider,
    SearchIcon,
)
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.events import Click
from textual.widgets import LoadingIndicator

from tokviz.tui.actions import PREFIX, Action, declared_by, key_label
from tokviz.tui.dialogs.base import Modal


class ActionPalette(CommandPalette, Modal[None]):
    """The command palette in the look of our own dialogs."""

    CSS_PATH = "command_palette.tcss"

    def compose(self) -> ComposeResult:
        """Lay out the palette as Textual does, with a list that bears late clicks."""
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                yield SearchIcon()
                yield CommandInput(placeholder=self._placeholder, select_on_focus=False)
            with Vertical(id="--results"):
                yield Commands()
                yield LoadingIndicator()


class Commands(CommandList):
    """The commands that fit what is typed."""

    def on_click(self, event: Click) -> None:
        """Ignore a click on a row that has gone since."""
        if event.style.meta.get("option", 0) >= self.option_count:
            event.prevent_default()

    def action_page_up(self) -> None:
        """Go up a page, where there is room for a list."""
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        """Go down a page, where there is room for a list."""
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]


class ActionProvider(Provider):
    """Offers every action that can be done now in the command palette, with its key."""

    async def discover(self) -> Hits:
        """List all actions while nothing is typed."""
        for action, node in self._available():
            yield DiscoveryHit(
                _with_key(Content(action.title), action),
                partial(self._run, action, node),
                text=action.title,
                help=action.help,
            )

    async def search(self, query: str) -> Hits:
        """Find actions whose title fits, or, ranked lower, whose description holds the query."""
        matcher = self.matcher(query)
        for action, node in self._available():
            score = (
                matcher.match(action.title)
                or float(query.casefold() in action.help.casefold()) / 10
            )
            if score > 0:
                yield Hit(
                    score,
                    _with_key(matcher.highlight(action.title), action),
                    partial(self._run, action, node),
                    text=action.title,
                    help=action.help,
                )

    def _available(self) -> Iterator[tuple[Action, DOMNode]]:
        """Yield the actions with the node that answers them and does not refuse now."""
        for node in (self.screen, self.app):
            listed = getattr(node, "declared", None) or partial(declared_by, type(node))
            for action in listed():
                # Textual's own palette is opened by another name.
                if action.id == "command_palette" or not hasattr(node, PREFIX + action.method):
                    continue
                if node.check_action(action.method, ()):
                    yield action, node

    async def _run(self, action: Action, node: DOMNode) -> None:
        await self.app.run_action(action.call, node)


def _with_key(title: Content, action: Action) -> Content:
    if not action.keys:
        return title
    return Content.assemble(title, "  ", (key_label(action.keys[0]), "$text-accent not bold"))
