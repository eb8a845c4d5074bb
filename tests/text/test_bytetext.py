from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokviz.text import bytetext


@given(st.binary())
def test_any_bytes_survive(data: bytes) -> None:
    text = bytetext.from_bytes(data)
    assert bytetext.to_bytes(text) == data
    assert bytetext.n_bytes(text) == len(data)


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=3), st.sampled_from([b"\xe4", b"\xb8\x96", b"\xf0\x9f", b"\x91\x8d"])
        )
    )
)
def test_bytes_in_blocks_are_the_text_that_they_are_as_a_whole(blocks: list[bytes]) -> None:
    assert "".join(bytetext.from_blocks(blocks)) == bytetext.from_bytes(b"".join(blocks))


def test_broken_bytes_are_counted() -> None:
    text = bytetext.from_bytes(b"ok \xff\xe4\xb8 \xe4\xb8\x96")
    assert bytetext.has_raw_bytes(text)
    assert bytetext.n_raw_bytes(text) == 3
    assert not bytetext.has_raw_bytes("世界")


def test_only_text_with_other_surrogates_is_changed_to_byte_text() -> None:
    assert bytetext.as_byte_text("a\udce4é") == "a\udce4é"
    assert bytetext.as_byte_text("\ud83d\udc4d \ud800") == "👍 \ufffd"


def test_surrogate_pairs_join_and_lone_ones_are_replaced() -> None:
    assert bytetext.replace_surrogates("\ud83d\udc4d") == ("👍", 0)
    assert bytetext.replace_surrogates("a\ud83d\ufffd") == ("a\ufffd\ufffd", 1)
    assert bytetext.replace_surrogates("plain é") == ("plain é", 0)
