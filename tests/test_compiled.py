"""Machine code of kernels: it does as the functions say, is kept, and never trusted blindly."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.test_imports import imported_by
from tokviz import compiled
from tokviz.compiled import build, machine_code, store
from tokviz.compiled.memory import longer, zeros

HELPERS = """
from tokviz.compiled import helper

OFFSET = 1

@helper
def shifted(x):
    return x + OFFSET
"""

KERNELS = """
from __future__ import annotations

from typing import NamedTuple

from tokviz.compiled import Bytes, Int32s, Int64s, helper, integer, is_compiled, kernel, word
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
    print(is_compiled(add_up), add_up(b"abc", 3, arrays), is_compiled(nothing), *arrays.small,
          *arrays.large, "numba" in sys.modules, "llvmlite" in sys.modules)
"""

COMPILED = "False 297 True 97 98 99 15 9 2 True True"
FOUND = "True 297 True 97 98 99 15 9 2 False"

HAS_LINKER = sys.platform in ("linux", "darwin") and any(
    shutil.which(program) for program, *_ in build._LINKERS
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "more_helpers.py").write_text(HELPERS)
    return tmp_path


def run(folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, folder / "kernels.py"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), str(folder)]),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HOME": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        },
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.strip()


def files(folder: Path, pattern: str = "*") -> list[Path]:
    return sorted(folder.glob(f"**/tokviz/**/__main__-{pattern}"))


def test_machine_code_is_kept_in_the_users_cache_folder_and_found_again(folder: Path) -> None:
    assert run(folder) == COMPILED
    assert run(folder).startswith(FOUND)
    (stored,) = {file.parent for file in files(folder)}
    if os.name != "nt":
        assert stored.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not HAS_LINKER, reason="there is no linker")
def test_a_shared_library_needs_no_part_of_the_compiler(folder: Path) -> None:
    run(folder)
    assert run(folder) == f"{FOUND} False"


def test_an_object_file_does_where_there_is_no_linker(folder: Path) -> None:
    run(folder, PATH="")
    assert not files(folder, "*.so")
    assert run(folder) == f"{FOUND} True"


def test_a_changed_helper_of_another_file_is_noticed(folder: Path) -> None:
    run(folder)
    (folder / "more_helpers.py").write_text(HELPERS.replace("OFFSET = 1", "OFFSET = 2"))
    assert run(folder) == COMPILED.replace("297", "300")


def test_damaged_files_are_compiled_anew(folder: Path) -> None:
    run(folder)
    for file in files(folder):
        file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert run(folder) == COMPILED
    assert run(folder).startswith(FOUND)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_what_others_may_have_written_is_not_loaded(folder: Path) -> None:
    run(folder)
    for file in files(folder):
        file.chmod(0o666)
    assert run(folder) == COMPILED
    files(folder)[0].parent.chmod(0o777)
    assert run(folder) == COMPILED


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_folder_that_is_a_link_is_not_used(folder: Path) -> None:
    run(folder)
    stored = files(folder)[0].parent
    stored.rename(folder / "elsewhere")
    stored.symlink_to(folder / "elsewhere")
    assert run(folder).startswith("False")


def test_kernels_run_where_nothing_can_be_kept(folder: Path) -> None:
    (folder / "cache").write_text("a file")
    assert run(folder).startswith("False 297 True")
    assert run(folder).startswith("False 297 True")


def test_kernels_run_where_somebody_has_switched_numba_off(folder: Path) -> None:
    assert run(folder, NUMBA_DISABLE_JIT="1") == COMPILED


def test_processes_that_compile_at_once_do_not_disturb_each_other(folder: Path) -> None:
    command = [sys.executable, str(folder / "kernels.py")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), str(folder)]),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "HOME": str(folder),
    }
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert {process.communicate()[0].split()[1] for process in processes} == {"297"}
    assert run(folder).startswith(FOUND)


def test_files_of_former_versions_do_not_pile_up(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(store, "_folder", lambda: folder)
    for n in range(30):
        (folder / f"some.module-{n}.o").touch()
    (folder / "some.module2-0.o").touch()
    store._forget_old("some.module")
    assert len(list(folder.glob("some.module-*"))) == store._KEPT_FILES
    assert (folder / "some.module2-0.o").exists()


def test_code_for_another_processor_is_not_used(monkeypatch) -> None:
    from tokviz.bpe import counting_kernels

    here = store._key(counting_kernels)
    monkeypatch.setattr(machine_code, "describe_processor", lambda: "another")
    assert store._key(counting_kernels) != here


def test_the_processor_is_described_the_same_every_time() -> None:
    assert machine_code.describe_processor() == machine_code.describe_processor() != ""


def test_both_ways_to_load_give_the_same(monkeypatch, tmp_path: Path) -> None:
    from tokviz.bpe import counting_kernels as module

    names = [kernel.name for kernel in compiled.kernels_of(module)]
    code = build.compile_module(module)
    library = build.link(code)
    found = [machine_code.load_object(code, names)]
    if library is not None:
        (tmp_path / "kernels.so").write_bytes(library)
        found.append(machine_code.load_library(tmp_path / "kernels.so", names))
    for addresses in found:
        move = compiled._callable(addresses["move"], module.move.parameters)
        monkeypatch.setattr(module.move, "_run", move)
        larger = array("q", [0] * 8)
        module.move(array("q", [7, 1, 0, 0]), 2, larger, 4)
        assert sorted(larger) == [0] * 6 + [1, 7]


def test_markers_mean_in_python_what_they_mean_in_machine_code() -> None:
    assert compiled.word(-1) == 2**64 - 1
    assert compiled.integer(2**64 - 1) == -1
    assert compiled.integer(5) == 5
    assert [compiled.trailing_zeros(word) for word in (0, 1, 8, 2**63)] == [64, 0, 3, 63]


@pytest.mark.parametrize(
    "argument",
    [array("i", [0] * 8), np.zeros(8, np.int16), np.zeros((4, 4), np.int64)[:, 0], b"12345678"],
)
def test_memory_of_another_kind_is_refused(argument: object) -> None:
    from tokviz.bpe import counting_kernels

    with pytest.raises(TypeError, match="Int64s"):
        counting_kernels.move(argument, 2, array("q", [0] * 8), 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: array("q", [1, 2]),
        lambda: np.array([1, 2]),
        lambda: memoryview(array("q", [0, 1, 2]))[1:],
    ],
)
def test_every_kind_of_buffer_is_reached(make: Callable[[], object]) -> None:
    from tokviz.bpe import counting_kernels

    larger = zeros(8, "q")
    counting_kernels.move(make(), 1, larger, 4)
    assert sorted(larger.tolist())[-2:] == [1, 2]


def test_a_wrong_number_of_arguments_is_refused() -> None:
    from tokviz.bpe import counting_kernels

    with pytest.raises(ValueError, match="shorter"):
        counting_kernels.move(array("q", [0] * 8), 2)


def test_memory_is_zero_and_grows() -> None:
    memory = zeros(3, "i")
    assert memory.tolist() == [0, 0, 0]
    memory[1] = -5
    assert longer(memory, 5).tolist() == [0, -5, 0, 0, 0]
    assert zeros(0, "q").tolist() == []


def test_modules_of_kernels_need_no_compiler() -> None:
    modules = ["tokviz.bpe.counting_kernels", "tokviz.bpe.kernels", "tokviz.bpe.layout_kernels"]
    for module in modules:
        importlib.import_module(module)
        found = imported_by(f"import {module}")
        assert not {"numba", "llvmlite", "numpy"} & set(found)
