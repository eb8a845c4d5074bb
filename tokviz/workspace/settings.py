"""Settings of the user, in `config.toml`, and state of the app, in `state.toml`.

Both files are in the user's config folder. Users edit the first one by hand or with `tokviz
config`; the app changes settings in it and preserves comments and everything else. The second one
belongs to the app, so that the first can be shared between computers.

Both files are optional. An invalid setting is kept in the file; the app uses the default and
reports the error.

A table `[profile.NAME]` has settings that override the others if the app is started with `--profile
NAME`. Changes of these settings are then written to the table.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from tokviz.errors import OutputFileError, TokvizError
from tokviz.storage.files import output_error, write_file
from tokviz.storage.locks import FileLock
from tokviz.storage.toml_file import line_of, read_toml
from tokviz.text.sentences import failure_message

_LOCK_SECONDS = 3.0
"""How long to wait for another process that writes the file."""

_HEADER = "# Settings of tokviz: `tokviz config` lists and explains all of them.\n\n"

MOST_RECENT = 12
"""Maximum number of recent tokenizers."""
REMEMBERED = ("folder", "recent_tokenizers", "split_regexes", "tour")
"""The fields stored in `state.toml`."""
PLACES = ("tokenizer", "second_tokenizer", "compared")
"""The fields stored in `state.toml` if they contain a path, which other computers lack."""

Choices = Mapping[str, Collection[str]]
"""Name of a setting → its allowed values, or those of its items."""


class SettingError(TokvizError):
    """An invalid setting; the message names file, line and key."""

    def __init__(self, path: Path, line: int, key: str, reason: str) -> None:
        """Set the position and the reason."""
        self.path, self.line, self.key, self.reason = path, line, key, reason
        super().__init__(f"{path}, line {line}: {key}: {reason}")


class Settings(NamedTuple):
    """All settings. `tokviz config` prints the docstring of each field."""

    theme: str = "tokviz-dark"
    """Name of the theme: `tokviz config` lists them."""
    tokenizer: str = "cl100k_base"
    """The last used tokenizer: a name, a path or hf:org/name."""
    show_invisibles: bool = True
    """Whether to show invisible characters as glyphs."""
    wrap: bool = True
    """Whether to wrap long lines."""
    panel: str = "ids"
    """The current side panel."""
    panel_visible: bool = True
    """Whether to show the side panels."""
    folder: str = ""
    """The folder of the last opened or saved file; empty for the working folder."""
    recent_tokenizers: tuple[str, ...] = ()
    """Paths and Hub names of the last loaded tokenizers, newest first."""
    log_scale: bool = False
    """Whether to draw curves over the merges on a logarithmic scale."""
    second_tokenizer: str = ""
    """The second tokenizer of "Why?"; empty for none."""
    price_model: str = ""
    """The model of the price table whose cost is shown; empty for the first."""
    tour: bool = True
    """Whether to show the first steps at a start without a file, until they are completed."""
    strip: bool = False
    """Whether to show the counts of the compared tokenizers below the text."""

    split_patterns: tuple[str, ...] = ("gpt2", "gpt4")
    """The split patterns in the two upper rows of the Splits panel."""
    split_regex: str = ""
    """The regex of the Splits panel; empty for the initial one."""
    split_regexes: tuple[str, ...] = ()
    """The history of regexes of the Splits panel, oldest first."""
    split_tokens: bool = False
    """Whether the Splits panel shows the tokens inside the pre-tokens."""

    compared: tuple[str, ...] = ("o200k_base", "gpt2")
    """The tokenizers that the Compare screen compares with the current one."""

    editor: str = ""
    """The command of the external editor; empty for $VISUAL or $EDITOR."""
    keys: dict[str, Any] = {}  # noqa: RUF012 (never modified)
    """Keys of actions, such as find = "ctrl+g": one key, a list, or [] for none."""
    profile: str = ""
    """The current profile, which is not stored."""


_FIELDS = Settings._fields[:-1]
_DEFAULTS = Settings()._asdict()

_TYPE_ERRORS: dict[type, str] = {
    bool: "must be true or false",
    str: "must be a string in quotes",
    tuple: "must be a list of strings, in brackets",
    dict: "must be a table",
}
_SCHEMAS: dict[type, dict[str, Any]] = {
    bool: {"type": "boolean"},
    str: {"type": "string"},
    tuple: {"type": "array", "items": {"type": "string"}},
    dict: {"type": "object"},
}


def config_path() -> Path:
    """Return the path of `config.toml`."""
    from platformdirs import user_config_path  # slow to import

    return user_config_path("tokviz", appauthor=False) / "config.toml"


def meanings() -> dict[str, str]:
    """Return the descriptions of the settings by name, from the docstrings of the fields."""
    import ast  # slow to import
    import inspect

    (shape,) = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(shape, ast.ClassDef)
    descriptions = {
        field.target.id: ast.literal_eval(text.value)
        for field, text in zip(shape.body, shape.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
        if isinstance(field.target, ast.Name)
    }
    return {name: descriptions[name] for name in _FIELDS}


def config_schema(choices: Choices, actions: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON Schema of `config.toml`, for editors.

    Args:
        choices: The allowed values of settings.
        actions: The titles of the actions whose keys can be changed, by name.
    """
    one_or_more = [_SCHEMAS[str], _SCHEMAS[tuple]]
    properties = {}
    for name, meaning in meanings().items():
        default = _DEFAULTS[name]
        shape = {**_SCHEMAS[type(default)], "description": meaning, "default": default}
        if name in choices:
            allowed = {"type": "string", "enum": list(choices[name])}
            shape |= {"items": allowed} if isinstance(default, tuple) else allowed
        properties[name] = shape
    properties["keys"] |= {
        "properties": {
            name: {"anyOf": one_or_more, "description": title} for name, title in actions.items()
        },
        "additionalProperties": False,
    }
    profile = {
        "type": "object",
        "properties": {name: {"$ref": f"#/properties/{name}"} for name in properties},
        "additionalProperties": False,
    }
    profiles = {
        "type": "object",
        "description": "Settings of `tokviz --profile NAME`, in a table for each NAME.",
        "additionalProperties": profile,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of tokviz",
        "type": "object",
        "properties": {**properties, "profile": profiles},
        "additionalProperties": False,
    }


