"""Token ids and what they stand for."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input, Static

from tokviz.explain.ids import DecodedIds, IdToken, decoded, ids_in
from tokviz.glyphs import safe, token_label
from tokviz.tokenizer import Tokenizer
from tokviz.tui.dialogs.base import Hint, field_row, rule
from tokviz.tui.dialogs.list_dialog import About, ListDialog
from tokviz.tui.tasks import in_thread
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import Cell, RowList

_NO_IDS = "Only numbers can stand here, with spaces, commas or brackets between them."


class IdField(Field):
    """A field that takes ids on several lines in."""

    def clean_paste(self, text: str) -> str:
        """Join the lines."""
        return super().clean_paste(" ".join(text.split()))


class DecodeIdsDialog(ListDialog[bytes, IdToken]):
    """Its result are the bytes that the ids stand for, which are to go into the text."""

    DEFAULT_CSS = """
    DecodeIdsDialog About { height: 3; }
    DecodeIdsDialog.-short About { height: 1; }
    """

    dialog_title = "Decode token ids"

    def __init__(self, tokenizer: Tokenizer, ids: str = "") -> None:
        """Begin with some ids.

        Args:
            tokenizer: The tokenizer whose ids they are.
            ids: What to begin with, as it would be typed.
        """
        super().__init__(_paint, "decoded")
        self._tokenizer, self._ids = tokenizer, ids
        self._decoded: tuple[str, DecodedIds] | None = None
        self._put_when_decoded = False

    def compose_body(self) -> ComposeResult:
        """Yield the field, the tokens, and their text."""
        yield field_row(IdField(self._ids, placeholder="15339 1917, or [15339, 1917]"))
        yield Static(classes="error")
        yield rule()
        yield self.rows
        yield rule()
        yield About(classes="about")

    def hints(self) -> Sequence[Hint]:
        """Say that the text is put in."""
        return [("Enter", "put into the text", "choose"), *super().hints()[1:]]

    def on_mount(self) -> None:
        """Say whose ids they are, and decode those that it begins with."""
        frame = self.query_one("#dialog")
        frame.border_title = f"{self.dialog_title} of {safe(self._tokenizer.name)}".replace(
            "[", r"\["
        )
        self._decode(self._ids)

    def wanted_height(self) -> int:
        """Leave room for a dozen tokens."""
        return 20

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
            lambda task: decoded(self._tokenizer, ids or ()),
            lambda found: self._show(typed, found),
        )

    def _show(self, typed: str, found: DecodedIds) -> None:
        if typed != self.query_one(Field).value:
            return
        self._decoded = typed, found
        self.rows.show(found.tokens, 0 if found.tokens else None)
        if found.problem:
            self.show_error(found.problem)
        text = "" if found.data is None else found.data.decode("utf-8", "replace")
        self.query_one(About).tell(text)
        if self._put_when_decoded:
            self.action_choose()

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """End with the text, once what is typed is decoded and every id exists."""
        typed, found = self._decoded or (None, None)
        self._put_when_decoded = typed != self.query_one(Field).value
        if found is not None and found.data and not self._put_when_decoded:
            self.dismiss(found.data)

    @on(RowList.Picked)
    def _picked(self, event: RowList.Picked) -> None:
        event.stop()


def _paint(row: IdToken, width: int) -> list[Cell]:
    """Draw a token: its number, its id, its bytes."""
    head = f"{row.number:>5,}  {row.token_id:>7}  "
    if row.token is None:
        return [(head, "muted"), (fit("no such token", max(1, width - len(head))), "strong")]
    label = fit(token_label(row.token), max(1, width - len(head)))
    return [(head, "muted"), (label, "accent" if row.special else "")]
