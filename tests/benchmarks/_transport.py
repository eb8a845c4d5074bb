"""Reads the terminal as fast as Python can and says `received` at the end of a bracketed paste.

The floor of every paste: what the pseudo-terminal itself costs.
"""

from __future__ import annotations

import os
import sys
import tty

PASTE_END = b"\x1b[201~"

if __name__ == "__main__":
    tty.setraw(0)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    tail = b""
    while PASTE_END not in tail:
        tail = tail[-len(PASTE_END) :] + os.read(0, 1 << 16)
    sys.stdout.write("received\n")
    sys.stdout.flush()
    os.read(0, 1)
