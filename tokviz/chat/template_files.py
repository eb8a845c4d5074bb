"""Chat templates from `tokenizer_config.json`, `chat_template.jinja` or `chat_template.json`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.templates import TEMPLATES, ChatTemplate, get_template
from tokviz.errors import InputFileError
from tokviz.storage.files import read_file
from tokviz.storage.json_file import read_json

MAX_TEMPLATE_BYTES = 20_000_000
"""The largest file to read for a template; a tokenizer_config.json may list many tokens."""

CONFIG = "tokenizer_config.json"
_IN_A_FOLDER = ("chat_template.jinja", CONFIG, "chat_template.json")
_WANTED = "choose a chat_template.jinja, or a tokenizer_config.json with a chat_template"
_DEFAULT = "default"
_ENDINGS = (".json", ".jinja", ".jinja2")
_JINJA = ("{{", "{%")


def load_template(name: str) -> ChatTemplate | JinjaTemplate:
    """Find a template: a built-in one by its name, or a file or folder by its path.

    Raises:
        UnknownTemplateError: If it is neither.
        InputFileError: If the file cannot be read or holds no template.
    """
    if name.strip().lower() in TEMPLATES or not is_path(name):
        return get_template(name)
    return read_template(Path(os.path.expanduser(name)))


def is_path(name: str) -> bool:
    """Return whether a text is meant as the path of a template, existing or not."""
    looks_so = name.startswith(("~", ".")) or name.endswith(_ENDINGS)
    return looks_so or os.sep in name or os.path.exists(name)


def read_template(path: Path) -> JinjaTemplate:
    """Read a template from a file, or from a model's folder.

    A `chat_template.jinja` gets its special tokens from a `tokenizer_config.json` next to it.

    Raises:
        InputFileError: If it cannot be read or holds no template.
    """
    if os.path.isdir(path):
        found = next((path / name for name in _IN_A_FOLDER if os.path.isfile(path / name)), None)
        if found is None:
            names = ", ".join(_IN_A_FOLDER)
            raise InputFileError(path, f"this folder holds no chat template; it would be {names}")
        path = found
    if path.suffix == ".json":
        config = _config(path)
        source = _template_of(path, config)
    else:
        try:
            source = read_file(path, limit=MAX_TEMPLATE_BYTES).decode()
        except UnicodeDecodeError as error:
            reason = f"is not a text in UTF-8 (byte {error.start:,})"
            raise InputFileError(path, f"{reason}; {_WANTED}") from None
        if not any(mark in source for mark in _JINJA):
            raise InputFileError(path, f"is not a Jinja template: it has no {{{{ or {{%; {_WANTED}")
        beside = path.parent / CONFIG
        config = _config(beside) if os.path.isfile(beside) else {}
    variables, special_tokens = _special_tokens(config)
    return JinjaTemplate(
        path.name,
        source,
        title=f"{path.parent.name or '.'}/{path.name}",
        variables=variables,
        special_tokens=special_tokens,
    )


def _config(path: Path) -> dict[str, Any]:
    config = read_json(path, limit=MAX_TEMPLATE_BYTES)
    if not isinstance(config, dict):
        raise InputFileError(path, f"does not hold an object with 'chat_template'; {_WANTED}")
    return config


def _template_of(path: Path, config: dict[str, Any]) -> str:
    template = config.get("chat_template")
    if isinstance(template, list):
        named = {t.get("name"): t.get("template") for t in template if isinstance(t, dict)}
        template = named.get(_DEFAULT) or next(iter(named.values()), None)
    if not isinstance(template, str):
        beside = [name for name in _IN_A_FOLDER if os.path.isfile(path.parent / name)]
        others = [name for name in beside if name != path.name]
        hint = f"there is {others[0]} beside it" if others else _WANTED
        raise InputFileError(path, f"has no text under the key 'chat_template'; {hint}")
    return template


def _special_tokens(config: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the template's variables (`bos_token` …) and all special tokens, ordered by id."""
    variables = {}
    for key, value in config.items():
        text = value.get("content") if isinstance(value, dict) else value
        if key.endswith("_token") and isinstance(text, str):
            variables[key] = text
    added = config.get("added_tokens_decoder")
    specials: dict[str, int] = {}
    for token_id, token in added.items() if isinstance(added, dict) else ():
        if isinstance(token, dict) and token.get("special") and str(token_id).isdigit():
            specials[str(token.get("content"))] = int(token_id)
    return variables, tuple(sorted(specials, key=lambda text: specials[text]))