def did_you_mean(word: str, names: Collection[str]) -> str:
    """Return a suggestion of the nearest name, or a list of a few names; may be empty."""
    near = get_close_matches(word, names, n=1)
    few = f": choose one of {', '.join(names)}" if 0 < len(names) <= 12 else ""
    return f": did you mean {near[0]!r}?" if near else few


# -- reading


def load_settings(path: Path | None = None, profile: str = "") -> tuple[Settings, str | None]:
    """Read the settings.

    Args:
        path: The path of `config.toml`, by default the user's.
        profile: The name of the profile to use; empty for none.

    Returns:
        The settings, and an error message for the user if a file cannot be read, else None;
        `check_file` lists invalid settings.

    Raises:
        TokvizError: If there is no such profile.
    """
    path = config_path() if path is None else path
    errors: list[str] = []
    values: dict[str, Any] = {}
    profiles: Any = {}
    for file in (path.with_name("state.toml"), path):
        try:
            table, _ = _read(file)
        except TokvizError as error:
            errors.append(
                failure_message("Your settings cannot be read, so the defaults are used", error)
            )
            continue
        profiles = table.get("profile", {})
        values |= usable(table)
    if profile and (not isinstance(profiles, dict) or profile not in profiles):
        hint = did_you_mean(profile, list(profiles))
        raise TokvizError(errors[0] if errors else f"{path} has no table [profile.{profile}]{hint}")
    values |= usable(profiles[profile]) if profile else {}
    return Settings(**values, profile=profile), " ".join(errors) or None


