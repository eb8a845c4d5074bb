"""Content of the distribution."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

from tokviz.guide import PAGES, page_path, page_source
from tokviz.storage.assets import asset_path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WHEEL = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
FOLDERS = {path.name for path in (ROOT / "assets").iterdir() if path.is_dir()}


def name_of(requirement: str) -> str:
    """Return the package that a requirement names."""
    return re.split(r"[<>=~\[ ]", requirement)[0]


def test_the_wheel_carries_every_folder_of_assets_but_screenshots():
    folders = FOLDERS - {"screenshots", "licenses"}  # for the README, and for the metadata
    assets = {f"assets/{name}": f"tokviz/assets/{name}" for name in folders}
    pages = {
        page_path(name): f"tokviz/assets/guide/{name}.md"
        for name in PAGES
        if not page_path(name).startswith("tokviz/")
    }
    assert len(pages) == 4
    assert WHEEL["force-include"] == assets | pages


def test_a_notice_says_whose_each_folder_of_assets_is():
    notice = (ROOT / "assets/NOTICE.md").read_text("utf-8")
    assert [name for name in FOLDERS if f"`{name}/" not in notice] == []
    assert PROJECT["project"]["license-files"][1:] == ["assets/NOTICE.md", "assets/*/LICENSES.txt"]


def test_a_page_says_of_every_package_that_is_asked_for_why_it_is_there():
    page = page_source("dependencies")
    always = {*re.findall(r"^\| `([\w-]+)` \| \S", page, re.MULTILINE)}
    extras = {*re.findall(r"^\| `(\w+)` \| `([\w-]+)` \| \S", page, re.MULTILINE)}
    asked = PROJECT["project"]["optional-dependencies"]
    needed = {name_of(line) for line in PROJECT["project"]["dependencies"]}
    assert always - {extra for extra, _ in extras} == needed
    assert extras == {(e, name_of(line)) for e in asked if e != "dev" for line in asked[e]}


def test_assets_are_found_in_a_checkout():
    assert asset_path("samples/welcome.txt").is_file()
    assert asset_path("vocab/gpt2.ranks").is_file()


def test_parsers_need_nothing_but_python_so_that_the_manual_page_is_made_as_the_wheel_is():
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    code += "from tokviz.cli.reference import manual; manual()"
    subprocess.run([sys.executable, "-S", "-E", "-c", code], check=True)


def test_the_wheel_and_the_source_are_small_and_hold_no_time_and_no_order_of_this_machine(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", tmp_path], cwd=ROOT, check=True,
        capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )  # fmt: skip
    wheel, archive = sorted(tmp_path.iterdir(), key=lambda path: path.suffix == ".gz")
    assert max(wheel.stat().st_size, archive.stat().st_size) < 20_000_000
    files = ZipFile(wheel).infolist()
    assert {file.date_time for file in files} == {(2023, 11, 14, 22, 13, 20)}
    modules = [file.filename for file in files if file.filename.endswith(".py")]
    assert modules == sorted(modules, key=lambda name: (name.split("/")[:-1], name))
    names = {re.sub(r"^tokviz_tui-[^/]*/", "", file.filename) for file in files}
    assert names >= {
        "data/share/man/man1/tokviz.1",
        "licenses/LICENSE",
        "licenses/assets/NOTICE.md",
        "licenses/assets/licenses/LICENSES.txt",
        "tokviz/assets/guide/security.md",
        "tokviz/py.typed",
    }
