"""Textual's POSIX driver still lacks the public names of `SignalDriver`."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("needs a POSIX terminal", allow_module_level=True)

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from tokviz.tui.textual_private.signal_driver import SignalDriver


def test_textual_still_needs_the_workaround() -> None:
    own = {name for name in vars(SignalDriver) if not name.startswith("_")}
    assert own and not own & {*dir(LinuxDriver), *dir(Driver)}, "use the public names"
