"""When the bytes of a pre-token come together: the number of the merge that joins each to the last.

Merges only ever join tokens. So a whole encoding, with all its states, is one number for every two
neighbouring bytes: that of the merge after which they are in one token. The tokens after k merges
lie between the neighbours whose number is greater than k.

This holds for ranks in any order too. Encoding with the ranks below a limit does the same merges as
encoding with all ranks, up to the first one that is not below the limit; so the number of a merge
counts as that of the latest merge before it in the same pre-token, if that is greater.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokviz.tokenizer.encoding.merging import merge_pre_token

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer


class JoinTimes(NamedTuple):
    """How a pre-token's bytes come together.

    Attributes:
        numbers: For every byte but the first, the number of the merge that joins it to the byte
            before; one more than there are merges if none does.
        in_order: Whether each merge has a greater number than those inside its parts. If so, the
            greatest number inside a token is that of the merge that made it.
    """

    numbers: list[int]
    in_order: bool


def join_times(pre_token: bytes, tokenizer: Tokenizer, n_merges: int) -> JoinTimes:
    """Encode a pre-token, and note when its bytes come together.

    Args:
        pre_token: The bytes of a pre-token.
        tokenizer: The tokenizer, which numbers its merges.
        n_merges: The number of its merges.
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
    """Return the merge from which an encoder that looks up pre-tokens has this one as a token.

    tiktoken does, and others do that ignore merges (`Tokenizer.ignore_merges`): a token which
    merges reach late or never is used nevertheless where it is a pre-token.

    Returns:
        The merge's number, 0 if none is listed for the token; None if there is no such token, or
        the encoder merges in any case.
    """
    if not (tokenizer.by_ranks or tokenizer.ignore_merges):
        return None
    token_id = tokenizer.token_id(pre_token)
    if token_id is None:
        return None
    rank = tokenizer.tables.first_rank(token_id)
    return 0 if rank is None else tokenizer.tables.merge_number(rank)


def looked_up_whole(times: JoinTimes, number: int | None) -> JoinTimes:
    """Let a pre-token be one token from a merge on, whatever its own merges are."""
    if number is None or not times.numbers or max(times.numbers) <= number:
        return times
    return JoinTimes([min(at, number) for at in times.numbers], False)
