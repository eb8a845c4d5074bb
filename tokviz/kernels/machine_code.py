"""Machine code: compiled from bitcode by LLVM, linked if there is a linker, and loaded."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

Addresses = dict[str, int]
"""Function name → address."""

_LINKERS = (("cc", "-shared"), ("gcc", "-shared"), ("clang", "-shared"), ("ld", "-shared"))
_LINK_SECONDS = 60.0

_engines: list[Any] = []  # keep engines alive, because they own the memory of their functions


def make_object(bitcode: bytes) -> bytes:
    """Compile bitcode to an object file for this machine.

    Raises:
        RuntimeError: If LLVM cannot read the bitcode, or this machine is big-endian, where byte
            masks would be reversed.
    """
    import llvmlite.binding as llvm

    if sys.byteorder != "little":
        raise RuntimeError("the compiled loops support only little-endian machines")
    machine = host_machine()
    code = llvm.parse_bitcode(bitcode)
    code.triple, code.data_layout = machine.triple, str(machine.target_data)
    return bytes(machine.emit_object(code))


def link(code: bytes) -> bytes | None:
    """Link an object file to a shared library; None if no linker succeeds."""
    if sys.platform not in ("linux", "darwin"):
        return None
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tokviz-") as folder:
        source, target = Path(folder, "kernels.o"), Path(folder, "kernels.so")
        source.write_bytes(code)
        for program, *options in _LINKERS:
            path = shutil.which(program)
            if path is not None and _succeeds([path, *options, "-o", str(target), str(source)]):
                return target.read_bytes()
    return None


def _succeeds(command: list[str]) -> bool:
    import subprocess

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


def load_library(file: IO[bytes], names: Iterable[str]) -> Addresses:
    """Load a shared library from an open file, because its path may already name another file.

    The dynamic loader identifies a library by its name, here the number of the file descriptor.
    So the descriptor stays open, which prevents its reuse for another library.

    Raises:
        OSError: If the library cannot be loaded.
        AttributeError: If a name is missing.
    """
    library = ctypes.CDLL(f"/dev/fd/{os.dup(file.fileno())}")
    _engines.append(library)
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}


def load_object(code: bytes, names: Iterable[str]) -> Addresses:
    """Load an object file.

    Raises:
        RuntimeError: If LLVM cannot load it.
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
    """Return LLVM's description of this machine, for position-independent code."""
    import llvmlite.binding as llvm

    _initialize()
    features = llvm.get_host_cpu_features().flatten()
    return _machine(cpu=llvm.get_host_cpu_name(), features=features)


def any_machine() -> Any:
    """Return LLVM's description of a generic machine with this architecture."""
    return _machine()


def _machine(**processor: str) -> Any:
    import llvmlite.binding as llvm

    _initialize()
    return llvm.Target.from_default_triple().create_target_machine(
        **processor, opt=3, reloc="pic", codemodel="small"
    )


_TELLING = (
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),  # x86
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"),  # Arm
    *("isa", "uarch"),  # RISC-V
)


def describe_processor() -> str:
    """Describe the processor, on Linux without LLVM, because loading LLVM is slow."""
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