def usable(table: Any) -> dict[str, Any]:
    """Return the entries of a table that are settings of the right type."""
    return {
        name: tuple(item for item in value if isinstance(item, str))
        if name_type is tuple
        else value
        for name, value in (table.items() if isinstance(table, dict) else ())
        if name in _FIELDS
        for name_type in [type(_DEFAULTS[name])]
        if isinstance(value, list if name_type is tuple else name_type)
    }


def check_file(path: Path, choices: Choices | None = None) -> list[SettingError]:
    """List the invalid settings of a file.

    Args:
        path: The file; it may be missing.
        choices: The allowed values of settings.

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
    errors = []
    for header, own in {"": table, **tables}.items():
        for key, value in own.items() if isinstance(own, dict) else [("", own)]:
            reason = "must be a table, such as [profile.work]"
            if key:
                reason = _error_of(key, value, (choices or {}).get(key, ()))
            line = line_of(text, *(header, key) if key else ("", "profile"))
            if reason:
                errors.append(SettingError(path, line, f"{header}.{key}".strip("."), reason))
    return errors


def _read(path: Path) -> tuple[dict[str, Any], str]:
    return read_toml(path) if os.path.lexists(path) else ({}, "")


def _error_of(key: str, value: Any, allowed: Collection[str]) -> str:
    """Return an error message for a setting; empty if it is valid."""
    if key not in _FIELDS:
        return f"there is no such setting{did_you_mean(key, _FIELDS)}"
    valid = usable({key: value}).get(key)
    if valid is None or (isinstance(valid, tuple) and len(valid) < len(value)):
        return _TYPE_ERRORS[type(_DEFAULTS[key])]
    items = valid if isinstance(valid, tuple) else [valid]
    wrong = next((item for item in items if allowed and item not in allowed), None)
    return "" if wrong is None else f"there is no {wrong!r}{did_you_mean(wrong, allowed)}"


# -- writing


def save_settings(
    settings: Settings, path: Path | None = None, *, before: Settings | None = None
) -> str | None:
    """Write changed settings atomically, and keep the changes of other processes.

    Args:
        settings: The settings to save.
        path: The path of `config.toml`, by default the user's.
        before: The last read or written settings, by default those of a first start.

    Returns:
        An error message for the user, or None.
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
    """Return whether a setting has a path and is not in a profile, whose table keeps it."""
    value = getattr(settings, name)
    held = value if isinstance(value, tuple) else (value,)
    return name in PLACES and not settings.profile and any(map(os.path.isabs, held))


def edit_file(
    path: Path, changes: Mapping[str, Any], profile: str = "", header: str = _HEADER
) -> None:
    """Change settings in a file atomically, and preserve comments and everything else.

    Args:
        path: The file, created if needed.
        changes: Name of a setting, with dots for tables → its new value; None to remove it, or a
            function from the current value to the new one.
        profile: The profile whose settings are changed in its table.
        header: The start of a new file.

    Raises:
        TokvizError: If it fails; the file is then unchanged.
    """
    import tomlkit  # slow to import
    from tomlkit.exceptions import TOMLKitError

    def within(table: Any, name: str) -> Any:
        inner = table.get(name)
        return inner if isinstance(inner, dict) else {}

    lock = FileLock(path.with_name(path.name + ".lock"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.take(_LOCK_SECONDS)  # after the timeout, write anyway
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
    """Return whether TOML can store a value, unlike a path that is not valid UTF-8."""
    return (
        not isinstance(value, str)
        or value.isascii()
        or value.encode(errors="ignore").decode() == value
    )


def _merger(new: Any, old: Any) -> Any:
    """Return a value; for a list, a function that keeps items added by other processes."""
    if not isinstance(new, tuple):
        return new
    return lambda stored: [
        *new,
        *(item for item in stored or () if item not in new and item not in old),
    ]
