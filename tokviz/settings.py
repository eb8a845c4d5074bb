"""What the app remembers between two starts: a small JSON file in the user's config folder.

Nothing here is ever required. A missing file means the defaults; a broken one is kept aside under
another name, and the defaults come with a sentence for the user.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from tokviz.errors import TokvizError
from tokviz.files import write_file
from tokviz.locks import FileLock
from tokviz.sentences import why

_MAX_BYTES = 1_000_000

_LOCK_SECONDS = 1.0
"""How long to wait for another session that writes them."""


class Settings(NamedTuple):
    """The remembered choices. Change one with `_replace`."""

    theme: str = "tokviz-dark"
    """Name of the theme."""
    tokenizer: str = "cl100k_base"
    """Canonical name of the tokenizer used last."""
    show_invisibles: bool = True
    """Whether invisible characters are drawn as glyphs."""
    wrap: bool = True
    """Whether long lines are wrapped."""
    panel: str = "ids"
    """Which side panel is shown: "ids", "splits", "token" or "mask"."""
    panel_visible: bool = True
    """Whether the side panels are shown at all."""
    folder: str = ""
    """The folder of the file opened or saved last, empty for the working folder."""
    recent_tokenizers: tuple[str, ...] = ()
    """Paths and hub names of the tokenizers loaded last, the newest first."""
    log_scale: bool = False
    """Whether curves over the merges are drawn on a logarithmic scale."""
    second_tokenizer: str = ""
    """What loads the tokenizer that "Why?" shows beside the one at hand, empty for none."""
    price_model: str = ""
    """Name of the model of the user's price table whose cost is shown, empty for the first."""
    tour: bool = True
    """Whether the first steps are shown at a start without a file; not once they have ended."""
    strip: bool = False
    """Whether the counts of the compared tokenizers stand below the text."""

    split_patterns: tuple[str, ...] = ("gpt2", "gpt4")
    """Names of the patterns in the two upper rows of the Splits panel."""
    split_regex: str = ""
    """The regex in the field of that panel, empty for the one to begin with."""
    split_regexes: tuple[str, ...] = ()
    """The regexes that were typed there before, the oldest first."""
    split_tokens: bool = False
    """Whether that panel shows the tokens inside the pieces."""

    compared: tuple[str, ...] = ("o200k_base", "gpt2")
    """What loads the tokenizers that the Compare screen shows beside the one in use."""


def settings_path() -> Path:
    """Name the settings file of this user."""
    from platformdirs import user_config_path

    return user_config_path("tokviz", appauthor=False) / "settings.json"


def load_settings(path: Path | None = None) -> tuple[Settings, str | None]:
    """Read the settings.

    Args:
        path: The file to read, the user's own if not given.

    Returns:
        The settings, and a sentence for the user where something in the file was no use.
    """
    path = settings_path() if path is None else path
    if not os.path.lexists(path):
        return Settings(), None
    from tokviz.json_file import JsonFileError, read_json

    try:
        stored = read_json(path, limit=_MAX_BYTES)
    except JsonFileError:
        return Settings(), _keep_aside(path, "is not JSON")
    except TokvizError as error:
        return Settings(), why("Your settings cannot be read, so these are the defaults", error)
    if not isinstance(stored, dict):
        return Settings(), _keep_aside(path, "holds no JSON object")
    return _from_stored(stored)


def save_settings(
    settings: Settings, path: Path | None = None, *, before: Settings | None = None
) -> str | None:
    """Write what has changed, in one step; what other sessions have changed meanwhile stays.

    Args:
        settings: What to remember.
        path: The file to write, the user's own if not given.
        before: What was read or written last, by default the settings of a first start.

    Returns:
        A sentence for the user if it failed, else None.
    """
    import json

    path = settings_path() if path is None else path
    old = (before or Settings())._asdict()
    changed = {name: new for name, new in settings._asdict().items() if new != old[name]}
    if not changed:
        return None
    lock = FileLock(path.with_name(path.name + ".lock"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.take(_LOCK_SECONDS)  # after that long it is written all the same
        stored = _stored(path)
        for name, new in changed.items():
            stored[name] = _merged(new, old[name], stored.get(name))
        content = json.dumps(stored, indent=2) + "\n"
        write_file(path, content.encode("ascii"), private=True)
    except (OSError, TokvizError) as error:
        return why("Your settings are not saved", error)
    finally:
        lock.release()
    return None


def _stored(path: Path) -> dict[str, Any]:
    """Read what is on disk now, entries of newer versions too; nothing where that is no use."""
    from tokviz.json_file import JsonFileError, read_json

    try:
        stored = read_json(path, limit=_MAX_BYTES) if path.exists() else {}
    except JsonFileError:
        stored = None
    if isinstance(stored, dict):
        return stored
    _keep_aside(path, "")
    return {}


def _merged(new: Any, old: Any, stored: Any) -> Any:
    """Give an entry as it is to be; a list keeps what another session has added to it meanwhile."""
    if not isinstance(new, tuple) or not isinstance(stored, list):
        return new
    return [*new, *(one for one in stored if one not in new and one not in old)]


def _from_stored(stored: dict[str, object]) -> tuple[Settings, str | None]:
    """Take the entries that have the right type; a newer version's entries are left alone."""
    usable: dict[str, Any] = {}
    wrong: list[str] = []
    for name, default in Settings()._asdict().items():
        value = stored.get(name, default)
        if isinstance(default, tuple) and isinstance(value, list | tuple):
            value = tuple(one for one in value if isinstance(one, str))
        if type(value) is type(default):
            usable[name] = value
        else:
            wrong.append(name)
    settings = Settings(**usable)
    if not wrong:
        return settings, None
    keys = ", ".join(wrong)
    return settings, f"Your settings hold no usable value for {keys}: the default is used."


def _keep_aside(path: Path, reason: str) -> str:
    """Rename a broken file, so that the next save does not destroy what the user may want back."""
    aside = path.with_name(path.name + ".broken")
    try:
        os.replace(path, aside)
    except OSError:
        return f"Your settings file {reason}, so these are the defaults: {path}"
    return f"Your settings file {reason}, so these are the defaults. It is kept as {aside}"
