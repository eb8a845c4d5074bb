"""The title bar and the key bar of every screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.binding import Binding
from textual.screen import Screen

from tokviz.formats.registry import BUILTIN_TOKENIZERS, short_name
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import STAYS, Kind, key_label
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.widgets.bar import BarItem
from tokviz.tui.widgets.fit import fit_name
from tokviz.tui.widgets.spans import Role, Span


def tab_items(shown: str, progress: Mapping[str, str]) -> list[BarItem]:
    """Return the left end of the title bar: the app's name and a tab for every screen.

    Args:
        shown: The id of the current screen.
        progress: Progress of work in the background, by the id of its screen.
    """

    def words(kind: Kind, role: Role) -> tuple[Span, ...]:
        word = progress.get(kind.id)
        return (
            (Span(kind.title, role), Span(f" {word}", "key")) if word else (Span(kind.title, role),)
        )

    tabs = [
        BarItem(words(kind, "heading"), weight=2)
        if kind.id == shown
        else BarItem(words(kind, "text"), f"app.show_screen('{kind.id}')")
        for kind in SCREENS
    ]
    return [BarItem((Span("tokviz", "key"),), weight=0), *tabs]


MORE_TABS = BarItem((Span("more ▾", "key"),), "app.more_keys", weight=2)
"""Replaces the tabs that do not fit."""


def tokenizer_item(tokenizer: Tokenizer | None) -> BarItem:
    """Return the right end of the title bar: the current tokenizer, which a click changes."""
    known = short_name(tokenizer.name) if tokenizer else "…"
    models = next((b.title for b in BUILTIN_TOKENIZERS if b.name == known), "")
    doubts: list[Span] = []
    # Normalization changes few texts, and the status line shows where it does.
    if tokenizer is not None and tokenizer.lossy and not tokenizer.normalizer:
        doubts.append(Span(" ⚠ lossy", "warning"))
    guessed = tokenizer is not None and tokenizer.pattern_doubt
    long: list[Span] = [Span(" ⚠ guessed pattern", "warning")] if guessed else []
    brief: list[Span] = [Span(" ⚠ guess", "warning")] if guessed else []
    more = f" ({models})" if models else ""
    return BarItem(
        (
            Span(fit_name(known, LONGEST_NAME), "heading"),
            *doubts,
            *long,
            Span(more),
            Span(" ▾", "key"),
        ),
        "screen.pick_tokenizer",
        (Span(fit_name(known, SHORTENED_NAME), "heading"), *doubts, *brief, Span(" ▾", "heading")),
        least=CUT_NAME,
    )


LONGEST_NAME, SHORTENED_NAME, CUT_NAME = 40, 20, 8
"""Columns of the tokenizer's name: at most, next to the tabs of all screens, and at least."""


def key_items(screen: Screen[Any]) -> tuple[list[BarItem], list[BarItem]]:
    """Return the key bar of a screen.

    Returns:
        The left end: the palette, the key to other screens, and the actions of the focused widget,
        the screen and the app. The right end, which is the last to be dropped: actions that stay
        in the narrowest bar.
    """
    declared = [*screen.BINDINGS, *screen.app.BINDINGS]
    keys = {found.id: found.key for found in declared if isinstance(found, Binding)}
    opens = short_key(keys.get("command_palette", ""))
    palette = BarItem((Span(opens, "key"), Span(" all actions")), "app.command_palette")
    left, right = [palette], list[BarItem]()
    places = {name: place for place, name in enumerate(keys)} | {"more_keys": -2}
    shown = [found for found in screen.active_bindings.values() if found.binding.show]
    # In the declared order: a key that the screen shares with the focused widget would come first.
    for active in sorted(shown, key=lambda found: places.get(found.binding.id, -1)):
        binding = active.binding
        if not active.enabled:
            continue
        words: tuple[Span, ...] = (
            Span(short_key(binding.key), "key"),
            Span(f" {binding.description}"),
        )
        item = BarItem(words, binding.action, node=active.node)
        (right if binding.group is STAYS else left).append(item)
    return left, right


def short_key(key: str) -> str:
    """Return the short label of a key for the bars.

    >>> short_key("ctrl+l")
    '^L'
    """
    return key_label(key).replace("Ctrl+", "^")
