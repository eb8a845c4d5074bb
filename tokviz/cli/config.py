"""Show, check or change the settings.

tokviz config                  show every setting: its value, its origin, its meaning
tokviz config path             print the path of the file; the first change creates it
tokviz config check [FILE]     list the errors in the file; the exit code is 1 if there are any
tokviz config set KEY [VALUE]  change a setting; without VALUE, reset it to its default
tokviz config edit             open the file in $VISUAL or $EDITOR, then check it
tokviz config prices           open your table of prices, which is created first if it is missing
tokviz config keys             list the actions and their keys
tokviz config schema           print the JSON Schema of the file, for editors

KEY is the name of a setting, keys.ACTION or profile.NAME.SETTING. VALUE is written as in the file;
quotes and the brackets of a list are optional. See `tokviz help settings`.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

from tokviz.cli.opening import TOKENIZER_VARIABLE
from tokviz.cli.output import ERROR, FINDINGS, report
from tokviz.errors import InputFileError, TokvizError
from tokviz.storage.files import read_file, write_file
from tokviz.storage.toml_file import line_of, read_toml
from tokviz.text.bytetext import has_raw_bytes
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.workspace.external_editor import edit
from tokviz.workspace.prices import create_prices_file, load_prices
from tokviz.workspace.settings import (
    PLACES,
    REMEMBERED,
    Settings,
    check_file,
    config_path,
    config_schema,
    did_you_mean,
    edit_file,
    load_settings,
    meanings,
)

_SUBCOMMANDS = ("show", "path", "check", "set", "edit", "prices", "keys", "schema")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz config`."""
    help_text = f"one of {', '.join(_SUBCOMMANDS)} (default: show)"
    parser.add_argument("subcommand", nargs="?", choices=_SUBCOMMANDS, default="show",
                        metavar="SUBCOMMAND", help=help_text)  # fmt: skip
    parser.add_argument("values", nargs="*", metavar="ARGUMENT", help="FILE, or KEY and VALUE")


def run(arguments: argparse.Namespace) -> int:
    """Run a subcommand."""
    # Textual is slow to import, and printing the help does not need it.
    from tokviz.tui.actions import remap

    subcommand, values = arguments.subcommand, arguments.values
    n_allowed = {"check": 1, "set": 2}.get(subcommand, 0)
    if len(values) > n_allowed or (subcommand == "set" and not values):
        takes = ("no argument", "at most one FILE", "KEY and VALUE, or KEY alone")[n_allowed]
        report(f"`tokviz config {subcommand}` takes {takes} (see tokviz config --help)")
        return ERROR
    path = config_path()
    settings, complaint = load_settings(path)
    checked = Path(values[0]) if subcommand == "check" and values else path
    with suppress(TokvizError):
        remap(read_toml(checked)[0].get("keys", {}))
    if subcommand == "path":
        print(path)
    elif subcommand == "check":
        if values and not checked.exists():
            raise InputFileError(checked, "there is no such file")
        return _check(checked)
    elif subcommand == "set":
        _set(path, *values)
    elif subcommand == "edit":
        if not path.exists():
            edit_file(path, {}, header=_template())
        edit(path, settings.editor)
        return _check(path)
    elif subcommand == "prices":
        return _edit_prices(settings.editor)
    elif subcommand == "keys":
        _show_keys()
    elif subcommand == "schema":
        _print_schema()
    else:
        _show(path, settings)
        if complaint:
            report(complaint)
    return 0


# Classes of the app read the keys when they are imported, so import them after `remap`.


def _check(path: Path) -> int:
    from tokviz.tui.app import check_settings

    errors = check_settings(path)
    if path == config_path():
        errors += check_file(path.with_name("state.toml"))
    for error in errors:
        print(safe(str(error)))
    if not errors:
        print(f"{safe(str(path))}: {'no errors' if path.exists() else 'there is no such file'}")
    return FINDINGS if errors else 0


