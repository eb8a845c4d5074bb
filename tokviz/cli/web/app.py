"""The app in a terminal of the server, started as `python -m tokviz.cli.web.app`."""

from __future__ import annotations

import argparse
import fcntl
import sys
import termios

from tokviz.cli.output import ERROR
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
    arguments = parser.parse_args()
    # Make it the controlling terminal, so that the app ends when the terminal is closed.
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    try:
        run(
            tokenizer=arguments.tokenizer,
            first=ShowScreen(arguments.screen) if arguments.screen else None,
            shade="light" if arguments.light else "dark",
        )
    except TokvizError as error:
        print(safe(str(error)))
        return ERROR


if __name__ == "__main__":
    sys.exit(main())
