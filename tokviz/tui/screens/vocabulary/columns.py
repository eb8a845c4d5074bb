"""The columns of the list of tokens: which there is room for, and what stands in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from tokviz.tui.widgets.card_rows import label_of
from tokviz.tui.widgets.fit import fit
from tokviz.vocabulary.scripts import SCRIPTS

if TYPE_CHECKING:
    from tokviz.vocabulary.index import VocabularyIndex
    from tokviz.vocabulary.search import Order

ColumnName = Literal["id", "token", "hex", "bytes", "chars", "rank", "kind", "uses"]
_GAP = 2
_LABEL_LEAST = 12
_ORDER_OF: dict[ColumnName, Order] = {
    "id": "id",
    "token": "text",
    "bytes": "length",
    "chars": "characters",
    "rank": "rank",
    "uses": "uses",
}
_TITLES: dict[ColumnName, str] = {
    "id": "id",
    "token": "token",
    "hex": "bytes in hex",
    "bytes": "bytes",
    "chars": "chars",
    "rank": "rank",
    "kind": "script",
    "uses": "in text",
}
# What is left out first when room is scarce.
_LEAST_WORTH_FIRST: tuple[ColumnName, ...] = ("hex", "rank", "uses", "chars", "kind", "bytes")


class Column(NamedTuple):
    """A column and the cells it takes."""

    name: ColumnName
    start: int
    width: int

    @property
    def order(self) -> Order | None:
        """What a click on its head sorts by, None if it cannot be sorted by."""
        return _ORDER_OF.get(self.name)

    @property
    def is_number(self) -> bool:
        """Whether it stands at the right edge."""
        return self.name in ("id", "bytes", "chars", "rank", "uses")


def fit_columns(width: int, id_digits: int, rank_digits: int = 0) -> list[Column]:
    """Choose the columns for a width.

    Args:
        width: Cells of a row.
        id_digits: Digits of the greatest id.
        rank_digits: Digits of the greatest rank; 0 where ranks say nothing that ids do not.
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
    if rank_digits:
        widths["rank"] = max(5, rank_digits)
    names: list[ColumnName] = ["id", "token", "hex", "bytes", "chars", "rank", "kind", "uses"]
    names = [name for name in names if name in widths]
    for name in _LEAST_WORTH_FIRST:
        # Short labels are worth more than bytes in hexadecimal.
        slack = 20 if name == "hex" else 8 if name in ("rank", "uses") else 0
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
    """Give the head of a column, with a mark if the list is sorted by it."""
    mark = ("▼" if descending else "▲") if column.order == order else ""
    title = fit(_TITLES[column.name], column.width - len(mark)) + mark
    return title.rjust(column.width) if column.is_number else title.ljust(column.width)


@dataclass(frozen=True, slots=True)
class TokenRow:
    """What the list shows of one token."""

    id: int
    token: bytes
    n_chars: int
    rank: int
    script: str
    special: bool
    partial: bool
    unreachable: bool
    uses: int

    def cell(self, column: Column) -> str:
        """Give what stands in a column, as wide as it; only the token's may be shorter."""
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
            case "rank":
                text = "–" if self.rank < 0 else str(self.rank)
            case "uses":
                text = f"{self.uses:,}" if self.uses else ""
            case "kind":
                return fit(self.kind, width).ljust(width)
        return fit(text, width).rjust(width)

    @property
    def kind(self) -> str:
        """What is most worth knowing: that it is special, out of reach, or its script."""
        if self.special:
            return "special"
        return "unreachable" if self.unreachable else self.script


def token_row(index: VocabularyIndex, row: int, uses: int) -> TokenRow:
    """Look up what the list shows of a token."""
    token_id = int(index.ids[row])
    rank = index.tokenizer.rank(token_id)
    return TokenRow(
        token_id,
        index.tokens[row],
        int(index.n_chars[row]),
        -1 if rank is None else rank,
        SCRIPTS[index.scripts[row]],
        bool(index.special[row]),
        bool(index.partial[row]),
        index.unreachable is not None and bool(index.unreachable[row]),
        uses,
    )
