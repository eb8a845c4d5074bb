from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import tokviz
from tokviz.explain.describe import CutCharacter
from tokviz.explain.facts import Occurrences, SelectedTokens, TokenPlace, entry_of
from tokviz.explain.trace import why_not_one_token
from tokviz.text.glyphs import UNSAFE
from tokviz.tui.widgets.card_rows import selection_rows, token_rows
from tokviz.tui.widgets.spans import GoTo, Row, Step

TOK = tokviz.load("gpt2")
PLACE = TokenPlace(12, 311, 2, (34, 38), (36, 40), 2, 4, ())
ONCE = Occurrences(1, (12,))


def texts(rows: list[Row]) -> list[str]:
    return ["".join(span.text for span in row) for row in rows]


def card(data: bytes, width: int = 44, place: TokenPlace = PLACE) -> list[str]:
    token_id = TOK.token_id(data)
    assert token_id is not None
    return texts(token_rows(place, entry_of(TOK, token_id), ONCE, width))


def why(data: bytes, width: int = 44, *, whole: bool = True) -> list[str]:
    ids = TOK.encode_bytes(data)
    tokens = tuple((token_id, place % 6) for place, token_id in enumerate(ids))
    labels = [TOK.token_bytes(token_id) for token_id in ids]
    selected = SelectedTokens(5, tokens, len(tokens), data, whole)
    return texts(selection_rows(selected, labels, why_not_one_token(TOK, data), width))


def test_the_card_reads_from_the_token_to_its_bytes() -> None:
    assert card(b" the") == [
        "#12 · 311 tokens",
        "·the",
        "",
        "id       262",
        "bytes    20 74 68 65",
        "length   4 bytes, 4 characters",
        "kind     Latin letters after a space",
        "merge    7",
        "where    line 3, column 5",
        "span     bytes 36-40, characters 34-38",
        "occurs   only here",
        "",
        "",
        "Made by merging ·t + he",
        "·the 262",
        "├─ ·t 256",
        "│  ├─ · 220",
        "│  └─ t 83",
        "└─ he 258",
        "   ├─ h 71",
        "   └─ e 68",
        "",
        "Looks like",
        "the 1169  ·The 383  The 464  ·THE 3336 ",
        "THE 10970 ",
        "",
        "In the vocabulary",
        "261 on",
        "262 ·the",
        "263 er",
    ]


def test_a_part_of_a_character_says_of_which_and_which_bytes() -> None:
    place = TokenPlace(3, 9, 0, (2, 3), (2, 4), 0, 2, (CutCharacter("世", 1, 2, 3),))
    rows = card(b"\xe4\xb8", place=place)
    assert "length   2 bytes, part of a character" in rows
    assert "holds    bytes 1-2 of 3 of 世 U+4E16" in rows


def test_a_special_token_has_no_rank_and_no_merges() -> None:
    entry = entry_of(TOK, 50256)
    rows = texts(token_rows(PLACE, entry, ONCE, 60))
    assert "merge    none: a special token" in rows
    assert "A special token: no merge makes it." in rows
    assert "50257 no token" in rows


def test_a_single_byte_is_made_by_no_merge() -> None:
    assert "None: it is a single byte." in card(b"a")


@pytest.mark.parametrize("width", [20, 44])
def test_the_other_places_can_be_clicked_at_every_width(width: int) -> None:
    rows = token_rows(PLACE, entry_of(TOK, 262), Occurrences(14, (3, 12, 48)), width)
    actions = [span.action for row in rows for span in row]
    assert Step(1) in actions and Step(-1) in actions


@pytest.mark.parametrize("width", [24, 30, 44, 70])
def test_occurrences_take_the_same_room_at_every_width(width: int) -> None:
    entry = entry_of(TOK, 262)
    many = Occurrences(1_000_000, tuple(range(100_000, 300_000, 12_000)))
    assert len({len(token_rows(PLACE, entry, found, width)) for found in (None, ONCE, many)}) == 1


