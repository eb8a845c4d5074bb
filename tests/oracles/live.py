"""A live document that tokenizes the whole text at every request."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from tokviz.text import bytetext
from tokviz.tokenizer.tokenizer import Tokenizer


@dataclass
class SlowDocument:
    """A text and its tokenizer."""

    text: str
    tokenizer: Tokenizer
    parse_specials: bool = True

    def edit(self, offset: int, n_removed: int, inserted: str) -> None:
        """Replace characters."""
        self.text = self.text[:offset] + inserted + self.text[offset + n_removed :]

    def ids(self) -> list[int]:
        """Return all token ids."""
        return self.tokenizer.byte_text.encode(self.text, self.parse_specials).tolist()

    def spans(self) -> list[tuple[int, int, int, int, int]]:
        """Return every token's characters (start, end), number, id and split bits."""
        owner = [n for n, char in enumerate(self.text) for _ in range(bytetext.n_bytes(char))]
        first_byte = {0, *accumulate(bytetext.n_bytes(char) for char in self.text)}
        spans = []
        byte = 0
        for number, token_id in enumerate(self.ids()):
            end = byte + len(self.tokenizer.token_bytes(token_id))
            split = (byte not in first_byte) + 2 * (end not in first_byte)
            spans.append((owner[byte], owner[end - 1] + 1, number, token_id, split))
            byte = end
        return spans
