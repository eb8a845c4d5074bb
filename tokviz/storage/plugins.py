"""Registries that other packages can extend by entry points.

A package names its object in the group of a registry; see "Plugins" in the guide's page `python`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import TypeVar

T = TypeVar("T")


class Registry(MutableMapping[str, T]):
    """Entries by name: those of tokviz, and after them those of plugins.

    Plugins are loaded when the entries are listed, or one is asked for that tokviz does not have.
    """

    def __init__(self, group: str, kind: type[T], own: Mapping[str, T]) -> None:
        """Create a registry.

        Args:
            group: The group of entry points, such as "tokviz.split_patterns".
            kind: The type of an entry.
            own: The entries of tokviz, which plugins cannot replace.
        """
        self.group, self.kind = group, kind
        self._own = dict(own)
        self._lock = RLock()
        self._loaded: dict[str, T] | None = None

    def __getitem__(self, name: str) -> T:
        """Return an entry."""
        return self._own[name] if name in self._own else self._plugins[name]

    def __setitem__(self, name: str, entry: T) -> None:
        """Add an entry."""
        self._own[name] = entry

    def __delitem__(self, name: str) -> None:
        """Remove an entry that is not a plugin's."""
        del self._own[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is such an entry."""
        return name in self._own or name in self._plugins

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return chain(self._own, self._plugins)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._own) + len(self._plugins)

    @property
    def _plugins(self) -> dict[str, T]:
        with self._lock:
            if self._loaded is None:
                self._loaded = dict(self._load())
            return self._loaded

    def _load(self) -> Iterator[tuple[str, T]]:
        """Load the plugins; warn about those that cannot be used."""
        if not _has_plugins():
            return
        from importlib.metadata import entry_points  # takes a tenth of a second

        for point in entry_points(group=self.group):
            package = point.dist.name if point.dist else "?"
            try:
                if point.name in self._own:
                    raise ValueError("tokviz itself has an entry of this name")
                entry = point.load()
                if not isinstance(entry, self.kind):
                    raise TypeError(f"{point.value} is not a {self.kind.__name__}")
            except Exception as error:
                # A plugin can raise anything.
                warnings.warn(
                    f"the plugin {point.name!r} ({self.group}) of the package {package} is left "
                    f"out: {type(error).__name__}: {error}",
                    stacklevel=2,
                )
                continue
            yield point.name, entry


@cache
def _has_plugins() -> bool:
    """Return whether any installed package has entry points for tokviz."""
    for folder in map(Path, sys.path):
        with suppress(OSError):  # a folder that is not there, or must not be read
            for file in folder.glob("*-info/entry_points.txt"):
                if b"[tokviz." in file.read_bytes():
                    return True
    return False
