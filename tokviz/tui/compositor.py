"""What tells widgets of their sizes, and which parts of the screen have to be drawn again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from textual._compositor import ChopsUpdate, Compositor, CompositorMap, ReflowResult
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tokviz.tui.kept_lines import keep_less

TICK_SECONDS = 1 / 240
"""A frame comes at a tick. Textual's 1/60 s are too long for one that is late."""

_APART = 8
"""Rows between two changes of a widget that cost less than asking it twice."""

keep_less()


class SteadyCompositor(Compositor):
    """Compares a layout with the one before it, and renders only what changed.

    Textual's compares it with its map, which it renews for anybody who asks where a widget is. What
    has been made since the last layout stands in that map then, and is not told of its size: it
    would stay blank, or go on with its old size.

    It also renders all of every widget that meets a rectangle around all changes, even one that
    others hide.
    """

    def __init__(self) -> None:
        """Begin with nothing laid out."""
        super().__init__()
        self._laid_out: CompositorMap = {}
        self.waits = False
        """Whether the widgets have yet to hear of a new size."""

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay out, and tell what is new, gone or of another size since the layout before."""
        # Before the first layout there is nobody who knows of another.
        self.waits = self.waits or bool(self.size and size != self.size)
        self._full_map = self._laid_out
        result = super().reflow(parent, size)
        self._laid_out = self._full_map
        return result

    def render_partial_update(self) -> ChopsUpdate | None:
        """Render what changed."""
        height = self.size.height
        spans = [span for span in self._regions_to_spans(self._dirty_regions) if span[0] < height]
        self._dirty_regions.clear()
        if not spans:
            return None
        chops = self._rendered_by_front(spans)
        ends: Any = {y: self.cuts[y][1:] for y in chops}
        return ChopsUpdate(chops, spans, ends)

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Any:
        """Render the rows that are asked for."""
        asked = [y for y in range(len(self.cuts)) if is_rendered_line(y)]
        rows = self._rendered_by_front([(y, 0, crop.right) for y in asked])
        return [rows.get(y, {}) for y in range(len(self.cuts))]

    def _rendered_by_front(self, spans: Sequence[tuple[int, int, int]]) -> Any:
        """Render stretches of rows, each by the widget in front: for each row, strips by column."""
        cuts = self.cuts
        chops: Any = {y: dict.fromkeys(cuts[y][:-1]) for y, _, _ in spans}
        wanted: dict[int, set[int]] = {y: set() for y in chops}
        for y, x1, x2 in spans:
            wanted[y].update(start for start, end in pairwise(cuts[y]) if start < x2 and end > x1)
        for widget, (region, clip) in self.visible_widgets.items():  # the one in front first
            seen = region.intersection(clip)
            columns = range(seen.x, seen.right)
            rows = [y for y in seen.line_range if any(x in columns for x in wanted.get(y, ()))]
            for y, strip in _rendered(widget, region, seen, rows):
                edges = [cut for cut in cuts[y] if seen.x <= cut <= seen.right]
                parts = strip.divide([cut - seen.x for cut in edges[1:]])
                for cut, part in zip(edges, parts, strict=False):
                    if cut in wanted[y]:
                        chops[y][cut] = part
                        wanted[y].remove(cut)
        return chops


def _rendered(
    widget: Widget, region: Region, seen: Region, rows: Sequence[int]
) -> Iterator[tuple[int, Strip]]:
    """Render rows of the screen by a widget, and give each with what is seen of the widget."""
    first = 0
    for at, row in enumerate(rows, 1):
        if at == len(rows) or rows[at] - row > _APART:
            top = rows[first]
            crop = Region(seen.x - region.x, top - region.y, seen.width, row + 1 - top)
            strips = widget.render_lines(crop)
            wanted = set(rows[first:at])
            yield from ((y, strip) for y, strip in enumerate(strips, top) if y in wanted)
            first = at


class Ticks:
    """Has a screen drawn at ticks: once for all that changed until then.

    Textual's is drawn by each layout, and once more where all of it is to be drawn. Below a dialog
    it has all of that drawn anew whenever it has heard of something.
    """

    def __init__(self, screen: Screen[Any], compositor: SteadyCompositor) -> None:
        """Draw nothing until the screen asks for `timer`."""
        self._screen, self._compositor = screen, compositor
        self._timer: Timer | None = None
        self._ticks = False

    @property
    def timer(self) -> Timer:
        """Draw what changed at the next tick; after a slow frame Textual's skips one or two."""
        if self._timer is None:
            self._timer = self._screen.set_interval(TICK_SECONDS, self._tick, pause=True)
        return self._timer

    def draw_later(self) -> None:
        """Leave what is to be drawn to the tick."""
        if not self._ticks:
            self._screen._repaint_required = True
            self._screen.check_idle()

    def _tick(self) -> None:
        """Lay out, and draw what changed, but nothing until the widgets know of a new size."""
        screen, changed = self._screen, self._compositor._dirty_regions
        self._ticks = True
        screen._on_timer_update()
        self._ticks = False
        if not screen.is_current or screen.app._batch_count:
            return
        if self._compositor.waits:
            self._compositor.waits = False
            screen.refresh()
        elif changed and screen is screen.app.screen:
            Screen._compositor_refresh(screen)
        elif changed:
            screen.app.screen.refresh(*changed)
            changed.clear()
        screen._dirty_widgets.clear()