@pytest.mark.parametrize(("count", "width", "ending"), [(15, 44, " …"), (3, 44, "")])
def test_places_that_are_not_listed_are_hinted_at(count: int, width: int, ending: str) -> None:
    found = Occurrences(count, tuple(range(5, 5 + min(count, 14))))
    rows = token_rows(PLACE, entry_of(TOK, 262), found, width)
    (listed,) = [row for row in rows if any(span.action == GoTo(6) for span in row)]
    assert listed[-1].text == (ending or "#7")
    assert sum(cell_len(span.text) for span in listed) <= width


def test_the_new_token_of_every_step_is_in_view() -> None:
    data = b"abcdefghijklmnopqrstuvwxyz" * 4
    for width in (20, 30, 44):
        found = why_not_one_token(TOK, data)
        ids = tuple((token_id, 0) for token_id in TOK.encode_bytes(data))
        labels = [TOK.token_bytes(token_id) for token_id, _ in ids]
        rows = selection_rows(SelectedTokens(0, ids, len(ids), data, True), labels, found, width)
        new = ["".join(span.text for span in row if span.role == "new") for row in rows]
        assert found.trace is not None
        made = [step.token.decode() for step in found.trace.steps]
        assert [text for text in new if text] == made


def test_the_token_itself_wears_its_hue() -> None:
    rows = token_rows(PLACE, entry_of(TOK, 262), ONCE, 60)
    assert [span.text for row in rows for span in row if span.hue == PLACE.hue] == ["·the"]


def test_a_selection_shows_its_tokens_and_why_it_is_not_one() -> None:
    rows = why(b"unbelievably", 40)
    assert rows[:9] == [
        "4 tokens from #5",
        "un bel iev ably",
        "",
        "Why not one token?",
        "The vocabulary has no token for these 12",
        "bytes: the merges end at “un” + “bel” +",
        "“iev” + “ably”.",
        "",
        "How it is encoded",
    ]
    assert rows[9].split() == list("unbelievably")
    assert rows[-1].split()[1:] == ["un", "bel", "iev", "ably"]


def test_a_selection_across_a_cut_names_the_split_pattern() -> None:
    assert why(b"the cat")[4:] == [
        "The split pattern gpt2 cuts it into 2",
        "pre-tokens, at byte 3, between “the” and",
        "“·cat”. No token spans two pre-tokens.",
    ]


def test_too_many_selected_tokens_are_counted_only() -> None:
    tokens = tuple((262, place % 6) for place in range(4096))
    selected = SelectedTokens(0, tokens, 4_000_000, b"", True)
    rows = texts(selection_rows(selected, [b" the"] * 4096, None, 44))
    assert rows[0] == "4,000,000 tokens from #0"
    assert rows[-1] == "Too many tokens to explain."
    assert "… 3,999,800 more" in "\n".join(rows)


@pytest.mark.parametrize("width", [1, 8, 20, 30, 70])
@given(data=st.binary(min_size=2, max_size=24))
def test_no_row_is_wider_than_the_card_or_unsafe(width: int, data: bytes) -> None:
    ids = TOK.encode_bytes(data)
    tokens = tuple((token_id, place % 6) for place, token_id in enumerate(ids))
    labels = [TOK.token_bytes(token_id) for token_id in ids]
    selected = SelectedTokens(5, tokens, len(tokens), data, True)
    rows = selection_rows(selected, labels, why_not_one_token(TOK, data), width)
    entry = entry_of(TOK, ids[0])
    rows += token_rows(PLACE, entry, Occurrences(3, (1, 2, 30)), width)
    for text in texts(rows):
        assert not UNSAFE.search(text)
        if width >= 20:
            assert cell_len(text.rstrip(" ")) <= width


def test_a_long_way_of_merges_is_cut_and_says_how_much_is_left() -> None:
    data = b"ab" * 250
    n_merges = len(data) - len(TOK.encode_bytes(data))
    rows = why(data, 60)
    at = rows.index("How it is encoded")
    *states, rest = rows[at + 1 :]
    assert len(states) == 201, "the bytes, and the state after each of the first 200 merges"
    assert rest == f"… {n_merges - 200:,} more merges"


def test_many_selected_tokens_are_listed_up_to_a_number() -> None:
    data = b" cat" * 250
    shown = " ".join(why(data, 60))
    assert "250 tokens" in shown
    assert shown.count("·cat") >= 200
    assert "… 50 more" in shown
