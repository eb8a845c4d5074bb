"""Compiled loops: ordinary functions over plain memory that run as machine code.

Python calls functions with `@kernel`; functions with `@helper` are called only by kernels, which
include them. tokviz ships LLVM bitcode that developers compile (`build`). On little-endian
machines, LLVM turns it into machine code once (`machine_code`, `store`), and ctypes calls that
without the GIL.

This works because kernels use only memory that the caller passes:

- Every parameter is a 64-bit `int`, a pointer (`Bytes`, `Int32s`, `Int64s`), or a named tuple of
  these, as annotated. The result is an `int` or nothing.
- Kernels neither allocate memory nor raise exceptions; the result reports failures.
- Indexes are not checked. The caller keeps the memory alive and large enough.

Any buffer with the right item size can be passed as a pointer: a NumPy array, a memoryview, bytes.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any, TypeAlias, TypeVar, cast

from tokviz.kernels import store

Function = TypeVar("Function", bound=Callable[..., Any])

Bytes: TypeAlias = memoryview
"""A pointer to unsigned bytes."""
Int32s: TypeAlias = memoryview
"""A pointer to signed 32-bit integers."""
Int64s: TypeAlias = memoryview
"""A pointer to signed 64-bit integers."""

ITEM_BYTES = {"Bytes": 1, "Int32s": 4, "Int64s": 8}
"""Item size of each pointer type, by the name of the annotation."""

_WORD = (1 << 64) - 1
_SIGN = 1 << 63


def word(value: int) -> int:
    """Convert to an unsigned 64-bit integer, which may overflow; a signed one must not."""
    return value & _WORD


def integer(value: int) -> int:
    """Convert a word to a signed integer."""
    return (value ^ _SIGN) - _SIGN


def trailing_zeros(value: int) -> int:
    """Return the number of trailing zero bits of a word."""
    return (value & -value).bit_length() - 1 if value else 64


def bytes_between(data: Bytes, at: int, low: int, high: int) -> int:
    """Compare 64 bytes: bit k of the result is set if `low` ≤ `data[at + k]` ≤ `high`."""
    return sum(1 << k for k in range(64) if low <= data[at + k] <= high)


def prefetch(memory: Bytes | Int32s | Int64s, index: int) -> None:
    """Prefetch an item that is needed soon; any index is allowed."""


def helper(function: Function) -> Function:
    """Allow kernels to call a function."""
    store.helpers.add(cast(FunctionType, function))
    return function


class Kernel:
    """A function that runs as machine code, which is loaded or made at the first call.

    Attributes:
        function: The Python function.
        parameters: The name of every parameter's annotation, with named tuples expanded.
    """

    def __init__(self, function: FunctionType) -> None:
        """Wrap a function."""
        self.__doc__ = function.__doc__
        self.function = function
        self.parameters = tuple(_parameters_of(function))
        self._run: Callable[..., int] | None = None

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def module(self) -> ModuleType:
        """The module that defines it; the kernels of one module are compiled together."""
        return sys.modules[self.function.__module__]

    def __call__(self, *arguments: Any) -> int:
        """Run the machine code.

        Raises:
            TypeError: If an argument does not match the type of its parameter.
        """
        return self.bind()(*arguments)

    def bind(self, *arguments: Any) -> Callable[..., int]:
        """Return a function with these leading arguments fixed, so that they are checked only once.

        Raises:
            TypeError: If an argument does not match the type of its parameter.
        """
        run = self.load()
        first = [*map(_value, self.parameters, _spread(arguments))]
        others = self.parameters[len(first) :]

        def bound(*arguments: Any) -> int:
            result = ctypes.c_int64()
            pairs = zip(others, _spread(arguments), strict=True)
            values = [_value(kind, argument) for kind, argument in pairs]
            if run(ctypes.byref(result), ctypes.byref(ctypes.c_void_p()), *first, *values):
                raise AssertionError(f"the kernel {self.name} raised")
            return result.value

        return bound

    def load(self) -> Callable[..., int]:
        """Load the machine code on the first call; make it if it is not in the cache."""
        if self._run is None:
            with _loading:
                address = store.load(self.module)[self.name]
            self._run = _callable(address, self.parameters)
        return self._run


def _callable(address: int, parameters: Iterable[str]) -> Callable[..., int]:
    kinds = (ctypes.c_int64 if name == "int" else ctypes.c_void_p for name in parameters)
    make = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *kinds)
    return cast(Callable[..., int], make(address))


_loading = threading.RLock()


def kernel(function: Callable[..., Any]) -> Kernel:
    """Mark a function to be compiled."""
    names = store.kernel_names[function.__module__]
    if function.__name__ not in names:
        names.append(function.__name__)
    return Kernel(cast(FunctionType, function))


def kernels_of(module: ModuleType) -> list[Kernel]:
    """Return the kernels that a module defines."""
    values = vars(module).values()
    return [value for value in values if isinstance(value, Kernel) and value.module is module]


def _parameters_of(function: FunctionType) -> Iterator[str]:
    for parameter, annotation in function.__annotations__.items():
        if parameter == "return":
            continue
        if annotation == "int" or annotation in ITEM_BYTES:
            yield annotation
        else:
            yield from fields_of(function.__globals__[annotation])


def fields_of(record: type) -> list[str]:
    """Return the names of a named tuple's annotations."""
    return [str(kind.__forward_arg__) for kind in record.__annotations__.values()]


def _spread(arguments: tuple[Any, ...]) -> Iterator[Any]:
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from argument
        else:
            yield argument


def _value(kind: str, argument: Any) -> Any:
    """Convert an argument for ctypes: a number, or the address of a buffer's first item."""
    if kind == "int":
        return int(argument)
    view = memoryview(argument)
    if view.itemsize != ITEM_BYTES[kind] or not view.c_contiguous:
        raise TypeError(f"expected {kind}, not items of {view.itemsize} bytes ({view.format})")
    if isinstance(argument, bytes):
        return argument
    if hasattr(argument, "__array_interface__"):
        return argument.__array_interface__["data"][0]
    if not view.nbytes:
        return None
    return ctypes.addressof(ctypes.c_char.from_buffer(view))
