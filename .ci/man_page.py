"""Puts the manual page into the wheel, made of the commands' own parsers as it is built."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPage(BuildHookInterface):
    """Writes the page where wheels keep such files; parsers need nothing but Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the page to the files of the wheel."""
        sys.path.insert(0, self.root)
        from tokviz.cli.reference import manual

        self.page = Path(tempfile.mkdtemp()) / "tokviz.1"
        self.page.write_text(manual(), "utf-8")
        build_data["shared_data"][str(self.page)] = "share/man/man1/tokviz.1"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written for the wheel."""
        shutil.rmtree(self.page.parent)
