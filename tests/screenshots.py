"""Make the pictures of README and guide: `python tests/screenshots.py`, with Chromium installed.

Each is the real app, driven headless, exported by Textual as SVG and drawn by the browser. The
recording alone: `python tests/screenshots.py recording`.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tokviz
from tokviz.tui.app import TokvizApp
from tokviz.workspace.session import Opened, Session, ShowScreen, sample_text
from tokviz.workspace.settings import Settings

FOLDER = Path(__file__).parent.parent / "assets" / "screenshots"
SIZE = (120, 34)


class Shot(NamedTuple):
    """Content of a picture: a screen with a theme and a panel, after some keys."""

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
"""File name → content."""


def _app(screen: str, settings: Settings) -> TokvizApp:
    opened = Opened(sample_text(), is_sample=True)
    tokenizer, first = tokviz.load("cl100k_base"), ShowScreen(screen)
    return TokvizApp(Session(opened, tokenizer, settings, remember=False, first=first))


async def export(shot: Shot) -> str:
    """Run the app on its sample text, press the keys and return the screen as SVG."""
    app = _app(shot.screen, Settings(theme=shot.theme, panel=shot.panel))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(2)
        await pilot.press(*shot.keys)
        await pilot.pause(2)
        return app.export_screenshot()


async def export_training() -> tuple[str, str]:
    """Train on the sources of the project and replay it; return both screens as SVG."""
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
        await pilot.pause(8)  # until the notification about the first compilation ends
        training = app.export_screenshot()
        await app.run_action("screen.replay_result")
        await pilot.pause(3)
        await pilot.press("ctrl+g", *"300", "enter")
        await pilot.pause(8)
        shutil.rmtree(home)
        return training, app.export_screenshot()


async def export_recording() -> list[tuple[str, int]]:
    """Type a text, ask why, compare, and play a lesson; return each frame as SVG with its time."""
    frames: list[tuple[str, int]] = []
    tokenizer, small = tokviz.load("cl100k_base"), (100, 26)
    session = Session(Opened(""), tokenizer, Settings(theme="tokviz-dark"), remember=False)
    app = TokvizApp(session)
    async with app.run_test(size=small) as pilot:

        async def show(milliseconds: int, *keys: str, wait: float = 0.3) -> None:
            await pilot.press(*keys)
            await pilot.pause(wait)
            frames.append((app.export_screenshot(), milliseconds))

        await pilot.pause(2)
        await show(600)
        words = "Tokenizers split unbelievably well: 你好 1234567"
        for start in range(0, len(words), 3):
            await show(110, *(_KEYS.get(letter, letter) for letter in words[start : start + 3]))
        await show(900)
        await show(500, "home", *["ctrl+right"] * 2, *["right"] * 4)
        await show(3000, "shift+f1", wait=2)
        await show(300, "escape")
        await show(1500, "ctrl+l", "2", wait=3)
        await show(3000, "n", wait=1)
        await show(500, "ctrl+l", "5", wait=2)
        await show(500, "shift+f9", wait=1)
        await pilot.press("enter")
        await pilot.pause(2)
        for _ in range(12):
            await show(700, "right", wait=0.5)
        frames[-1] = (frames[-1][0], 3000)
    return frames


_KEYS = {" ": "space", ":": "colon"}
"""Names of the pilot for characters that are not names of keys."""


def draw(svg: str, target: Path) -> None:
    """Convert an SVG to a PNG file in a browser."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert box is not None
    width, height = (int(float(number)) for number in box.groups())
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "shot.svg"
        source.write_text(svg, "utf-8")
        _browse(source, target, width, height)


def animate(frames: Sequence[tuple[str, int]], target: Path, width: int = 1000) -> None:
    """Draw SVGs in a browser, several per page, and create a GIF."""
    from PIL import Image

    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', frames[0][0])
    assert box is not None
    height = round(width * float(box[2]) / float(box[1]))
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(frames), 16):  # the maximum height of a page
            part = frames[start : start + 16]
            for number, (svg, _) in enumerate(part):
                (Path(folder) / f"{number}.svg").write_text(svg, "utf-8")
            rows = (f'<img src="{number}.svg" width="{width}" height="{height}">'
                    for number in range(len(part)))  # fmt: skip
            page = Path(folder) / "page.html"
            style = "<style>body { margin: 0 } img { display: block }</style>"
            page.write_text(f"<!DOCTYPE html>{style}{''.join(rows)}", "utf-8")
            drawn = Path(folder) / "drawn.png"
            _browse(page, drawn, width, height * len(part))
            whole = Image.open(drawn).convert("RGB")
            for number in range(len(part)):
                top = number * height
                pictures.append(whole.crop((0, top, width, top + height)))
    # One palette for all frames, so that unchanged areas are equal and compress well.
    sheet = Image.new("RGB", (width, height * 4))
    for row, at in enumerate((0, len(pictures) // 2, -8, -1)):
        sheet.paste(pictures[at], (0, row * height))
    palette = sheet.quantize(96)
    first, *others = (picture.quantize(palette=palette, dither=0) for picture in pictures)
    first.save(
        target, save_all=True, append_images=others, loop=0, optimize=True, disposal=1,
        duration=[milliseconds for _, milliseconds in frames],
    )  # fmt: skip


def _browse(page: Path, target: Path, width: int, height: int) -> None:
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                f"--user-data-dir={profile}",
                f"--window-size={width},{height}",
                f"--screenshot={target}",
                str(page),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    animate(asyncio.run(export_recording()), FOLDER / "recording.gif")
    if sys.argv[1:] == ["recording"]:
        sys.exit()
    for name, shot in SHOTS.items():
        draw(asyncio.run(export(shot)), FOLDER / f"{name}.png")
    training, replay = asyncio.run(export_training())
    draw(training, FOLDER / "train.png")
    draw(replay, FOLDER / "replay.png")
