"""Functions that are marked as kernels or as their helpers."""

from __future__ import annotations

from collections import defaultdict
from types import FunctionType

kernel_names: defaultdict[str, list[str]] = defaultdict(list)
"""Names of the kernels that each module defines."""
_helpers: set[FunctionType] = set()


def mark_kernel(function: FunctionType) -> None:
    """Add a kernel to those of its module."""
    names = kernel_names[function.__module__]
    if function.__name__ not in names:
        names.append(function.__name__)


def mark_helper(function: FunctionType) -> None:
    """Allow kernels to call a function."""
    _helpers.add(function)


def is_helper(value: object) -> bool:
    """Return whether kernels may call this value."""
    return isinstance(value, FunctionType) and value in _helpers
