"""The command palette: every action that can be done now. Imported when it is first opened."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode

from tokviz.tui.actions import PREFIX, Action, declared_by, key_label
from tokviz.tui.dialogs.base import Modal


class ActionPalette(CommandPalette, Modal[None]):
    """The command palette in the look of our own dialogs."""

    CSS_PATH = "command_palette.tcss"


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
