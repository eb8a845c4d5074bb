"""Two tokenizers, or two trainings, side by side."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Compare(ModuleType):
    """This package, which can be called: it has the name of a public function."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Do what `tokviz.compare` does."""
        from tokviz.compare.boundaries import compare

        return compare(*arguments, **named)


# Whoever imports a part of it makes `tokviz.compare` mean the package.
sys.modules[__name__].__class__ = _Compare
