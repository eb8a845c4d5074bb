"""Run the suite with the newest release of Textual, regardless of our version constraint.

    python tests/robustness/newest_textual.py

It creates a new environment. `tests/tui/test_textual_private.py` names the private API that a
release has moved. This is not a step of `.ci/run`, which must not fail because of a new release.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Run the suite and return pytest's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, "-e", f"{ROOT}[dev]"], check=True)
        subprocess.run([*install, "--upgrade", "textual"], check=True)
        subprocess.run([python, "-c", "import textual; print('Textual', textual.__version__)"])
        return subprocess.run([python, "-m", "pytest", *sys.argv[1:]], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
