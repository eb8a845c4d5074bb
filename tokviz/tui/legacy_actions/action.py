"""Tables of actions of the screens that do not declare them yet."""

from __future__ import annotations

from tokviz.tui import actions
from tokviz.tui.actions import Gesture as Gesture


def Action(
    id: str,
    title: str,
    help: str,
    section: str,
    keys: tuple[str, ...] = (),
    footer: str = "",
    priority: bool = True,
    bound: bool = True,
    call: str = "",
) -> actions.Action:
    """Make an action."""
    method = (call or id).partition("(")[0]
    stays = id == "pick_tokenizer"
    return actions.Action(
        id, method, title, help, section, keys, footer, stays, priority, bound, call or id
    )
