r"""A file of conversations, of any size: every row at hand, none read before it is wanted.

>>> rows = Dataset.from_bytes("rows.jsonl", b'[{"role": "user", "content": "Hi"}]\n{"mess\n')
>>> rows.n_rows
2
>>> rows.row(0).messages[0].text
'Hi'
>>> rows.preview(1)
'line 2, column 2: this is not JSON: the text that begins here has no closing quote'
"""

from __future__ import annotations

import os

from tokviz.chat.conversation import Conversation, ConversationError
from tokviz.chat.row_sources import RowSource, from_data, open_rows

_PREVIEW_CHARS = 200


class Dataset:
    """Rows of a file, each a conversation or an error. Safe in any thread.

    Attributes:
        path: The file, as the user gave it.
    """

    def __init__(self, path: str, source: RowSource) -> None:
        """Take the path and the rows."""
        self.path = path
        self._source = source

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Dataset:
        """Open JSONL, JSON or parquet; `.gz` and `.zst` of the first two.

        Lines of JSONL are found when they are wanted: `index_more` finds some, `index_all` all.

        Raises:
            InputFileError: If the file cannot be read.
            ConversationError: If it is one JSON text that is broken.
        """
        return cls(os.fspath(path), open_rows(os.fspath(path)))

    @classmethod
    def from_bytes(cls, name: str, data: bytes) -> Dataset:
        """Make a dataset of bytes that came from somewhere; see `open`."""
        dataset = cls(name, from_data(data, os.path.splitext(name)[1]))
        dataset.index_all()
        return dataset

    @property
    def n_rows(self) -> int:
        """Rows known so far."""
        return self._source.n_rows

    @property
    def complete(self) -> bool:
        """Whether all rows are known."""
        return self._source.complete

    def index_more(self) -> bool:
        """Find some more rows, in a few milliseconds; False if all are known."""
        self._source.index_more()
        return not self._source.complete

    def index_all(self) -> None:
        """Find all rows."""
        while self.index_more():
            pass

    def has_row(self, row: int) -> bool:
        """Tell whether there is such a row; finds as many as that takes."""
        while row >= self._source.n_rows and self.index_more():
            pass
        return 0 <= row < self._source.n_rows

    def row(self, row: int) -> Conversation:
        """Read a row, counted from 0.

        Raises:
            ConversationError: If it is not a conversation; it names the line, the message, the key.
            IndexError: If there is no such row.
        """
        if not self.has_row(row):
            raise IndexError(f"row {row + 1:,} of {self.n_rows:,}")
        value, byte_text = self._source.value(row)
        try:
            return Conversation.from_json(value, byte_text=byte_text)
        except ConversationError as error:
            raise error.at(self._source.place(row)) from None

    def place(self, row: int) -> str:
        """Say where a row is in the file, such as "line 12"."""
        return self._source.place(row)

    def n_bytes(self, row: int) -> int:
        """Give the size of a row's JSON; 0 where it is not known."""
        return self._source.n_bytes(row)

    def raw(self, row: int) -> bytes:
        """Give a row as it is in the file."""
        return self._source.raw(row)

    def preview(self, row: int) -> str:
        """Give the beginning of a row's first words, or its error; byte text, in one line."""
        try:
            conversation = self.row(row)
        except ConversationError as error:
            return str(error)
        spoken = (m for m in conversation.messages if m.role not in ("system", "developer"))
        first = next((m.text for m in spoken if m.text.strip()), "(nothing is said)")
        return " ".join(first[: 2 * _PREVIEW_CHARS].split())[:_PREVIEW_CHARS]
