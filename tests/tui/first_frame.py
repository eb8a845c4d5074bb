"""What the app imports until its first frame, seen from another process."""

from __future__ import annotations

import subprocess
import sys

_CODE = """
import sys
import tokviz
from tokviz.workspace.session import Opened, Session
from tokviz.tui.app import TokvizApp

def painted(app):
    print(*sys.modules, file=sys.__stdout__)
    app.exit()

TokvizApp.post_display_hook = painted
TokvizApp(Session(Opened("hello world"), tokviz.load("gpt2"), remember=False)).run(headless=True)
"""


def imported_for_the_first_frame() -> set[str]:
    """Run the app until it paints, and give the modules that are imported by then."""
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[0].split())
