"""The private parts of Textual that the app builds on: one list, and what tells which one moved.

A new release of Textual may change any of them. The first test then names the one that is gone; the
second keeps the list whole.
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
textual._compositor:ChopsUpdate
textual._compositor:Compositor
textual._compositor:Compositor._dirty_regions
textual._compositor:Compositor._full_map
textual._compositor:Compositor._regions_to_spans
textual._compositor:Compositor._render_chops
textual._compositor:CompositorMap
textual._compositor:ReflowResult
textual._context:active_app
textual._parser:ParseError
textual._parser:Parser._awaiting
textual._parser:Parser._gen
textual._parser:Parser._timeout_time
textual._parser:Parser._tokens
textual._styles_cache:StylesCache
textual._xterm_parser:XTermParser
textual.app:App._batch_count
textual.app:App._css_update_count
textual.app:App._exit
textual.app:App._fatal_error
textual.app:App._get_screen
textual.app:App._handle_exception
textual.app:App._load_screen_css
textual.app:App._notifications
textual.app:App._prune
textual.app:App._refresh_notifications
textual.app:App._screen_stacks
textual.app:App._unnotify
textual.css.stylesheet:Stylesheet._process_component_classes
textual.document._document:Document
textual.document._document:Document._newline
textual.document._document:EditResult
textual.document._document:Location
textual.document._document:Selection
textual.document._document_navigator:DocumentNavigator
textual.document._document_navigator:DocumentNavigator._document
textual.document._document_navigator:DocumentNavigator._wrapped_document
textual.document._edit:Edit
textual.document._history:EditHistory
textual.document._history:EditHistory._undo_stack
textual.document._wrapped_document:WrappedDocument
textual.driver:Driver._app
textual.driver:Driver._auto_restart
textual.driver:Driver._debug
textual.driver:Driver._loop
textual.drivers.linux_driver:LinuxDriver._file
textual.drivers.linux_driver:LinuxDriver._get_terminal_size
textual.drivers.linux_driver:LinuxDriver._key_thread
textual.drivers.linux_driver:LinuxDriver._must_signal_resume
textual.drivers.linux_driver:LinuxDriver._sigcont_application
textual.drivers.linux_driver:LinuxDriver._sigtstp_application
textual.message_pump:MessagePump._get_dispatch_methods
textual.screen:Screen._compositor
textual.screen:Screen._compositor_refresh
textual.screen:Screen._layout_required
textual.screen:Screen._refresh_layout
textual.screen:Screen._screen_resized
textual.screen:Screen._update_auto_focus
textual.screen:Screen._update_timer
textual.widget:Widget._border_subtitle
textual.widget:Widget._border_title
textual.widget:Widget._dirty_regions
textual.widget:Widget._exchange_repaint_regions
textual.widget:Widget._on_click
textual.widget:Widget._on_leave
textual.widget:Widget._on_mouse_scroll_down
textual.widget:Widget._on_mouse_scroll_up
textual.widget:Widget._repaint_regions
textual.widget:Widget._repaint_required
textual.widget:Widget._scroll_update
textual.widget:Widget._set_dirty
textual.widget:Widget._styles_cache
textual.widget:Widget._vertical_scrollbar
textual.widgets._input:Input._on_paste
textual.widgets._text_area:TextArea._delete_cursor_line
textual.widgets._text_area:TextArea._delete_via_keyboard
textual.widgets._text_area:TextArea._end_mouse_selection
textual.widgets._text_area:TextArea._on_key
textual.widgets._text_area:TextArea._on_mouse_down
textual.widgets._text_area:TextArea._on_mouse_move
textual.widgets._text_area:TextArea._on_paste
textual.widgets._text_area:TextArea._on_resize
textual.widgets._text_area:TextArea._recompute_cursor_offset
textual.widgets._text_area:TextArea._redo_batch
textual.widgets._text_area:TextArea._refresh_size
textual.widgets._text_area:TextArea._replace_via_keyboard
textual.widgets._text_area:TextArea._rewrap_and_refresh_virtual_size
textual.widgets._text_area:TextArea._selecting
textual.widgets._text_area:TextArea._set_document
textual.widgets._text_area:TextArea._undo_batch
textual.widgets._text_area:TextArea._watch_language
textual.widgets._text_area:TextArea._watch_selection
textual.widgets._toast:Toast
textual.widgets._toast:ToastHolder
textual.widgets._toast:ToastRack
"""
"""`module:name` or `module:Class.attribute`, a line each."""

