"""The bar that searches the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.style import Style
from textual.widgets import Input, Static

from tokviz.live.find import FindQuery, Matches, escaped, find_all, forget_text
from tokviz.text.glyphs import UNSAFE
from tokviz.tui.dialogs.base import Dialog, Hint
from tokviz.tui.stale_clicks import widget_at
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.field import Field

_PATIENCE = 0.3
"""Seconds until a message that the search is running."""


@dataclass(frozen=True, slots=True)
class FindResult:
    """Result of a search."""

    query: FindQuery
    """The query, used as the initial one next time."""
    span: tuple[int, int] | None
    """The match it ended at, in characters of the text."""
    put: str = ""
    """The replacement."""


class PutField(Field):
    """A field for what takes the place of matches: the spaces around it count."""

    KEEPS_SPACES = True


class FindField(PutField):
    """A field in which pasted invisible characters become visible regex escapes."""

    class Escaped(Message):
        """The field now contains a regular expression, because invisible characters were pasted."""

    regex: bool = False
    """True if the field already contains a regular expression."""

    def on_paste(self, event: events.Paste) -> None:
        """Insert a paste, with invisible characters as escapes of a regular expression."""
        if UNSAFE.search(event.text) is None:
            super().on_paste(event)
            return
        event.prevent_default()
        event.stop()
        pasted = escaped(event.text)
        if not self.fits(pasted):
            return
        start, end = sorted(self.selection)
        before, after = self.value[:start], self.value[end:]
        if not self.regex:
            before, after = escaped(before), escaped(after)
        before += pasted
        self.post_message(self.Escaped())
        self.value = before + after
        self.cursor_position = len(before)


class FindDialog(Dialog[FindResult]):
    """Search bar at the bottom, with the text visible above it.

    While it is open, `on_match` is called with the span of each match it stops at. Closing it keeps
    that place; its result is None only if nothing was typed. A second row replaces one or all
    matches with `change`.
    """

    DEFAULT_CSS = """
    FindDialog {
        align: center bottom;
        background: transparent;
        #dialog, &.-narrow #dialog, &.-tiny #dialog {
            width: 100%;
            border: none;
            border-top: solid $border-quiet;
        }
        &.-short #dialog { border: none; }
        &.-tiny #options { display: none; }
        #replacing { display: none; }
        &.-replacing #replacing { display: block; }
        #options, #buttons { width: auto; padding: 0 1; }
        .label { width: auto; color: $text-muted; padding: 0 1 0 0; }
        &.-replacing .label { width: 8; }
        &.-tiny .label { display: none; }
        #count { width: auto; color: $text-muted; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,f3,ctrl+g", "step(1)", show=False, priority=True),
        Binding("up,shift+f3,ctrl+r", "step(-1)", show=False, priority=True),
        Binding("f2,alt+r", "toggle_regex", show=False, priority=True),
        Binding("f4,alt+c", "toggle_case", show=False, priority=True),
        Binding("f6", "replace(True)", show=False, priority=True),
        Binding("tab,shift+tab", "switch", show=False, priority=True),
        Binding("ctrl+f", "cancel", show=False, priority=True),
    ]

    def __init__(
        self,
        text: str,
        offset: int = 0,
        query: FindQuery | None = None,
        on_match: Callable[[int, int], None] | None = None,
        change: Callable[[int, int, str], str] | None = None,
        *,
        tokens: Callable[[FindQuery], Matches | None] = lambda query: None,
        placeholder: str = "Text to look for",
        prepare: Callable[[str], object] = lambda text: None,
        put: str = "",
        replacing: bool = False,
    ) -> None:
        """Start a search.

        Args:
            text: The text to search, changed only by `change` while the bar is open.
            offset: Start offset in characters.
            query: Initial query, such as the last one.
            on_match: Called with the start and end of the match to show.
            change: Replaces a range and returns the whole text; without it, replacing is disabled.
            tokens: Returns the tokens that a query refers to, which come before text matches, or
                None. Called in the app's thread.
            placeholder: Placeholder of the field.
            prepare: Does the slow part of inserting a text, thread-safe.
            put: Initial replacement.
            replacing: True to start in the replacement row.
        """
        super().__init__()
        self._text = text
        self._offset = offset
        self.find_query = query or FindQuery("")
        self._on_match = on_match
        self._change, self._prepare = change, prepare
        self._put, self._tokens, self._placeholder = put, tokens, placeholder
        self.set_class(replacing, "-replacing")
        self._matches = Matches()
        self._found_for: FindQuery | None = None
        self._current: int | None = None
        self._replaced = 0

    def compose_body(self) -> ComposeResult:
        """Yield the field, the options, the count and the hints."""
        with Horizontal(classes="field-row"):
            yield Static("Find", classes="label")
            yield Static("›", classes="prompt")
            yield FindField(self.find_query.text, placeholder=self._placeholder)
            yield Static(id="options")
            yield Static(id="count")
        with Horizontal(classes="field-row", id="replacing"):
            yield Static("Replace", classes="label")
            yield Static("›", classes="prompt")
            yield PutField(self._put, placeholder="Replacement", id="put")
            yield Static(id="buttons")
        yield Static(classes="error")

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        enter = ("Enter", "next", "step(1)")
        more = [("Tab", "replace", "switch")] if self._change else []
        if self.has_class("-replacing"):
            more = [("F6", "replace all", "replace(True)")]
            if self.focused is not None and self.focused.id == "put":
                enter = ("Enter", "replace", "replace")
        return [
            enter,
            ("Esc", "close", "cancel"),
            *more,
            ("↑", "previous", "step(-1)"),
            ("F2", "regex", "toggle_regex"),
            ("F4", "match case", "toggle_case"),
        ]

    def on_mount(self) -> None:
        """Search for the initial query."""
        for clickable in self.query("#options, #buttons"):
            clickable.auto_links = False
        this, every = _option("this", False, "replace"), _option("all", False, "replace(True)")
        self.query_one("#buttons", Static).update(Content.assemble(this, " ", every))
        self._show_options()
        self._find()

    def on_unmount(self) -> None:
        """Start the next search with the current text."""
        forget_text()

    @on(Input.Changed, "FindField")
    def _changed(self, event: Input.Changed) -> None:
        self._look_for(text=event.value)

    @on(FindField.Escaped)
    def _escaped(self) -> None:
        self._look_for(regex=True)

    def action_toggle_regex(self) -> None:
        """Interpret the query as a regular expression, or literally."""
        self._look_for(regex=not self.find_query.regex)

    def action_toggle_case(self) -> None:
        """Match case, or ignore it."""
        self._look_for(case=not self.find_query.case)

    def _look_for(self, **changes: Any) -> None:
        self.find_query = replace(self.find_query, **changes)
        self._show_options()
        self._find()

    def _show_options(self) -> None:
        self.query_one(FindField).regex = self.find_query.regex
        regex = _option(".*", self.find_query.regex, "toggle_regex")
        case = _option("Aa", self.find_query.case, "toggle_case")
        self.query_one("#options", Static).update(Content.assemble(regex, " ", case))

    @on(events.DescendantFocus)
    def _focus_moved(self) -> None:
        self.show_hints()

    def action_switch(self) -> None:
        """Switch between the query and the replacement."""
        if self._change is not None:
            self.add_class("-replacing")
            find, put = self.query_one(FindField), self.query_one("#put", PutField)
            (find if put.has_focus else put).focus()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll the text above the bar."""
        self._scroll_behind(event, 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll the text behind the bar."""
        self._scroll_behind(event, -3)

    def _scroll_behind(self, event: events.MouseEvent, rows: int) -> None:
        under = widget_at(self.app.screen_stack[-2], event.screen_offset)
        for node in under.ancestors_with_self if under else ():
            if isinstance(node, ScrollView):
                node.scroll_relative(y=rows, animate=False)
                break

    def _find(self) -> None:
        query = self.find_query
        if query == self._found_for:
            # The result is of a previous query.
            self.workers.cancel_group(self, "find")
            self.query_one("#count", Static).update(self._count())
            return
        in_thread(
            self, "find", self._search(query), lambda matches: self._show_found(query, matches)
        )
        self.set_timer(_PATIENCE, self._tell_waiting)

    def _search(self, query: FindQuery, put: str | None = None) -> Callable[[Task], Matches]:
        """Find tokens now, and return what finds the text in a thread."""
        tokens, text = self._tokens(query), self._text

        def find(task: Task) -> Matches:
            if tokens:
                return replace(tokens, texts=[put or ""] * len(tokens))
            found = find_all(text, query, put=put, stop=lambda: task.cancelled)
            return found if found or tokens is None else tokens

        return find

    def _tell_waiting(self) -> None:
        """Show that a slow search is running."""
        if self.find_query != self._found_for:
            self.query_one("#count", Static).update("searching…")

    def _show_found(self, query: FindQuery, matches: Matches) -> None:
        """Go to the match nearest to the start of the search."""
        if query != self.find_query:
            return
        self._found_for = query
        self._matches = matches
        self.show_error(matches.problem)
        self._go_to(matches.nearest(self._offset))

    def _go_to(self, index: int | None) -> None:
        self._current = index
        self.query_one("#count", Static).update(self._count())
        if index is not None and self._on_match is not None:
            self._on_match(self._matches.starts[index], self._matches.ends[index])

    def _count(self) -> str:
        if self._replaced:
            number, self._replaced = self._replaced, 0
            return f"{number:,} replaced"
        if not self.find_query.text:
            return ""
        if self._current is None:
            return "none" if self._matches.complete else "stopped"
        more = "" if self._matches.complete else "+"
        return f"{self._current + 1:,} of {len(self._matches):,}{more}"

    def action_replace(self, all_of_them: bool = False) -> None:
        """Replace this match, or all matches."""
        index, text, query = self._current, self._text, self.find_query
        change, search = self._change, self._search(query, self.query_one("#put", PutField).value)
        if index is None or change is None or self._found_for != query:
            return

        def expand(task: Task) -> tuple[str, int, int, str, int]:
            found = search(task)
            if found.problem:
                return found.problem, 0, 0, "", 0
            start, end, new = found.replaced_in(text, *(() if all_of_them else (index,)))
            self._prepare(new)
            return "", start, end, new, len(found)

        def take(done: tuple[str, int, int, str, int]) -> None:
            problem, start, end, new, n_replaced = done
            self.show_error(problem)
            if problem:
                self._go_to(self._current)
                return
            self._text = change(start, end, new)
            self._offset, self._found_for = start + len(new), None
            self._replaced = n_replaced if all_of_them else 0
            self._find()

        self.query_one("#count", Static).update("replacing…")
        in_thread(self, "find", expand, take)

    @on(Input.Submitted, "#put")
    def _put_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_replace()

    @on(Input.Submitted, "FindField")
    def _submitted(self) -> None:
        self.action_step(1)

    def action_step(self, step: int) -> None:
        """Go to the next or previous match, round the ends of the text."""
        if self._current is not None and self._found_for == self.find_query:
            self._go_to((self._current + step) % len(self._matches))

    def action_cancel(self) -> None:
        """Close and keep the place."""
        if not self.find_query.text:
            self.dismiss(None)
            return
        span = None
        if self._current is not None and self._found_for == self.find_query:
            span = self._matches.starts[self._current], self._matches.ends[self._current]
        self.dismiss(FindResult(self.find_query, span, self.query_one("#put", PutField).value))


def _option(label: str, on: bool, action: str) -> Content:
    """Draw a switch: inverse while it is on, so that it shows without colours."""
    drawn = Content.assemble((f" {label} ", "reverse" if on else "$text-muted"))
    return drawn.stylize(Style.from_meta({"@click": f"screen.{action}"}))
