"""Build hook that adds the manual page, generated from the commands' parsers, to the wheel."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPage(BuildHookInterface):
    """Adds the page to the shared data of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the page to the files of the wheel."""
        sys.path.insert(0, self.root)
        from tokviz.cli.reference import manual

        self.page = Path(tempfile.mkdtemp()) / "tokviz.1"
        self.page.write_text(manual(), "utf-8")
        build_data["shared_data"][str(self.page)] = "share/man/man1/tokviz.1"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary file."""
        shutil.rmtree(self.page.parent)
