"""The side of the Chat screen: the tokens in one of several views, and why one is as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tokviz.chat.lint import RULES, Finding
from tokviz.chat.rendering import Rendering
from tokviz.chat.rendering_diff import RenderingDiff
from tokviz.text.glyphs import safe, token_label
from tokviz.text.sentences import pluralize
from tokviz.tui.actions import Kind
from tokviz.tui.palette import palette_of
from tokviz.tui.sizes import set_classes
from tokviz.tui.widgets.mask.base import MaskView, known_pin
from tokviz.tui.widgets.mask.counts import NOTHING, PartCounts, roles_rows
from tokviz.tui.widgets.mask.flow import MaskFlow
from tokviz.tui.widgets.mask.rows import MaskRows
from tokviz.tui.widgets.mask.why import reason_words, why_content
from tokviz.tui.widgets.rows_view import LinkRows, RowsView
from tokviz.tui.widgets.spans import GoTo, Role, Row, Span, ToFinding, Word, flow, words_of
from tokviz.tui.widgets.view_switcher import SwitcherView, ViewSwitcher

VIEWS = (
    Kind(
        "tokens", "Tokens", "The text of every token, with those in the loss filled and underlined."
    ),
    Kind("ids", "IDs", "The token ids, with those in the loss filled and underlined.", ("alt+i",)),
    Kind("mask", "Mask", "Every token with its mask and its reason.", ("alt+m",)),
    Kind(
        "targets",
        "Targets",
        "What each position predicts, and which predictions are in the loss.",
    ),
    Kind("roles", "Roles", "The number of tokens of each role, and of those in the loss."),
    Kind("findings", "Findings", "Problems of the conversation.", ("alt+g",)),
    Kind("changes", "Changes", "The tokens before and after changing a variable or the policy."),
)
"""Every view, in the order of the tabs."""

_WHY_ROWS = 6
"""Number of rows for the description of a token."""


class ChatViews(Container):
    """Views of a rendering. Only the visible view is updated.

    Attributes:
        rendering: The tokens, or None.
        pin: The explained token.
        turns: The views.
        findings: The view that lists findings.
    """

    def __init__(self) -> None:
        """Create empty views."""
        super().__init__(id="side")
        self.rendering: Rendering | None = None
        self.pin: int | None = None
        self._roles: Sequence[str] = ()
        self._change: RenderingDiff | None = None
        self._counts = NOTHING
        self._findings = self._listed = list[Finding]()
        self._said = ("", "")
        self._explained: object = None
        self.findings = LinkRows(id="view-findings")
        makers: dict[str, Callable[[], Widget]] = {
            "tokens": partial(self._make_flow, "text", "view-tokens"),
            "ids": partial(self._make_flow, "ids", "view-ids"),
            "mask": partial(self._make_rows, "mask"),
            "targets": partial(self._make_rows, "targets"),
            "roles": lambda: RowsView(id="view-roles"),
            "changes": lambda: LinkRows(id="view-changes"),
            "findings": lambda: self.findings,
        }
        views = [
            SwitcherView(it.id, it.title, f"show_view('{it.id}')", makers[it.id]) for it in VIEWS
        ]
        self.turns = ViewSwitcher(views, frame=self, id="views")
        self._said_line = Static(id="said")
        self.why = Static(id="why")

    def _make_flow(self, shown: Literal["text", "ids"], id: str) -> Widget:
        return MaskFlow(palette_of(self.app), shown, id=id)

    def _make_rows(self, listed: Literal["mask", "targets"]) -> Widget:
        return MaskRows(palette_of(self.app), listed, self._reason, id=f"view-{listed}")

    def compose(self) -> ComposeResult:
        """Yield the views, one of which is visible."""
        yield self._said_line
        yield self.turns
        yield self.why

    def on_mount(self) -> None:
        """Show the first view."""
        self.show_view(self.turns.shown)

    def _reason(self, index: int) -> str:
        if self.rendering is None:
            return ""
        message = self.rendering.run_of(index).message
        place = f"{message + 1} " if message >= 0 else ""
        return place + reason_words(self.rendering, index)

    # -- the current view

    @property
    def current(self) -> Widget | None:
        """The view in sight."""
        return self.turns.current

    def show_view(self, view: str) -> None:
        """Show another view; the keyboard stays on the side if it was there."""
        self.turns.show(view)
        self._view_changed()

    def step(self, by: int) -> None:
        """Show the view a number of tabs further, wrapping around."""
        self.turns.step(by)
        self._view_changed()

    def _view_changed(self) -> None:
        # The list also shows it, in other words.
        self.set_class(self.turns.shown == "findings", "-findings")
        self._sync()

    # -- content

    def show(
        self,
        rendering: Rendering | None,
        roles: Sequence[str],
        counts: PartCounts,
        problem: str,
        waiting: str,
        findings: list[Finding],
        pin: int | None,
        change: RenderingDiff | None = None,
    ) -> None:
        """Show other tokens.

        Args:
            rendering: The tokens, or None.
            roles: The role of each message.
            counts: The counts of the rendering.
            problem: Reason why there are no tokens, or "".
            waiting: Description of the running work, or "".
            findings: Findings of the conversation.
            pin: The token to explain.
            change: What a variable or the policy changed, if that led to these tokens.
        """
        self.rendering, self._roles, self._counts = rendering, roles, counts
        self._change = change
        self._findings = findings
        self.turns.set_count("findings", str(len(findings) or ""))
        said = (problem, waiting)
        if said != self._said:
            self._said = said
            self._said_line.update(Content(safe(problem or waiting)))
            set_classes(self._said_line, {"-problem": bool(problem), "-waiting": bool(waiting)})
        self.pin = known_pin(pin, rendering)
        self._sync()
        self._show_why()

    def _sync(self) -> None:
        """Bring the view in sight up to date."""
        view = self.current
        if isinstance(view, MaskView):
            if view.tokens is not self.rendering:
                view.show(self.rendering, pin=self.pin)
            view.set_pin(self.pin)
        elif view is self.findings:
            # A problem is also a finding, which arrives a moment later.
            problem, waiting = self._said
            rows = partial(finding_rows, self._findings, "Checking…" if problem else waiting)
            is_other, self._listed = self._findings is not self._listed, self._findings
            self.findings.show(rows, from_top=is_other)
        elif isinstance(view, RowsView):
            rows = partial(roles_rows, self.rendering, self._roles, self._counts)
            is_diff = self.turns.shown == "changes"
            view.show(partial(changes_rows, self._change) if is_diff else rows)

    def on_resize(self) -> None:
        """Fit the words to the width."""
        self.call_after_refresh(self._fit_words)

    def _fit_words(self) -> None:
        self._show_why()
        self._sync()

    def set_pin(self, index: int | None, *, scroll: bool = False) -> None:
        """Explain a token, unless it no longer exists."""
        self.pin = known_pin(index, self.rendering)
        if isinstance(self.current, MaskView):
            self.current.set_pin(self.pin, scroll=scroll)
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
        why = why_content(self.rendering, self.pin, self._roles, width, brief=brief)
        # Its height is fixed, so no layout is needed.
        self.why.update(why, layout=False)


_MOST_PLACES = 200


def changes_rows(diff: RenderingDiff | None, width: int) -> list[Row]:
    """Draw the tokens that a change replaced, above the new ones.

    Args:
        diff: What a variable or the policy changed; None for nothing.
        width: Columns of a row.
    """
    if diff is None:
        return flow(words_of("Change a variable, or the policy for special tokens.", "dim"), width)
    total = f"{len(diff.before):,} → {pluralize(len(diff.after), 'token')} in all"
    rows = [*flow(words_of(f"{diff.cause}: {diff}, {total}."), width), ()]
    for before, after in diff.places[:_MOST_PLACES]:
        number = Span(f"#{after.start}", "link", GoTo(min(after.start, len(diff.after) - 1)))
        indent = Span(" " * len(number.text))
        rows += flow(_tokens_in(diff.before, before), width, (number, Span(" − ", "warning")))
        rows += flow(_tokens_in(diff.after, after), width, (indent, Span(" + ", "good")))
    return rows


def _tokens_in(side: Rendering, places: range) -> list[Word]:
    roles: dict[bool, Role] = {True: "special", False: "made"}
    return [
        (Span(token_label(side.token_bytes(n)), roles[side.is_special(n)]),) for n in places
    ] or words_of("no token", "dim")


_SIGNS: dict[str, tuple[str, Role]] = {
    "error": ("✗ ", "error"),
    "warning": ("! ", "warning"),
    "note": ("i ", "link"),
}


def finding_rows(findings: Sequence[Finding], waiting: str, width: int) -> list[Row]:
    """Draw findings as links to their places.

    Args:
        findings: The findings.
        waiting: Description of the work to wait for, or "".
        width: Columns of a row.
    """
    if not findings:
        sign = Span("… ", "dim") if waiting else Span("✓ ", "good")
        return flow(words_of(waiting or "No findings."), width, (sign,))
    rows: list[Row] = []
    for number, finding in enumerate(findings):
        sign, go = Span(*_SIGNS[finding.severity]), ToFinding(number)
        text = safe(f"{RULES[finding.code].title}: {finding.message}")
        rows += flow(words_of(text, "text", go), width, (sign._replace(action=go),))
    return rows
