"""Choosing a tokenizer by its name, or by the name of a model that uses it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from tokviz.formats.registry import BuiltinTokenizer, builtin_names
from tokviz.tui.dialogs.base import Dialog, Field, HintBar
from tokviz.tui.dialogs.row_list import Cell, RowList
from tokviz.tui.glyphs import safe

_SEPARATORS = re.compile(r"[\s._-]+")


@dataclass(frozen=True, slots=True)
class Match:
    """A tokenizer that fits what was typed, and the name that fits best."""

    tokenizer: BuiltinTokenizer
    name: str
    """Its own name, or the alias that was meant."""


def rank(query: str, tokenizers: Sequence[BuiltinTokenizer]) -> list[Match]:
    """Find the tokenizers that fit, best first.

    A name that is equal goes before one that begins with the query, then one that holds it, then
    one that holds its characters in order. Case, spaces, dots, hyphens and underscores are ignored:
    "gpt 4o" finds "gpt-4o".
    """
    wanted = _folded(query)
    if not wanted:
        return [Match(tokenizer, tokenizer.name) for tokenizer in tokenizers]
    found: list[tuple[int, int, Match]] = []
    for tokenizer in tokenizers:
        names = (tokenizer.name, *tokenizer.aliases, *tokenizer.title.split(", "))
        fits = [(fit, len(name), name) for name in names if (fit := _fit(wanted, _folded(name)))]
        if fits:
            fit, length, name = min(fits)
            found.append((fit, length, Match(tokenizer, name)))
    return [match for _, _, match in sorted(found, key=lambda item: item[:2])]


def _folded(text: str) -> str:
    return _SEPARATORS.sub("", text).casefold()


def _fit(wanted: str, name: str) -> int:
    """Say how well a name fits: 1 is best, 0 not at all."""
    if name == wanted:
        return 1
    if name.startswith(wanted):
        return 2
    if wanted in name:
        return 3
    characters = iter(name)
    return 4 if all(char in characters for char in wanted) else 0


class TokenizerPicker(Dialog[str]):
    """Shows the built-in tokenizers. Its result is the canonical name of the one chosen."""

    DEFAULT_CSS = """
    TokenizerPicker {
        #empty { height: 1fr; color: $text-muted; display: none; }
        #about { height: 3; color: $text-muted; }
        &.-empty #empty { display: block; }
        &.-empty RowList, &.-empty #about { display: none; }
        &.-short #about { display: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
    ]

    dialog_title = "Tokenizer"

    def __init__(self, current: str | None = None) -> None:
        """Take the canonical name of the tokenizer in use."""
        super().__init__()
        self.current = current
        self.tokenizers = builtin_names()

    def compose_body(self) -> ComposeResult:
        """Yield the search field, the list and what the highlighted one is."""
        with Horizontal(classes="field-row"):
            yield Static("›", classes="prompt")
            yield Field(placeholder="Name of a tokenizer or a model")
        yield Static("─" * 200, classes="rule")
        yield RowList[Match](self._paint, id="tokenizers")
        yield Static(id="empty")
        yield Static("─" * 200, classes="rule")
        yield Static(id="about")
        yield HintBar(
            [("Enter", "choose", "choose"), ("Esc", "cancel", "cancel"), ("↑↓", "move", "")]
        )

    def on_mount(self) -> None:
        """Show all of them with the current one highlighted."""
        self._show("")

    def wanted_height(self) -> int:
        """Leave room for every tokenizer."""
        return len(self.tokenizers) + 7

    @property
    def _list(self) -> RowList[Match]:
        return self.query_one("#tokenizers", RowList)

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, query: str) -> None:
        matches = rank(query, self.tokenizers)
        names = [match.tokenizer.name for match in matches]
        at = names.index(self.current) if not query.strip() and self.current in names else 0
        self.set_class(not matches, "-empty")
        self._list.show(matches, at if matches else None)
        if not matches:
            self.query_one("#empty", Static).update(Content(_nothing_found(query)))

    @on(RowList.Highlighted)
    def _tell(self) -> None:
        match = self._list.row
        about = Content("") if match is None else Content(safe(_about(match.tokenizer)))
        self.query_one("#about", Static).update(about)

    def _paint(self, match: Match, width: int) -> list[Cell]:
        return paint_match(match, width, current=match.tokenizer.name == self.current)

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """End with the highlighted tokenizer."""
        match = self._list.row
        if match is not None:
            self.dismiss(match.tokenizer.name)

    @on(RowList.Clicked)
    def _clicked(self) -> None:
        self.action_choose()

    def action_move(self, step: int) -> None:
        """Move the highlight."""
        self._list.move(step)

    def action_page(self, step: int) -> None:
        """Move the highlight by a page."""
        self._list.move(step * self._list.page)


def paint_match(match: Match, width: int, *, current: bool) -> list[Cell]:
    """Draw a row: mark, name, models or the alias that fits, and size."""
    tokenizer = match.tokenizer
    title = tokenizer.title
    shown_names = {_folded(name) for name in (tokenizer.name, *title.split(", "))}
    if _folded(match.name) not in shown_names:
        title = f"{match.name} · {title}"
    cells: list[Cell] = [("● " if current else "  ", "accent"), (f"{tokenizer.name:<13}", "strong")]
    size = f"{tokenizer.n_vocab:>8,} tokens"
    room = width - 17
    ending: list[Cell] = []
    if room >= 46:
        ending = [(size + " ", "muted")]
    elif room >= 30:
        ending = [(size.removesuffix("tokens"), "muted")]
    room -= sum(len(text) for text, _ in ending)
    if room > 4:
        cells += [("  ", ""), (_cut(title, room).ljust(room), ""), *ending]
    return cells


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _about(tokenizer: BuiltinTokenizer) -> str:
    names = ", ".join(tokenizer.aliases)
    also = f" Also {names}" if names else ""
    return f"Splits with the pattern {tokenizer.split_pattern}.{also}"


def _nothing_found(query: str) -> str:
    names = ", ".join(tokenizer.name for tokenizer in builtin_names())
    return (
        f"No tokenizer fits “{safe(query.strip())}”. There are {names}; "
        "names of models work too, such as gpt-4o, gpt-3.5-turbo or qwen2.5."
    )
