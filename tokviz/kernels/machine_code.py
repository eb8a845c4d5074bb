"""Machine code: compiled from bitcode by LLVM, and linked if there is a linker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

LINKERS = (("cc", "-shared"), ("gcc", "-shared"), ("clang", "-shared"), ("ld", "-shared"))
_LINK_SECONDS = 60.0

_engines: list[Any] = []  # keep engines alive, because they own the memory of their functions


def make_object(bitcode: bytes) -> bytes:
    """Compile bitcode to an object file for this machine.

    Raises:
        RuntimeError: If LLVM cannot read the bitcode, or this machine is big-endian, where byte
            masks would be reversed.
    """
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
    with tempfile.TemporaryDirectory(prefix="tokviz-") as folder:
        source, target = Path(folder, "kernels.o"), Path(folder, "kernels.so")
        source.write_bytes(code)
        for program, *options in LINKERS:
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


def load_object(code: bytes, names: Iterable[str]) -> dict[str, int]:
    """Load an object file, and return the addresses of its functions.

    Raises:
        RuntimeError: If LLVM cannot load it.
    """
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), host_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return {name: engine.get_function_address(name) for name in names}


@lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def host_processor() -> dict[str, str]:
    """Return LLVM's name of this machine's processor, and its features."""
    return {"cpu": llvm.get_host_cpu_name(), "features": llvm.get_host_cpu_features().flatten()}


def host_machine() -> Any:
    """Return LLVM's description of this machine, for position-independent code."""
    _initialize()
    return _machine(**host_processor())


def any_machine() -> Any:
    """Return LLVM's description of a generic machine with this architecture."""
    return _machine()


def _machine(**processor: str) -> Any:
    _initialize()
    return llvm.Target.from_default_triple().create_target_machine(
        **processor, opt=3, reloc="pic", codemodel="small"
    )
