"""Textual still lacks the public names that these workarounds stand in for."""

from __future__ import annotations

import inspect

from rich.segment import Segment
from textual.app import App
from textual.containers import Container
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Label

from tokviz.tui.textual_private.app_clipboard import set_app_clipboard
from tokviz.tui.textual_private.changed_rows import ChangedRows
from tokviz.tui.textual_private.notices import dismiss_notices
from tokviz.tui.textual_private.removed_nodes import is_being_removed
from tokviz.tui.textual_private.terminal_driver import driver_of


class Rows(ScrollView):
    texts = ("one", "two", "three")

    def render_line(self, y: int) -> Strip:
        text = self.texts[y] if y < len(self.texts) else ""
        return Strip([Segment(text)]).adjust_cell_length(self.size.width)


class RowsThatChange(ChangedRows, Rows):
    pass


async def test_the_clipboard_is_set_without_the_terminal() -> None:
    assert App.clipboard.fset is None, "use the public setter"
    app = App[None]()
    set_app_clipboard(app, "text")
    assert app.clipboard == "text"


async def test_one_notification_is_dismissed() -> None:
    parameters = inspect.signature(App.clear_notifications).parameters
    assert [*parameters] == ["self"], "use its argument"
    app = App[None]()
    async with app.run_test() as pilot:
        app.notify("one")
        app.notify("two")
        await pilot.pause()
        dismiss_notices(app, lambda notice: notice.message == "one")
        assert [notice.message for notice in app._notifications] == ["two"]


async def test_the_driver_is_known() -> None:
    assert not hasattr(App, "driver"), "use the public attribute"
    app = App[None]()
    assert driver_of(app) is None
    async with app.run_test():
        assert driver_of(app) is not None


async def test_a_node_that_is_being_removed_is_attached_without_children() -> None:
    app = App[None]()
    async with app.run_test():
        box = Container(Label("inside"))
        await app.screen.mount(box)
        removing = box.remove()
        assert box.is_attached and is_being_removed(box)
        await removing


async def regions_sent(widget: Rows) -> list[Region]:
    """Change the second row of a widget, and return the regions that it sends."""
    app = App[None]()
    async with app.run_test(size=(20, 8)) as pilot:
        await app.screen.mount(widget)
        await pilot.pause()
        widget.refresh()
        widget._exchange_repaint_regions()
        widget.texts = ("one", "2", "three")
        widget.refresh()
        return [*widget._exchange_repaint_regions()]


async def test_only_changed_rows_are_sent() -> None:
    assert await regions_sent(RowsThatChange()) == [Region(0, 1, 20, 1)]
    assert await regions_sent(Rows()) == [Region(0, 0, 20, 8)]
