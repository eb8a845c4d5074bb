"""Small corpora for both engines, and their results in one form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.settings import TrainSettings

SETTINGS = TrainSettings.checked(
    1_000,
    split_pattern="none",
    special_tokens=(),
    special_ids="last",
    tie_break="first",
    min_count=1,
)


def settings(rule: str, n_merges: int, min_count: int = 1) -> TrainSettings:
    return SETTINGS._replace(vocab_size=256 + n_merges, tie_break=rule, min_count=min_count)


def pre_token_counts(pre_tokens: Sequence[bytes], counts: Sequence[int]) -> PreTokenCounts:
    ends = np.cumsum([len(pre_token) for pre_token in pre_tokens], dtype=np.int64)
    return PreTokenCounts(
        np.frombuffer(b"".join(pre_tokens), dtype=np.uint8),
        np.concatenate([np.zeros(1, dtype=np.int64), ends]),
        np.array(counts, dtype=np.int64),
        n_bytes=sum(
            len(pre_token) * count for pre_token, count in zip(pre_tokens, counts, strict=True)
        ),
        n_chars=0,
        n_invalid=0,
        n_documents=1,
    )


def finished(engine):
    while not engine.advance(0.05):
        pass
    return engine


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[bytes], list[int]]:
    """Few different bytes, so that there are ties, runs and overlaps; some very large counts."""
    alphabet = draw(st.sampled_from([b"a", b"ab", b"abc", b"\0a\xff", b"abcdefghij"]))
    pre_token = st.lists(st.sampled_from(alphabet), min_size=1, max_size=14).map(bytes)
    pre_tokens = draw(st.lists(pre_token, min_size=1, max_size=20, unique=True))
    count = st.one_of(st.integers(1, 3), st.sampled_from([70_000, 2**31 - 1, 2**31, 2**40]))
    return pre_tokens, [draw(count) for _ in pre_tokens]
