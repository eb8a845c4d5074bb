"""Cache of machine code in the user's cache folder, compiled once per machine from the bitcode.

    ~/.cache/tokviz/kernels/tokviz.training.merge_kernels-KEY-DIGEST.so    a shared library, or else
    ~/.cache/tokviz/kernels/tokviz.training.merge_kernels-KEY-DIGEST.o     an object file

KEY is a hash of everything the code depends on (`_key`), DIGEST a hash of the code; a file is used
only if both match. The folder and its files must belong to the user, and no other user may be able
to write to them. The checks apply to open files, which are then used, so they cannot be replaced in
between. Several processes may write to the cache at once: a file gets its name when it is complete.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import os
import stat
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.util import find_spec, source_hash
from pathlib import Path
from types import FunctionType, ModuleType
from typing import IO, Any, NamedTuple

from tokviz.storage.assets import asset_path

Addresses = dict[str, int]
"""Function name → address."""

kernel_names: defaultdict[str, list[str]] = defaultdict(list)
"""Names of the kernels that each module defines."""
helpers: set[FunctionType] = set()
"""Functions that kernels may call."""

KEPT_FILES = 12
"""Number of files kept per module, for several versions or processors."""

loaded: dict[str, Addresses] = {}
_libraries: list[Any] = []  # keep libraries open, because they own the memory of their functions


def load(module: ModuleType) -> Addresses:
    """Load the kernels of a module, compile them first if necessary, and return their addresses."""
    if module.__name__ not in loaded:
        loaded[module.__name__] = _load_kept(module) or _make(module)
    return loaded[module.__name__]


def _load_kept(module: ModuleType) -> Addresses | None:
    with contextlib.suppress(OSError), _open_folder() as folder:
        for name in folder.names(f"{module.__name__}-{cache_key(module)}-"):
            with contextlib.suppress(OSError, AttributeError, RuntimeError, ImportError):
                return _load_file(folder, name, kernel_names[module.__name__])
    return None


def _load_file(folder: CacheFolder, name: str, kernels: list[str]) -> Addresses:
    with folder.open(name, os.O_RDONLY) as file:
        _refuse_foreign(file.fileno())
        code = file.read()
        if not name.endswith((f"-{_hash(code)}.so", f"-{_hash(code)}.o")):
            raise OSError(errno.EILSEQ, "the file is damaged")
        if name.endswith(".so"):
            return load_library(file, kernels)
        from tokviz.kernels import machine_code  # imports LLVM

        return machine_code.load_object(code, kernels)


def load_library(file: IO[bytes], names: Iterable[str]) -> Addresses:
    """Load a shared library from an open file, because its path may already name another file.

    The dynamic loader identifies a library by its name, here the number of the file descriptor.
    So the descriptor stays open, which prevents its reuse for another library.

    Raises:
        OSError: If the library cannot be loaded.
        AttributeError: If a name is missing.
    """
    library = ctypes.CDLL(f"/dev/fd/{os.dup(file.fileno())}")
    _libraries.append(library)
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}


def _make(module: ModuleType) -> Addresses:
    from tokviz.kernels import machine_code  # imports LLVM

    code = machine_code.make_object(bitcode_of(module))
    start = f"{module.__name__}-{cache_key(module)}"
    try:
        with _open_folder(make=True) as folder:
            folder.forget_old(module.__name__)
            folder.write(start, ".o", code)
            library = machine_code.link(code)
            if library is not None:
                folder.write(start, ".so", library)
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "free disk space" if is_full else "make it a folder that only you can write to"
        warnings.warn(
            f"compiled code cannot be kept in {cache_path()}: {error.strerror or error}. So every "
            f"process compiles it again; {advice}",
            RuntimeWarning,
            stacklevel=2,
        )
    return machine_code.load_object(code, kernel_names[module.__name__])


def shipped_path(module: ModuleType) -> Path:
    """Return the path of the shipped bitcode for the current source of a module."""
    return asset_path(f"kernels/{module.__name__}-{_source_key(module)}.bc")


def bitcode_of(module: ModuleType) -> bytes:
    """Return the shipped bitcode of a module, or compile it if its source has changed."""
    path = shipped_path(module)
    if path.exists():
        return path.read_bytes()
    build = importlib.import_module("tokviz.kernels.build")  # needs Numba: developers have it
    code: bytes = build.compile_module(module)
    return code


def is_helper(value: object) -> bool:
    """Return whether kernels may call this value."""
    return isinstance(value, FunctionType) and value in helpers


# -- the folder


def cache_path() -> Path:
    """Return the path of the cache folder."""
    # The manual page is built without dependencies.
    import platformdirs

    return platformdirs.user_cache_path("tokviz") / "kernels"


class CacheFolder(NamedTuple):
    """An open folder. Files are opened relative to it, without following links.

    Attributes:
        path: Its path.
        descriptor: Its file descriptor; None on Windows, which cannot open folders.
    """

    path: Path
    descriptor: int | None

    def names(self, start: str) -> list[str]:
        """Return the files whose names have this prefix, shared libraries first."""
        names = os.listdir(self.path if self.descriptor is None else self.descriptor)
        found = (name for name in names if name.startswith(start))
        return sorted(found, key=lambda name: not name.endswith(".so"))

    def open(self, name: str, flags: int) -> IO[bytes]:
        """Open a file with the flags of `os.open`."""
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(self._at(name), flags, 0o600, dir_fd=self.descriptor)
        return open(handle, "wb" if flags & os.O_WRONLY else "rb")

    def write(self, start: str, ending: str, code: bytes) -> None:
        """Write a file atomically."""
        temporary = f"{start}-{os.urandom(8).hex()}.new"
        file = self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with file:
                file.write(code)
            os.replace(
                self._at(temporary),
                self._at(f"{start}-{_hash(code)}{ending}"),
                src_dir_fd=self.descriptor,
                dst_dir_fd=self.descriptor,
            )
        except OSError:  # for example, the disk is full
            os.unlink(self._at(temporary), dir_fd=self.descriptor)
            raise

    def forget_old(self, module_name: str) -> None:
        """Remove all but the newest files of a module."""

        def age(name: str) -> float:
            return -os.stat(self._at(name), dir_fd=self.descriptor, follow_symlinks=False).st_mtime

        with contextlib.suppress(OSError):  # another process may be removing them too
            for name in sorted(self.names(f"{module_name}-"), key=age)[KEPT_FILES:]:
                os.unlink(self._at(name), dir_fd=self.descriptor)

    def _at(self, name: str) -> str:
        return str(self.path / name) if self.descriptor is None else name


@contextlib.contextmanager
def _open_folder(*, make: bool = False) -> Iterator[CacheFolder]:
    """Open the cache folder.

    Raises:
        OSError: If it does not exist, or another user could have written to it.
    """
    path = cache_path()
    if make:
        _refuse_foreign_above(path)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":
        yield CacheFolder(path, None)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _refuse_foreign(descriptor)
        yield CacheFolder(path, descriptor)
    finally:
        os.close(descriptor)


def _refuse_foreign_above(path: Path) -> None:
    """Check that no other user can replace a folder that a path leads through.

    Raises:
        PermissionError: If a user other than the administrator could.
    """
    if os.name == "nt":
        return
    for folder in Path(os.path.realpath(path)).parents:
        if not folder.exists():
            continue
        status = folder.stat()
        if status.st_uid not in (os.geteuid(), 0):
            raise PermissionError(errno.EPERM, f"{folder} belongs to another user")
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            raise PermissionError(errno.EPERM, f"other users may write to {folder}")


def _refuse_foreign(descriptor: int) -> None:
    """Check that only the user can have written an open file; skipped on Windows.

    Raises:
        PermissionError: If another user could.
    """
    if os.name == "nt":
        return
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EPERM, "other users may write to it")


# -- cache keys


def _hash(content: bytes) -> str:
    """Hash a file's content with Python's own cache hash, because loading OpenSSL is slow."""
    return source_hash(content).hex()


def cache_key(module: ModuleType) -> str:
    """Return a hash of everything the machine code depends on."""
    parts = [f"{sys.platform} {os.name} {_source_key(module)}".encode()]
    parts.append(describe_processor().encode())
    parts.append(Path(__file__).with_name("machine_code.py").read_bytes())
    spec = find_spec("llvmlite")
    if spec is not None and spec.origin is not None:
        parts.append(Path(spec.origin).with_name("_version.py").read_bytes())
    return _hash(b"\n".join(parts))


def _source_key(module: ModuleType) -> str:
    """Return a hash of everything the bitcode depends on."""
    parts = [Path(__file__).with_name(f"{name}.py").read_bytes() for name in ("__init__", "build")]
    for part in sorted(_modules_of(module), key=lambda part: part.__name__):
        parts.append(Path(str(part.__file__)).read_bytes())
        for name, value in sorted(vars(part).items()):
            if isinstance(value, int):
                parts.append(f"{name} {value}".encode())
    return _hash(b"\n".join(parts))


def _modules_of(module: ModuleType) -> list[ModuleType]:
    """Return the modules of a module's kernels and of all helpers they may include."""
    found = [module]
    for part in found:  # `found` grows meanwhile
        helpers = (value for value in vars(part).values() if is_helper(value))
        modules = dict.fromkeys(sys.modules[helper.__module__] for helper in helpers)
        found += [other for other in modules if other not in found]
    return found


_RELEVANT = (
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
    relevant = [line for line in lines if line.partition(":")[0].strip() in _RELEVANT]
    if any(line.startswith(("flags", "Features", "isa")) for line in relevant):
        return "\n".join(relevant)
    from tokviz.kernels import machine_code  # imports LLVM

    return " ".join(machine_code.host_processor().values())
