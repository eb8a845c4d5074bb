from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tokviz
from tokviz.explain.describe import CutCharacter, cut_characters, kind, look_alikes


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (b"the", "Latin letters"),
        (b" the", "Latin letters after a space"),
        (b"a", "Latin letter"),
        ("你好".encode(), "Han letters"),
        ("привет".encode(), "Cyrillic letters"),
        (b" ", "1 space"),
        (b"    ", "4 spaces"),
        (b"\n\n", "2 line breaks"),
        (b"\r\n", "1 Windows line break"),
        (b"  \n", "2 spaces, 1 line break"),
        (b"7", "a digit"),
        (b" 123", "3 digits after a space"),
        (b'("', "punctuation"),
        (b"a1", "letters and digits"),
        (b"a1!", "letters, digits and punctuation"),
        (b"a b ", "letters and white space before a space"),
        (b"  x ", "Latin letter between spaces"),
        ("\u200d".encode(), "format characters"),
        ("\u0378".encode(), "unassigned characters"),
        (b"\xe4", "a byte"),
        (b"\xe4\xb8", "bytes that are not whole characters"),
        (b".\n", "punctuation and line breaks"),
        (b"\t{", "white space and punctuation"),
    ],
)
def test_kinds_are_described(token: bytes, words: str) -> None:
    assert kind(token) == words


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.binary(min_size=1, max_size=20) | st.text(min_size=1, max_size=9).map(str.encode))
def test_bytes_that_are_no_text_are_called_so_and_no_others(token: bytes) -> None:
    no_text = "a byte" if len(token) == 1 else "bytes that are not whole characters"
    assert (kind(token) == no_text) == (not is_text(token))
    assert kind(token).isascii() and kind(token).isprintable()


@given(st.text(min_size=1, max_size=9), st.integers(0, 3), st.integers(0, 3))
def test_surrounding_spaces_are_counted_after_the_kind(text: str, n: int, m: int) -> None:
    assume(not text.isspace() and text == text.strip(" "))
    spaces = "a space" if n + m == 1 else f"{n + m} spaces"
    beside = f" {'after' if n else 'before'} {spaces}" if n + m else ""
    if n and m:
        beside = " between spaces"
    assert kind(b" " * n + text.encode() + b" " * m) == kind(text.encode()) + beside


def test_a_part_of_a_character_names_it_and_its_bytes() -> None:
    first, second, third = (bytes([byte]) for byte in "世".encode())
    assert cut_characters(b"", first, second + third) == [CutCharacter("世", 1, 1, 3)]
    assert cut_characters(b"a" + first, second, third + b"b") == [CutCharacter("世", 2, 2, 3)]
    assert cut_characters(first + second, third, b"") == [CutCharacter("世", 3, 3, 3)]


def test_a_token_can_end_one_character_and_start_another() -> None:
    both = "é世".encode()
    assert cut_characters(both[:1], both[1:3], both[3:]) == [
        CutCharacter("é", 2, 2, 2),
        CutCharacter("世", 1, 1, 3),
    ]


@given(st.text(min_size=1, max_size=6), st.integers(0, 24), st.integers(1, 24))
def test_whole_characters_are_never_called_cut(text: str, start: int, length: int) -> None:
    data = text.encode("utf-8", "replace")
    start = min(start, len(data) - 1)
    end = min(start + length, len(data))
    found = cut_characters(data[max(0, start - 3) : start], data[start:end], data[end : end + 3])
    edges = [0]
    for character in data.decode():
        edges.append(edges[-1] + len(character.encode()))
    expected = [
        (character, max(a, start) - a + 1, min(b, end) - a, b - a)
        for character, a, b in zip(data.decode(), edges, edges[1:], strict=False)
        if a < end and b > start and (a < start or b > end)
    ]
    assert found == expected


def test_look_alikes_differ_by_a_space_or_by_case() -> None:
    tok = tokviz.load("cl100k_base")
    tokens = [token for token, _ in look_alikes(tok, b" the")]
    assert tokens[0] == b"the"
    assert b" The" in tokens and b"THE" in tokens and b" the" not in tokens
    assert all(tok.token_id(token) == i for token, i in look_alikes(tok, b" the"))


@pytest.mark.parametrize("token", [b"\n", b" ", b"\xe4\xb8", b"a" * 100_000])
def test_white_space_and_bytes_have_no_look_alikes(token: bytes) -> None:
    assert look_alikes(tokviz.load("cl100k_base"), token) == []
