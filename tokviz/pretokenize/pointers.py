"""Plain memory for kernels: pointers, and words of eight bytes from any place.

An array as the argument of a helper costs more than the helper's work: it is counted in and out,
and every index is checked for being negative. A pointer is a number. Whoever makes one keeps the
array alive and stays inside of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    Pointer = MutableSequence[int]


@intrinsic  # type: ignore[untyped-decorator]
def pointer_to(_: Any, array: Any) -> Any:
    """Give a pointer to an array's first item: `pointer_to(array)[i]` is `array[i]`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


@intrinsic  # type: ignore[untyped-decorator]
def load_word(_: Any, data: Any, offset: Any) -> Any:
    """Read the eight bytes from `offset` on as one number: `load_word(data, offset)`."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        place = builder.gep(arguments[0], [arguments[1]], source_etype=ir.IntType(8))
        word = builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), typ=ir.IntType(64))
        word.align = 1
        return word

    return types.uint64(data, types.int64), generate
