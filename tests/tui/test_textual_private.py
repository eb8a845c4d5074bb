"""The private names of Textual that the app uses.

A new release of Textual may change any of them: the first test then names those that are gone. The
last test keeps the list complete.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import tokviz.tui

PRIVATE = """
textual._callback:invoke
textual._compositor:Compositor
textual._compositor:Compositor._full_map
textual._compositor:ReflowResult
textual._context:active_app
textual._parser:ParseError
textual._parser:Parser._awaiting
textual._parser:Parser._gen
textual._parser:Parser._timeout_time
textual._parser:Parser._tokens
textual._xterm_parser:XTermParser
textual.app:App._fatal_error
textual.app:App._handle_exception
textual.document._document:Document._newline
textual.document._document_navigator:DocumentNavigator._document
textual.document._document_navigator:DocumentNavigator._wrapped_document
textual.document._history:EditHistory._undo_stack
textual.driver:Driver._app
textual.driver:Driver._auto_restart
textual.driver:Driver._debug
textual.driver:Driver._loop
textual.drivers.linux_driver:LinuxDriver._file
textual.drivers.linux_driver:LinuxDriver._key_thread
textual.drivers.linux_driver:LinuxDriver._must_signal_resume
textual.drivers.linux_driver:LinuxDriver._sigcont_application
textual.drivers.linux_driver:LinuxDriver._sigtstp_application
textual.message_pump:MessagePump._get_dispatch_methods
textual.widget:Widget._scroll_update
textual.widgets._text_area:TextArea._end_mouse_selection
textual.widgets._text_area:TextArea._recompute_cursor_offset
textual.widgets._text_area:TextArea._refresh_size
textual.widgets._text_area:TextArea._rewrap_and_refresh_virtual_size
textual.widgets._text_area:TextArea._selecting
textual.widgets._text_area:TextArea._set_document
textual.widgets._text_area:TextArea._watch_selection
"""
"""`module:name` or `module:Class.attribute`, a line each."""

ELSEWHERE = {
    "active_app.get()._handle_exception": "textual.app:App._handle_exception",
    "app._clipboard": "textual.app:App._clipboard",
    "app._driver": "textual.app:App._driver",
    "app._notifications": "textual.app:App._notifications",
    "app._unnotify": "textual.app:App._unnotify",
    "edit._edit_result": "textual.document._edit:Edit._edit_result",
    "node._pruning": "textual.dom:DOMNode._pruning",
    "screen._compositor": "textual.screen:Screen._compositor",
    "timer._repeat": "textual.timer:Timer._repeat",
    "timer._skip": "textual.timer:Timer._skip",
}
"""Private names of other objects than `self`, as written in the code, and their definition."""

REPLACED = "textual.message_pump:invoke"
"""The function that `handler_errors.py` replaces."""

NOT_TEXTUAL = {"_asdict", "_fields", "_replace"}
"""Private names of the standard library."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@cache
def tree_of(module: str) -> ast.AST:
    return ast.parse(inspect.getsource(sys.modules[module]))


@cache
def source_of(kind: type) -> ast.AST:
    """Find a class in its module, which is read once for all its classes."""
    found = tree_of(kind.__module__)
    for name in kind.__qualname__.replace(".<locals>", "").split("."):
        found = next(node for node in ast.walk(found) if getattr(node, "name", "") == name)
    return found


@cache
def written_in(kind: type) -> frozenset[str]:
    """List the private names that a class's own source defines or sets."""
    tree = source_of(kind)
    names = set_in(tree)
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
    return frozenset(filter(is_private, names))


def bases_of(kind: type) -> list[type]:
    """List the classes of Textual and Rich that a class inherits from."""
    packages = "textual", "rich"
    return [base for base in inspect.getmro(kind) if base.__module__.startswith(packages)]


def uses_of(kind: type) -> Iterator[str]:
    """Name the private parts of Textual that one of our classes overrides, reads or sets."""
    names = set(written_in(kind))
    for node in ast.walk(source_of(kind)):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and is_own(node.value):
            names.add(node.attr)
    for name in names:
        for base in bases_of(kind):
            if name in written_in(base):
                yield f"{base.__module__}:{base.__qualname__}.{name}"
                break


def is_own(value: ast.expr) -> bool:
    """Tell whether an expression is `self`, `cls` or `super()`."""
    called = value.func if isinstance(value, ast.Call) else value
    return isinstance(called, ast.Name) and called.id in ("self", "cls", "super")


def uses_in(module: ModuleType) -> Iterator[str]:
    """Name the private parts of Textual that a module of ours imports, or uses by its classes.

    A private name on another object than `self` is given as it is written: `app._driver`.
    """
    tree = tree_of(module.__name__)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    own |= NOT_TEXTUAL | set_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual"):
            for found in node.names:
                if any(map(is_private, [*str(node.module).split("."), found.name])):
                    yield f"{node.module}:{found.name}"
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node.value):
            own_class = isinstance(node.value, ast.Name) and node.value.id == "os"
            if not own_class and node.attr not in own:
                yield ast.unparse(node)
    for kind in vars(module).values():
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and bases_of(kind):
            yield from uses_of(kind)


def set_in(tree: ast.AST) -> set[str]:
    """List the attributes that a module's classes give themselves."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and is_own(node.value)
    }


def used() -> set[str]:
    found = set[str]()
    for module in pkgutil.walk_packages(tokviz.tui.__path__, "tokviz.tui."):
        found.update(uses_in(importlib.import_module(module.name)))
    return found


def missing(place: str) -> bool:
    """Tell whether Textual has no such thing."""
    module, _, path = place.partition(":")
    name, _, attribute = path.partition(".")
    found = getattr(importlib.import_module(module), name, None)
    if found is None or not attribute:
        return found is None
    return not any(attribute in written_in(base) for base in bases_of(found))


def test_every_private_part_is_where_it_was() -> None:
    assert not [
        place for place in [*PRIVATE.split(), *ELSEWHERE.values(), REPLACED] if missing(place)
    ]


def test_a_private_part_that_is_gone_is_named() -> None:
    assert missing("textual.widget:Widget._of_tomorrow")
    assert missing("textual.app:_of_tomorrow")


def test_the_list_is_whole() -> None:
    assert used() == {*PRIVATE.split(), *ELSEWHERE}
