"""The folder for what the app keeps between two runs."""

from __future__ import annotations

from pathlib import Path

from tokviz.storage.files import writing


def state_folder() -> Path:
    """Return the user's state folder of tokviz, which exists then and is private to the user.

    Raises:
        OutputFileError: If it cannot be made.
    """
    from platformdirs import user_state_path

    folder = user_state_path("tokviz", appauthor=False)
    with writing(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
