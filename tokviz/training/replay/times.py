"""Join times of a pre-token: for each byte, the number of the merge that joins it to the last one.

Merges only join tokens. So all states of an encoding are described by one number for every two
adjacent bytes: that of the merge that puts them into one token. After k merges, the token
boundaries are where that number is greater than k.

This holds for ranks in any order. Encoding with the ranks below a limit applies the same merges as
encoding with all ranks, up to the first merge beyond the limit. So a merge counts with the number
of the latest merge before it in the same pre-token, if that is greater.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokviz.tokenizer.encoding.merging import merge_pre_token

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer


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