ELSEWHERE = {
    "above._forward_event": "textual.screen:Screen._forward_event",
    "ToastRack._toast_id": "textual.widgets._toast:ToastRack._toast_id",
    "timer._repeat": "textual.timer:Timer._repeat",
    "timer._skip": "textual.timer:Timer._skip",
    "app._notifications": "textual.app:App._notifications",
    "app._unnotify": "textual.app:App._unnotify",
    "event._apply_offset": "textual.events:MouseEvent._apply_offset",
    "active_app.get()._handle_exception": "textual.app:App._handle_exception",
    "app._clipboard": "textual.app:App._clipboard",
    "app._driver": "textual.app:App._driver",
    "app._exit": "textual.app:App._exit",
    "around._border_title": "textual.widget:Widget._border_title",
    "below._compositor._render_chops": "textual._compositor:Compositor._render_chops",
    "edit._edit_result": "textual.document._edit:Edit._edit_result",
    "message._no_default_action": "textual.message:Message._no_default_action",
    "MessagePump._get_dispatch_methods": "textual.message_pump:MessagePump._get_dispatch_methods",
    "node._component_styles": "textual.dom:DOMNode._component_styles",
    "node._get_component_classes": "textual.dom:DOMNode._get_component_classes",
    "node._pruning": "textual.dom:DOMNode._pruning",
    "part._attach": "textual.message_pump:MessagePump._attach",
    "Screen._compositor_refresh": "textual.screen:Screen._compositor_refresh",
    "screen._dirty_widgets": "textual.screen:Screen._dirty_widgets",
    "screen._on_timer_update": "textual.screen:Screen._on_timer_update",
    "screen.app._batch_count": "textual.app:App._batch_count",
    "self._screen._repaint_required": "textual.widget:Widget._repaint_required",
    "self._compositor._dirty_regions": "textual._compositor:Compositor._dirty_regions",
    "self.app._start_widget": "textual.app:App._start_widget",
    "self._app._exit": "textual.app:App._exit",
    "screen._compositor": "textual.screen:Screen._compositor",
    "screen._css_update_count": "textual.screen:Screen._css_update_count",
    "screen._refresh_layout": "textual.screen:Screen._refresh_layout",
    "self.screen._binding_chain": "textual.screen:Screen._binding_chain",
    "self.screen_stack[0]._invoke_later": "textual.screen:Screen._invoke_later",
    "self._node._get_component_classes": "textual.dom:DOMNode._get_component_classes",
    "self.stylesheet._variables": "textual.css.stylesheet:Stylesheet._variables",
    "self.stylesheet._parse_cache": "textual.css.stylesheet:Stylesheet._parse_cache",
    "sheet._variables": "textual.css.stylesheet:Stylesheet._variables",
    **{
        f"strip.{name}": f"textual.strip:Strip.{name}"
        for name in ("_cell_count", "_cell_length", "_link_ids", "_render_cache", "_segments")
    },
    **{f"cache.{name}": f"textual.cache:LRUCache.{name}" for name in ("_cache", "_full", "_head")},
    "Segment._split_cells": "rich.segment:Segment._split_cells",
    "self.styles._cache_key": "textual.css.styles:RenderStyles._cache_key",
}
"""What is used of another object than the own one, as it is written, and where it stands."""

REPLACED = "textual.message_pump:invoke"
"""What `handlers.py` puts another function in the place of: an import of Textual's own."""

NOT_TEXTUAL = {"_replace"}
"""What is called so in the standard library: a named tuple's way of changing a field."""


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
