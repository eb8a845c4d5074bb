"""List of tokens: hundreds of thousands of rows, of which only the visible ones are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.style import Style as RichStyle
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from tokviz.explain.vocabulary.scripts import SCRIPTS
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.card_rows import label_of
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Role, Span

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokviz.explain.vocabulary.index import VocabularyIndex
    from tokviz.explain.vocabulary.search import Order


ColumnName = Literal["id", "token", "hex", "bytes", "chars", "merge", "kind", "uses"]
_GAP = 2
_LABEL_LEAST = 12
_ORDER_OF: dict[ColumnName, Order] = {
    "id": "id",
    "token": "text",
    "bytes": "length",
    "chars": "characters",
    "merge": "merge",
    "uses": "uses",
}
_TITLES: dict[ColumnName, str] = {
    "id": "id",
    "token": "token",
    "hex": "bytes in hex",
    "bytes": "bytes",
    "chars": "chars",
    "merge": "merge",
    "kind": "script",
    "uses": "in text",
}
# Columns in the order in which they are dropped if there is little room.
_LEAST_WORTH_FIRST: tuple[ColumnName, ...] = ("hex", "merge", "uses", "chars", "kind", "bytes")


class Column(NamedTuple):
    """A column and the cells it takes."""

    name: ColumnName
    start: int
    width: int

    @property
    def order(self) -> Order | None:
        """Sort key for a click on its head, or None."""
        return _ORDER_OF.get(self.name)

    @property
    def is_number(self) -> bool:
        """True if it is right-aligned."""
        return self.name in ("id", "bytes", "chars", "merge", "uses")


def fit_columns(width: int, id_digits: int, merge_digits: int = 0) -> list[Column]:
    """Choose the columns for a width.

    Args:
        width: Cells of a row.
        id_digits: Digits of the greatest id.
        merge_digits: Digits of the greatest merge number; 0 hides the column.
    """
    widths: dict[ColumnName, int] = {
        "id": max(4, id_digits),
        "token": _LABEL_LEAST,
        "hex": 24,
        "bytes": 6,
        "chars": 6,
        "kind": 11,
        "uses": 8,
    }
    if merge_digits:
        widths["merge"] = max(5, merge_digits)
    names: list[ColumnName] = ["id", "token", "hex", "bytes", "chars", "merge", "kind", "uses"]
    names = [name for name in names if name in widths]
    for name in _LEAST_WORTH_FIRST:
        # Short labels are worth more than bytes in hexadecimal.
        slack = 20 if name == "hex" else 8 if name in ("merge", "uses") else 0
        if _total(names, widths) + slack > width and name in names:
            names.remove(name)
    widths["token"] += max(width - _total(names, widths), 0)
    columns: list[Column] = []
    x = 1
    for name in names:
        columns.append(Column(name, x, widths[name]))
        x += widths[name] + _GAP
    return columns


def _total(names: list[ColumnName], widths: dict[ColumnName, int]) -> int:
    return sum(widths[name] + _GAP for name in names)


def head_text(column: Column, order: Order, descending: bool) -> str:
    """Return the head of a column, with a mark if the list is sorted by it."""
    mark = ("▼" if descending else "▲") if column.order == order else ""
    title = fit(_TITLES[column.name], column.width - len(mark)) + mark
    return title.rjust(column.width) if column.is_number else title.ljust(column.width)


@dataclass(frozen=True, slots=True)
class TokenRow:
    """The columns of one token."""

    id: int
    token: bytes
    n_chars: int
    merge: int
    script: str
    special: bool
    partial: bool
    unreachable: bool
    uses: int

    def cell(self, column: Column) -> str:
        """Return the content of a column, padded to its width except for the token's."""
        width = column.width
        match column.name:
            case "token":
                return fit(label_of(self.token), width)
            case "hex":
                return fit(self.token[:width].hex(" "), width).ljust(width)
            case "id":
                text = str(self.id)
            case "bytes":
                text = f"{len(self.token):,}"
            case "chars":
                text = "–" if self.partial else f"{self.n_chars:,}"
            case "merge":
                text = str(self.merge or "–")
            case "uses":
                text = f"{self.uses:,}" if self.uses else ""
            case "kind":
                return fit(self.kind, width).ljust(width)
        return fit(text, width).rjust(width)

    @property
    def kind(self) -> str:
        """Most important property: special, unreachable, or its script."""
        if self.special:
            return "special"
        return "unreachable" if self.unreachable else self.script


def token_row(index: VocabularyIndex, row: int, uses: int) -> TokenRow:
    """Return the columns of a token."""
    token_id = int(index.ids[row])
    merge = index.tokenizer.merge_number(token_id)
    return TokenRow(
        token_id,
        index.tokens[row],
        int(index.n_chars[row]),
        merge or 0,
        SCRIPTS[index.scripts[row]],
        bool(index.special[row]),
        bool(index.partial[row]),
        index.unreachable is not None and bool(index.unreachable[row]),
        uses,
    )


