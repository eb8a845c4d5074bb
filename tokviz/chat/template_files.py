"""Chat templates by name, from a tokenizer's own files, or from any file or folder of a model."""

from __future__ import annotations

import os
from pathlib import Path

from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.model_files import (
    DEFAULT,
    MORE_TEMPLATES,
    TOOL_USE,
    WANTED,
    ModelFiles,
    model_files_of,
    read_jinja,
    read_model_files,
    templates_in,
)
from tokviz.chat.templates import TEMPLATES, ChatTemplate, UnknownTemplateError, get_template
from tokviz.errors import InputFileError
from tokviz.storage.json_file import read_json
from tokviz.tokenizer.tokenizer import Tokenizer

_ENDINGS = (".json", ".jinja", ".jinja2")
_FALLBACK = "nanochat"


def load_template(
    name: str | None, tokenizer: Tokenizer | None = None
) -> ChatTemplate | JinjaTemplate:
    """Find a template.

    Args:
        name: A built-in name; the name of one of the tokenizer's own templates, such as
            "tool_use"; or the path of a file or folder. None for the tokenizer's default template,
            or nanochat's if it has none.
        tokenizer: The tokenizer.

    Raises:
        UnknownTemplateError: If there is none.
        InputFileError: If the file cannot be read or holds no template.
    """
    own = None if tokenizer is None else own_template(tokenizer, name or "")
    if own is not None:
        return own
    if not name:
        return TEMPLATES[_FALLBACK]
    if name.strip().lower() in TEMPLATES or not is_path(name):
        return get_template(name)
    return read_template(Path(os.path.expanduser(name)))


def is_path(name: str) -> bool:
    """Return whether a text is meant as the path of a template, existing or not."""
    looks_so = name.startswith(("~", ".")) or name.endswith(_ENDINGS)
    return looks_so or os.sep in name or os.path.exists(name)


def own_template(tokenizer: Tokenizer, name: str = "") -> JinjaTemplate | None:
    """Return a template of the tokenizer's own files by name; "" for the default.

    Raises:
        InputFileError: If one of the files is damaged.
        UnknownTemplateError: If there are several, none is the default, and no name is given.
    """
    files = model_files_of(tokenizer)
    if files is None or not files.templates or (name and name not in files.templates):
        return None
    return _from_files(Path(tokenizer.folder), files, name)


def own_templates(tokenizer: Tokenizer) -> dict[str, ChatTemplate | JinjaTemplate]:
    """Return the templates of the tokenizer's own files by name, if there are several.

    The default, nanochat's if the files have no template, has the name "".

    Raises:
        InputFileError: If one of the files is damaged.
    """
    files = model_files_of(tokenizer)
    names = files.templates if files is not None and len(files.templates) > 1 else {}
    found = {name: load_template(name, tokenizer) for name in names}
    has_default = not names or DEFAULT in names
    return {"": load_template(None, tokenizer), **found} if has_default else found


def read_template(path: Path) -> JinjaTemplate:
    """Read a template from a file, or from a model's folder.

    A `chat_template.jinja` gets its special tokens from a `tokenizer_config.json` next to it.

    Raises:
        InputFileError: If it cannot be read or holds no template.
        UnknownTemplateError: If there are several, and none is the default.
    """
    if os.path.isdir(path):
        files = read_model_files(path)
        if not files.templates:
            names = "chat_template.jinja, tokenizer_config.json, chat_template.json"
            raise InputFileError(path, f"this folder holds no chat template; it would be {names}")
        return _from_files(path, files)
    folder = path.parent.parent if path.parent.name == MORE_TEMPLATES else path.parent
    if path.suffix == ".json":
        config = read_json(path)
        if not isinstance(config, dict):
            raise InputFileError(path, f"does not hold an object with 'chat_template'; {WANTED}")
        files = read_model_files(folder)
        templates = templates_in(config)
        if not templates:
            hint = f"there is {files.file_name} beside it" if files.file_name else WANTED
            raise InputFileError(path, f"has no text under the key 'chat_template'; {hint}")
    else:
        templates = {DEFAULT: read_jinja(path)}
        files = read_model_files(folder)
    return _from_files(folder, files._replace(templates=templates, file_name=path.name))


def _from_files(folder: Path, files: ModelFiles, name: str = "") -> JinjaTemplate:
    templates = files.templates
    chosen = name or DEFAULT
    if not name and len(templates) == 1:
        (chosen,) = templates
    if chosen not in templates:
        raise UnknownTemplateError(
            f"{folder} has several chat templates and none is the default: choose one of "
            f"{', '.join(templates)}"
        )
    title = f"{folder.name or '.'}/{files.file_name}"
    return JinjaTemplate(
        name or files.file_name,
        templates[chosen],
        "" if name else templates.get(TOOL_USE, ""),
        title=f"{title}, {name}" if name else title,
        variables=files.variables,
        special_tokens=files.special_tokens,
    )
