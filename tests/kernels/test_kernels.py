"""Machine code of kernels: it equals the Python functions, is cached, and is verified."""

from __future__ import annotations

import errno
import importlib
import mmap
import os
import shutil
import stat
import subprocess
import sys
import threading
import warnings
from array import array
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import llvmlite.binding as llvm
import numpy as np
import psutil
import pytest

from tests.test_imports import imported_by
from tokviz import kernels
from tokviz.kernels import build, machine_code, store
from tokviz.kernels import memory as memory_module
from tokviz.kernels.memory import longer, zeros
from tokviz.storage.assets import asset_path
from tokviz.training import counting_kernels, layout_kernels, merge_kernels

HELPERS = """
from tokviz.kernels import helper

OFFSET = 1

@helper
def shifted(x):
    return x + OFFSET
"""

KERNELS = """
from __future__ import annotations

from typing import NamedTuple

from tokviz.kernels import Bytes, Int32s, Int64s, helper, integer, kernel, word
from more_helpers import shifted

class Arrays(NamedTuple):
    small: Int32s
    large: Int64s

@helper
def _mixed(x: int) -> int:
    return word(x) * 0x9E3779B97F4A7C15 >> 60

@kernel
def add_up(data: Bytes, n: int, arrays: Arrays) -> int:
    total = 0
    for i in range(n):
        total += shifted(integer(data[i]))
        arrays.small[i] = data[i]
        arrays.large[i] = _mixed(data[i])
    return total

@kernel
def nothing() -> None:
    pass

if __name__ == "__main__":
    import sys
    from array import array
    arrays = Arrays(array("i", [0] * 3), array("q", [0] * 3))
    print(add_up(b"abc", 3, arrays), *arrays.small, *arrays.large,
          "numba" in sys.modules, "llvmlite" in sys.modules)
"""

COMPILED = "297 97 98 99 15 9 2 True True"
FOUND = "297 97 98 99 15 9 2 False"

HAS_LINKER = sys.platform in ("linux", "darwin") and any(
    shutil.which(program) for program, *_ in machine_code.LINKERS
)


def write_modules(folder: Path) -> Path:
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "more_helpers.py").write_text(HELPERS)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_modules(tmp_path)


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_modules(tmp_path_factory.mktemp("compiled"))
    assert run(folder) == COMPILED
    return folder


@pytest.fixture
def kept(tmp_path: Path, compiled_once: Path) -> Path:
    """A folder of modules and their cached machine code."""
    return shutil.copytree(compiled_once, tmp_path / "kept", copy_function=shutil.copy2)


def run(folder: Path, **environment: str) -> str:
    return process(folder, folder / "kernels.py", **environment).stdout.strip()


def process(
    folder: Path, *arguments: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(folder)]),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HOME": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        },
        capture_output=True,
        check=True,
        text=True,
    )


def files(folder: Path, pattern: str = "*") -> list[Path]:
    return sorted(folder.glob(f"**/tokviz/**/__main__-{pattern}"))


def test_machine_code_is_kept_in_the_users_cache_folder_and_found_again(kept: Path) -> None:
    assert run(kept).startswith(FOUND)
    (stored,) = {file.parent for file in files(kept)}
    if os.name != "nt":
        assert stored.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not HAS_LINKER, reason="there is no linker")
def test_a_shared_library_needs_no_part_of_the_compiler(kept: Path) -> None:
    assert run(kept) == f"{FOUND} False"


def test_an_object_file_does_where_there_is_no_linker(folder: Path) -> None:
    run(folder, PATH="")
    assert not files(folder, "*.so")
    assert run(folder) == f"{FOUND} True"


def test_a_changed_helper_of_another_file_is_noticed(kept: Path) -> None:
    (kept / "more_helpers.py").write_text(HELPERS.replace("OFFSET = 1", "OFFSET = 2"))
    assert run(kept) == COMPILED.replace("297", "300")


def test_damaged_files_are_compiled_anew(kept: Path) -> None:
    for file in files(kept):
        file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert run(kept) == COMPILED
    assert run(kept).startswith(FOUND)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_what_others_may_have_written_is_not_loaded(kept: Path) -> None:
    for file in files(kept):
        file.chmod(0o666)
    assert run(kept) == COMPILED
    files(kept)[0].parent.chmod(0o777)
    assert run(kept) == COMPILED


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_folder_that_is_a_link_is_not_used(kept: Path) -> None:
    stored = files(kept)[0].parent
    stored.rename(kept / "elsewhere")
    stored.symlink_to(kept / "elsewhere")
    assert run(kept) == COMPILED


