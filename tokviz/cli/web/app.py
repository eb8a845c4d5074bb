"""The app in a browser's terminal: `python -m tokviz.cli.web.app`, started by the server."""

from __future__ import annotations

import argparse
import fcntl
import sys
import termios

from tokviz.errors import TokvizError
from tokviz.text.glyphs import safe
from tokviz.tui.run import run
from tokviz.workspace.session import ShowScreen


def main() -> int:
    """Run the app on the terminal that is standard input."""
    parser = argparse.ArgumentParser(prog="python -m tokviz.cli.web.app")
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--screen")
    parser.add_argument("--tokenizer")
    asked = parser.parse_args()
    # The end of the terminal is to end the app, so it has to be its own.
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    try:
        run(
            tokenizer=asked.tokenizer,
            first=ShowScreen(asked.screen) if asked.screen else None,
            shade="light" if asked.light else "dark",
        )
    except TokvizError as error:
        print(safe(str(error)))
        return 1


if __name__ == "__main__":
    sys.exit(main())
