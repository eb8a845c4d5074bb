"""The files of a model that concern its chat template: variables, special tokens and templates.

Source: `from_pretrained` in transformers 5.24 `tokenization_utils_base.py`. Files with a template
take priority over `tokenizer_config.json`; `special_tokens_map.json` counts only if the config has
no `added_tokens_decoder`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tokviz.errors import InputFileError
from tokviz.storage.files import read_file
from tokviz.storage.json_file import read_json
from tokviz.tokenizer.tokenizer import Tokenizer

MAX_TEMPLATE_BYTES = 20_000_000
"""The largest file to read for a template; a tokenizer_config.json may list many tokens."""

CONFIG = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"
SPECIALS_MAP = "special_tokens_map.json"
MORE_TEMPLATES = "additional_chat_templates"
TEMPLATE_JSON = "chat_template.json"
"""A file with the template of a processor for images; tokenizers do not read it."""

OWN_FILE = "metadata of the GGUF file"
"""The place of a template in the tokenizer's own file."""

DEFAULT = "default"
TOOL_USE = "tool_use"
"""The name of the template that transformers uses for conversations with tools, if there is one."""

WANTED = "choose a chat_template.jinja, or a tokenizer_config.json with a chat_template"
_JINJA = ("{{", "{%")


class ModelFiles(NamedTuple):
    """The contents of a model's files.

    Attributes:
        variables: Variables of the template: the texts of `bos_token`, `eos_token` and so on.
        special_tokens: All special tokens, ordered by id.
        templates: Chat templates by name, such as "default" and "tool_use".
        file_name: The name of the file with the default template; "" if there is none.
    """

    variables: Mapping[str, str]
    special_tokens: tuple[str, ...] = ()
    templates: Mapping[str, str] = {}
    file_name: str = ""


def model_files_of(tokenizer: Tokenizer) -> ModelFiles | None:
    """Return the contents of the files beside a tokenizer's; None if there are none.

    They are read once for a tokenizer.

    Raises:
        InputFileError: If one of them is damaged.
    """
    if "model_files" not in tokenizer.derived:
        folder = Path(tokenizer.folder)
        names = (CONFIG, SPECIALS_MAP, TEMPLATE, MORE_TEMPLATES)
        has_files = tokenizer.folder and any(os.path.exists(folder / name) for name in names)
        if tokenizer.config:
            own = _of_config(tokenizer.config, {}, Path())
            files: ModelFiles | None = own._replace(file_name=OWN_FILE if own.templates else "")
        else:
            files = read_model_files(folder) if has_files else None
        tokenizer.derived["model_files"] = files
    found: ModelFiles | None = tokenizer.derived["model_files"]
    return found


def read_model_files(folder: Path) -> ModelFiles:
    """Read the files of a folder; those that are missing count as empty.

    Raises:
        InputFileError: If one of them is damaged.
    """
    templates = _template_files(folder)
    return _of_config(_object(folder / CONFIG), templates, folder)


def _of_config(config: Mapping[str, Any], templates: dict[str, str], folder: Path) -> ModelFiles:
    """Read a config; the files of the folder complete it."""
    fields = {key: config.get(key) for key in config if key.endswith("_token")}
    added = config.get("added_tokens_decoder")
    if not isinstance(added, dict):
        fields |= _object(folder / SPECIALS_MAP)
    extra = fields.get("extra_special_tokens") or config.get("extra_special_tokens")
    fields |= extra if isinstance(extra, dict) else {}
    texts = {key: value.get("content") if isinstance(value, dict) else value
             for key, value in fields.items()}  # fmt: skip
    variables = {key: text for key, text in texts.items() if isinstance(text, str)}
    specials: dict[str, int] = {}
    for token_id, token in added.items() if isinstance(added, dict) else ():
        if isinstance(token, dict) and token.get("special") and str(token_id).isdigit():
            specials[str(token.get("content"))] = int(token_id)
    file_name = TEMPLATE if templates else CONFIG
    if not templates:
        templates = templates_in(config)
    if not templates:
        file_name, templates = TEMPLATE_JSON, templates_in(_object(folder / TEMPLATE_JSON))
    by_id = tuple(sorted(specials, key=lambda text: specials[text]))
    return ModelFiles(variables, by_id, templates, file_name if templates else "")


def _template_files(folder: Path) -> dict[str, str]:
    found = {}
    if os.path.isfile(folder / TEMPLATE):
        found[DEFAULT] = read_jinja(folder / TEMPLATE)
    if os.path.isdir(folder / MORE_TEMPLATES):
        for path in sorted((folder / MORE_TEMPLATES).glob("*.jinja")):
            found[path.stem] = read_jinja(path)
    return found


def templates_in(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the templates of a config by name; one without a name is the default."""
    value = config.get("chat_template")
    listed = value if isinstance(value, list) else [{"name": DEFAULT, "template": value}]
    return {
        str(item.get("name")): item["template"]
        for item in listed
        if isinstance(item, dict) and isinstance(item.get("template"), str)
    }


def read_jinja(path: Path) -> str:
    """Read the source of a template.

    Raises:
        InputFileError: If it cannot be read or is not a Jinja template.
    """
    try:
        source = read_file(path, limit=MAX_TEMPLATE_BYTES).decode()
    except UnicodeDecodeError as error:
        reason = f"is not a text in UTF-8 (byte {error.start:,})"
        raise InputFileError(path, f"{reason}; {WANTED}") from None
    if not any(mark in source for mark in _JINJA):
        raise InputFileError(path, f"is not a Jinja template: it has no {{{{ or {{%; {WANTED}")
    return source


def _object(path: Path) -> dict[str, Any]:
    if not os.path.isfile(path):
        return {}
    content = read_json(path, limit=MAX_TEMPLATE_BYTES)
    if not isinstance(content, dict):
        raise InputFileError(path, f"does not hold a JSON object; {WANTED}")
    return content
