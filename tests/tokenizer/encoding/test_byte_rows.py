from __future__ import annotations

import gc
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tokviz.compare.vocabularies import diff_vocabularies
from tokviz.explain.stability import unstable_end
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.tokenizer.encoding.byte_rows import ByteRows
from tokviz.training.replay.steps import RankedSteps

# Long ones that begin alike, and bytes that a sort may take for padding.
PARTS = st.sampled_from([b"\0", b" ", b"a", b"b", b"\xff", b"c" * 31])
STRINGS = st.lists(st.lists(PARTS, max_size=5).map(b"".join), max_size=12)


def rows_of(strings: list[bytes]) -> ByteRows:
    return ByteRows(b"".join(strings), np.array([len(one) for one in strings], np.int64))


@given(STRINGS)
def test_rows_are_their_strings_sorted_and_without_leading_spaces(strings: list[bytes]) -> None:
    rows = rows_of(strings)
    assert list(rows) == [rows[number] for number in range(len(rows))] == strings == rows[:]
    assert rows.order().tolist() == sorted(range(len(strings)), key=strings.__getitem__)
    assert list(rows.take(rows.order())) == sorted(strings)
    assert list(rows.without_leading(b" ")) == [one.lstrip(b" ") for one in strings]


def test_a_vocabulary_needs_no_object_per_token() -> None:
    """The app creates one at every change of the tokenizer, among other objects."""
    tok, other = tokviz.load("gpt2"), tokviz.load("r50k_base")
    unstable_end(other, "once upon a ")
    gc.collect()
    before = sys.getallocatedblocks()
    indexes = VocabularyIndex(tok), VocabularyIndex(other)
    kept = *indexes, *(index.text_order for index in indexes), RankedSteps(tok)
    kept += (diff_vocabularies(*indexes), unstable_end(tok, "once upon a "))
    gc.collect()
    assert sys.getallocatedblocks() - before < 20_000, len(kept)
