from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

import tokviz
from tests.terminal import ROOT
from tokviz.errors import MOST_CHARS

ADVICE = "from tokviz.errors import missing_package as m; print(m('example').partition(': ')[2])"
WHEEL = {
    "example.py": "",
    "example-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: example\nVersion: 1\n",
    "example-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "example-1.dist-info/RECORD": "",
}


@pytest.mark.parametrize("key", ["9" * 100_000, "x" * 100_000], ids=["digits", "letters"])
def test_what_a_file_holds_makes_no_message_that_fills_the_screen(tmp_path: Path, key: str) -> None:
    (tmp_path / "vocab.json").write_text(f'{{"{key}": "{key}"}}')
    (tmp_path / "merges.txt").write_text(f"{key} {key}")
    with pytest.raises(tokviz.TokvizError) as caught:
        tokviz.Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert len(str(caught.value)) <= MOST_CHARS + 3
    assert str(caught.value).startswith(str(tmp_path))


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Make a virtual environment without pip, at a path that needs quoting."""
    made = tmp_path / "my venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
    return made


def run_advice(environment: Path, programs: Path) -> str:
    """Run the command that a Python suggests to install `example`, without a network."""
    programs.mkdir(exist_ok=True)
    for name in ("pipx", "uv"):
        (programs / name).write_text('#!/bin/sh\nprintf "%s\\n" "${0##*/}" "$@"\n')
        (programs / name).chmod(0o755)
    python = environment / "bin" / "python"
    told = subprocess.run(
        [python, "-c", ADVICE],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return subprocess.run(
        told.stdout.decode(),
        shell=True,
        env={
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": programs.as_uri(),
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="runs a shell")
def test_a_missing_package_is_installed_by_the_command_in_the_message(environment, tmp_path):
    (tmp_path / "programs").mkdir()
    with ZipFile(tmp_path / "programs" / "example-1-py3-none-any.whl", "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    packages = environment / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    (packages / "pip").symlink_to(Path(pytest.importorskip("pip").__file__).parent)
    assert "Successfully installed example" in run_advice(environment, tmp_path / "programs")
    subprocess.run([environment / "bin" / "python", "-c", "import example"], check=True)


@pytest.mark.skipif(sys.platform == "win32", reason="runs a shell")
def test_a_missing_package_is_installed_where_there_is_no_pip(environment, tmp_path):
    programs, python = tmp_path / "programs", environment / "bin" / "python"
    uv = ["uv", "pip", "install", "--python", str(python), "example"]
    assert run_advice(environment, programs).splitlines() == uv
    (environment / "pipx_metadata.json").write_text("{}")
    pipx = ["pipx", "inject", "my venv", "example"]
    assert run_advice(environment, programs).splitlines() == pipx
