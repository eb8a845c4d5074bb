"""The compiled scanner by itself, as a kernel of its own: in the product it is part of counting."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tokviz.kernels import Bytes, Int64s, bytes_between, integer, kernel
from tokviz.tokenizer.pretokenize.scan import Scanner
from tokviz.tokenizer.pretokenize.scan_kernels import Texts, find_pre_tokens

BATCH = 1 << 10
"""Number of pre-tokens found at a time."""


@kernel
def scan(texts: Texts, reached: Int64s, pre_tokens: Int64s, most: int) -> int:
    """Find pre-tokens: see `find_pre_tokens`."""
    return find_pre_tokens(texts, reached, pre_tokens, most)


@kernel
def between(data: Bytes, at: int, low: int, high: int) -> int:
    """Look at 64 bytes: see `bytes_between`."""
    return integer(bytes_between(data, at, low, high))


def batches(
    scanner: Scanner,
    data: bytes,
    starts: Sequence[int],
    ends: Sequence[int],
    *,
    is_open: bool = False,
    most: int = BATCH,
) -> Iterator[npt.NDArray[np.int64]]:
    """Split texts; yield the starts and ends of pre-tokens in `data`, shape (n, 2).

    If `is_open`, the last text goes on after its end here; its last pre-token may then be missing,
    and comes when its bytes are scanned again together with more.
    """
    if not starts:
        return
    texts = scanner.texts(data, starts, ends, is_open=is_open)
    reached = array("q", [0, starts[0]])
    pre_tokens = array("q", bytes(16 * most))
    n_found = most
    while n_found == most:
        n_found = scan(texts, reached, pre_tokens, most)
        yield np.frombuffer(pre_tokens, np.int64).reshape(-1, 2)[:n_found].copy()


def pre_tokens_of(scanner: Scanner, data: bytes) -> list[bytes]:
    """Return the pre-tokens of a text."""
    return [
        data[a:b] for batch in batches(scanner, data, [0], [len(data)]) for a, b in batch.tolist()
    ]
