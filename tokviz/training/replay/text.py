"""Tokenization of any text after the first k merges, for all k at once.

The *join time* of a byte is the number of the merge that joins it to the last one. Merges only join
tokens. So all states of an encoding are described by one number for every two adjacent bytes: that
of the merge that puts them into one token. After k merges, the token boundaries are where that
number is greater than k.

This holds for ranks in any order. Encoding with the ranks below a limit applies the same merges as
encoding with all ranks, up to the first merge beyond the limit. So a merge counts with the number
of the latest merge before it in the same pre-token, if that is greater.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tokviz.text import bytetext
from tokviz.tokenizer.encoding.merging import merge_pre_token
from tokviz.training.history import NO_TOKEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokviz.tokenizer.tokenizer import Tokenizer
    from tokviz.training.replay.steps import MergeSteps

    Int64s = npt.NDArray[np.int64]


class JoinTimes(NamedTuple):
    """The join times of a pre-token.

    Attributes:
        numbers: For every byte but the first, the number of the merge that joins it to the byte
            before; one more than the number of merges if none does.
        in_order: Whether each merge has a greater number than those inside its parts. If so, the
            greatest number inside a token is that of the merge that made it.
    """

    numbers: list[int]
    in_order: bool


def join_times(pre_token: bytes, tokenizer: Tokenizer, n_merges: int) -> JoinTimes:
    """Encode a pre-token and record its join times.

    Args:
        pre_token: The bytes of a pre-token.
        tokenizer: The tokenizer, which numbers its merges.
        n_merges: Number of merges of the tokenizer.
    """
    never = n_merges + 1
    numbers = [never] * (len(pre_token) - 1)
    latest, in_order = 0, True

    def note(middle: int, rank: int) -> None:
        nonlocal latest, in_order
        number = tokenizer.tables.merge_number(rank)
        in_order &= number >= latest
        latest = max(latest, number)
        numbers[middle - 1] = latest

    merge_pre_token(pre_token, tokenizer.pair_rank, on_merge=note)
    return JoinTimes(numbers, in_order)


def number_of_whole(pre_token: bytes, tokenizer: Tokenizer) -> int | None:
    """Return the merge from which an encoder that looks up whole pre-tokens finds this one.

    tiktoken does so, and others that ignore merges (`Tokenizer.ignore_merges`): they use a token
    for a whole pre-token even if its merges come later or never.

    Returns:
        The merge number, 0 if none is listed for the token; None if there is no such token, or
        the encoder always merges.
    """
    if not (tokenizer.by_ranks or tokenizer.ignore_merges):
        return None
    token_id = tokenizer.token_id(pre_token)
    if token_id is None:
        return None
    rank = tokenizer.tables.first_rank(token_id)
    return 0 if rank is None else tokenizer.tables.merge_number(rank)


def looked_up_whole(times: JoinTimes, number: int | None) -> JoinTimes:
    """Return the times of a pre-token that is one token from merge `number` on, if given."""
    if number is None or not times.numbers or max(times.numbers) <= number:
        return times
    return JoinTimes([min(at, number) for at in times.numbers], False)


_CACHED_PRE_TOKENS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class TokensAt:
    """The tokens of a text after the first k merges.

    Attributes:
        ids: Token ids, int64 (n,); -1 for a byte without a token.
        byte_ends: The end of each token in the bytes of the text, int64 (n,).
    """

    ids: Int64s
    byte_ends: Int64s

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.ids)


class ReplayText:
    """A text prepared for any k.

    Attributes:
        text: The text, as byte text.
        data: Its bytes.
        n_merges: The largest k.
    """

    def __init__(self, text: str, data: bytes, times: _JoinedText, table: TokenTable) -> None:
        """Create from the results of `TextTimes.prepare`."""
        self.text, self.data = text, data
        self.n_merges = table.n_merges
        self._table = table
        self._joined = times.joined
        self._times = times
        self._bytes = np.frombuffer(data, np.uint8)

    def at(self, k: int) -> TokensAt:
        """Return the tokens after the first k merges; 0 ≤ k ≤ n_merges."""
        if not self.data:
            nothing = np.zeros(0, np.int64)
            return TokensAt(nothing, nothing)
        is_start = self._joined > k
        starts = np.flatnonzero(is_start)
        inner = np.where(is_start, 0, self._joined)
        latest = np.maximum.reduceat(inner, starts)
        ids = self._table.id_of_merge[latest]
        single = latest == 0
        ids[single] = self._table.id_of_byte[self._bytes[starts[single]]]
        for start, token_id in self._times.special_ids:
            ids[np.searchsorted(starts, start)] = token_id
        ends = np.append(starts[1:], len(self.data))
        for start, end in self._times.out_of_order:
            for index in range(*np.searchsorted(starts, (start, end))):
                ids[index] = self._table.id_of(self.data[starts[index] : ends[index]])
        return TokensAt(ids, ends)

    def n_tokens(self, k: int) -> int:
        """Count the tokens after the first k merges."""
        return len(self.data) - self._n_joined(k)

    def next_change(self, k: int) -> int | None:
        """Return the first merge after k that changes the text, None if there is none."""
        at = self._n_joined(k)
        number = int(self._sorted[at]) if at < len(self._sorted) else self.n_merges + 1
        return number if number <= self.n_merges else None

    def previous_change(self, k: int) -> int | None:
        """Return the last merge up to k that changes the text, None if there is none."""
        at = self._n_joined(k)
        return (int(self._sorted[at - 1]) or None) if at else None

    @cached_property
    def _sorted(self) -> npt.NDArray[np.int32]:
        return np.sort(self._joined)

    def _n_joined(self, k: int) -> int:
        """Count the bytes that the first k merges join to the byte before."""
        return int(np.searchsorted(self._sorted, k, side="right"))


class TokenTable:
    """The ids of a tokenizer's tokens, as arrays.

    Attributes:
        n_merges: The number of merges.
        id_of_merge: The id of the token that each merge makes, int64, starting at index 1.
        id_of_byte: The id of each single byte, int64 (256,); -1 if it has no token.
    """

    def __init__(self, tokenizer: Tokenizer, steps: MergeSteps) -> None:
        """Create from a tokenizer and its merges."""
        self._tokenizer = tokenizer
        self.n_merges = steps.n_merges
        self.id_of_merge = np.zeros(steps.n_merges + 2, np.int64)
        self.id_of_merge[1:-1] = steps.new_ids()
        self.id_of_byte = np.array([self.id_of(bytes([byte])) for byte in range(256)], np.int64)

    def id_of(self, token: bytes) -> int:
        """Return the id of a token that is not special, -1 if there is none."""
        token_id = self._tokenizer.token_id(token)
        return NO_TOKEN if token_id is None else token_id


@dataclass(slots=True)
class _JoinedText:
    """The join times of a text.

    Attributes:
        joined: For every byte, the number of the merge that joins it to the byte before.
        special_ids: The start and id of each special token.
        out_of_order: Byte spans in which the latest merge inside a token may not be the one that
            made it.
    """

    joined: npt.NDArray[np.int32]
    special_ids: list[tuple[int, int]]
    out_of_order: list[tuple[int, int]]


class TextTimes:
    """Prepares texts for `ReplayText`.

    The merges inside a token do not depend on the surrounding text. So the times of a text follow
    from its final tokens, as encoded by the tokenizer, and the times inside each token, which are
    computed once, even for a long run of one letter, which is one pre-token. If the ranks of a
    vocabulary are out of order, the times are computed for each pre-token of the text instead.
    """

    def __init__(self, tokenizer: Tokenizer, steps: MergeSteps) -> None:
        """Create from a tokenizer and its merges."""
        self._tokenizer = tokenizer
        self._steps = steps
        self._times_inside = cache(self._token_times)
        self._times_of = lru_cache(_CACHED_PRE_TOKENS)(self._pre_token_times)

    @cached_property
    def _table(self) -> TokenTable:
        """The ids of the tokens."""
        return TokenTable(self._tokenizer, self._steps)

    def prepare(self, text: str, parse_specials: bool = True) -> ReplayText:
        """Prepare byte text.

        Raises:
            VocabularyError: If the vocabulary has no token for a byte of the text.
        """
        text = self._tokenizer.byte_text.normalized(text, parse_specials)
        data = bytetext.to_bytes(text)
        tokenization = self._tokenizer.byte_text.tokenize(text, parse_specials)
        starts = tokenization.byte_spans[tokenization.special, 0].tolist()
        special_ids = dict(
            zip(starts, compress(tokenization.ids, tokenization.special), strict=True)
        )
        joined, out_of_order = self._by_tokens(tokenization.ids), list[tuple[int, int]]()
        if joined is None:
            joined, out_of_order = self._by_pre_tokens(
                data, tokenization.pre_tokens.tolist(), special_ids
            )
        times = _JoinedText(np.array(joined, np.int32), list(special_ids.items()), out_of_order)
        return ReplayText(text, data, times, self._table)

    def _by_tokens(self, ids: Sequence[int]) -> list[int] | None:
        """Return the times of a text from its final tokens; None if some are out of order."""
        joined: list[int] = []
        for token_id in ids:
            times = self._times_inside(token_id)
            if not times.in_order:
                return None
            joined.append(self._steps.n_merges + 1)
            joined += times.numbers
        return joined

    def _by_pre_tokens(
        self, data: bytes, pre_tokens: list[tuple[int, int]], special_ids: Mapping[int, int]
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the times of each pre-token, and the pre-tokens with times out of order."""
        joined: list[int] = []
        out_of_order = []
        for first, last in pre_tokens:
            joined.append(self._steps.n_merges + 1)
            if first in special_ids:
                joined += [0] * (last - first - 1)
                continue
            times = self._times_of(data[first:last])
            joined += times.numbers
            if not times.in_order:
                out_of_order.append((first, last))
        return joined, out_of_order

    def _token_times(self, token_id: int) -> JoinTimes:
        token = self._tokenizer.token_bytes(token_id)
        if self._tokenizer.is_special(token_id):
            return JoinTimes([0] * (len(token) - 1), True)
        times = join_times(token, self._tokenizer, self._steps.n_merges)
        if len(token) == 1:
            return times
        made = max(times.numbers)
        # An earlier merge may make the same token; from then on, it is looked up.
        is_first = number_of_whole(token, self._tokenizer) in (None, made)
        in_order = times.in_order and made <= self._steps.n_merges and is_first
        return JoinTimes(times.numbers, in_order)

    def _pre_token_times(self, pre_token: bytes) -> JoinTimes:
        times = join_times(pre_token, self._tokenizer, self._steps.n_merges)
        whole = number_of_whole(pre_token, self._tokenizer)
        return looked_up_whole(times, whole)
