"""The command palette: actions, tokenizers, trainings. Imported when it is first opened."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from textual import on, work
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
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.events import Click, Paste
from textual.widgets import Input, LoadingIndicator

from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.glyphs import safe
from tokviz.places import short_name
from tokviz.replay.request import ReplayRequest
from tokviz.runs import Run, list_runs
from tokviz.session import Request, RunAction, UseTokenizer
from tokviz.tui.actions import Action, doable, key_label
from tokviz.tui.dialogs.base import Modal
from tokviz.tui.widgets.field import first_line

LONGEST_QUERY = 100
"""Characters: more than any title has, few enough that no key takes long."""

_OPENS_A_LIST = ("command_palette", "more_keys")
"""What would only show another list of what can be done."""


class ActionPalette(CommandPalette, Modal[None]):
    """The command palette in the look of our own dialogs."""

    CSS_PATH = "command_palette.tcss"

    _wanted: str | None = None
    """What is to be looked for when the keys rest."""

    def compose(self) -> ComposeResult:
        """Lay out the palette as Textual does, with a list that bears late clicks."""
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                yield SearchIcon()
                yield Query(
                    placeholder=self._placeholder, select_on_focus=False, max_length=LONGEST_QUERY
                )
            with Vertical(id="--results"):
                yield Commands()
                yield LoadingIndicator()

    @on(Input.Changed)
    def _search_soon(self, event: Input.Changed) -> None:
        """Search once for all letters of a read: each search has to end those before it."""
        event.prevent_default().stop()
        if self._wanted is None:
            self.call_after_refresh(self._search)
        self._wanted = event.value.strip()

    def _search(self) -> None:
        wanted = self._wanted
        if wanted is not None:
            self._cancel_gather_commands()
            self._stop_no_matches_countdown()
            self._gather_commands(wanted)

    @work(exclusive=True, group=CommandPalette._GATHER_COMMANDS_GROUP)
    async def _gather_commands(self, search_value: str) -> None:
        """Search, unless the palette closes: its list and its styles go before its workers."""
        try:
            await _GATHER(self, search_value)
        except (NoMatches, KeyError):
            if not self._is_over and self.is_current and self.query(CommandList):
                raise

    def _cancel_gather_commands(self) -> None:
        self._wanted = None
        super()._cancel_gather_commands()


_GATHER: Any = CommandPalette._gather_commands.__wrapped__  # type: ignore[attr-defined]
"""What Textual does there, without a worker of its own."""


class Query(CommandInput):
    """What is looked for."""

    def _on_paste(self, event: Paste) -> None:
        event.prevent_default().stop()
        self.replace(first_line(event.text)[:LONGEST_QUERY], *sorted(self.selection))

    def restricted(self) -> None:
        """Ring no bell for what is too long to be found."""


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
    """Offers every action that can be done where the user is, with its key."""

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
        """Find actions by title, by what people call them besides, and by their help."""
        matcher = self.matcher(query)
        for action, node in self._available():
            score = max(_score(query, action), matcher.match(action.title))
            if score > 0:
                yield Hit(
                    score,
                    _with_key(matcher.highlight(action.title), action),
                    partial(self._run, action, node),
                    text=action.title,
                    help=action.help,
                )

    def _available(self) -> Iterator[tuple[Action, DOMNode]]:
        """Yield what can be done now by the focused part, the screen or the app."""
        nodes = (self.focused, self.screen, self.app)
        for action, node in doable(*(node for node in nodes if node is not None)):
            if action.id not in _OPENS_A_LIST:
                yield action, node

    async def _run(self, action: Action, node: DOMNode) -> None:
        await self.app.run_action(action.call, node)


class Offer(NamedTuple):
    """Something to go to: words to find it by, and what the session is asked for it."""

    title: str
    help: str
    words: str
    request: Request


class ElsewhereProvider(Provider):
    """Offers what the other screens can do, every tokenizer and every training, once one types."""

    _runs: Sequence[Run] = ()

    async def startup(self) -> None:
        """Look for trainings, and import the screens, so that the first key need not wait."""
        self._runs = await asyncio.to_thread(list_runs)
        await asyncio.to_thread(list, self._app.elsewhere())

    async def search(self, query: str) -> Hits:
        """Find what is offered by whole words: there is much, and it is behind what is near."""
        for offer in (*self._elsewhere(), *self._tokenizers()):
            score = _NEARER * _score(query, offer)
            if score > 0:
                ask = partial(self._app.session.ask, offer.request)
                title = safe(offer.title)
                yield Hit(score, Content(title), ask, text=title, help=safe(offer.help))

    @property
    def _app(self) -> Any:
        """The app itself, which Textual knows only as any app."""
        return self.app

    def _elsewhere(self) -> Iterator[Offer]:
        for kind, found in self._app.elsewhere():
            title = f"{kind.title}: {found.title}"
            yield Offer(title, found.help, found.words, RunAction(kind.id, found.call))

    def _tokenizers(self) -> Iterator[Offer]:
        see = "See the text of the Tokens screen with it."
        for built_in in BUILTIN_TOKENIZERS:
            title = f"Tokenizer: {built_in.name} ({built_in.title})"
            yield Offer(title, see, " ".join(built_in.aliases), UseTokenizer(built_in.name))
        for source in self._app.session.settings.recent_tokenizers:
            yield Offer(f"Tokenizer: {short_name(source)}", see, source, UseTokenizer(source))
        for run in self._runs:
            about, path = run.words, run.folder
            yield Offer(f"Tokenizer: {run.name}", f"{about}. {see}", "run", UseTokenizer(path))
            yield Offer(f"Replay: {run.name}", about, "run training", ReplayRequest(path))


_NEARER = 0.9
"""What stands elsewhere is behind what is as good a hit here."""


def _score(query: str, found: Action | Offer) -> float:
    """Say how well the words of an action, or the beginnings of its words, are those typed.

    The unit is a letter as `Matcher` counts it: 3 for each in a row, little more than 1 for letters
    that stand somewhere in the title.
    """
    typed = query.casefold()
    words = f"{found.title} {found.words}".casefold().replace("(", " ").split()
    if typed in found.title.casefold():
        return 3.0 * len(typed)
    if all(any(word.startswith(part) for word in words) for part in typed.split()):
        return 2.8 * len(typed)
    return 2.0 * len(typed) if typed in found.help.casefold() else 0.0


def _with_key(title: Content, action: Action) -> Content:
    if not action.keys:
        return title
    return Content.assemble(title, "  ", (key_label(action.keys[0]), "$text-accent not bold"))
