"""The command palette: actions, tokenizers, trainings. Imported when it is first opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from tokviz.formats.registry import BUILTIN_TOKENIZERS, short_name
from tokviz.training.run_library import list_runs
from tokviz.tui.actions import doable, key_label
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.workspace.session import ReplayRequest, Request, RunAction, UseTokenizer

_OPENS_A_LIST = ("command_palette", "more_keys")
"""Actions that only show another list of actions."""


def offers_here(app: Any) -> list[Option]:
    """List what can be done now by the focused part, the screen or the app.

    The value of an option runs it; it may return an awaitable.
    """
    nodes = (app.focused, app.screen, app)
    return [
        Option(
            partial(app.run_action, found.call, node),
            found.title,
            key_label(found.keys[0]) if found.keys else "",
            found.help,
            found.words,
        )
        for found, node in doable(*(node for node in nodes if node is not None))
        if found.id not in _OPENS_A_LIST
    ]


def offers_elsewhere(app: Any) -> Iterator[Option]:
    """Yield actions of other screens, tokenizers and trainings; takes a moment."""

    def offer(title: str, help: str, words: str, request: Request) -> Option:
        return Option(partial(app.session.ask, request), title, "", help, words)

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


class ActionPalette(PickDialog):
    """Command palette. Its result runs the chosen entry."""

    placeholder = "Action, tokenizer or training"

    def __init__(self, here: Sequence[Option], elsewhere: Callable[[], Sequence[Option]]) -> None:
        """Create the palette with entries of this screen and a function for the others."""
        super().__init__("All actions", here, list_later=elsewhere)
