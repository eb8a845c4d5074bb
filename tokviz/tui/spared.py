"""Importing Textual without what this app never uses of it: a twelfth of the time to a first frame.

That is its command palette with the widgets that only it shows, and TLS, which asyncio asks for.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

_PALETTE = "textual.command"


def import_textual() -> None:
    """Import Textual, with classes of no content where it names those of its command palette.

    Both modules can be imported as always from then on.
    """
    if "textual.app" in sys.modules:
        return
    palette = ModuleType(_PALETTE)
    for name in (
        *("CommandListItem", "CommandPalette", "DiscoveryHit", "Hit", "Hits"),
        *("Provider", "SimpleProvider"),
    ):
        setattr(palette, name, type(name, (), {}))
    spared = {_PALETTE: palette, "ssl": None}
    spared = {name: instead for name, instead in spared.items() if name not in sys.modules}
    sys.modules.update(spared)  # type: ignore[arg-type]  # None: it cannot be imported
    try:
        import_module("textual.app")
    finally:
        for name in spared:
            del sys.modules[name]
