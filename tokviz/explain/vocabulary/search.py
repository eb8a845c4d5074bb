"""Token search: matches and order of a query, with their counts by script and length."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import regex

from tokviz.errors import JobError, PatternError, TokvizError
from tokviz.explain.vocabulary.index import Cancelled, VocabularyIndex, never
from tokviz.explain.vocabulary.query import (
    FlagTerm,
    Query,
    RangeTerm,
    RegexTerm,
    ScriptTerm,
    Term,
    TextTerm,
)
from tokviz.explain.vocabulary.scripts import SCRIPTS
from tokviz.process.runner import JobDroppedError
from tokviz.tokenizer.pretokenize.interactive_regex import rows

Order = Literal["id", "text", "length", "characters", "merge", "uses"]
ORDERS: tuple[Order, ...] = ("id", "text", "length", "characters", "merge", "uses")

LENGTHS: tuple[tuple[int, int], ...] = (
    *((n, n) for n in range(1, 13)),
    (13, 16),
    (17, 32),
    (33, 64),
    (65, 2**62),
)
"""Bins of the histogram of lengths in bytes: first and last length of each."""

_NO_RANK = 2**62
_MASKS_KEPT = 32
_FEW = 300_000
"""Number of tokens in which a plain text search takes only milliseconds."""


class RegexError(TokvizError):
    """A search regex that does not compile or takes too long."""


class LengthCount(NamedTuple):
    """The number of tokens with a length in bytes from `first` to `last`."""

    first: int
    last: int
    n_tokens: int


class ScriptCount(NamedTuple):
    """The number of tokens in a script."""

    name: str
    n_tokens: int


@dataclass(frozen=True)
class Selection:
    """The result of a query.

    Attributes:
        rows: Matching rows of the index in order; int64.
        scripts: Counts by script of the tokens that match all but the script terms, most first.
        lengths: Counts by length of the tokens that match all but the length terms, in the order
            of `LENGTHS`.
        note: The reason why a part of the query was ignored, or empty.
        seconds: Duration of the search.
    """

    rows: npt.NDArray[np.int64]
    scripts: tuple[ScriptCount, ...]
    lengths: tuple[LengthCount, ...]
    note: str
    seconds: float


class Searcher:
    """Search over an index that caches the matches of each term."""

    def __init__(self, index: VocabularyIndex) -> None:
        """Create a searcher for an index."""
        self.index = index
        self._masks: dict[Term, npt.NDArray[np.bool_]] = {}
        # A superseded search may still be running beside the current one.
        self._lock = Lock()

    def forget(self, flag: str) -> None:
        """Discard the cached matches of a property after it changed."""
        with self._lock:
            for term in [term for term in self._masks if isinstance(term, FlagTerm)]:
                if term.flag == flag:
                    del self._masks[term]

    def is_quick(self, query: Query, order: Order) -> bool:
        """Return whether a search takes only milliseconds."""
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
            query: The query.
            order: The sort key; ties are sorted by id.
            descending: Whether to sort in descending order.
            uses: Token id → number of occurrences in the current text.
            cancelled: Called regularly; the work ends once it returns True.

        Raises:
            Cancelled: If `cancelled` returned True.
        """
        started = time.perf_counter()
        everything = np.ones(len(self.index), bool)
        beside_scripts, beside_lengths, matching = everything.copy(), everything.copy(), everything
        note = ""
        for term in query.terms:
            try:
                mask = self._mask(term, uses or {}, cancelled)
            except RegexError as error:
                note = str(error)
                continue
            matching &= mask
            if not isinstance(term, ScriptTerm):
                beside_scripts &= mask
            if not (isinstance(term, RangeTerm) and term.what == "len"):
                beside_lengths &= mask
        rows = self._sorted(np.flatnonzero(matching), order, descending, uses or {})
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
        """Return the number of occurrences of each row's token in the current text."""
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
                # Tokens that no merge makes come last.
                keys = np.where(index.ranks < 0, _NO_RANK, index.ranks)[rows]
            case "uses":
                keys = self.uses_of_rows(uses)[rows]
        return rows[np.argsort(-keys if descending else keys, kind="stable")]

    def _script_counts(self, mask: npt.NDArray[np.bool_]) -> tuple[ScriptCount, ...]:
        counts = enumerate(counts_of_scripts(self.index, mask))
        script_counts = [ScriptCount(SCRIPTS[number], n) for number, n in counts if n]
        return tuple(sorted(script_counts, key=lambda script: -script.n_tokens))

    def _length_counts(self, mask: npt.NDArray[np.bool_]) -> tuple[LengthCount, ...]:
        counts = zip(LENGTHS, counts_of_lengths(self.index, mask), strict=True)
        return tuple(LengthCount(first, last, n) for (first, last), n in counts)


def counts_of_scripts(
    index: VocabularyIndex, which: npt.NDArray[np.bool_] | npt.NDArray[np.int64]
) -> list[int]:
    """Count the selected tokens by script, in the order of `SCRIPTS`."""
    counts: list[int] = np.bincount(index.scripts[which], minlength=len(SCRIPTS)).tolist()
    return counts


def counts_of_lengths(
    index: VocabularyIndex, which: npt.NDArray[np.bool_] | npt.NDArray[np.int64]
) -> list[int]:
    """Count the selected tokens by length in bytes, in the order of `LENGTHS`."""
    firsts = np.array([first for first, _ in LENGTHS])
    places = np.searchsorted(firsts, index.lengths[which], side="right") - 1
    counts: list[int] = np.bincount(places[places >= 0], minlength=len(LENGTHS)).tolist()
    return counts


def regex_mask(
    index: VocabularyIndex, term: RegexTerm, cancelled: Callable[[], bool] = never
) -> npt.NDArray[np.bool_]:
    """Match a regex on every token in a child process, because it may never finish.

    Raises:
        RegexError: If the regex does not compile, or takes too long.
        Cancelled: If `cancelled` returned True.
    """
    mask = np.zeros(len(index), bool)
    flags = int(regex.IGNORECASE) if term.ignore_case else 0
    try:
        ends = np.cumsum(index.n_chars).astype(np.uint32).tobytes()
        mask[rows(term.pattern, index.text(), ends, flags, stop=cancelled)] = True
    except PatternError as error:
        raise RegexError(f"The regex /{term.pattern}/ does not work: {error.trouble}.") from None
    except JobDroppedError:
        raise Cancelled from None
    except JobError as error:
        raise RegexError(f"The regex /{term.pattern}/ was stopped: {error}.") from None
    return mask
