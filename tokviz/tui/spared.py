"""Importing libraries without what this app needs of them late or never: a sixth of a first frame.

Never: Textual's command palette with the widgets that only it shows, and TLS, which asyncio asks
for. Late: what is imported once somebody calls a function of it, or makes one of its classes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

LATE: Mapping[str, tuple[str, ...]] = {
    "difflib": ("get_close_matches",),
    "locale": (),
    "mimetypes": (),
    "rich.panel": ("Panel",),
    "rich.table": ("Table",),
    "rich.tree": ("Tree",),
    "tempfile": ("TemporaryFile", "gettempdir"),
    "textual.canvas": ("Canvas", "Rectangle"),
    "textwrap": (),
    "uuid": ("uuid4",),
}
"""What of each module the libraries take out when they are imported. A name that is not here is
found too, by importing the module at once. They must only call these, as a test sees."""


def import_folders() -> None:
    """Import what knows the user's folders."""
    with _spared(_later("tempfile")):
        import_module("platformdirs")


def import_textual() -> None:
    """Import Textual, with classes of no content where it names those of its command palette.

    All modules can be imported as always from then on.
    """
    if "textual.app" in sys.modules:
        return
    palette = ModuleType("textual.command")
    for name in (
        *("CommandListItem", "CommandPalette", "DiscoveryHit", "Hit", "Hits"),
        *("Provider", "SimpleProvider"),
    ):
        setattr(palette, name, type(name, (), {}))
    with _spared(palette, *map(_later, LATE), ssl=None):
        import_module("textual.app")


@contextmanager
def _spared(*instead: ModuleType, **never: None) -> Iterator[None]:
    """Let imports find other modules, or none, where theirs are not there already."""
    found = {module.__name__: module for module in instead} | never
    found = {name: module for name, module in found.items() if name not in sys.modules}
    sys.modules.update(found)  # type: ignore[arg-type]  # None: it cannot be imported
    try:
        yield
    finally:
        for name, module in found.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def _later(module: str) -> ModuleType:
    """Give what stands in place of a module of `LATE`."""
    instead = ModuleType(module)

    def found(name: str) -> Any:
        if name.startswith("__"):  # asked by what imports, not by who uses it
            raise AttributeError(name)
        if sys.modules.get(module) is instead:
            del sys.modules[module]
        return getattr(import_module(module), name)

    def late(name: str) -> Callable[..., Any]:
        return lambda *values, **options: found(name)(*values, **options)

    instead.__getattr__ = found  # type: ignore[method-assign]
    for name in LATE[module]:
        setattr(instead, name, late(name))
    return instead