def test_kernels_run_where_nothing_can_be_kept_and_the_user_is_told(folder: Path) -> None:
    (folder / "cache").write_text("a file")
    for _ in range(2):
        done = process(folder, folder / "kernels.py")
        assert done.stdout.startswith("297 ")
        assert done.stderr.count("compiled code cannot be kept in ") == 1
        assert str(folder / "cache") in done.stderr


def test_kernels_run_where_somebody_has_switched_numba_off(folder: Path) -> None:
    assert run(folder, NUMBA_DISABLE_JIT="1") == COMPILED


def test_processes_that_compile_at_once_do_not_disturb_each_other(folder: Path) -> None:
    command = [sys.executable, str(folder / "kernels.py")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(folder)]),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "HOME": str(folder),
    }
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert {process.communicate()[0].split()[0] for process in processes} == {"297"}
    assert run(folder).startswith(FOUND)


# -- what is shipped

ALL_KERNELS = build.all_modules()


def test_what_is_shipped_is_what_the_sources_say_now() -> None:
    """If this fails, run `python -m tokviz.kernels.build`."""
    wanted = {store.shipped_path(module).name for module in ALL_KERNELS}
    assert {path.name for path in asset_path("kernels").iterdir()} == wanted


def test_compiling_a_module_again_gives_what_is_shipped() -> None:
    """The result depends only on the sources and the version of Numba."""
    shipped = store.shipped_path(layout_kernels).read_bytes()
    assert build.compile_module(layout_kernels) == shipped


def test_a_machine_that_has_only_what_is_shipped_needs_no_numba(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['numba'] = None; import tokviz, numpy;"
        "text = ' '.join(f'word{i * i}' for i in range(20_000));"
        "run, tok = tokviz.train([text], 300, split_pattern='whitespace'), tokviz.load('gpt2');"
        "print(run.engine, tok.decode(tok.encode(text)) == text)"
    )
    done = process(tmp_path, "-c", code)
    assert done.stdout.strip() == "compiled True" and not done.stderr


