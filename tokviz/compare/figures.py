"""How many tokens a text takes, and what that comes to for each of its units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """A text in one tokenizer, in numbers.

    Attributes:
        n_tokens: Tokens.
        n_bytes: Bytes.
        n_chars: Characters; a byte that is not valid UTF-8 counts as one.
        n_words: Stretches without white space.
    """

    n_tokens: int
    n_bytes: int
    n_chars: int
    n_words: int

    @property
    def bytes_per_token(self) -> float | None:
        """How many bytes a token stands for on average; None if there is no token."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None

    @property
    def chars_per_token(self) -> float | None:
        """How many characters a token stands for on average; None if there is no token."""
        return self.n_chars / self.n_tokens if self.n_tokens else None

    @property
    def tokens_per_word(self) -> float | None:
        """How many tokens a word takes on average (fertility); None if there is no word."""
        return self.n_tokens / self.n_words if self.n_words else None

    def difference(self, base: Figures) -> float | None:
        """Give the share by which it takes more tokens than another, below 0 for fewer.

        None if the other one takes none.
        """
        return self.n_tokens / base.n_tokens - 1 if base.n_tokens else None


def figures_of(text: str, n_tokens: int, n_bytes: int) -> Figures:
    """Count the units of byte text."""
    return Figures(n_tokens, n_bytes, len(text), len(text.split()))
