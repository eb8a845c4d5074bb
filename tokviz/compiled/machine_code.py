"""Loading machine code: a shared library by the system, an object file by LLVM."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from functools import lru_cache
from typing import IO, Any

Addresses = dict[str, int]
"""Where functions begin, by name."""

_engines: list[Any] = []  # an engine owns the memory that its functions lie in


def load_library(file: IO[bytes], names: Iterable[str]) -> Addresses:
    """Load a shared library: what is open, for a path may lead to something else by now.

    The system knows a library by its name, here the number of what is open. So that no other is
    taken for it, it stays open.

    Raises:
        OSError: If the system does not.
        AttributeError: If a name is missing.
    """
    library = ctypes.CDLL(f"/dev/fd/{os.dup(file.fileno())}")
    _engines.append(library)
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}


def load_object(code: bytes, names: Iterable[str]) -> Addresses:
    """Load an object file, with a small part of what Numba needs.

    Raises:
        RuntimeError: If LLVM does not.
    """
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), host_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return {name: engine.get_function_address(name) for name in names}


@lru_cache(maxsize=1)
def _initialize() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def host_machine() -> Any:
    """Describe this machine to LLVM; the code may lie anywhere in memory."""
    import llvmlite.binding as llvm

    _initialize()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="small",
    )


_TELLING = (
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),  # x86
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"),  # Arm
    *("isa", "uarch"),  # RISC-V
)


def describe_processor() -> str:
    """Say what the machine code depends on; Linux tells it sooner than LLVM is loaded."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            lines = file.read(8192).partition("\n\n")[0].splitlines()
    except OSError:
        lines = []
    told = [line for line in lines if line.partition(":")[0].strip() in _TELLING]
    if any(line.startswith(("flags", "Features", "isa")) for line in told):
        return "\n".join(told)
    import llvmlite.binding as llvm

    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
