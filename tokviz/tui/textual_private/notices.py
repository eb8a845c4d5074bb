"""Dismiss some of the notifications that are displayed.

Upstream problem: `App.clear_notifications` dismisses all notifications, errors included, and `App`
has no method that dismisses one, such as a progress message whose work has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.notifications import Notification


def dismiss_notices(app: App[Any], is_outdated: Callable[[Notification], bool]) -> None:
    """Dismiss the displayed notifications for which a predicate holds."""
    for notice in list(app._notifications):
        if is_outdated(notice):
            app._unnotify(notice)
