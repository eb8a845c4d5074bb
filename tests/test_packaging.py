"""What the distribution carries."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tokviz.assets import asset_path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOR_THE_README = {"screenshots"}


def test_the_wheel_carries_every_folder_of_assets_but_screenshots():
    carried = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    folders = {path.name for path in (ROOT / "assets").iterdir() if path.is_dir()} - FOR_THE_README
    assert carried == {f"assets/{name}": f"tokviz/assets/{name}" for name in folders}


def test_assets_are_found_in_a_checkout():
    assert asset_path("samples/welcome.txt").is_file()
    assert asset_path("vocab/gpt2.ranks").is_file()


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "tokviz" / "py.typed").is_file()
