"""`python -m tokviz` is the command `tokviz`."""

from __future__ import annotations

import sys

from tokviz.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
