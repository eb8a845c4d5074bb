"""Which tokens a query finds, in which order, and how they spread over scripts and lengths."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Literal, NamedTuple

from tokviz.child.runner import JobDroppedError
from tokviz.errors import JobError, PatternError, TokvizError
from tokviz.pretokenize.typed import rows
from tokviz.vocabulary.index import Cancelled, VocabularyIndex, never
from tokviz.vocabulary.query import (
    FlagTerm,
    Query,
    RangeTerm,
    RegexTerm,
    ScriptTerm,
    Term,
    TextTerm,
)
from tokviz.vocabulary.scripts import SCRIPTS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Order = Literal["id", "text", "length", "characters", "merge", "uses"]
ORDERS: tuple[Order, ...] = ("id", "text", "length", "characters", "merge", "uses")

LENGTHS: tuple[tuple[int, int], ...] = (
    *((n, n) for n in range(1, 13)),
    (13, 16),
    (17, 32),
    (33, 64),
    (65, 2**62),
)
"""The classes of the histogram of lengths in bytes: first and last of each."""

_NO_RANK = 2**62
_MASKS_KEPT = 32
_FEW = 300_000
"""Tokens in which plain text is found in some milliseconds."""


class RegexError(TokvizError):
    """A regex of a search that does not compile, or takes too long."""


class LengthCount(NamedTuple):
    """How many tokens have a length in bytes from `first` to `last`."""

    first: int
    last: int
    n_tokens: int


class ScriptCount(NamedTuple):
    """How many tokens are of a script."""

    name: str
    n_tokens: int


@dataclass(frozen=True)
class Selection:
    """What a query found.

    Attributes:
        rows: The tokens in order, rows of the index; int64.
        scripts: How those that the rest of the query finds spread over scripts, most first.
        lengths: The same for lengths, in the order of `LENGTHS`.
        note: What kept a part of the query from being followed; empty if nothing did.
        seconds: How long it took.
    """

    rows: npt.NDArray[np.int64]
    scripts: tuple[ScriptCount, ...]
    lengths: tuple[LengthCount, ...]
    note: str
    seconds: float


class Searcher:
    """Answers queries over an index, remembering what its words found."""

    def __init__(self, index: VocabularyIndex) -> None:
        """Take the index."""
        self.index = index
        self._masks: dict[Term, npt.NDArray[np.bool_]] = {}
        # A search that nobody waits for any more may still be at it beside the next.
        self._lock = Lock()

    def forget(self, flag: str) -> None:
        """Forget what a property found, since it has changed."""
        with self._lock:
            for term in [term for term in self._masks if isinstance(term, FlagTerm)]:
                if term.flag == flag:
                    del self._masks[term]

    def is_quick(self, query: Query, order: Order) -> bool:
        """Tell whether a search takes some milliseconds at most."""
        is_plain = all(isinstance(term, TextTerm) for term in query.terms)
        return is_plain and order == "id" and len(self.index) <= _FEW

    def select(
        self,
        query: Query,
        order: Order = "id",
        *,
        descending: bool = False,
        uses: Mapping[int, int] | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> Selection:
        """Find and sort tokens.

        Args:
            query: What to find.
            order: What to sort by; equal ones stand by id.
            descending: Whether to begin with the greatest.
            uses: How often the text at hand holds each token id.
            cancelled: Asked now and then; True ends the work.

        Raises:
            Cancelled: If it was.
        """
        import numpy as np

        started = time.perf_counter()
        everything = np.ones(len(self.index), bool)
        beside_scripts, beside_lengths, found = everything.copy(), everything.copy(), everything
        note = ""
        for term in query.terms:
            try:
                mask = self._mask(term, uses or {}, cancelled)
            except RegexError as error:
                note = str(error)
                continue
            found &= mask
            if not isinstance(term, ScriptTerm):
                beside_scripts &= mask
            if not (isinstance(term, RangeTerm) and term.what == "len"):
                beside_lengths &= mask
        rows = self._sorted(np.flatnonzero(found), order, descending, uses or {})
        return Selection(
            rows,
            self._script_counts(beside_scripts),
            self._length_counts(beside_lengths),
            note,
            time.perf_counter() - started,
        )

    def _mask(
        self, term: Term, uses: Mapping[int, int], cancelled: Callable[[], bool]
    ) -> npt.NDArray[np.bool_]:
        if isinstance(term, FlagTerm) and term.flag == "used":
            mask = self.uses_of_rows(uses) > 0
            return ~mask if term.negated else mask
        known = self._masks.get(term)
        if known is None:
            known = self._plain_mask(term, cancelled)
            if term.negated:
                known = ~known
            with self._lock:
                if len(self._masks) >= _MASKS_KEPT:
                    del self._masks[next(iter(self._masks))]
                self._masks[term] = known
        return known

    def _plain_mask(self, term: Term, cancelled: Callable[[], bool]) -> npt.NDArray[np.bool_]:
        import numpy as np

        index = self.index
        match term:
            case TextTerm():
                return self._text_mask(term)
            case RegexTerm():
                return regex_mask(index, term, cancelled)
            case RangeTerm():
                numbers = {"id": index.ids, "len": index.lengths, "chars": index.n_chars}[term.what]
                return (numbers >= term.low) & (numbers <= term.high)
            case ScriptTerm():
                return np.isin(index.scripts, np.array(term.scripts, np.uint8))
            case FlagTerm():
                known: npt.NDArray[np.bool_] | None = getattr(index, term.flag)
                return np.zeros(len(index), bool) if known is None else known

    def _text_mask(self, term: TextTerm) -> npt.NDArray[np.bool_]:
        rows = self.index.folded if term.folded else self.index.tokens
        if not (term.at_start or term.at_end):
            return rows.containing(term.data)
        mask = rows.starting_with(term.data) if term.at_start else rows.ending_with(term.data)
        return mask & (rows.lengths == len(term.data)) if term.at_start and term.at_end else mask

    def uses_of_rows(self, uses: Mapping[int, int]) -> npt.NDArray[np.int64]:
        """Give how often the text at hand holds the token of each row."""
        import numpy as np

        counts = np.zeros(len(self.index), np.int64)
        ids = np.fromiter(uses.keys(), np.int64, len(uses))
        rows = np.searchsorted(self.index.ids, ids)
        inside = rows < len(self.index)
        inside[inside] = self.index.ids[rows[inside]] == ids[inside]
        numbers = np.fromiter(uses.values(), np.int64, len(uses))
        counts[rows[inside]] = numbers[inside]
        return counts

    def _sorted(
        self,
        rows: npt.NDArray[np.int64],
        order: Order,
        descending: bool,
        uses: Mapping[int, int],
    ) -> npt.NDArray[np.int64]:
        import numpy as np

        if order == "id":
            return rows[::-1] if descending else rows
        index = self.index
        match order:
            case "text":
                keys = index.text_order[rows]
            case "length":
                keys = index.lengths[rows]
            case "characters":
                keys = index.n_chars[rows]
            case "merge":
                # What has no rank stands behind what has one.
                keys = np.where(index.ranks < 0, _NO_RANK, index.ranks)[rows]
            case "uses":
                keys = self.uses_of_rows(uses)[rows]
        return rows[np.argsort(-keys if descending else keys, kind="stable")]

    def _script_counts(self, mask: npt.NDArray[np.bool_]) -> tuple[ScriptCount, ...]:
        counts = enumerate(counts_of_scripts(self.index, mask))
        found = [ScriptCount(SCRIPTS[number], n) for number, n in counts if n]
        return tuple(sorted(found, key=lambda script: -script.n_tokens))

    def _length_counts(self, mask: npt.NDArray[np.bool_]) -> tuple[LengthCount, ...]:
        counts = zip(LENGTHS, counts_of_lengths(self.index, mask), strict=True)
        return tuple(LengthCount(first, last, n) for (first, last), n in counts)


def counts_of_scripts(
    index: VocabularyIndex, which: npt.NDArray[np.bool_] | npt.NDArray[np.int64]
) -> list[int]:
    """Count some of the tokens by script, in the order of `SCRIPTS`."""
    import numpy as np

    counts: list[int] = np.bincount(index.scripts[which], minlength=len(SCRIPTS)).tolist()
    return counts


def counts_of_lengths(
    index: VocabularyIndex, which: npt.NDArray[np.bool_] | npt.NDArray[np.int64]
) -> list[int]:
    """Count some of the tokens by their length in bytes, in the order of `LENGTHS`."""
    import numpy as np

    firsts = np.array([first for first, _ in LENGTHS])
    places = np.searchsorted(firsts, index.lengths[which], side="right") - 1
    counts: list[int] = np.bincount(places[places >= 0], minlength=len(LENGTHS)).tolist()
    return counts


def regex_mask(
    index: VocabularyIndex, term: RegexTerm, cancelled: Callable[[], bool] = never
) -> npt.NDArray[np.bool_]:
    """Try a regex on every token, in a child process: it may take for ever to compile or to match.

    Raises:
        RegexError: If the regex does not compile, or takes too long.
        Cancelled: If it was.
    """
    import numpy as np
    import regex

    found = np.zeros(len(index), bool)
    flags = int(regex.IGNORECASE) if term.ignore_case else 0
    try:
        ends = np.cumsum(index.n_chars).astype(np.uint32).tobytes()
        found[rows(term.pattern, index.text(), ends, flags, stop=cancelled)] = True
    except PatternError as error:
        raise RegexError(f"The regex /{term.pattern}/ does not work: {error.trouble}.") from None
    except JobDroppedError:
        raise Cancelled from None
    except JobError as error:
        raise RegexError(f"The regex /{term.pattern}/ was stopped: {error}.") from None
    return found
