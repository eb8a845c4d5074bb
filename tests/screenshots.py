"""Make the README's screenshots: `python tests/screenshots.py`, with Chromium installed.

Each is the real app, driven headless, exported by Textual as SVG and drawn by the browser.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import tokviz
from tokviz.session import Opened, Session, ShowScreen, sample_text
from tokviz.settings import Settings
from tokviz.tui.app import TokvizApp

FOLDER = Path(__file__).parent.parent / "assets" / "screenshots"
SIZE = (120, 34)


class Shot(NamedTuple):
    """What a picture shows: a screen with a theme and a panel, after some keys."""

    screen: str
    theme: str
    panel: str = "ids"
    keys: tuple[str, ...] = ()


SHOTS = {
    "tokens": Shot("tokens", "tokviz-dark", "ids", ("down", "down", "down", *["right"] * 7)),
    "splits": Shot("tokens", "tokviz-light", "splits", ("down", "down", "down")),
    "token": Shot("tokens", "tokviz-dark", "token", tuple(["right"] * 39)),
    "compare": Shot("compare", "tokviz-light", keys=("n",)),
    "chat": Shot("chat", "tokviz-dark", keys=("down", "down", "down", *["right"] * 12)),
    "vocabulary": Shot("vocabulary", "tokviz-light", keys=(*"token", "enter", "alt+t")),
}
"""File name → what is on it."""


def _app(screen: str, settings: Settings) -> TokvizApp:
    opened = Opened(sample_text(), is_sample=True)
    tokenizer, first = tokviz.load("cl100k_base"), ShowScreen(screen)
    return TokvizApp(Session(opened, tokenizer, settings, remember=False, first=first))


async def export(shot: Shot) -> str:
    """Run the app on its sample text, press the keys and return what it shows as SVG."""
    app = _app(shot.screen, Settings(theme=shot.theme, panel=shot.panel))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(2)
        await pilot.press(*shot.keys)
        await pilot.pause(2)
        return app.export_screenshot()


async def export_training() -> tuple[str, str]:
    """Train on the project's own sources and replay that; return both screens as SVG."""
    app = _app("train", Settings())
    home = Path(tempfile.mkdtemp())
    shutil.copytree(FOLDER.parent.parent / "tokviz", home / "sources")
    os.environ["HOME"] = str(home)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(1)
        await pilot.press(*"~/sources", "enter")
        await pilot.pause(2)
        await pilot.press("ctrl+r")
        while "Written" not in app.export_screenshot():
            await pilot.pause(0.5)
        await pilot.pause(8)  # the notice about the first compilation goes
        training = app.export_screenshot()
        await pilot.press("ctrl+y")
        await pilot.pause(3)
        await pilot.press("ctrl+g", *"300", "enter")
        await pilot.pause(8)
        shutil.rmtree(home)
        return training, app.export_screenshot()


def draw(svg: str, target: Path) -> None:
    """Let a browser draw an SVG into a PNG file."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert box is not None
    width, height = (int(float(number)) for number in box.groups())
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "shot.svg"
        source.write_text(svg, "utf-8")
        subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                f"--user-data-dir={folder}/profile",
                f"--window-size={width},{height}",
                f"--screenshot={target}",
                str(source),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, shot in SHOTS.items():
        draw(asyncio.run(export(shot)), FOLDER / f"{name}.png")
    training, replay = asyncio.run(export_training())
    draw(training, FOLDER / "train.png")
    draw(replay, FOLDER / "replay.png")
