"""Options for the variables of a chat template, and for its special tokens."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.spans import SPECIALS
from tokviz.chat.templates import ChatTemplate
from tokviz.errors import InputFileError, TokvizError
from tokviz.storage import json_file

_OF_EVERY_TEMPLATE = ("add_generation_prompt", "documents", "tools")
"""Variables that a template may ignore: a dataset has them for other templates, too."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--set`, `--variables` and `--specials`."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="set a variable of the template, such as enable_thinking=false; repeat it for several",
    )
    parser.add_argument(
        "--variables", metavar="FILE", help="a JSON file with an object of variables"
    )
    parser.add_argument(
        "--specials",
        choices=[name.replace("_", "-") for name in SPECIALS],
        help="recognize special tokens in contents, as transformers does, or encode them as text "
        "(default: as the template's source does)",
    )


def specials_of(arguments: argparse.Namespace) -> str | None:
    """Return the chosen policy for special tokens, a key of `SPECIALS`, or None."""
    chosen: str | None = arguments.specials
    return chosen and chosen.replace("-", "_")


def variables_of(
    arguments: argparse.Namespace, template: ChatTemplate | JinjaTemplate
) -> dict[str, Any]:
    """Return the variables that are set; `--set` takes priority over `--variables`.

    Raises:
        TokvizError: If a value is not JSON, or the template does not read a variable.
        InputFileError: If the file does not hold an object.
    """
    variables = _read(arguments.variables) if arguments.variables else {}
    for item in arguments.set:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise TokvizError(f"--set {item}: write NAME=JSON, such as enable_thinking=false")
        try:
            variables[name] = json_file.loads(value)
        except (ValueError, RecursionError):
            raise TokvizError(
                f"--set {name}: {value!r} is not JSON; write a text in double quotes"
            ) from None
    if variables and isinstance(template, ChatTemplate):
        raise TokvizError(
            f"{template.name} is built in and reads no variables: {_names(variables)}"
        )
    if isinstance(template, JinjaTemplate):
        _refuse_unread(variables, template)
    return variables


def _read(path: str) -> dict[str, Any]:
    value = json_file.read_json(path)
    if not isinstance(value, dict):
        raise InputFileError(path, "does not hold an object of variables")
    return value


def _refuse_unread(variables: Iterable[str], template: JinjaTemplate) -> None:
    unsure = [name for name in variables if name not in _OF_EVERY_TEMPLATE]
    if not unsure:
        return
    known = [parameter.name for parameter in template.parameters()]
    for name in unsure:
        if name not in known:
            raise TokvizError(
                f"{template.name} does not read the variable {name!r}; it reads {_names(known)}"
            )


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
