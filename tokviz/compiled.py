"""The one door to Numba: how loops are compiled, and where the machine code is kept.

Only modules of kernels import this one, and they are imported where they are used: Numba takes
0.2 s to import.

Machine code is cached in the user's cache folder, not beside the sources: an installed package may
be read-only, and a checkout stays clean. The folder of `NUMBA_CACHE_DIR` is used instead if it is
set. Numba notices a changed file of kernels but not a change in a file that it imports helpers
from: keep kernels and their helpers in one file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import platformdirs

import tokviz

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba.config
_deciding_on_a_folder = threading.Lock()


def kernel(function: Function) -> Function:
    """Compile a loop when it is first called, and keep its machine code for the next process.

    It runs without the interpreter lock. Where no folder can be written, it is compiled anew in
    every process.
    """
    with _cache_folder():
        try:
            return cast(Function, numba.njit(cache=True, nogil=True)(function))
        except RuntimeError:
            return cast(Function, numba.njit(nogil=True)(function))


def helper(function: Function) -> Function:
    """Compile a function that only kernels of the same file call; it becomes a part of them."""
    return cast(Function, numba.njit(nogil=True)(function))


def is_compiled(function: Callable[..., Any]) -> bool:
    """Tell whether a kernel is ready to run, or in the cache, so that nobody waits for a compiler.

    The answer may be wrong after a change of the processor or of the sources, never of the version.
    """
    if not hasattr(function, "stats") or getattr(function, "signatures", None):
        return True
    folder = function.stats.cache_path
    if folder is None:
        return False
    code = cast(Any, function).py_func
    name = f"{Path(code.__code__.co_filename).stem}.{code.__qualname__}-*.nbc"
    return any(Path(folder).glob(name))


@contextmanager
def _cache_folder() -> Iterator[None]:
    """Have Numba choose tokviz's folder for what is decorated here, and only for that."""
    with _deciding_on_a_folder:
        previous = _config.CACHE_DIR
        if not previous:
            folder = platformdirs.user_cache_path("tokviz") / f"kernels-{tokviz.__version__}"
            _config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            _config.CACHE_DIR = previous
