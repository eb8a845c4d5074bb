"""What is kept of drawn lines: as little as is used, and no longer than it can be.

Textual's caches hold each other, or themselves, and so what they held lives until garbage is looked
for: 735 objects for each page that is scrolled, 4 MB for each dialog in a large terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, cast

from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.cache import FIFOCache, LRUCache
from textual.css.styles import StylesBase
from textual.strip import Strip
from textual.style import Style as VisualStyle

CUT_LINES, STYLES = 512, 1024

_divide, _crop_extend = Strip.divide, Strip.crop_extend
_render = StylesCache.render


def keep_less() -> None:
    """Let Textual's lines and caches do as those below."""
    # Rich keeps 16,000 lines of wide characters that were cut somewhere, with both their parts, and
    # Textual 4,000 styles, a kilobyte each: they would go on to fill for days.
    split: Any = Segment._split_cells
    add: Any = VisualStyle.__add__
    kept_split: Any = lru_cache(CUT_LINES)(split.__wrapped__)
    kept_add = lru_cache(STYLES)(add.__wrapped__)
    # Textual keeps the two colours that this works out for a thousand widgets, and so these
    # widgets' drawn lines: those of closed dialogs too. It needs nothing of the widget.
    inner_outer: Any = StylesCache.get_inner_outer
    setattr(StylesCache, "get_inner_outer", classmethod(inner_outer))  # noqa: B010
    for kind, name, instead in (
        (Segment, "_split_cells", classmethod(kept_split)),
        (VisualStyle, "__add__", kept_add),
        (VisualStyle, "__radd__", kept_add),
        (StylesCache, "render", _rendered),
        (Strip, "__init__", _begin),
        (Strip, "__getattr__", _first_use),
        (Strip, "divide", _divided),
        (Strip, "crop_extend", _cropped),
        (LRUCache, "clear", _clear),
    ):
        setattr(kind, name, instead)


class _Asked:
    """What styles say, each asked once: while rows are drawn, they say the same of every row."""

    def __init__(self, styles: StylesBase) -> None:
        self._styles = styles

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._styles, name)
        setattr(self, name, value)
        return value


def _rendered(cache: StylesCache, styles: Any, *given: Any, **named: Any) -> list[Strip]:
    """Render as Textual does, which asks the styles some twenty things for each row."""
    return _render(cache, cast("StylesBase", _Asked(styles)), *given, **named)


def _begin(strip: Any, segments: Iterable[Segment], cell_length: int | None = None) -> None:
    """Make no caches: Textual makes seven for each of some thousand strips a second."""
    strip._segments, strip._cell_length = list(segments), cell_length
    strip._render_cache = strip._link_ids = strip._cell_count = None


def _first_use(strip: Strip, name: str) -> FIFOCache[Any, Any]:
    """Make a cache that a strip has not needed before."""
    if not name.endswith("_cache"):
        raise AttributeError(name)
    cache: FIFOCache[Any, Any] = FIFOCache(4)
    setattr(strip, name, cache)
    return cache


def _divided(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    """Divide as Textual does, but where all of a strip is one part, do not let it cache itself."""
    cuts = [*cuts]
    return [strip] if cuts == [strip.cell_length] else _divide(strip, cuts)


def _cropped(strip: Strip, start: int, end: int, style: Style | None) -> Strip:
    """Crop as Textual does, but where all of a strip is asked for, do not let it cache itself."""
    is_whole = start <= 0 and end == strip.cell_length
    return strip if is_whole else _crop_extend(strip, start, end, style)


def _clear(cache: Any) -> None:
    """Let go of all entries: each is a link of a ring, which would keep them alive."""
    for entry in cache._cache.values():
        entry.clear()
    cache._cache.clear()
    cache._full, cache._head = False, []
