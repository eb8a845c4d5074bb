"""Plain memory for kernels: pointers, and words of eight bytes from any place.

An array as the argument of a helper costs more than the helper's work: it is counted in and out,
and every index is checked for being negative. A pointer is a number. Whoever makes one keeps the
array alive and stays inside of it.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from typing import Any, cast

import numba
import numpy as np
from numba.extending import intrinsic
from numpy.typing import NDArray

Pointer = MutableSequence[int]
"""What type checkers may take a pointer for."""

_types: Any = numba.types


def _pointer_to(_: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return _types.CPointer(array.dtype)(array), generate


def _load_word(_: Any, data: Any, offset: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word_type = context.get_value_type(signature.return_type)
        pointer, index = arguments
        place = builder.bitcast(builder.gep(pointer, [index]), word_type.as_pointer())
        word = builder.load(place, typ=word_type)
        word.align = 1  # of any place
        return word

    return _types.uint64(data, offset), generate


pointer_to: Callable[[NDArray[Any]], Any] = cast(Any, intrinsic(_pointer_to))
"""Gives a pointer to an array's first item: `pointer_to(array)[i]` is `array[i]`."""

load_word: Callable[[Pointer, int], np.uint64] = cast(Any, intrinsic(_load_word))
"""Reads the eight bytes at a byte's pointer and an offset as one number."""
