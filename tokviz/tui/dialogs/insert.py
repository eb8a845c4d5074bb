"""Dialogs that insert text: token ids with their tokens, and any character of Unicode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from tokviz.compare.drift import Drift, DriftSpan
from tokviz.errors import TokvizError
from tokviz.explain.ids import IdToken, decoded, ids_in
from tokviz.explain.stream import StreamStep, stream
from tokviz.text.characters import USEFUL, Character, by_number, search
from tokviz.text.glyphs import safe, token_label
from tokviz.text.sentences import format_sentences
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.dialogs.base import About, ListDialog
from tokviz.tui.tasks import in_thread
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Role, Span

_NO_IDS = "Use only numbers, spaces, commas and brackets."


class _Row(NamedTuple):
    """A token in the list, with the text that its arrival shows, and differences."""

    id: IdToken
    step: StreamStep | None = None
    drift: DriftSpan | None = None
    encoded: str = ""
    """The tokens of encoding beside it, if there is one for each."""


class _View(NamedTuple):
    """Decoded ids."""

    rows: Sequence[_Row]
    data: bytes | None
    problem: str
    summary: str


def _view(tokenizer: Tokenizer, ids: Sequence[int]) -> _View:
    found = decoded(tokenizer, ids)
    try:
        drift = None if found.data is None else Drift(tokenizer, ids)
    except TokvizError:  # ids that only mean something together
        drift = None
    if drift is None:
        return _View(list(map(_Row, found.tokens)), found.data, found.problem, "")
    rows = [*map(_Row, found.tokens, stream(tokenizer, ids))]
    for span in drift.spans:
        last = len(span.sampled) - 1
        for at in range(last + 1):
            beside = span.encoded[at:] if at == last else span.encoded[at : at + 1]
            labels = (f"{id} {token_label(tokenizer.token_bytes(id))}" for id in beside)
            place = span.first + at
            rows[place] = rows[place]._replace(drift=span, encoded="  ".join(labels))
    return _View(rows, found.data, "", drift.summary if drift.spans else "")


class IdField(Field):
    """A field that takes ids on several lines in."""

    MOST_PASTED = 1_000_000

    def clean_paste(self, text: str) -> str:
        """Join the lines."""
        return super().clean_paste(" ".join(text.split()))


class DecodeIdsDialog(ListDialog[bytes, _Row]):
    """Dialog that decodes ids. Its result is the bytes to insert into the text.

    Moving through the tokens shows the text that a program displays when they arrive one by one,
    and why encoding the text produces other tokens.
    """

    DEFAULT_CSS = """
    DecodeIdsDialog About { height: 15%; min-height: 1; }
    DecodeIdsDialog #step { color: $text-muted; }
    """

    dialog_title = "Decode token ids"
    verb = "insert"
    nothing = "Type or paste ids to list their tokens."
    rows_wanted = 22
    """Room for a dozen tokens."""

    def __init__(self, tokenizer: Tokenizer, ids: str = "") -> None:
        """Create the dialog.

        Args:
            tokenizer: The tokenizer of the ids.
            ids: Initial ids, as typed.
        """
        super().__init__(_paint, "decoded")
        self._tokenizer, self._ids = tokenizer, ids
        self._decoded: tuple[str, _View] | None = None
        self._put_when_decoded = False

    def compose_body(self) -> ComposeResult:
        """Yield the field, the tokens, and their text."""
        field = IdField(self._ids, placeholder="15339 1917, or [15339, 1917]")
        yield from self.compose_search(field)
        yield About(id="all")
        yield About(id="step")

    def on_mount(self) -> None:
        """Show the tokenizer and decode the initial ids."""
        frame = self.query_one("#dialog")
        frame.border_title = f"{self.dialog_title} of {safe(self._tokenizer.name)}".replace(
            "[", r"\["
        )
        self._decode(self._ids)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._put_when_decoded = False
        self._decode(event.value)

    def _decode(self, typed: str) -> None:
        ids = ids_in(typed)
        self.show_error(_NO_IDS if ids is None and typed.strip(" ,[]()") else "")
        in_thread(
            self,
            "decode",
            lambda task: _view(self._tokenizer, ids or ()),
            lambda found: self._show(typed, found),
        )

    def _show(self, typed: str, found: _View) -> None:
        if typed != self.query_one(Field).value:
            return
        self._decoded = typed, found
        self.query_one("#step", About).tell("")
        self.rows.show(found.rows, 0 if found.rows else None)
        self.query_one("#dialog").border_subtitle = found.summary
        if found.problem:
            self.show_error(found.problem)
        text = "" if found.data is None else found.data.decode("utf-8", "replace")
        self.query_one("#all", About).tell(text)
        if self._put_when_decoded:
            self.action_choose()

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """Close with the text, once the input is decoded and every id exists."""
        typed, found = self._decoded or (None, None)
        self._put_when_decoded = typed != self.query_one(Field).value
        if found is not None and found.data and not self._put_when_decoded:
            self.dismiss(found.data)

    @on(RowList.Highlighted)
    def _tell_step(self) -> None:
        row = self.rows.row
        if row is not None and row.step is not None:
            drift = row.drift
            why = () if drift is None else (("≠ ", *drift.why),)
            self.query_one("#step", About).tell(
                format_sentences([*why, row.step.words], token_label)
            )


def _paint(row: _Row, width: int) -> list[Span]:
    """Draw a token: its number, its id, its bytes, and the tokens of encoding if they differ."""
    token = row.id
    head = f"{token.number:>5,}  {token.token_id:>7} {'≠' if row.drift else ' '} "
    room = max(1, width - len(head))
    if token.token is None:
        return [Span(head, "dim"), Span(fit("no such token", room), "heading")]
    kind: Role = "accent" if token.special else "text"
    if row.drift is None:
        return [Span(head, "dim"), Span(fit(token_label(token.token), room), kind)]
    lane = max(1, room // 2)
    cells: list[Span] = [Span(head, "dim"), Span(column(token_label(token.token), lane), kind)]
    return [*cells, Span(fit(f"│ {row.encoded}", max(1, room - lane)), "heading")]


class InsertCharacterDialog(ListDialog[str, Character]):
    """Dialog that finds a character. Its result may be unsafe for a terminal."""

    dialog_title = "Insert a character"
    verb = "insert"
    rows_wanted = 18
    """Room for a dozen characters."""

    def __init__(self) -> None:
        """Create the dialog with an empty field."""
        super().__init__(paint_character, "characters")
        self._found_for = ""
        self._choose_when_found = False

    def compose_body(self) -> ComposeResult:
        """Yield the field and the list."""
        return self.compose_search(Field(placeholder="U+200B, zwsp, or words of the name"))

    def on_mount(self) -> None:
        """Offer characters that matter to tokenizers."""
        self.rows.show(USEFUL, 0)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        problem = by_number(event.value)
        self.show_error(problem if isinstance(problem, str) else "")
        self._choose_when_found = False
        text = event.value
        in_thread(
            self,
            "characters",
            lambda task: search(text, stop=lambda: task.cancelled),
            lambda found: self._show_found(text, found),
        )

    def _show_found(self, text: str, found: Sequence[Character]) -> None:
        if text != self.query_one(Field).value:
            return
        self._found_for = text
        self.rows.show(found, 0 if found else None)
        if self._choose_when_found:
            self.action_choose()
        if not found and not isinstance(by_number(text), str):
            self.show_error("No character name contains these words.")

    @on(Input.Submitted)
    @on(RowList.Picked)
    def action_choose(self) -> None:
        """Close with the highlighted character, once the search has finished."""
        self._choose_when_found = self._found_for != self.query_one(Field).value
        if self._choose_when_found:
            return
        character = self.rows.row
        if character is not None:
            self.dismiss(character.text)


def paint_character(character: Character, width: int) -> list[Span]:
    """Draw a row: glyph, number, name, UTF-8 bytes."""
    glyph = token_label(character.text.encode())
    data = character.text.encode().hex(" ") if width >= 50 else ""
    shown_glyph = fit(glyph, 10)
    column = 12 if width >= 34 else 0
    glyph_cell = " " + shown_glyph + " " * (column - 1 - cell_len(shown_glyph)) if column else " "
    room = max(0, width - len(data) - cell_len(glyph_cell) - 10)
    return [
        Span(glyph_cell, "accent"),
        Span(f"{character.label:<9}", "dim"),
        Span(fit(character.name, room - 1).ljust(room)),
        Span(data, "dim"),
    ]