def _edit_prices(editor: str) -> int:
    path = create_prices_file()
    edit(path, editor)
    try:
        n_models = len(load_prices(path))
    except InputFileError as error:
        print(safe(str(error)))
        return FINDINGS
    print(f"{safe(str(path))}: {pluralize(n_models, 'model')}, no errors")
    return 0


def _show(path: Path, settings: Settings) -> None:
    from tokviz.tui.checks import CHOICES
    from tokviz.tui.themes import load_user_themes

    load_user_themes()
    origins: dict[str, str] = {}
    for file in (path.with_name("state.toml"), path):
        with suppress(TokvizError):
            table, text = read_toml(file)
            origins |= {name: f"{file}, line {line_of(text, '', name)}" for name in table}
    for name, meaning in meanings().items():
        value, default = (_as_toml(getattr(source, name)) for source in (settings, Settings()))
        print(f"{name} = {safe(value)}\n    {meaning}")
        if name in CHOICES:
            print(f"    One of: {', '.join(CHOICES[name])}")
        origin = origins.get(name)
        print(
            f"    {safe(f'From {origin}; the default is {default}.') if origin else 'The default.'}"
        )


def _template() -> str:
    """Return a file that explains every setting and sets none."""
    defaults = Settings()._asdict()
    return "# Settings of tokviz. Remove a # to change a setting.\n\n" + "\n".join(
        f"# {meaning}\n# {'[keys]' if name == 'keys' else f'{name} = {_as_toml(defaults[name])}'}\n"
        for name, meaning in meanings().items()
        if name not in REMEMBERED
    )


def _as_toml(value: Any) -> str:
    import tomlkit  # slow to import

    return str(tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string())


def _show_keys() -> None:
    from tokviz.tui.actions import keys_label
    from tokviz.tui.app import actions_everywhere

    shown = set[str]()
    for screen, actions in actions_everywhere().items():
        for action in actions:
            if action.bound and action.id not in shown:
                shown.add(action.id)
                print(f"{action.id:<26} {keys_label(action):<24} {screen}: {action.title}")


def _print_schema() -> None:
    from tokviz.tui.app import actions_everywhere
    from tokviz.tui.checks import CHOICES
    from tokviz.tui.themes import load_user_themes

    load_user_themes()
    everywhere = [action for actions in actions_everywhere().values() for action in actions]
    titles = {action.id: action.title for action in everywhere if action.bound and action.id}
    print(json.dumps(config_schema(CHOICES, titles), indent=2))


def _set(path: Path, key: str, value: str | None = None) -> None:
    from tokviz.tui.app import check_settings

    *tables, name = key.split(".")
    if has_raw_bytes(key):
        raise TokvizError(f"{key}: is not valid UTF-8")
    if tables == ["keys"]:
        default: Any = ()
    elif name in meanings() and (not tables or (tables[0] == "profile" and len(tables) == 2)):
        default = Settings()._asdict()[name]
    else:
        raise TokvizError(f"there is no setting {key!r}{did_you_mean(name, meanings())}")
    file = path.with_name("state.toml") if name in REMEMBERED and not tables else path
    before = read_file(file) if file.exists() else None
    edit_file(file, {key: None if value is None else _parsed(value, default)})
    error = next((error for error in check_settings(file) if error.key == key), None)
    if error is not None:
        if before is None:
            file.unlink()
        else:
            write_file(file, before)
        raise TokvizError(f"{key} is unchanged: {error.reason}")
    if name == "tokenizer" and value is not None:
        report(f"note: this is the app's tokenizer; commands use ${TOKENIZER_VARIABLE} or -t")
    state = path.with_name("state.toml")
    if key in PLACES and state.exists():
        edit_file(state, {key: None})


def _parsed(value: str, default: Any) -> Any:
    """Parse a value as TOML; if that fails, add the missing quotes or brackets."""
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = (
            [item.strip() for item in value.split(",")] if isinstance(default, tuple) else value
        )
    return value if isinstance(default, str) and not isinstance(parsed, str) else parsed
