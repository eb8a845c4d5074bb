"""The guide's page of every public name, generated from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cached_property, partial
from importlib import import_module
from typing import Any

import tokviz

_PART = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):$", re.MULTILINE)
_ITEM = re.compile(r"^    (\*{0,2}\w+): ", re.MULTILINE)
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_comment = partial(textwrap.wrap, width=88, initial_indent="    # ", subsequent_indent="    # ")
_HEAD = "# Every name in Python\n\nUse these names as `tokviz.NAME` after `import tokviz`."


def page() -> str:
    """Return the page."""
    return "\n\n".join([_HEAD, *_entries()]) + "\n"


def _entries() -> Iterator[str]:
    """Yield the entries of functions, then of classes, then of errors."""
    names = [(name, getattr(import_module(home), name)) for name, home in tokviz._MODULES.items()]
    for title, kind in (("Functions", 0), ("Classes", 1), ("Errors", 2)):
        yield f"## {title}"
        for name, value in sorted(names):
            is_class = inspect.isclass(value)
            if is_class + (is_class and issubclass(value, Exception)) == kind:
                yield f"### {name}"
                init_doc = getattr(vars(value).get("__init__"), "__doc__", "") if is_class else ""
                yield from _entry(name, value, has_call=kind != 2 and not init_doc)
                yield from _members(name, value) if kind == 1 else ()


def _members(owner: str, value: type) -> Iterator[str]:
    """Yield the methods and properties of a class with the summaries of their docstrings."""
    lines = list[str]()
    for name, member in vars(value).items():
        function = getattr(member, "__func__", member)  # for class methods
        is_property = isinstance(function, (property, cached_property))
        if not (is_property or inspect.isfunction(function)) or not function.__doc__:
            continue
        if name == "__init__" or not name.startswith("_"):
            call = "" if is_property else _signature(function)
            words = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
            lines += [f"{owner}.{name}".removesuffix(".__init__") + call, *_comment(words)]
    if lines:
        yield "```python\n" + "\n".join(lines) + "\n```"


def _entry(name: str, value: Any, *, has_call: bool) -> Iterator[str]:
    """Yield a signature and its docstring as Markdown."""
    if has_call:
        yield f"```python\n{name}{_signature(value)}\n```"
    text = inspect.getdoc(value) or ""
    text = _EXAMPLE.sub(lambda example: f"```python\n{example[0]}\n```", text)
    text = _PART.sub(r"**\1**\n", text)
    yield re.sub(r"^    (?=\S)", "", _ITEM.sub(r"- `\1`: ", text), flags=re.MULTILINE)


class _Bare(str):
    """An annotation whose `repr` has no quotes."""

    __repr__ = str.__str__


def _signature(value: Any) -> str:
    """Return a signature, with one line per parameter if it is long."""
    signature = inspect.signature(value)
    kept = [
        item.replace(annotation=_bare(item.annotation), default=_bare_default(item.default))
        for name, item in signature.parameters.items()
        if name not in ("self", "cls")
    ]
    result = inspect.Signature.empty if inspect.isclass(value) else signature.return_annotation
    text = str(inspect.Signature(kept, return_annotation=_bare(result))).replace("<factory>", "...")
    if len(text) < 80:
        return text
    taken, _, given = text[1:].rpartition(")")
    return "(\n    " + re.sub(r", (?=\*,|\*{0,2}\w+[:,])", ",\n    ", taken) + f",\n){given}"


def _bare_default(value: Any) -> Any:
    """Return a function as its name, because its `repr` is an address."""
    return _Bare(value.__name__) if inspect.isroutine(value) else value


def _bare(annotation: Any) -> Any:
    written = annotation if isinstance(annotation, str) else None
    written = getattr(annotation, "__forward_arg__", written)
    return annotation if written is None else _Bare(written)
