"""Making machine code of kernels with Numba, and a shared library where there is a linker."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import llvmlite.binding as llvm
import numba
import numba.extending
from llvmlite import ir

from tokviz.compiled import (
    Kernel,
    fields_of,
    integer,
    is_helper,
    kernels_of,
    prefetch,
    trailing_zeros,
    word,
)
from tokviz.compiled.machine_code import host_machine

_LINKERS = (("cc", "-shared"), ("gcc", "-shared"), ("clang", "-shared"), ("ld", "-shared"))
_LINK_SECONDS = 60.0

_types: Any = numba.types
_njit: Any = numba.njit  # typed without the options that keep Python's wrappers out
_POINTERS = {
    "Bytes": _types.CPointer(_types.uint8),
    "Int32s": _types.CPointer(_types.int32),
    "Int64s": _types.CPointer(_types.int64),
}


def _generate_prefetch(_: Any, memory: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        item = builder.gep(arguments[0], [arguments[1]])
        address = builder.bitcast(item, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(hint, [address, number(0), number(3), number(1)])  # read, keep, data
        return context.get_dummy_value()

    return _types.void(memory, index), generate


def _generate_trailing_zeros(_: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return _types.uint64(_types.uint64), generate


_MARKERS: dict[Any, Any] = {
    word: _types.uint64,
    integer: _types.int64,
    prefetch: numba.extending.intrinsic(_generate_prefetch),
    trailing_zeros: numba.extending.intrinsic(_generate_trailing_zeros),
}
"""What stands in machine code for functions of `tokviz.compiled`."""


def compile_module(module: ModuleType) -> bytes:
    """Compile a module's kernels to one object file, with a symbol of each kernel's name.

    Its functions follow the C convention: a pointer to the result and one that is not used come
    first; what they return is 0.
    """
    with _compiler_on():
        dispatchers: dict[FunctionType, Any] = {}
        parts = [_compile(kernel, dispatchers) for kernel in kernels_of(module)]
    whole = parts[0]
    for part in parts[1:]:
        whole.link_in(part)
    return bytes(host_machine().emit_object(whole))


@contextlib.contextmanager
def _compiler_on() -> Iterator[None]:
    """Compile also where somebody has switched Numba off: there is no other way to run kernels."""
    config: Any = numba.config
    before = config.DISABLE_JIT
    config.DISABLE_JIT = 0
    try:
        yield
    finally:
        config.DISABLE_JIT = before


def _compile(kernel: Kernel, dispatchers: dict[FunctionType, Any]) -> Any:
    """Compile a kernel to a module of LLVM where nothing else has a name for others."""
    function = kernel.function
    dispatcher = _dispatcher(function, dispatchers)
    signature = tuple(_parameter_types(function))
    dispatcher.compile(signature)
    entry = dispatcher.overloads[signature].fndesc.llvm_func_name
    part = llvm.parse_assembly(dispatcher.inspect_llvm(signature))
    for defined in part.functions:
        if defined.name == entry:
            defined.name = kernel.name
        elif not defined.is_declaration:
            defined.linkage = "internal"
    return part


def _dispatcher(function: FunctionType, dispatchers: dict[FunctionType, Any]) -> Any:
    """Give Numba a copy of a function that calls Numba's copies of its helpers."""
    found = dispatchers.get(function)
    if found is None:
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            value: Any = names.get(name)
            if isinstance(value, FunctionType) and value in _MARKERS:
                names[name] = _MARKERS[value]
            elif is_helper(value):
                names[name] = _dispatcher(value, dispatchers)
        copy = FunctionType(function.__code__, names, function.__name__)
        found = dispatchers[function] = _njit(
            nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
        )(copy)
    return found


def _parameter_types(function: FunctionType) -> Iterator[Any]:
    for name, annotation in function.__annotations__.items():
        if name == "return":
            continue
        if annotation in _POINTERS:
            yield _POINTERS[annotation]
        elif annotation == "int":
            yield _types.int64
        else:
            record = function.__globals__[annotation]
            fields = [_POINTERS[field] for field in fields_of(record)]
            yield _types.NamedTuple(fields, record)


def link(code: bytes) -> bytes | None:
    """Make a shared library of an object file; None without a linker that can."""
    if sys.platform not in ("linux", "darwin"):
        return None
    with tempfile.TemporaryDirectory(prefix="tokviz-") as folder:
        source, target = Path(folder, "kernels.o"), Path(folder, "kernels.so")
        source.write_bytes(code)
        for program, *options in _LINKERS:
            path = shutil.which(program)
            if path is not None and _succeeds([path, *options, "-o", str(target), str(source)]):
                return target.read_bytes()
    return None


def _succeeds(command: list[str]) -> bool:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LINK_SECONDS,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
