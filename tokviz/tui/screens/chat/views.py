"""The side of the Chat screen: the tokens in one of several views, and why one is as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tokviz.chat.lint import Finding
from tokviz.chat.render import MASK_SOURCES, Rendering
from tokviz.glyphs import safe
from tokviz.tui.palette import TokenPalette
from tokviz.tui.screens.chat.findings import FindingList
from tokviz.tui.widgets.mask.base import MaskView
from tokviz.tui.widgets.mask.counts import NOTHING, PartCounts, roles_content
from tokviz.tui.widgets.mask.flow import MaskFlow
from tokviz.tui.widgets.mask.rows import MaskRows
from tokviz.tui.widgets.mask.why import reason_words, why_content
from tokviz.tui.widgets.turns import border_tabs


class ViewKind(NamedTuple):
    """A view: its id and its tab."""

    id: str
    title: str


VIEWS: tuple[ViewKind, ...] = (
    ViewKind("tokens", "Tokens"),
    ViewKind("ids", "IDs"),
    ViewKind("mask", "Mask"),
    ViewKind("targets", "Targets"),
    ViewKind("roles", "Roles"),
    ViewKind("findings", "Findings"),
)
"""Every view, in the order of the tabs."""

_WHY_ROWS = 5
"""Rows in which all there is to say of a token fits."""


class ChatViews(Container):
    """Shows a rendering. Only the view in sight is kept up to date."""

    def __init__(self, palette: TokenPalette) -> None:
        """Take the colours."""
        super().__init__(id="side")
        self.shown = VIEWS[0].id
        self.rendering: Rendering | None = None
        self.roles: Sequence[str] = ()
        self.pin: int | None = None
        self._findings: Sequence[Finding] = ()
        self._counts = NOTHING
        self._problem = ""
        self._table_rows = 0
        self._explained: object = None
        self._synced: dict[str, object] = {}
        self._views: dict[str, Widget] = {
            "tokens": MaskFlow(palette, "text", id="view-tokens"),
            "ids": MaskFlow(palette, "ids", id="view-ids"),
            "mask": MaskRows(palette, "mask", self._reason, id="view-mask"),
            "targets": MaskRows(palette, "targets", self._reason, id="view-targets"),
            "roles": VerticalScroll(Static(id="roles-table"), id="view-roles"),
            "findings": FindingList(id="view-findings"),
        }
        self.problem_line = Static(id="problem")
        self.why = Static(id="why")

    def compose(self) -> ComposeResult:
        """Yield the views, of which one is in sight."""
        yield self.problem_line
        with Container(id="views"):
            yield from self._views.values()
        yield self.why

    def on_mount(self) -> None:
        """Show the first view."""
        self.show_view(self.shown)

    def _reason(self, index: int) -> str:
        if self.rendering is None:
            return ""
        message = self.rendering.message_of[index]
        place = f"{message + 1} " if message >= 0 else ""
        return place + reason_words(self.rendering, index)

    # -- which view

    @property
    def current(self) -> Widget:
        """The view in sight."""
        return self._views[self.shown]

    def show_view(self, view: str) -> None:
        """Show another view; the keyboard stays on the side if it was there."""
        had_focus = self.has_focus_within
        self.shown = view
        for name, widget in self._views.items():
            widget.set_class(name == view, "-shown")
        # The list says it too, in its own words.
        self.set_class(view == "findings", "-findings")
        self._draw_tabs()
        self._sync()
        if had_focus:
            self.current.focus(scroll_visible=False)

    def step(self, by: int) -> None:
        """Show the view so many tabs further on, in a circle."""
        ids = [kind.id for kind in VIEWS]
        self.show_view(ids[(ids.index(self.shown) + by) % len(ids)])

    def _draw_tabs(self) -> None:
        count = f" {len(self._findings)}" if self._findings else ""
        self.border_title = border_tabs(
            (
                kind.title + (count if kind.id == "findings" else ""),
                f"show_view('{kind.id}')",
                kind.id == self.shown,
            )
            for kind in VIEWS
        )

    # -- what is shown

    def show_rendering(
        self,
        rendering: Rendering | None,
        roles: Sequence[str],
        counts: PartCounts,
        problem: str,
        pin: int | None,
    ) -> None:
        """Show other tokens.

        Args:
            rendering: The tokens, None for none.
            roles: The role of each message.
            counts: The counts of the rendering.
            problem: Why the tokens are not those of the present conversation, empty if they are.
            pin: The token to explain.
        """
        self.rendering, self.roles, self._counts = rendering, roles, counts
        if problem != self._problem:
            self._problem = problem
            self.problem_line.update(Content(safe(problem)))
            self.problem_line.set_class(bool(problem), "-shown")
        self.pin = (
            pin if rendering is not None and pin is not None and pin < len(rendering) else None
        )
        self._sync()
        self._show_why()

    def show_findings(self, findings: Sequence[Finding]) -> None:
        """Show other findings."""
        self._findings = findings
        self._draw_tabs()
        self._synced.pop("findings", None)
        self._sync()

    def _sync(self) -> None:
        """Bring the view in sight up to date."""
        rendering, view = self.rendering, self.current
        if isinstance(view, MaskView):
            meaning = (
                None
                if rendering is None
                else (rendering.tokenizer, tuple(rendering.virtual_specials.items()))
            )
            if self._synced.get(self.shown) is not rendering:
                changed = self._synced.get(f"{self.shown} ids") != meaning
                self._synced[self.shown] = rendering
                self._synced[f"{self.shown} ids"] = meaning
                view.show(rendering, ids_changed=changed, pin=self.pin)
            view.set_pin(self.pin)
        elif self.shown == "roles":
            self._show_roles()
        elif self.shown == "findings" and "findings" not in self._synced:
            self._synced["findings"] = True
            self.query_one(FindingList).show_findings(self._findings, "Nothing was found.")

    def _show_roles(self) -> None:
        table = self.query_one("#roles-table", Static)
        if self.rendering is None:
            table.update("")
            return
        width = self.current.scrollable_content_region.width or 40
        source = MASK_SOURCES[self.rendering.mask_source]
        shown = roles_content(self.rendering, self.roles, self._counts, width, source)
        before, self._table_rows = self._table_rows, shown.plain.count("\n")
        table.update(shown, layout=self._table_rows != before)

    def on_resize(self) -> None:
        """Fit the words to the width."""
        self.call_after_refresh(self._fit_words)

    def _fit_words(self) -> None:
        self._show_why()
        if self.shown == "roles":
            self._show_roles()

    def set_pin(self, index: int | None, *, scroll: bool = False) -> None:
        """Explain a token."""
        self.pin = index
        if isinstance(self.current, MaskView):
            self.current.set_pin(index, scroll=scroll)
        self._show_why()

    def show_message(self, message: int) -> None:
        """Bring the tokens of a message into view."""
        if isinstance(self.current, MaskFlow):
            self.current.show_message(message)

    def _show_why(self) -> None:
        width = self.why.content_size.width or 40
        brief = 0 < self.why.content_size.height < _WHY_ROWS
        explained = (self.rendering, self.pin, width, brief)
        if explained == self._explained:
            return
        self._explained = explained
        why = why_content(self.rendering, self.pin, self.roles, width, brief=brief)
        # Its height is given, so no layout is needed.
        self.why.update(why, layout=False)

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        for view in self._views.values():
            if isinstance(view, MaskView):
                view.set_palette(palette)
