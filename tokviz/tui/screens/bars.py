"""What the lines above and below every screen have in common: the tabs and the keys."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.places import short_name
from tokviz.tokenizer import Tokenizer
from tokviz.tui.actions.action import key_label
from tokviz.tui.actions.registry import APP, actions_of
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.widgets.bar import BarItem, Role
from tokviz.tui.widgets.fit import fit


def tab_items(shown: str) -> list[BarItem]:
    """Give the left end of the title bar: the app's name and a tab for every screen.

    Args:
        shown: The id of the screen that is shown.
    """
    tabs = [
        BarItem(((kind.title, "active"),))
        if kind.id == shown
        else BarItem(((kind.title, "plain"),), f"app.show_screen('{kind.id}')")
        for kind in SCREENS
    ]
    return [BarItem((("tokviz", "brand"),)), *tabs]


def tokenizer_item(tokenizer: Tokenizer | None) -> BarItem:
    """Give the right end of the title bar: the tokenizer at hand, which a click changes."""
    known = short_name(tokenizer.name) if tokenizer else "…"
    models = next((b.title for b in BUILTIN_TOKENIZERS if b.name == known), "")
    lossy: tuple[tuple[str, Role], ...] = ()
    if tokenizer is not None and tokenizer.lossy:
        lossy = ((" ⚠ lossy", "warning"),)
    more = f" ({models})" if models else ""
    return BarItem(
        ((fit(known, _LONGEST_NAME), "chip"), *lossy, (more, "plain"), (" ▾", "key")),
        "screen.pick_tokenizer",
        ((fit(known, _SHORTENED_NAME), "chip"), *lossy, (" ▾", "chip")),
    )


_LONGEST_NAME, _SHORTENED_NAME = 40, 20


def key_items(group: str, can_do: Callable[[str], bool] = lambda action: True) -> list[BarItem]:
    """Give the key bar of a screen: its actions with a word for it, and those of the app.

    Args:
        group: The id of the screen.
        can_do: Tells whether an action makes sense now.
    """
    items = [
        BarItem(
            ((_short_key(action.keys[0]), "key"), (f" {action.footer}", "plain")),
            f"{'app' if owner == APP else 'screen'}.{action.call or action.id}",
        )
        for owner in (group, APP)
        for action in actions_of(owner)
        if action.footer and can_do(action.id)
    ]
    palette = BarItem((("^P", "key"), (" all actions", "plain")), "app.command_palette")
    return [palette, *items]


def _short_key(key: str) -> str:
    return key_label(key).replace("Ctrl+", "^")