@pytest.mark.parametrize("module", ALL_KERNELS, ids=lambda module: module.__name__)
@pytest.mark.parametrize("target", ["aarch64-apple-darwin", "x86_64-pc-windows-msvc"])
def test_machine_code_can_be_made_for_other_machines(
    module: ModuleType, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    other = llvm.Target.from_triple(target).create_target_machine(reloc="pic", codemodel="small")
    monkeypatch.setattr(machine_code, "host_machine", lambda: other)
    code = llvm.ObjectFileRef.from_data(
        machine_code.make_object(store.shipped_path(module).read_bytes())
    )
    assert any(section.is_text() and section.size() for section in code.sections())


# -- the folder, with a compiler that only counts


class Cache:
    """A cache folder that counts compilations."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_compiled = 0

    def compile(self, module: ModuleType) -> bytes:
        self.n_compiled += 1
        return module.__name__.encode()

    def in_new_process(self, module: ModuleType = counting_kernels) -> int:
        """Load a module as a new process would, and return the number of compilations so far."""
        store.loaded.clear()
        addresses: object = store.load(module)
        assert addresses == {"code": module.__name__.encode()}
        return self.n_compiled

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    cache = Cache(tmp_path / "kernels")
    monkeypatch.setattr(store, "loaded", {})
    monkeypatch.setattr(store, "cache_path", lambda: cache.folder)
    monkeypatch.setattr(store, "bitcode_of", cache.compile)
    monkeypatch.setattr(machine_code, "make_object", lambda code: code)
    monkeypatch.setattr(machine_code, "link", lambda code: None)
    monkeypatch.setattr(machine_code, "load_object", lambda code, names: {"code": code})
    return cache


posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions and links")


def test_what_is_compiled_once_is_found_by_the_next_process(cache: Cache) -> None:
    assert [cache.in_new_process(), cache.in_new_process()] == [1, 1]


@posix_only
def test_a_planted_link_is_not_written_through(cache: Cache, monkeypatch) -> None:
    monkeypatch.setattr(os, "urandom", bytes)
    cache.in_new_process()
    (name,) = cache.files()
    stem = name.rpartition("-")[0]
    (cache.folder / name).unlink()
    victim = cache.folder.parent / "victim"
    victim.write_text("precious")
    (cache.folder / f"{stem}-{'00' * 8}.new").symlink_to(victim)
    with pytest.warns(RuntimeWarning, match="File exists"):
        assert cache.in_new_process() == 2
    assert victim.read_text() == "precious"
    assert name not in cache.files()


@posix_only
def test_a_link_in_place_of_a_file_is_neither_read_nor_written_through(cache: Cache) -> None:
    cache.in_new_process()
    (name,) = cache.files()
    elsewhere = cache.folder.parent / "elsewhere"
    (cache.folder / name).rename(elsewhere)
    (cache.folder / name).symlink_to(elsewhere)
    before = elsewhere.stat().st_mtime_ns
    assert cache.in_new_process() == 2
    assert not (cache.folder / name).is_symlink()
    assert elsewhere.stat().st_mtime_ns == before
    assert cache.in_new_process() == 2


@posix_only
@pytest.mark.parametrize("is_foreign", [False, True])
def test_a_folder_that_another_user_could_write_to_is_not_used(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, is_foreign: bool
) -> None:
    cache.in_new_process()
    before, user = cache.files(), os.geteuid()
    if is_foreign:
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    else:
        cache.folder.chmod(0o777)
    reason = "belongs to another user" if is_foreign else "other users may write to it"
    for module, n_compiled in ((counting_kernels, 2), (merge_kernels, 3)):
        with pytest.warns(RuntimeWarning, match=reason):
            assert cache.in_new_process(module) == n_compiled
    assert cache.files() == before


@posix_only
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs two users")
def test_nothing_is_made_in_a_folder_of_another_user(cache: Cache, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    os.chown(foreign, 65534, 65534)
    cache.folder = foreign / "tokviz" / "kernels"
    with pytest.warns(RuntimeWarning, match="foreign belongs to another user"):
        cache.in_new_process()
    assert not list(foreign.iterdir())


@posix_only
def test_nothing_is_made_where_others_could_put_another_folder(
    cache: Cache, tmp_path: Path
) -> None:
    common = tmp_path / "common"
    common.mkdir()
    common.chmod(0o777)
    cache.folder = common / "kernels"
    with pytest.warns(RuntimeWarning, match="other users may write to .*common"):
        cache.in_new_process()
    assert not list(common.iterdir())
    common.chmod(0o1777)
    cache.in_new_process()
    assert cache.files(), "in a folder like /tmp nobody can replace what is ours"


@posix_only
def test_a_folder_swapped_for_a_link_at_the_last_moment_is_not_written_through(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    mkdir = Path.mkdir

    def mkdir_and_lose(path: Path, *arguments: object, **options: object) -> None:
        mkdir(path, *arguments, **options)
        path.rmdir()
        path.symlink_to(victim)

    monkeypatch.setattr(Path, "mkdir", mkdir_and_lose)
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        cache.in_new_process()
    assert not list(victim.iterdir())


def test_a_full_disk_leaves_no_part_of_a_file(cache: Cache, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        cache.in_new_process()
    assert not cache.files()


@posix_only
def test_a_file_of_another_user_is_not_read_and_is_replaced(cache: Cache, monkeypatch) -> None:
    cache.in_new_process()
    (path,) = cache.folder.iterdir()
    planted = path.stat().st_ino
    fstat = os.fstat

    def owned_by_another(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        values = list(status)
        if status.st_ino == planted:
            values[stat.ST_UID] += 1
        return os.stat_result(values)

    monkeypatch.setattr(os, "fstat", owned_by_another)
    assert cache.in_new_process() == 2
    assert path.stat().st_ino != planted
    assert cache.in_new_process() == 2


def test_a_cache_that_cannot_be_written_says_so_once(cache: Cache) -> None:
    cache.folder.write_text("a file")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for module in (counting_kernels, merge_kernels):
            assert store.load(module)
    assert [str(warning.message) for warning in told] == [
        f"compiled code cannot be kept in {cache.folder}: File exists. So every process compiles "
        "it again; make it a folder that only you can write to"
    ]


def test_a_full_disk_is_no_matter_of_permissions(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store.CacheFolder, "write", full)
    with pytest.warns(
        RuntimeWarning, match=r"No space left on device\. .* again; free disk space$"
    ):
        assert store.load(counting_kernels)


def test_files_of_former_versions_do_not_pile_up(cache: Cache) -> None:
    cache.folder.mkdir(mode=0o700)
    name = counting_kernels.__name__
    for n in range(30):
        (cache.folder / f"{name}-{n}.o").touch()
        os.utime(cache.folder / f"{name}-{n}.o", (n, n))
    (cache.folder / f"{name}2-0.o").touch()
    cache.in_new_process()
    kept = {file for file in cache.files() if file.startswith(f"{name}-")}
    assert {f"{name}-{n}.o" for n in range(30 - store.KEPT_FILES, 30)} < kept
    assert len(kept) == store.KEPT_FILES + 1
    assert f"{name}2-0.o" in cache.files()


def test_code_for_another_processor_is_not_used(monkeypatch) -> None:
    here = store.cache_key(counting_kernels)
    monkeypatch.setattr(store, "describe_processor", lambda: "another")
    assert store.cache_key(counting_kernels) != here


def test_the_processor_is_described_the_same_every_time() -> None:
    assert store.describe_processor() == store.describe_processor() != ""


ANSWER = """
from __future__ import annotations
from tokviz.kernels import kernel

@kernel
def answer(x: int) -> int:
    return x + {n}
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ModuleType]:
    """Two modules with a kernel `answer` that adds 1, or 2."""
    monkeypatch.syspath_prepend(tmp_path)
    for n in (1, 2):
        (tmp_path / f"adding{n}.py").write_text(ANSWER.format(n=n))
        monkeypatch.delitem(sys.modules, f"adding{n}", raising=False)
    return [importlib.import_module(f"adding{n}") for n in (1, 2)]


