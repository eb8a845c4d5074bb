"""What the controllers of the Compare screen work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokviz.compare.compared_documents import Track
from tokviz.formats.registry import short_name
from tokviz.tui.widgets.splits.rows import TokenRow

if TYPE_CHECKING:
    from tokviz.live.document import LiveDocument
    from tokviz.tokenizer.tokenizer import Tokenizer
    from tokviz.workspace.session import Session


class CompareState:
    """The tokenizers in order; the one in use is number 0 and has the text at hand."""

    def __init__(self, session: Session) -> None:
        """Take the session."""
        self.session = session
        self.others = session.others
        self.base = 0
        """The number of the tokenizer that the table compares with."""
        self.against = 1
        """The number of the one whose vocabulary is compared with that of the base."""
        self.n_words: int | None = None
        """Words of the text, None until they are counted."""

    def take_out(self, number: int) -> None:
        """Let the numbers mean the same tokenizers when one of the others is gone."""
        self.base = 0 if self.base == number else self.base - (self.base > number)
        self.against -= self.against > number

    @property
    def live(self) -> LiveDocument:
        """The text at hand."""
        return self.session.live

    @property
    def names(self) -> list[str]:
        """What to call every tokenizer."""
        return [short_name(self.session.tokenizer.name), *(other.name for other in self.others)]

    @property
    def documents(self) -> list[LiveDocument | None]:
        """The text in every tokenizer, None where it is not there yet."""
        lanes = (other.lane for other in self.others)
        return [self.live, *(None if lane is None else lane.document for lane in lanes)]

    @property
    def tokenizers(self) -> list[Tokenizer | None]:
        """All of them, None for those that are not loaded."""
        return [self.session.tokenizer, *(other.tokenizer for other in self.others)]

    def rows(self) -> list[TokenRow]:
        """Give the rows to stack, those that there are."""
        pairs = zip(self.names, self.documents, strict=True)
        return [TokenRow(name, document) for name, document in pairs if document is not None]

    def tracks(self) -> list[Track]:
        """Give what all of them hold now, for a thread to search."""
        return [Track(document) for document in self.documents if document is not None]

    @property
    def row_names(self) -> list[str]:
        """What to call the tokenizers that `rows` and `tracks` are of."""
        pairs = zip(self.names, self.documents, strict=True)
        return [name for name, document in pairs if document is not None]
