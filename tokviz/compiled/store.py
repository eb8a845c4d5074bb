"""Machine code in the user's cache folder, so that kernels are compiled once on a machine.

A file is named after what its code was made from (`_key`) and after its own content, and is used
only if both are right and nobody else could have written it. Whatever is wrong with it, the kernels
are compiled anew and put in its place in one step. So processes may do that at the same time.

    ~/.cache/tokviz/kernels/tokviz.bpe.merge_kernels-KEY-DIGEST.so    a shared library, or else
    ~/.cache/tokviz/kernels/tokviz.bpe.merge_kernels-KEY-DIGEST.o     an object file
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from importlib.util import find_spec, source_hash
from pathlib import Path
from types import ModuleType

from tokviz import compiled
from tokviz.compiled import machine_code
from tokviz.compiled.machine_code import Addresses

_KEPT_FILES = 12
"""How many files of one module stay: those of several versions or processors."""

_loaded: dict[str, Addresses] = {}


def load(module: ModuleType) -> Addresses:
    """Load the kernels of a module, compile them before if need be, and say where they are."""
    if not load_stored(module):
        _loaded[module.__name__] = _compile(module)
    return _loaded[module.__name__]


def load_stored(module: ModuleType) -> bool:
    """Load the kernels of a module if that needs no compiler, and tell whether it did not."""
    if module.__name__ not in _loaded:
        names = _names(module)
        for path, code in _stored(module):
            with contextlib.suppress(OSError, AttributeError, RuntimeError, ImportError):
                _loaded[module.__name__] = (
                    machine_code.load_library(path, names)
                    if path.suffix == ".so"
                    else machine_code.load_object(code, names)
                )
                break
    return module.__name__ in _loaded


def _names(module: ModuleType) -> list[str]:
    return [kernel.name for kernel in compiled.kernels_of(module)]


def _compile(module: ModuleType) -> Addresses:
    from tokviz.compiled import build

    code = build.compile_module(module)
    stem = f"{module.__name__}-{_key(module)}"
    with contextlib.suppress(OSError):
        library = build.link(code)
        _write(stem, ".o", code)
        if library is not None:
            _write(stem, ".so", library)
        _forget_old(module.__name__)
    return machine_code.load_object(code, _names(module))


def _stored(module: ModuleType) -> Iterator[tuple[Path, bytes]]:
    """Find sound files with a module's code, shared libraries first."""
    folder = _folder()
    try:
        if not _is_private(folder, stat.S_ISDIR):
            return
        start = f"{module.__name__}-{_key(module)}-"
        found = [name for name in os.listdir(folder) if name.startswith(start)]
    except OSError:
        return
    for name in sorted(found, key=lambda name: (not name.endswith(".so"), name)):
        path = folder / name
        with contextlib.suppress(OSError):
            code = path.read_bytes()
            if path.stem == start + _hash(code) and _is_private(path, stat.S_ISREG):
                yield path, code


def _write(stem: str, ending: str, code: bytes) -> None:
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = folder / f"{os.getpid()}.new"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(handle, "wb") as file:
        file.write(code)
    os.replace(temporary, folder / f"{stem}-{_hash(code)}{ending}")


def _forget_old(module_name: str) -> None:
    files = sorted(_folder().glob(f"{module_name}-*"), key=lambda path: -path.stat().st_mtime)
    for path in files[_KEPT_FILES:]:
        path.unlink(missing_ok=True)


def _folder() -> Path:
    import platformdirs

    return platformdirs.user_cache_path("tokviz") / "kernels"


def _is_private(path: Path, is_of_kind: object) -> bool:
    """Tell whether it is what it seems, and only its owner, the user, can have written it."""
    status = os.lstat(path)
    if not callable(is_of_kind) or not is_of_kind(status.st_mode):
        return False
    if os.name == "nt":  # the user's folder there is private, and owners are not told
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _hash(content: bytes) -> str:
    """Tell contents apart as Python does for its own cache; OpenSSL's library loads slowly."""
    return source_hash(content).hex()


def _key(module: ModuleType) -> str:
    """Name all that the machine code depends on."""
    parts = [f"{sys.platform} {sys.maxsize} {os.name}".encode()]
    parts.append(machine_code.describe_processor().encode())
    parts += (path.read_bytes() for path in _compilers())
    for part in sorted(_modules_of(module), key=lambda part: part.__name__):
        parts.append(Path(str(part.__file__)).read_bytes())
        for name, value in sorted(vars(part).items()):
            if isinstance(value, int):
                parts.append(f"{name} {value}".encode())
    return _hash(b"\n".join(parts))


def _modules_of(module: ModuleType) -> set[ModuleType]:
    """Find the modules of a module's kernels and of all helpers that may be parts of them."""
    found = {module}
    waiting = [module]
    while waiting:
        for value in vars(waiting.pop()).values():
            if compiled.is_helper(value):
                part = sys.modules[value.__module__]
                if part not in found:
                    found.add(part)
                    waiting.append(part)
    return found


def _compilers() -> Iterator[Path]:
    """Find the files that tell how kernels are compiled, and by which versions."""
    for name in ("__init__", "build", "machine_code"):
        yield Path(__file__).with_name(f"{name}.py")
    for package in ("numba", "llvmlite"):
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            yield Path(spec.origin).with_name("_version.py")
