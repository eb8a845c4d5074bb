"""State shared by the controllers of the Compare screen."""

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
    """The compared tokenizers in order. Number 0 is the current one with the current text."""

    def __init__(self, session: Session) -> None:
        """Create the state of a session."""
        self.session = session
        self.others = session.others
        self.base = 0
        """Number of the tokenizer that differences refer to."""
        self.against = 1
        """Number of the tokenizer whose vocabulary is compared with that of the base."""
        self.n_words: int | None = None
        """Number of words in the text, None until they are counted."""

    def take_out(self, number: int) -> None:
        """Adjust `base` and `against` after a tokenizer was removed."""
        self.base = 0 if self.base == number else self.base - (self.base > number)
        self.against -= self.against > number

    @property
    def live(self) -> LiveDocument:
        """The current text."""
        return self.session.live

    @property
    def names(self) -> list[str]:
        """Names of all tokenizers."""
        return [short_name(self.session.tokenizer.name), *(other.name for other in self.others)]

    @property
    def documents(self) -> list[LiveDocument | None]:
        """Documents of the text, one for each tokenizer, None until it is loaded."""
        lanes = (other.lane for other in self.others)
        return [self.live, *(None if lane is None else lane.document for lane in lanes)]

    @property
    def tokenizers(self) -> list[Tokenizer | None]:
        """All tokenizers, None until one is loaded."""
        return [self.session.tokenizer, *(other.tokenizer for other in self.others)]

    def rows(self) -> list[TokenRow]:
        """Return the rows of all loaded tokenizers."""
        pairs = zip(self.names, self.documents, strict=True)
        return [TokenRow(name, document) for name, document in pairs if document is not None]

    def tracks(self) -> list[Track]:
        """Return snapshots of all loaded documents, for a thread to search."""
        return [Track(document) for document in self.documents if document is not None]

    @property
    def row_names(self) -> list[str]:
        """Names of the tokenizers of `rows` and `tracks`."""
        pairs = zip(self.names, self.documents, strict=True)
        return [name for name, document in pairs if document is not None]
