"""Number of tokens in a text, in total and relative to its bytes, characters and words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from tokviz.explain.vocabulary.scripts import COMMON, SCRIPTS, scripts_of
from tokviz.text.bytetext import utf8_sizes
from tokviz.text.snapshots import TextPart, changed_range

if TYPE_CHECKING:
    from tokviz.compare.tokenized_text import Side

HEADS = ("tokens", "bytes/token", "chars/token", "tokens/word", "difference")
"""Column heads of a table of statistics, after the name."""
NONE = "–"
"""Placeholder for a missing number."""
TableRow = tuple[str, ...]
"""The cells of a row, its name first."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Statistics of a text in one tokenizer.

    Attributes:
        n_tokens: Number of tokens.
        n_bytes: Number of bytes.
        n_chars: Number of characters; a byte that is not valid UTF-8 counts as one.
        n_words: Number of words, separated by white space.
    """

    n_tokens: int
    n_bytes: int
    n_chars: int
    n_words: int

    @property
    def bytes_per_token(self) -> float | None:
        """Average number of bytes per token; None if there is no token."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None

    @property
    def chars_per_token(self) -> float | None:
        """Average number of characters per token; None if there is no token."""
        return self.n_chars / self.n_tokens if self.n_tokens else None

    @property
    def tokens_per_word(self) -> float | None:
        """Average number of tokens per word (fertility); None if there is no word."""
        return self.n_tokens / self.n_words if self.n_words else None

    def plus(self, other: Figures) -> Figures:
        """Return the statistics of both texts together."""
        return Figures(*map(add, astuple(self), astuple(other)))

    def difference(self, base: Figures) -> float | None:
        """Return the relative difference in tokens to another text, below 0 for fewer tokens.

        None if the other one has no tokens.
        """
        return self.n_tokens / base.n_tokens - 1 if base.n_tokens else None


def figures_of(text: str, n_tokens: int, n_bytes: int) -> Figures:
    """Return the statistics of byte text."""
    return Figures(n_tokens, n_bytes, len(text), len(text.split()))


class WordCounter:
    """Counter of the words of a text in parts, which recounts only parts that changed."""

    def __init__(self) -> None:
        """Create a counter for an empty text."""
        self._parts: Sequence[TextPart] = ()
        self._found: list[tuple[int, bool, bool]] = []

    def count(self, parts: Sequence[TextPart]) -> int:
        """Count the words of byte text given in parts; a word may span several parts."""
        first, old_last, new_last = changed_range(self._parts, parts)
        self._found[first:old_last] = [_words(part.text) for part in parts[first:new_last]]
        self._parts = parts
        n_words, open_word = 0, False
        for part, (number, begins_inside, ends_inside) in zip(parts, self._found, strict=True):
            if part.n_chars:
                n_words += number - (open_word and begins_inside)
                open_word = ends_inside
        return n_words


def _words(text: str) -> tuple[int, bool, bool]:
    """Count words, and return whether the text starts and ends inside one."""
    return len(text.split()), not text[:1].isspace(), not text[-1:].isspace()


def figure_cells(figures: Figures, base: Figures | None) -> TableRow:
    """Format statistics as cells under `HEADS`; `base` is the reference for differences."""
    return (
        f"{figures.n_tokens:,}",
        *map(ratio, (figures.bytes_per_token, figures.chars_per_token, figures.tokens_per_word)),
        "" if base is None else percent(figures.difference(base)),
    )


def ratio(value: float | None) -> str:
    """Format a ratio, “–” for None."""
    return NONE if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    """Format a difference in percent, “–” for None."""
    return NONE if value is None else f"{value:+.1%}"


def markdown_table(rows: Sequence[TableRow]) -> Iterator[str]:
    """Format a table as Markdown; the first row contains the heads."""
    for number, row in enumerate(rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
        if not number:
            yield f"|---|{'---:|' * (len(row) - 1)}"


class ScriptFigures(NamedTuple):
    """Statistics of the part of a text in one script.

    Attributes:
        script: The script's name; "Common" for a text without any letter.
        n_chars: Number of characters, including the spaces, digits and marks after them.
        n_bytes: Number of bytes.
        n_tokens: By tokenizer, the number of tokens that end there.
    """

    script: str
    n_chars: int
    n_bytes: int
    n_tokens: tuple[int, ...]


def figures_by_script(text: str, sides: Sequence[Side]) -> list[ScriptFigures]:
    """Return statistics by script, most characters first.

    A character without a script counts for the letter before it, or for the first letter at the
    start of the text.

    Args:
        text: Byte text.
        sides: Its encoding by each tokenizer.
    """
    import numpy as np  # the tables of this module do not need it

    if not text:
        return []
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    scripts = scripts_of(codes)
    letters = np.flatnonzero(scripts != COMMON)
    if len(letters):
        places = np.arange(len(scripts))
        before = np.maximum.accumulate(np.where(scripts == COMMON, -1, places))
        scripts = scripts[np.where(before < 0, letters[0], before)]
    sizes = utf8_sizes(codes)
    ends = np.cumsum(sizes, dtype=np.int64)
    n_chars = np.bincount(scripts, minlength=len(SCRIPTS))
    n_bytes = np.bincount(scripts, sizes, minlength=len(SCRIPTS)).astype(np.int64)
    n_tokens = [
        np.bincount(
            scripts[np.minimum(np.searchsorted(ends, side.ends), len(ends) - 1)],
            minlength=len(SCRIPTS),
        )
        for side in sides
    ]
    numbers = sorted(np.flatnonzero(n_chars).tolist(), key=lambda script: -n_chars[script])
    return [
        ScriptFigures(
            SCRIPTS[script],
            int(n_chars[script]),
            int(n_bytes[script]),
            tuple(int(counts[script]) for counts in n_tokens),
        )
        for script in numbers
    ]


def sum_by_script(texts: Iterable[Iterable[ScriptFigures]]) -> list[ScriptFigures]:
    """Sum the statistics of several texts by script, most characters first."""
    sums: dict[str, ScriptFigures] = {}
    for one in chain.from_iterable(texts):
        known = sums.get(one.script, ScriptFigures(one.script, 0, 0, (0,) * len(one.n_tokens)))
        n_tokens = tuple(map(add, known.n_tokens, one.n_tokens))
        sums[one.script] = ScriptFigures(
            one.script, known.n_chars + one.n_chars, known.n_bytes + one.n_bytes, n_tokens
        )
    return sorted(sums.values(), key=lambda one: -one.n_chars)


def script_cells(figures: Sequence[ScriptFigures], names: Sequence[str]) -> Iterator[TableRow]:
    """Format one row per script: its characters, and by tokenizer the characters per token."""
    yield ("script", "chars", *names)
    for script, n_chars, _, n_tokens in figures:
        yield (script, f"{n_chars:,}", *(ratio(n_chars / n if n else None) for n in n_tokens))
