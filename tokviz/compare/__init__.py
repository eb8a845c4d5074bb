"""Comparison of tokenizers or trainings."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Compare(ModuleType):
    """This package as a callable, because it has the same name as a public function."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call `tokviz.compare`."""
        from tokviz.compare.boundaries import compare

        return compare(*arguments, **named)


# Importing a submodule rebinds `tokviz.compare` to this package, so make the package callable.
sys.modules[__name__].__class__ = _Compare
