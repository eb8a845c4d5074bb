"""The bar that waits for the second key of a chord, and shows what there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from tokviz.tui.actions import Action, key_label
from tokviz.tui.dialogs.base import Modal

_GAP = "   "
_STEPS = {"up": -1, "down": 1, "pageup": -5, "pagedown": 5}


class MoreKeys(Modal[int]):
    """Lists second keys above the bottom line. Its result is the index of the chosen action.

    Any other key, or a click elsewhere, closes it without an action.
    """

    DEFAULT_CSS = """
    MoreKeys {
        background: transparent;
        & > VerticalScroll {
            dock: bottom;
            height: auto;
            max-height: 100%;
            background: $surface;
            border-top: solid $border-quiet;
            scrollbar-size-vertical: 1;
        }
        Static { padding: 0 1; color: $foreground; }
    }
    """

    def __init__(self, listed: Sequence[Action]) -> None:
        """Create the list of the actions with second keys."""
        super().__init__()
        self._listed = listed
        self._places = {key: at for at, one in enumerate(listed) for key in one.second_keys()}

    def compose(self) -> ComposeResult:
        """Yield the place of the keys."""
        self._keys = Static()
        self._keys.auto_links = False
        self._view = VerticalScroll(self._keys, can_focus=False)
        yield self._view

    def on_resize(self, event: events.Resize) -> None:
        """Show the keys, each of them a button for the mouse, in as many rows as they need."""
        rows, room = [Content()], event.size.width - 3
        for hint in self._hints():
            # The first row with room for it: a small terminal shows all only if none is wasted.
            for number, row in enumerate(rows):
                if not row or row.cell_length + len(_GAP) + hint.cell_length <= room:
                    rows[number] = row + (_GAP if row else "") + hint
                    break
            else:
                rows.append(hint)
        self._keys.update(Content("\n").join(rows))

    def _hints(self) -> Iterator[Content]:
        for key, at in self._places.items():
            listed = self._listed[at]
            words = listed.footer or listed.title
            yield _hint(key, words[0].upper() + words[1:], f"screen.choose({at})")
        yield _hint("escape", "Close", "screen.close")

    def on_key(self, event: events.Key) -> None:
        """Handle the second key; in a small terminal, arrow keys scroll."""
        event.stop()
        step = _STEPS.get(event.key, 0)
        if step and self._view.max_scroll_y:
            self._view.scroll_relative(y=step, animate=False)
        else:
            self.take(event.key.lower())

    def take(self, key: str) -> None:
        """Close with the action of a key. The leader arrives through the app, which binds it."""
        self.dismiss(self._places.get(key))

    def on_click(self, event: events.Click) -> None:
        """Close on a click elsewhere."""
        if not self._view.region.contains(event.screen_x, event.screen_y):
            self.action_close()

    def action_choose(self, at: int) -> None:
        """Choose the clicked action."""
        self.dismiss(at)

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)


def _hint(key: str, words: str, action: str) -> Content:
    hint = Content.assemble((key_label(key), "bold $text-accent"), f" {words}")
    return hint.stylize(Style.from_meta({"@click": action}))
