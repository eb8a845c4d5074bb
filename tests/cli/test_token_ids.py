from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokviz.cli.decode import decoded_parts, read_ids
from tokviz.cli.inputs import BLOCK_BYTES
from tokviz.errors import TokenIdError, TokvizError


def ids_of(blocks: list[bytes]) -> list[int]:
    return [token_id for block in read_ids(blocks) for token_id in block.ids]


@given(st.lists(st.integers(0, 300_000)), st.integers(1, 9))
def test_a_block_border_inside_a_number_does_not_matter(ids, size):
    written = " ".join(map(str, ids)).encode()
    blocks = [written[start : start + size] for start in range(0, len(written), size)]
    assert ids_of(blocks) == ids


def test_the_position_of_a_mistake_counts_from_the_first_block():
    with pytest.raises(TokvizError, match="not a token id at position 3: 'x'"):
        ids_of([b"1 2 ", b"3 ", b"x "])


def test_a_number_without_end_is_refused_before_it_fills_the_memory():
    def endless():
        yield b"9" * 1000
        raise AssertionError("read on")

    with pytest.raises(TokvizError, match="not a token id at position 0"):
        ids_of(endless())


def test_the_position_of_an_unknown_id_counts_from_the_first_block(tmp_path):
    file = tmp_path / "ids"
    file.write_text("1 " * BLOCK_BYTES + "500000 6")
    with pytest.raises(TokenIdError) as caught:
        list(decoded_parts(str(file), "gpt2", override=True))
    assert caught.value.index == BLOCK_BYTES
