"""Show, check or change the settings.

tokviz config                  every setting: its value, where that comes from, what it means
tokviz config path             where the file is; it is made by the first change
tokviz config check [FILE]     what is wrong with it; the exit code is 1 if anything is
tokviz config set KEY [VALUE]  change a setting; without VALUE it is the default again
tokviz config edit             open the file in $VISUAL or $EDITOR, and check it afterwards
tokviz config keys             the actions that keys can be given to, and the keys that they have

KEY is the name of a setting, keys.ACTION or profile.NAME.SETTING. VALUE is as in the file; quotes
may be left out, and of a list the brackets. The page `settings` of the guide tells more.
"""

from __future__ import annotations

import argparse
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

from tokviz.cli.output import report
from tokviz.errors import InputFileError, TokvizError
from tokviz.storage.files import read_file, write_file
from tokviz.storage.toml_file import line_of, read_toml
from tokviz.text.bytetext import has_raw_bytes
from tokviz.text.glyphs import safe
from tokviz.workspace.external_editor import edit
from tokviz.workspace.settings import (
    PLACES,
    REMEMBERED,
    Settings,
    check_file,
    config_path,
    did_you_mean,
    edit_file,
    load_settings,
    meanings,
)

_WHAT = ("show", "path", "check", "set", "edit", "keys")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz config`."""
    parser.add_argument("what", nargs="?", choices=_WHAT, default="show", metavar="WHAT",
                        help=f"one of {', '.join(_WHAT)}")  # fmt: skip
    parser.add_argument("given", nargs="*", metavar="ARGUMENT", help="FILE, or KEY and VALUE")


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked for."""
    from tokviz.tui.actions import remap

    what, given = arguments.what, arguments.given
    most = {"check": 1, "set": 2}.get(what, 0)
    if len(given) > most or (what == "set" and not given):
        takes = ("nothing more", "at most FILE", "KEY and VALUE, or KEY alone")[most]
        report(f"`tokviz config {what}` takes {takes} (see tokviz config --help)")
        return 2
    path = config_path()
    settings, complaint = load_settings(path)  # which takes over those of older versions
    checked = Path(given[0]) if what == "check" and given else path
    with suppress(TokvizError):
        remap(read_toml(checked)[0].get("keys", {}))
    if what == "path":
        print(path)
    elif what == "check":
        if given and not checked.exists():
            raise InputFileError(checked, "there is no such file")
        return _check(checked)
    elif what == "set":
        _set(path, *given)
    elif what == "edit":
        if not path.exists():
            edit_file(path, {}, header=_template())
        edit(path, settings.editor)
        return _check(path)
    elif what == "keys":
        _show_keys()
    else:
        _show(path, settings)
        if complaint:
            report(complaint)
    return 0


# What the app knows is imported once its keys are given.


def _check(path: Path) -> int:
    from tokviz.tui.app import check_settings

    found = check_settings(path)
    if path == config_path():
        found += check_file(path.with_name("state.toml"))
    for error in found:
        print(safe(str(error)))
    if not found:
        print(f"{safe(str(path))}: {'all is in order' if path.exists() else 'there is none'}")
    return 1 if found else 0


def _show(path: Path, settings: Settings) -> None:
    from tokviz.tui.checks import CHOICES

    written: dict[str, str] = {}
    for file in (path.with_name("state.toml"), path):
        with suppress(TokvizError):
            table, text = read_toml(file)
            written |= {name: f"{file}, line {line_of(text, '', name)}" for name in table}
    for name, meaning in meanings().items():
        value, default = (_as_toml(getattr(one, name)) for one in (settings, Settings()))
        print(f"{name} = {safe(value)}\n    {meaning}")
        if name in CHOICES:
            print(f"    One of: {', '.join(CHOICES[name])}")
        place = written.get(name)
        print(
            f"    {safe(f'From {place}; the default is {default}.') if place else 'The default.'}"
        )


def _template() -> str:
    """Make a file that sets nothing and says what can be set."""
    defaults = Settings()._asdict()
    return "# Settings of tokviz. Take away a # and change what is behind it.\n\n" + "\n".join(
        f"# {meaning}\n# {'[keys]' if name == 'keys' else f'{name} = {_as_toml(defaults[name])}'}\n"
        for name, meaning in meanings().items()
        if name not in REMEMBERED
    )


def _as_toml(value: Any) -> str:
    import tomlkit

    return str(tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string())


def _show_keys() -> None:
    from tokviz.tui.actions import keys_label
    from tokviz.tui.app import actions_everywhere

    shown = set[str]()
    for screen, listed in actions_everywhere().items():
        for one in listed:
            if one.bound and one.id not in shown:
                shown.add(one.id)
                print(f"{one.id:<26} {keys_label(one):<24} {screen}: {one.title}")


def _set(path: Path, key: str, value: str | None = None) -> None:
    from tokviz.tui.app import check_settings

    *tables, name = key.split(".")
    if has_raw_bytes(key):
        raise TokvizError(f"{key}: is not UTF-8, as the settings are")
    if tables == ["keys"]:
        default: Any = ()
    elif name in meanings() and (not tables or (tables[0] == "profile" and len(tables) == 2)):
        default = Settings()._asdict()[name]
    else:
        raise TokvizError(f"there is no setting {key!r}{did_you_mean(name, meanings())}")
    file = path.with_name("state.toml") if name in REMEMBERED and not tables else path
    before = read_file(file) if file.exists() else None
    edit_file(file, {key: None if value is None else _parsed(value, default)})
    wrong = next((error for error in check_settings(file) if error.key == key), None)
    if wrong is not None:
        if before is None:
            file.unlink()
        else:
            write_file(file, before)
        raise TokvizError(f"{key} stays as it was: {wrong.reason}")
    state = path.with_name("state.toml")
    if key in PLACES and state.exists():
        edit_file(state, {key: None})


def _parsed(value: str, default: Any) -> Any:
    """Read a value as in the file, or what it must be with quotes and brackets."""
    try:
        found = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        found = [one.strip() for one in value.split(",")] if isinstance(default, tuple) else value
    return value if isinstance(default, str) and not isinstance(found, str) else found
