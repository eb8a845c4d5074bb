"""The command palette: actions, tokenizers, trainings. Imported when it is first opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.fuzzy import FuzzySearch
from textual.widgets import Input

from tokviz.formats.registry import BUILTIN_TOKENIZERS, short_name
from tokviz.text.glyphs import safe
from tokviz.training.run_library import list_runs
from tokviz.tui.actions import doable, key_label
from tokviz.tui.dialogs.base import About, ListDialog
from tokviz.tui.tasks import in_thread
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Span
from tokviz.workspace.session import ReplayRequest, Request, RunAction, UseTokenizer

_OPENS_A_LIST = ("command_palette", "more_keys")
"""Actions that only show another list of actions."""
_FAR = 0.9
"""Penalty for actions of other screens, so that equally good matches here come first."""
_FUZZY = FuzzySearch()


class Offer(NamedTuple):
    """An entry of the palette.

    Attributes:
        title: Its title.
        help: Description in a sentence.
        words: Other names.
        do: Runs it; may return an awaitable.
        key: Its key, as displayed.
    """

    title: str
    help: str
    words: str
    do: Callable[[], Any]
    key: str = ""


def offers_here(app: Any) -> list[Offer]:
    """List what can be done now by the focused part, the screen or the app."""
    nodes = (app.focused, app.screen, app)
    return [
        Offer(
            found.title,
            found.help,
            found.words,
            partial(app.run_action, found.call, node),
            key_label(found.keys[0]) if found.keys else "",
        )
        for found, node in doable(*(node for node in nodes if node is not None))
        if found.id not in _OPENS_A_LIST
    ]


def offers_elsewhere(app: Any) -> Iterator[Offer]:
    """Yield actions of other screens, tokenizers and trainings; takes a moment."""

    def offer(title: str, help: str, words: str, request: Request) -> Offer:
        return Offer(safe(title), safe(help), words, partial(app.session.ask, request))

    for kind, found in app.switcher.actions_elsewhere():
        request = RunAction(kind.id, found.call)
        yield offer(f"{kind.title}: {found.title}", found.help, found.words, request)
    see = "Show the text of the Tokens screen with it."
    for built_in in BUILTIN_TOKENIZERS:
        title, names = f"Tokenizer: {built_in.name} ({built_in.title})", " ".join(built_in.aliases)
        yield offer(title, see, names, UseTokenizer(built_in.name))
    runs = list_runs()
    listed = {run.folder for run in runs}
    for source in app.session.settings.recent_tokenizers:
        if source not in listed:
            yield offer(f"Tokenizer: {short_name(source)}", see, source, UseTokenizer(source))
    for run in runs:
        about, path = run.words, run.folder
        yield offer(f"Tokenizer: {run.name}", f"{about}. {see}", "run", UseTokenizer(path))
        yield offer(f"Replay: {run.name}", about, "run training", ReplayRequest(path))


def search(query: str, here: Sequence[Offer], elsewhere: Sequence[Offer]) -> list[Offer]:
    """Return the matches, best first. Entries of this screen also match by letters of their title.

    Other entries match by whole words only, because there are many. An empty query returns all
    entries of this screen.
    """
    if not query:
        return list(here)
    scored = [(max(_score(query, one), _FUZZY.match(query, one.title)[0]), one) for one in here]
    scored += [(_FAR * _score(query, one), one) for one in elsewhere]
    scored.sort(key=lambda found: -found[0])
    return [one for score, one in scored if score > 0]


def _score(query: str, offer: Offer) -> float:
    """Return how well the typed words match the words of an entry or their prefixes.

    The unit is a letter as `FuzzySearch` counts it: 3 for each consecutive letter, little more than
    1 for letters anywhere in the title.
    """
    typed = query.casefold()
    words = f"{offer.title} {offer.words}".casefold().replace("(", " ").split()
    if typed in offer.title.casefold():
        return 3.0 * len(typed)
    if all(any(word.startswith(part) for word in words) for part in typed.split()):
        return 2.8 * len(typed)
    return 2.0 * len(typed) if typed in offer.help.casefold() else 0.0


class ActionPalette(ListDialog[Offer, Offer]):
    """Command palette. Its result is the entry to run."""

    DEFAULT_CSS = """
    ActionPalette #about { height: 2; }
    """

    dialog_title = "All actions"
    nothing = "No matches."
    rows_wanted = 27
    """Room for a good part of what can be done here."""

    def __init__(self, here: Sequence[Offer], elsewhere: Callable[[], Sequence[Offer]]) -> None:
        """Create the palette with entries of this screen and a function for the others."""
        super().__init__(self._paint, "offers")
        self._here, self._list_elsewhere = here, elsewhere
        self._elsewhere: Sequence[Offer] = ()
        self._query = ""

    def compose_body(self) -> ComposeResult:
        """Yield the field, the list and the description of the highlighted entry."""
        yield from self.compose_search(Field(placeholder="Action, tokenizer or training"))
        yield About(id="about")

    def on_mount(self) -> None:
        """Show the entries of this screen, and load the others in advance."""
        self._search()
        in_thread(self, "elsewhere", lambda task: self._list_elsewhere(), self._take)

    def _take(self, elsewhere: Sequence[Offer]) -> None:
        self._elsewhere = elsewhere
        if self._query:
            # A moved highlight means that the user is about to choose.
            self._search(self.rows.row if self.rows.highlighted else None)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._query = event.value.strip()
        self._search()

    def _search(self, chosen: Offer | None = None) -> None:
        found = search(self._query, self._here, self._elsewhere)
        at = next((at for at, offer in enumerate(found) if offer is chosen), 0)
        self.rows.show(found, at if found else None)

    @on(RowList.Highlighted)
    def _tell(self) -> None:
        self.query_one(About).tell(self.rows.row.help if self.rows.row else "")

    def _paint(self, offer: Offer, width: int) -> list[Span]:
        """Draw an offer: its title with the letters that were typed, and its key."""
        room = max(1, width - cell_len(offer.key) - 3)
        title = fit(offer.title, room)
        typed = set(_FUZZY.match(self._query, title)[1]) if self._query else ()
        runs = groupby(enumerate(title), lambda at: at[0] in typed)
        cells = [
            Span("".join(letter for _, letter in run), "accent" if is_typed else "heading")
            for is_typed, run in runs
        ]
        gap = " " * (room - cell_len(title) + 1)
        return [Span(" "), *cells, Span(gap), Span(offer.key, "dim")]

    @on(Input.Submitted)
    @on(RowList.Picked)
    def action_choose(self) -> None:
        """End with the highlighted offer."""
        if self.rows.row is not None:
            self.dismiss(self.rows.row)
