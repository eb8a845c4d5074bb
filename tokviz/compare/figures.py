"""How many tokens a text takes, and what that comes to for each of its units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from tokviz.bytetext import utf8_sizes
from tokviz.snapshots import Part, changed_range
from tokviz.vocabulary.scripts import COMMON, SCRIPTS, scripts_of

if TYPE_CHECKING:
    from tokviz.compare.side import Side

HEADS = ("tokens", "bytes/token", "chars/token", "tokens/word", "difference")
"""Of the columns of a table of figures, behind the names."""
NONE = "–"
"""What stands for a number that there is not."""
TableRow = tuple[str, ...]
"""The cells of a row, its name first."""


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


class WordCounter:
    """Counts the words of a text in parts, of which few are new each time it has changed."""

    def __init__(self) -> None:
        """Begin without a text."""
        self._parts: Sequence[Part] = ()
        self._found: list[tuple[int, bool, bool]] = []

    def count(self, parts: Sequence[Part]) -> int:
        """Count the words of byte text that is given in parts; a word may reach across several."""
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
    """Count words, and tell whether the text begins and ends inside one."""
    return len(text.split()), not text[:1].isspace(), not text[-1:].isspace()


def figure_cells(figures: Figures, base: Figures | None) -> TableRow:
    """Write figures under `HEADS`; `base` is what they are compared with, None for nothing."""
    return (
        f"{figures.n_tokens:,}",
        *map(ratio, (figures.bytes_per_token, figures.chars_per_token, figures.tokens_per_word)),
        "" if base is None else percent(figures.difference(base)),
    )


def ratio(value: float | None) -> str:
    """Write a ratio, “–” where there is none."""
    return NONE if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    """Write a difference in per cent, “–” where there is none."""
    return NONE if value is None else f"{value:+.1%}"


def markdown_table(rows: Sequence[TableRow]) -> Iterator[str]:
    """Write a table whose first row are heads as Markdown."""
    for number, row in enumerate(rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
        if not number:
            yield f"|---|{'---:|' * (len(row) - 1)}"


class ScriptFigures(NamedTuple):
    """What of a text is in one script.

    Attributes:
        script: The script's name; "Common" for a text without any letter.
        n_chars: Characters, with the spaces, digits and marks behind them.
        n_bytes: Bytes.
        n_tokens: By tokenizer, the tokens that end there.
    """

    script: str
    n_chars: int
    n_bytes: int
    n_tokens: tuple[int, ...]


def figures_by_script(text: str, sides: Sequence[Side]) -> list[ScriptFigures]:
    """Count by script, that of most characters first.

    A character that belongs to no script goes with the letter before it, at the beginning of the
    text with the first one.

    Args:
        text: Byte text.
        sides: What each tokenizer makes of it.
    """
    import numpy as np

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
    found = sorted(np.flatnonzero(n_chars).tolist(), key=lambda script: -n_chars[script])
    return [
        ScriptFigures(
            SCRIPTS[script],
            int(n_chars[script]),
            int(n_bytes[script]),
            tuple(int(counts[script]) for counts in n_tokens),
        )
        for script in found
    ]


def sum_by_script(texts: Iterable[Iterable[ScriptFigures]]) -> list[ScriptFigures]:
    """Add up what several texts come to by script, that of most characters first."""
    sums: dict[str, ScriptFigures] = {}
    for one in chain.from_iterable(texts):
        known = sums.get(one.script, ScriptFigures(one.script, 0, 0, (0,) * len(one.n_tokens)))
        n_tokens = tuple(map(add, known.n_tokens, one.n_tokens))
        sums[one.script] = ScriptFigures(
            one.script, known.n_chars + one.n_chars, known.n_bytes + one.n_bytes, n_tokens
        )
    return sorted(sums.values(), key=lambda one: -one.n_chars)


def script_cells(found: Sequence[ScriptFigures], names: Sequence[str]) -> Iterator[TableRow]:
    """Write a row a script: its characters, and by tokenizer the characters of a token."""
    yield ("script", "chars", *names)
    for script, n_chars, _, n_tokens in found:
        yield (script, f"{n_chars:,}", *(ratio(n_chars / n if n else None) for n in n_tokens))