class TableHead(Static):
    """The names of the columns; a click on one sorts by it."""

    DEFAULT_CSS = """
    TableHead { height: 1; color: $text-muted; }
    """

    class SortAsked(Message):
        """The user clicked the head of a column."""

        def __init__(self, order: Order) -> None:
            """Create the message with a sort key."""
            super().__init__()
            self.order = order

    def __init__(self) -> None:
        """Create an empty list."""
        super().__init__()
        self.auto_links = False

    def show(self, columns: Sequence[Column], order: Order, descending: bool) -> None:
        """Show the names of columns, with the sort key marked."""
        self.update(head_content(columns, order, descending), layout=False)

    def action_sort(self, order: Order) -> None:
        """Ask to sort by a column."""
        self.post_message(self.SortAsked(order))


def head_content(columns: Sequence[Column], order: Order, descending: bool) -> Content:
    """Draw the names of columns."""
    parts: list[Content | str] = [" "]
    for column in columns:
        name = Content.styled(
            head_text(column, order, descending),
            "$text-accent bold" if column.order == order else "",
        )
        if column.order is not None:
            name = name.stylize(Style.from_meta({"@click": f"sort('{column.order}')"}))
        parts += [name, "  "]
    return Content.assemble(*parts)


class TokenTable(RowList[int]):
    """A list of tokens, by their rows in the index. The field above it keeps the keyboard."""

    ANSWERS_WHY = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {"row-list--label"}
    DEFAULT_CSS = """
    TokenTable {
        overflow-y: scroll;
        & > .row-list--label { background: $panel; }
        & > .row-list--highlighted { text-style: bold; }
    }
    """

    def __init__(self, palette: TokenPalette, head: TableHead, *, id: str) -> None:
        """Create the list with the style of special tokens and its head."""
        super().__init__(self._cells, id=id)
        self._palette = palette
        self._head = head
        self._index: VocabularyIndex | None = None
        self._uses: Mapping[int, int] = {}
        self._order: Order = "id"
        self._descending = False
        self._digits = (1, 1)
        self._columns: list[Column] = []

    def show_tokens(
        self,
        index: VocabularyIndex | None,
        rows: npt.NDArray[np.int64] | None,
        *,
        order: Order = "id",
        descending: bool = False,
        uses: Mapping[int, int] | None = None,
        keep: bool = False,
    ) -> None:
        """Show other tokens, with the first one highlighted.

        Args:
            index: The vocabulary, or None.
            rows: The tokens in order, as rows of the index.
            order: Sort key.
            descending: True if the greatest comes first.
            uses: Count of each token in the current text, by id.
            keep: True to keep the highlighted token if it is still in the list.
        """
        token_id = self.token_id if keep and index is self._index else None
        if index is not self._index:
            self._index, self._digits = index, _digits(index)
        self._uses = uses or {}
        self._order, self._descending = order, descending
        self.rows = () if rows is None else rows.data
        self._fit()
        self.show(self.rows, self._place_of(token_id) or 0)
        if not self.rows:
            self.post_message(self.Highlighted())

    def show_uses(self, uses: Mapping[int, int]) -> None:
        """Show the count of each token in the current text, by id."""
        if uses != self._uses:
            self._uses = uses
            self.refresh()

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        self._palette = palette
        self.refresh()

    @property
    def token_id(self) -> int | None:
        """The id of the highlighted token, or None."""
        row = self.row
        return None if row is None or self._index is None else int(self._index.ids[row])

    def _place_of(self, token_id: int | None) -> int | None:
        row = None if token_id is None or self._index is None else self._index.row_of(token_id)
        if row is None:
            return None
        places = np.flatnonzero(np.asarray(self.rows) == row)
        return int(places[0]) if len(places) else None

    def highlight_id(self, token_id: int) -> bool:
        """Highlight a token by id; return whether it is in the list."""
        place = self._place_of(token_id)
        if place is not None:
            self.highlighted = place
        return place is not None

    # -- drawing

    def on_resize(self) -> None:
        """Choose the columns that there is room for, and keep the highlighted row in view."""
        self._fit()
        super().on_resize()

    def _fit(self) -> None:
        self._columns = fit_columns(self.row_width, *self._digits)
        self._head.show(self._columns, self._order, self._descending)
        self.refresh()

    def _cells(self, row: int, width: int) -> list[Span]:
        assert self._index is not None
        token = token_row(self._index, row, self._uses.get(int(self._index.ids[row]), 0))
        cells: list[Span] = [Span(" ")]
        for column in self._columns:
            text = token.cell(column)
            gap = " " * (column.width - cell_len(text) + 2)
            cells += [Span(text, _role_of(token, column)), Span(gap)]
        return cells

    def _span_style(self, role: Role, mark: str) -> RichStyle:
        if role == "special":
            return self._span_style("label", mark) + self._palette.special
        if (mark and role == "label") or (mark == "highlighted" and role == "dim"):
            return RichStyle.null()
        return super()._span_style(role, mark)


def _digits(index: VocabularyIndex | None) -> tuple[int, int]:
    """Return the number of digits of the greatest id and merge number.

    The second is 0 for a rank vocabulary, whose ids are in the order of its merges.
    """
    if index is None or not len(index):
        return 1, 1
    ranked = index.ranks >= 0
    same = bool((index.ranks[ranked] == index.ids[ranked]).all())
    return len(str(int(index.ids[-1]))), 0 if same else len(str(int(index.ranks.max()) + 1))


def _role_of(token: TokenRow, column: Column) -> Role:
    if column.name == "token":
        return "special" if token.special else "label"
    if column.name == "kind" and (token.unreachable or token.partial):
        return "warning"
    return "text" if column.name == "id" else "dim"