def answers(module: ModuleType, addresses: store.Addresses) -> int:
    store.loaded[module.__name__] = addresses
    return module.answer(40)


def test_an_object_file_is_loaded(modules: list[ModuleType]) -> None:
    codes = (machine_code.make_object(build.compile_module(module)) for module in modules)
    loaded = [machine_code.load_object(code, ["answer"]) for code in codes]
    assert list(map(answers, modules, loaded)) == [41, 42]


@pytest.mark.skipif(not HAS_LINKER, reason="there is no linker")
def test_what_is_open_is_loaded_whatever_its_path_leads_to(
    modules: list[ModuleType], tmp_path: Path
) -> None:
    """Even if the second file gets the descriptor number of the first one."""
    path = tmp_path / "kernels.so"
    loaded = []
    for module in modules:
        library = machine_code.link(machine_code.make_object(build.compile_module(module)))
        assert library is not None
        path.write_bytes(library)
        with open(path, "rb") as file:
            path.unlink()
            path.write_bytes(b"something else")
            loaded.append(store.load_library(file, ["answer"]))
    assert list(map(answers, modules, loaded)) == [41, 42]


def test_markers_mean_in_python_what_they_mean_in_machine_code() -> None:
    assert kernels.word(-1) == 2**64 - 1
    assert kernels.integer(2**64 - 1) == -1
    assert kernels.integer(5) == 5
    assert [kernels.trailing_zeros(word) for word in (0, 1, 8, 2**63)] == [64, 0, 3, 63]


@pytest.mark.parametrize(
    "argument",
    [array("i", [0] * 8), np.zeros(8, np.int16), np.zeros((4, 4), np.int64)[:, 0], b"12345678"],
)
def test_memory_of_another_kind_is_refused(argument: object) -> None:
    with pytest.raises(TypeError, match="Int64s"):
        counting_kernels.rehash(argument, 2, array("q", [0] * 8), 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: array("q", [1, 2]),
        lambda: np.array([1, 2]),
        lambda: memoryview(array("q", [0, 1, 2]))[1:],
    ],
)
def test_every_kind_of_buffer_is_reached(make: Callable[[], object]) -> None:
    larger = zeros(8, "q")
    counting_kernels.rehash(make(), 1, larger, 4)
    assert sorted(larger.tolist())[-2:] == [1, 2]


def test_a_wrong_number_of_arguments_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        counting_kernels.rehash(array("q", [0] * 8), 2)


def test_memory_is_zero_and_grows() -> None:
    memory = zeros(3, "i")
    assert memory.tolist() == [0, 0, 0]
    memory[1] = -5
    assert longer(memory, 5).tolist() == [0, -5, 0, 0, 0]
    assert zeros(0, "q").tolist() == []


@pytest.mark.parametrize("advice", [memory_module.POPULATE_WRITE, 999])
def test_memory_that_is_made_real_meanwhile_keeps_what_is_written(
    advice: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_module, "POPULATE_WRITE", advice)  # an older Linux knows none
    before = threading.enumerate()
    n = 1_300_000
    memory = zeros(n, "q", n - 1000)
    memory[:] = array("q", range(n))
    for thread in {*threading.enumerate()} - {*before}:
        thread.join()
    assert memory.tolist() == list(range(n))


def test_memory_is_made_real_meanwhile() -> None:
    try:
        mmap.mmap(-1, mmap.PAGESIZE).madvise(memory_module.POPULATE_WRITE)
    except (AttributeError, OSError):
        pytest.skip("only Linux from 5.14 on does it")
    before, process = threading.enumerate(), psutil.Process()
    n_bytes = process.memory_info().rss
    memory = zeros(64 << 20, "B", 48 << 20)
    for thread in {*threading.enumerate()} - {*before}:
        thread.join()
    grown = process.memory_info().rss - n_bytes
    assert 40 << 20 < grown < 56 << 20 and len(memory) == 64 << 20


def test_modules_of_kernels_need_no_compiler() -> None:
    modules = [
        "tokviz.training.counting_kernels",
        "tokviz.training.merge_kernels",
        "tokviz.training.layout_kernels",
    ]
    for module in modules:
        importlib.import_module(module)
        found = imported_by(f"import {module}")
        assert not {"numba", "llvmlite", "numpy"} & set(found)
