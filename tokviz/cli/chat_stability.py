"""The reports `--stability` and `--matrix` of `tokviz chat`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.lint import lint
from tokviz.chat.messages import ConversationError
from tokviz.chat.render import render
from tokviz.chat.stability import Instability, instabilities
from tokviz.chat.templates import ChatTemplate
from tokviz.cli.options import add_flag
from tokviz.errors import TokvizError
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer

Template = ChatTemplate | JinjaTemplate
MOST_VARIABLES = 6
"""The most variables of a matrix: 64 combinations."""


def add_arguments(form: argparse._ActionsContainer) -> None:
    """Add `--stability` and `--matrix`."""
    add_flag(form, "--stability", "show which messages change earlier tokens when they are added")
    add_flag(form, "--matrix", "render with each combination of the template's boolean variables")


def stability_lines(unstable: Iterable[Instability]) -> Iterator[str]:
    """Yield the lines of a report: each instability, both texts and the template's lines."""
    for found in unstable:
        yield found.sentence
        yield f"  before: {found.before!r}"
        yield f"  after:  {found.after!r}"
        for line in dict.fromkeys(found.lines):
            yield f"  line {line.number}: {line.source}"
            if line.condition and line.condition != line.source:
                yield f"    under {line.condition}"


def matrix(
    tokenizer: Tokenizer,
    conversation: Conversation,
    template: Template,
    variables: Mapping[str, Any],
    specials: str | None,
) -> list[dict[str, Any]]:
    """Render with each combination of the boolean variables that are not set.

    Returns:
        For each combination, its `variables`, `n_tokens`, `n_learned` and the `problems` that not
        all combinations have.

    Raises:
        TokvizError: If the template has no boolean variables, or too many.
    """
    names = _booleans(template, variables)
    rows: list[dict[str, Any]] = []
    for values in product((False, True), repeat=len(names)):
        given = dict(zip(names, values, strict=True))
        varied = conversation.with_variables(given)
        row: dict[str, Any] = {"variables": given, "problems": {}}
        rows.append(row)
        try:
            rendering = render(tokenizer, varied, template, specials=specials)
        except ConversationError as error:
            row["error"] = str(error)
            continue
        row |= {"n_tokens": len(rendering), "n_learned": rendering.n_learned}
        for finding in lint(varied, rendering):
            row["problems"][finding.cause or finding.message] = finding.message
        for found in instabilities(tokenizer, varied, template):
            problem = f"message {found.n_messages + 1} changes earlier tokens: {found.cause}"
            row["problems"][problem] = problem
    rendered = [{*row["problems"]} for row in rows if "error" not in row]
    shared = set.intersection(*rendered) if rendered else set()
    for row in rows:
        row["problems"] = [text for key, text in row["problems"].items() if key not in shared]
    return rows


def matrix_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a matrix."""
    for row in rows:
        given = ", ".join(
            f"{name}={str(value).lower()}" for name, value in row["variables"].items()
        )
        if "error" in row:
            yield f"{given}: {row['error']}"
            continue
        yield f"{given}: {pluralize(row['n_tokens'], 'token')}, {row['n_learned']:,} in the loss"
        for problem in row["problems"]:
            yield f"  ! {problem}"


def _booleans(template: Template, variables: Mapping[str, Any]) -> list[str]:
    if isinstance(template, ChatTemplate):
        raise TokvizError(f"{template.name} is built in and reads no variables")
    names = [it.name for it in template.parameters() if it.kind == "boolean"]
    names = [name for name in names if name not in variables]
    if not names:
        raise TokvizError(f"{template.name} reads no boolean variable that is not set")
    if len(names) > MOST_VARIABLES:
        raise TokvizError(
            f"{template.name} reads {len(names)} boolean variables, too many for a matrix: set "
            f"all but {MOST_VARIABLES} of {', '.join(names)} with --set"
        )
    return names
