"""Find the line of a Jinja template that writes a character. Imported in the child process only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jinja2
import jinja2.compiler
import jinja2.nodes


class OutputLines(jinja2.compiler.CodeGenerator):
    """Compiles a template so that plain text, too, has the line at which it starts."""

    def visit_Output(self, node: jinja2.nodes.Output, frame: jinja2.compiler.Frame) -> None:
        """Compile an output."""
        self.newline(node)
        super().visit_Output(node, frame)


def writer_of(
    template: jinja2.Template, variables: Mapping[str, Any], position: int
) -> tuple[int, str] | None:
    """Render until a character, counted from 0.

    Text that a macro or a `{% set %}` block collects is written by the line that uses it.

    Returns:
        The line, from 1, at which the part of the template that writes the character starts, and
        the text through the end of the character's line. None if there is no such character.
    """
    chunks: Any = template.root_render_func(template.new_context(dict(variables)))
    n_chars = 0
    for chunk in chunks:
        n_chars += len(chunk)
        if n_chars > position:
            line = template.get_corresponding_lineno(chunks.gi_frame.f_lineno)
            end = chunk.find("\n", position - n_chars + len(chunk))
            return line, chunk[: end if end >= 0 else None]
    return None


def line_of(source: str, first: int, text: str) -> int:
    """Return the line at which the last line of a text ends, if a part of a template has this text.

    Args:
        source: The template.
        first: The line at which the part starts, from 1. `trim_blocks` may have removed a line
            break at its start.
        text: The text that the part writes.
    """
    lines = source.split("\n")
    written = text.split("\n")
    for number in range(first, min(first + len(written), len(lines)) + 1):
        if written[-1].strip() and written[-1].strip() in lines[number - 1]:
            return number
    return first


def condition_of(tree: jinja2.nodes.Template, line: int) -> tuple[int, bool] | None:
    """Find the innermost `{% if %}` around the text that a line writes.

    Returns:
        Its line, and whether the text is in its `{% else %}`; None if there is no condition.
    """
    found = None
    for node, condition in _with_conditions(tree, None):
        if isinstance(node, jinja2.nodes.Output) and any(it.lineno == line for it in node.nodes):
            found = condition
    return found


def _with_conditions(
    node: jinja2.nodes.Node, condition: tuple[int, bool] | None
) -> Iterator[tuple[jinja2.nodes.Node, tuple[int, bool] | None]]:
    yield node, condition
    for child in node.iter_child_nodes():
        inner = condition
        if isinstance(node, jinja2.nodes.If):
            inner = node.lineno, any(child is it for it in node.else_)
        yield from _with_conditions(child, inner)
