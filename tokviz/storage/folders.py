"""The folder for the state that the app keeps between sessions."""

from __future__ import annotations

from pathlib import Path

from tokviz.storage.files import writing


def state_folder() -> Path:
    """Return tokviz's state folder, created if necessary and private to the user.

    Raises:
        OutputFileError: If it cannot be created.
    """
    # Most commands do not need this package.
    from platformdirs import user_state_path

    folder = user_state_path("tokviz", appauthor=False)
    with writing(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
