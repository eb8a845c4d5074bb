"""Build the shipped bitcode of every kernel with Numba and LLVM, which only developers need.

    assets/kernels/tokviz.training.merge_kernels-KEY.bc

`python -m tokviz.kernels.build` writes missing files and removes outdated ones. The bitcode is for
any 64-bit processor: `machine_code` turns it into machine code, once per machine.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import llvmlite.binding as llvm
import numba
import numba.extending
from llvmlite import ir

from tokviz.kernels import (
    Kernel,
    bytes_between,
    fields_of,
    integer,
    kernels_of,
    prefetch,
    store,
    trailing_zeros,
    word,
)
from tokviz.kernels.machine_code import any_machine
from tokviz.kernels.store import is_helper

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


def _generate_bytes_between(_: Any, data: Any, at: Any, low: Any, high: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        memory, at, low, high = arguments
        kind = ir.VectorType(ir.IntType(8), 64)
        block = builder.bitcast(builder.gep(memory, [at]), kind.as_pointer())
        above = builder.sub(builder.load(block, align=1), _spread(builder, kind, low))
        most = _spread(builder, kind, builder.sub(high, low))
        return builder.bitcast(builder.icmp_unsigned("<=", above, most), ir.IntType(64))

    return _types.uint64(data, _types.int64, _types.int64, _types.int64), generate


def _spread(builder: Any, kind: Any, value: Any) -> Any:
    """Return a vector with the same number in every lane."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, builder.trunc(value, kind.element), ir.IntType(32)(0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), None)
    return builder.shuffle_vector(first, nothing, everywhere)


_MARKERS: dict[Any, Any] = {
    word: _types.uint64,
    integer: _types.int64,
    bytes_between: numba.extending.intrinsic(_generate_bytes_between),
    prefetch: numba.extending.intrinsic(_generate_prefetch),
    trailing_zeros: numba.extending.intrinsic(_generate_trailing_zeros),
}
"""Replacements, in machine code, of functions of `tokviz.kernels`."""


def compile_module(module: ModuleType) -> bytes:
    """Compile a module's kernels to bitcode, with one symbol per kernel name.

    The functions follow the C convention: a pointer to the result and an unused pointer come
    first; the return value is 0.
    """
    with _compiler_for_any_processor():
        dispatchers: dict[FunctionType, Any] = {}
        parts = [_compile(kernel, dispatchers) for kernel in kernels_of(module)]
    whole = parts[0]
    for part in parts[1:]:
        whole.link_in(part)
    _optimize(whole)
    return bytes(whole.as_bitcode())


def _optimize(code: Any) -> None:
    """Optimize a module again after all functions except kernels became internal; strip symbols.

    Numba does not know that helpers are internal, so it inlines fewer of them, and calls are slow.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(any_machine(), options)
    builder.getModulePassManager().run(code, builder)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_symbols_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(code, builder)
    code.name = ""


@contextlib.contextmanager
def _compiler_for_any_processor() -> Iterator[None]:
    """Compile for a generic processor, even if Numba's settings differ or disable it."""
    config: Any = numba.config
    wanted = {"DISABLE_JIT": 0, "CPU_NAME": "generic", "CPU_FEATURES": ""}
    before = {name: getattr(config, name) for name in wanted}
    vars(config).update(wanted)
    try:
        yield
    finally:
        vars(config).update(before)


def _compile(kernel: Kernel, dispatchers: dict[FunctionType, Any]) -> Any:
    """Compile a kernel to an LLVM module that exports only the kernel."""
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
    for variable in part.global_variables:
        variable.linkage = "internal"
    return part


def _dispatcher(function: FunctionType, dispatchers: dict[FunctionType, Any]) -> Any:
    """Return Numba's version of a function, which calls Numba's versions of its helpers."""
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


def all_modules() -> list[ModuleType]:
    """Import and return every module of tokviz that contains kernels."""
    names = (
        info.name for info in pkgutil.walk_packages([str(Path(__file__).parents[1])], "tokviz.")
    )
    modules = (importlib.import_module(name) for name in names if name.endswith("kernels"))
    return [module for module in modules if kernels_of(module)]


def main() -> None:
    """Update the shipped files."""
    paths = {store.shipped_path(module): module for module in all_modules()}
    folder = next(iter(paths)).parent
    folder.mkdir(exist_ok=True)
    for old in set(folder.iterdir()) - set(paths):
        old.unlink()
    for path, module in paths.items():
        if not path.exists():
            path.write_bytes(compile_module(module))


if __name__ == "__main__":
    main()
