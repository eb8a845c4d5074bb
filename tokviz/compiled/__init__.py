"""Compiled loops: ordinary functions over plain memory that run as machine code.

A function with `@kernel` is called from Python; one with `@helper` only by kernels, of which it
becomes a part. What developers have compiled (`build`) is shipped as bitcode of LLVM, which makes
machine code of it, once on a machine (`machine_code`, `store`), if that is little-endian. It is
called by ctypes, which frees the interpreter lock.

That works because kernels ask for nothing but memory that is handed in:

- Every parameter is an `int` of 64 bits, a pointer (`Bytes`, `Int32s`, `Int64s`), or a named tuple
  of these; the annotations say which. The result is an `int` or nothing.
- Nothing is allocated or raised. What may go wrong is a result.
- An index is not checked. Whoever calls a kernel keeps the memory alive and large enough.

Any buffer of the right item size is a pointer's argument: an array of numpy, a memoryview, bytes.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any, TypeAlias, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

Bytes: TypeAlias = memoryview
"""A pointer to unsigned bytes."""
Int32s: TypeAlias = memoryview
"""A pointer to signed integers of 32 bits."""
Int64s: TypeAlias = memoryview
"""A pointer to signed integers of 64 bits."""

ITEM_BYTES = {"Bytes": 1, "Int32s": 4, "Int64s": 8}
"""The size of what the pointers point to, by the name of the annotation."""

_WORD = (1 << 64) - 1
_SIGN = 1 << 63


def word(value: int) -> int:
    """Make an unsigned integer of 64 bits, which may overflow; a signed one must not."""
    return value & _WORD


def integer(value: int) -> int:
    """Make a signed integer of a word."""
    return (value ^ _SIGN) - _SIGN


def trailing_zeros(value: int) -> int:
    """Count the lowest bits of a word that are 0."""
    return (value & -value).bit_length() - 1 if value else 64


def bytes_between(data: Bytes, at: int, low: int, high: int) -> int:
    """Look at the 64 bytes from `at` on: bit k tells whether byte `at + k` is from low to high."""
    return sum(1 << k for k in range(64) if low <= data[at + k] <= high)


def prefetch(memory: Bytes | Int32s | Int64s, index: int) -> None:
    """Ask the processor to fetch an item that is needed soon; any index will do."""


def helper(function: Function) -> Function:
    """Let kernels call a function."""
    _helpers.add(cast(FunctionType, function))
    return function


def is_helper(value: object) -> bool:
    """Tell whether kernels may call this."""
    return isinstance(value, FunctionType) and value in _helpers


_helpers: set[FunctionType] = set()


class Kernel:
    """A function that runs as machine code, which is loaded or made when it is first called.

    Attributes:
        function: The function itself.
        parameters: The name of every parameter's annotation; named tuples are spread out.
    """

    def __init__(self, function: FunctionType) -> None:
        """Take the function."""
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
        """Where it is defined; the kernels of one module are compiled together."""
        return sys.modules[self.function.__module__]

    def __call__(self, *arguments: Any) -> int:
        """Run the machine code.

        Raises:
            TypeError: If an argument is of another kind than its parameter.
        """
        return self.bind()(*arguments)

    def bind(self, *arguments: Any) -> Callable[..., int]:
        """Make what runs with these arguments before others, which are checked only once.

        Raises:
            TypeError: If an argument is of another kind than its parameter.
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
        """Load the machine code unless it is; make it if there is none."""
        if self._run is None:
            from tokviz.compiled.store import load

            with _loading:
                address = load(self.module)[self.name]
            self._run = _callable(address, self.parameters)
        return self._run


def _callable(address: int, parameters: Iterable[str]) -> Callable[..., int]:
    kinds = (ctypes.c_int64 if name == "int" else ctypes.c_void_p for name in parameters)
    make = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *kinds)
    return cast(Callable[..., int], make(address))


_loading = threading.RLock()


def kernel(function: Callable[..., Any]) -> Kernel:
    """Have a loop compiled."""
    return Kernel(cast(FunctionType, function))


def kernels_of(module: ModuleType) -> list[Kernel]:
    """List the kernels that a module defines."""
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
    """List the names of the annotations of a named tuple."""
    return [str(kind.__forward_arg__) for kind in record.__annotations__.values()]


def _spread(arguments: tuple[Any, ...]) -> Iterator[Any]:
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from argument
        else:
            yield argument


def _value(kind: str, argument: Any) -> Any:
    """Make what ctypes takes: a number, or the address of a buffer's first item."""
    if kind == "int":
        return int(argument)
    view = memoryview(argument)
    if view.itemsize != ITEM_BYTES[kind] or not view.c_contiguous:
        raise TypeError(f"{kind} wanted, not items of {view.itemsize} bytes ({view.format})")
    if isinstance(argument, bytes):
        return argument
    if hasattr(argument, "__array_interface__"):
        return argument.__array_interface__["data"][0]
    if not view.nbytes:
        return None
    return ctypes.addressof(ctypes.c_char.from_buffer(view))
