"""What the user has chosen, in `config.toml`, and what the app remembers, in `state.toml`.

Both are in the user's config folder. Users edit the first, by hand or by `tokviz config`; the app
writes into it what is chosen in the app, and leaves comments and all else as they are. The second
is the app's own, so that the first can be shared between computers.

Nothing here is ever required. A missing file means the defaults. What is of no use in one is left
there, the default takes its place, and a sentence tells.

A table `[profile.NAME]` holds settings that go before the others when the app is started with
`--profile NAME`. What such a profile sets is changed there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tokviz.errors import OutputFileError, TokvizError
from tokviz.storage.files import output_error, write_file
from tokviz.storage.locks import FileLock
from tokviz.storage.toml_file import line_of, read_toml
from tokviz.text.sentences import failure_message

_LOCK_SECONDS = 3.0
"""How long to wait for another session that writes them."""

_HEADER = "# Settings of tokviz: `tokviz config` lists all of them with what they mean.\n\n"

MOST_RECENT = 12
"""How many places of tokenizers are remembered."""
REMEMBERED = ("folder", "recent_tokenizers", "split_regexes", "tour")
"""The fields that are in `state.toml`."""
PLACES = ("tokenizer", "second_tokenizer", "compared")
"""The fields that are in `state.toml` while they hold a path, which other computers lack."""

Choices = Mapping[str, Collection[str]]
"""By the name of a setting, the words that it may be, or that it may hold."""


class SettingError(TokvizError):
    """A setting that is of no use; names file, line and key."""

    def __init__(self, path: Path, line: int, key: str, reason: str) -> None:
        """Take the place and the reason."""
        self.path, self.line, self.key, self.reason = path, line, key, reason
        super().__init__(f"{path}, line {line}: {key}: {reason}")


class Settings(NamedTuple):
    """What the user has chosen, and what is remembered. Change one with `_replace`.

    The docstring of a field is what `tokviz config` says about it.
    """

    theme: str = "tokviz-dark"
    """Name of the theme: `tokviz config` lists them."""
    tokenizer: str = "cl100k_base"
    """The tokenizer: a name, a path or hf:org/name; the one used last is remembered here."""
    show_invisibles: bool = True
    """Whether invisible characters are drawn as glyphs."""
    wrap: bool = True
    """Whether long lines are wrapped."""
    panel: str = "ids"
    """Which side panel is shown."""
    panel_visible: bool = True
    """Whether the side panels are shown at all."""
    folder: str = ""
    """The folder of the file opened or saved last, empty for the working folder."""
    recent_tokenizers: tuple[str, ...] = ()
    """Paths and hub names of the tokenizers loaded last, the newest first."""
    log_scale: bool = False
    """Whether curves over the merges are drawn on a logarithmic scale."""
    second_tokenizer: str = ""
    """The tokenizer that "Why?" shows beside the one at hand, empty for none."""
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
    """Whether that panel shows the tokens inside the pre-tokens."""

    compared: tuple[str, ...] = ("o200k_base", "gpt2")
    """The tokenizers that the Compare screen shows beside the one in use."""

    editor: str = ""
    """The command that edits the text elsewhere, empty for that in $VISUAL or $EDITOR."""
    keys: dict[str, Any] = {}  # noqa: RUF012 (nobody changes it)
    """Keys of actions, such as find = "ctrl+g": one or a list; [] for none."""
    profile: str = ""
    """The profile in use, which no file names."""


_FIELDS = Settings._fields[:-1]
_DEFAULTS = Settings()._asdict()

_WISHES: dict[type, str] = {
    bool: "must be true or false",
    str: "must be text in quotes",
    tuple: "must be a list of texts, in brackets",
    dict: "must be a table",
}


def config_path() -> Path:
    """Name the file with the settings of this user."""
    from platformdirs import user_config_path

    return user_config_path("tokviz", appauthor=False) / "config.toml"


def meanings() -> dict[str, str]:
    """Give what each setting means, by its name."""
    import ast
    import inspect

    (shape,) = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(shape, ast.ClassDef)
    said = {
        field.target.id: ast.literal_eval(text.value)
        for field, text in zip(shape.body, shape.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
        if isinstance(field.target, ast.Name)
    }
    return {name: said[name] for name in _FIELDS}


def did_you_mean(word: str, names: Collection[str]) -> str:
    """Ask for the nearest of some names, or list them if there are few; may be empty."""
    from difflib import get_close_matches

    near = get_close_matches(word, names, n=1)
    few = f": there are {', '.join(names)}" if 0 < len(names) <= 12 else ""
    return f": did you mean {near[0]!r}?" if near else few


# -- reading


def load_settings(path: Path | None = None, profile: str = "") -> tuple[Settings, str | None]:
    """Read the settings.

    Args:
        path: The file to read, the user's own if not given.
        profile: The name of the profile to use, empty for none.

    Returns:
        The settings, and a sentence for the user where a file was no use; `check_file` tells more.

    Raises:
        TokvizError: If there is no such profile.
    """
    path = config_path() if path is None else path
    told = _take_over(path)
    values: dict[str, Any] = {}
    profiles: Any = {}
    for file in (path.with_name("state.toml"), path):
        try:
            table, _ = _read(file)
        except TokvizError as error:
            told.append(
                failure_message("Your settings cannot be read, so these are the defaults", error)
            )
            continue
        profiles = table.get("profile", {})
        values |= usable(table)
    if profile and (not isinstance(profiles, dict) or profile not in profiles):
        hint = did_you_mean(profile, list(profiles))
        raise TokvizError(told[0] if told else f"{path} has no table [profile.{profile}]{hint}")
    values |= usable(profiles[profile]) if profile else {}
    return Settings(**values, profile=profile), " ".join(told) or None


def usable(table: Any) -> dict[str, Any]:
    """Give the entries of a table that are settings of the right type."""
    return {
        name: tuple(one for one in value if isinstance(one, str)) if name_type is tuple else value
        for name, value in (table.items() if isinstance(table, dict) else ())
        if name in _FIELDS
        for name_type in [type(_DEFAULTS[name])]
        if isinstance(value, list if name_type is tuple else name_type)
    }


def check_file(path: Path, choices: Choices | None = None) -> list[SettingError]:
    """List what is of no use in a file.

    Args:
        path: The file; a missing one is in order.
        choices: The words that settings may be.

    Raises:
        InputFileError: If it cannot be read.
    """
    table, text = _read(path)
    profiles = table.pop("profile", {})
    tables = (
        {"profile": profiles}
        if not isinstance(profiles, dict)
        else {f"profile.{name}": own for name, own in profiles.items()}
    )
    found = []
    for header, own in {"": table, **tables}.items():
        for key, value in own.items() if isinstance(own, dict) else [("", own)]:
            reason = "must be a table, such as [profile.work]"
            if key:
                reason = _fault(key, value, (choices or {}).get(key, ()))
            line = line_of(text, *(header, key) if key else ("", "profile"))
            if reason:
                found.append(SettingError(path, line, f"{header}.{key}".strip("."), reason))
    return found


def _read(path: Path) -> tuple[dict[str, Any], str]:
    return read_toml(path) if os.path.lexists(path) else ({}, "")


def _fault(key: str, value: Any, words: Collection[str]) -> str:
    """Say what is wrong with a setting; empty if nothing is."""
    if key not in _FIELDS:
        return f"there is no such setting{did_you_mean(key, _FIELDS)}"
    found = usable({key: value}).get(key)
    if found is None or (isinstance(found, tuple) and len(found) < len(value)):
        return _WISHES[type(_DEFAULTS[key])]
    given = found if isinstance(found, tuple) else [found]
    wrong = next((one for one in given if words and one not in words), None)
    return "" if wrong is None else f"there is no {wrong!r}{did_you_mean(wrong, words)}"


# -- writing


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
    path = config_path() if path is None else path
    old = (before or Settings())._asdict()
    changed = {
        name: _merger(settings._asdict()[name], old[name])
        for name in _FIELDS
        if settings._asdict()[name] != old[name]
    }
    local = {name for name in changed if name in REMEMBERED or _holds_path(settings, name)}
    try:
        for file in (path, path.with_name("state.toml")):
            own = local if file is not path else changed.keys() - local
            part = {name: new for name, new in changed.items() if name in own}
            if os.path.lexists(file):
                part |= dict.fromkeys((changed.keys() & PLACES) - own)
            if part:
                edit_file(file, part, settings.profile)
    except TokvizError as error:
        return failure_message("Your settings are not saved", error)
    return None


def _holds_path(settings: Settings, name: str) -> bool:
    """Return whether a setting holds a path; one of a profile stays in its table."""
    value = getattr(settings, name)
    held = value if isinstance(value, tuple) else (value,)
    return name in PLACES and not settings.profile and any(map(os.path.isabs, held))


def edit_file(
    path: Path, changes: Mapping[str, Any], profile: str = "", header: str = _HEADER
) -> None:
    """Change settings in a file, in one step; comments and all else stay.

    Args:
        path: The file, which is made where there is none.
        changes: By the name of a setting its new value, None to remove it; or a function that
            gives the new value for the one that is there. A dot goes into a table.
        profile: The name of the table where what it sets already is changed.
        header: What a new file begins with.

    Raises:
        TokvizError: If it fails. The file is as it was.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    def within(table: Any, name: str) -> Any:
        found = table.get(name)
        return found if isinstance(found, dict) else {}

    lock = FileLock(path.with_name(path.name + ".lock"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.take(_LOCK_SECONDS)  # after that long it is written all the same
        _, text = _read(path)
        document = tomlkit.parse(text or header)
        own = within(within(document, "profile"), profile)
        for name, new in changes.items():
            table: Any = own if name in own else document
            *tables, key = name.split(".")
            for step in tables:
                if not within(table, step):
                    table[step] = tomlkit.table()
                table = table[step]
            if callable(new):
                new = new(table.get(key))
            if new is None:
                table.pop(key, None)
            elif isinstance(new, list | tuple):
                table[key] = list(filter(_is_utf8, new))
            elif _is_utf8(new):
                table[key] = new
        write_file(path, tomlkit.dumps(document).encode(), private=True)
    except TOMLKitError as error:
        raise OutputFileError(path, str(error)) from None
    except OSError as error:
        raise output_error(path, error) from None
    finally:
        lock.release()


def _is_utf8(value: Any) -> bool:
    """Tell whether TOML can hold a value: a path of other bytes is not remembered."""
    return (
        not isinstance(value, str)
        or value.isascii()
        or value.encode(errors="ignore").decode() == value
    )


def _merger(new: Any, old: Any) -> Any:
    """Give a value; of a list, what makes it keep what another session has added meanwhile."""
    if not isinstance(new, tuple):
        return new
    return lambda stored: [
        *new,
        *(one for one in stored or () if one not in new and one not in old),
    ]


def _take_over(path: Path) -> list[str]:
    """Take the settings of older versions over, once, and keep their file aside.

    Returns:
        Sentences for the user about what failed.
    """
    old = path.with_name("settings.json")
    if not os.path.lexists(old) or os.path.lexists(path):
        return []
    from tokviz.storage.json_file import read_json

    try:
        complaint = save_settings(Settings(**usable(read_json(old))), path)
        if complaint is None:
            old.replace(old.with_name("settings.json.old"))
    except (OSError, TokvizError) as error:
        complaint = failure_message("Your settings of an older version are not taken over", error)
    return [complaint] if complaint else []
