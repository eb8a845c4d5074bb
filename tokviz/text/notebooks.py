"""Hooks by which notebooks and Rich display the objects of tokviz.

The views are in `tokviz.share.notebook`, which is above the packages of the objects: it is imported
when an object is displayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")

_RENDERER = "tokviz.share.notebook"


def displayed(view: str) -> Callable[[type[T]], type[T]]:
    """Return a decorator that gives a class `_repr_html_` and `__rich_repr__`.

    Args:
        view: The function of `tokviz.share.notebook` that describes an object of the class.
    """

    def to_html(self: object) -> str:
        renderer = import_module(_RENDERER)
        html: str = renderer.to_html(getattr(renderer, view)(self))
        return html

    def rich_repr(self: object) -> Iterator[tuple[str, object]]:
        yield from getattr(import_module(_RENDERER), view)(self).present()

    def add_methods(owner: type[T]) -> type[T]:
        setattr(owner, "_repr_html_", to_html)  # noqa: B010 (unknown to type checkers)
        setattr(owner, "__rich_repr__", rich_repr)  # noqa: B010
        return owner

    return add_methods
