from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

import tokviz
from tests.oracles.nasty import FRAGMENTS, byte_texts, texts
from tokviz.live.document import BEGINS_INSIDE, ENDS_INSIDE, LiveDocument, TokenSpan
from tokviz.text.glyphs import HIDDEN, SHOWN, UNSAFE
from tokviz.tui.palette import N_HUES, token_palette
from tokviz.tui.widgets.editor.cells import lay_out
from tokviz.tui.widgets.editor.document import ExactDocument
from tokviz.tui.widgets.editor.row_painter import (
    BLURRED_CURSOR,
    CURSOR,
    HOVERED,
    HUE_MASK,
    NO_TOKEN,
    PENDING,
    PINNED,
    SELECTED,
    SPECIAL,
    SPLIT,
    STAND_IN,
    LookStyles,
    Marks,
    RowPainter,
    paint,
    row_looks,
)
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument

PALETTES = {
    "dark": token_palette("tokviz-dark", "truecolor", False),
    "light": token_palette("tokviz-light", "truecolor", False),
    "256": token_palette("tokviz-dark", "256", False),
    "16": token_palette("tokviz-dark", "standard", False),
    "16 light": token_palette("tokviz-light", "standard", False),
    "no colour": token_palette("tokviz-dark", None, True),
}
DARK = LookStyles(PALETTES["dark"], Style())


NO_MARKS = Marks()


def looks_of(text: str, spans: list[TokenSpan], marks: Marks = NO_MARKS, start: int = 0):
    return row_looks(start, len(text), spans, {99}, marks)


def token(start: int, end: int, hue: int, split: int = 0, token_id: int = 1) -> TokenSpan:
    return TokenSpan(start, end, 0, token_id, hue, split)


def painted(text: str, looks: list[int], glyphs=SHOWN, styles=DARK, width=20, first_cell=0):
    return paint(text, lay_out(text, glyphs), looks, glyphs, styles, width, first_cell)


def test_each_character_has_the_hue_of_its_token():
    assert looks_of("abcd", [token(0, 3, 2), token(3, 4, 5)]) == [2, 2, 2, 5]


def test_a_token_that_began_on_the_row_before_reaches_into_this_one():
    assert looks_of("cd", [token(8, 11, 1), token(11, 15, 3)], start=10) == [1, 3]


def test_a_character_shared_by_tokens_is_marked_and_has_the_first_ones_hue():
    spans = [token(0, 2, 0, ENDS_INSIDE), token(1, 2, 1, BEGINS_INSIDE | ENDS_INSIDE),
             token(1, 3, 2, BEGINS_INSIDE)]  # fmt: skip
    assert looks_of("a世b", spans) == [0, 0 | SPLIT, 2]


def test_text_not_tokenized_yet_and_special_tokens_have_looks_of_their_own():
    spans = [TokenSpan(0, 1, -1, -1, -1, 0), token(1, 2, 4, token_id=99)]
    assert looks_of("ab", spans) == [PENDING, 4 | SPECIAL]


def test_marks_add_to_the_hues():
    marks = Marks(selection=(11, 13), hover=(10, 12), pin=(12, 99), cursor=13)
    spans = [token(10, 14, 1)]
    assert looks_of("abcd", spans, marks, start=10) == [
        1 | HOVERED,
        1 | HOVERED | SELECTED,
        1 | SELECTED | PINNED,
        1 | PINNED | CURSOR,
    ]
    assert (
        looks_of("abcd", spans, Marks(cursor=10, focused=False), start=10)[0] == 1 | BLURRED_CURSOR
    )


def test_equal_looks_become_one_segment_and_glyphs_are_dim():
    strip = painted("ab cd", [0, 0, 1, 1, 1])
    assert [(s.text, s.style) for s in strip][:3] == [
        ("ab", DARK[0]),
        ("·", DARK[1 | STAND_IN]),
        ("cd", DARK[1]),
    ]


def test_a_line_feed_is_drawn_with_its_tokens_hue():
    strip = painted("ab", [0, 0, 3])
    assert [(s.text, s.style) for s in strip][1] == ("⏎", DARK[3 | STAND_IN])
    assert painted("ab", [0, 0, 3], HIDDEN).text == "ab".ljust(20)


def test_a_cursor_behind_the_text_is_a_blank_cell():
    strip = painted("ab", [0, 0, NO_TOKEN | CURSOR])
    assert strip.text == "ab".ljust(20)
    assert list(strip)[1].style == DARK[NO_TOKEN | CURSOR | STAND_IN]


def test_a_token_border_inside_a_letters_cell_is_visible():
    split = painted("e\u0301x", [0, 1, 1], HIDDEN)
    whole = painted("e\u0301x", [0, 0, 1], HIDDEN)
    assert next((s.text, s.style) for s in split) == ("e\u0301", DARK[0 | SPLIT])
    assert next((s.text, s.style) for s in whole) == ("e\u0301", DARK[0])
    apart = painted("e\u0301x", [0, 1, 1], SHOWN)
    assert [s.text for s in apart][:3] == ["e", "◌\u0301", "x"]


def test_a_mark_over_a_letter_shows_the_cursor_and_selection_of_its_mark():
    strip = painted("e\u0301", [0, 0 | SELECTED | CURSOR], HIDDEN)
    assert next(iter(strip)).style == DARK[SELECTED | CURSOR]


def test_a_view_that_cuts_a_wide_character_is_filled_with_a_blank():
    strip = painted("世界x", [0, 0, 1], width=4, first_cell=1)
    assert (strip.text, strip.cell_length) == (" 界x", 4)


overlays = st.sampled_from([0, SELECTED, HOVERED, PINNED, CURSOR, SPLIT, SPECIAL, BLURRED_CURSOR])


@given(
    st.one_of(texts, byte_texts).map(lambda text: text.replace("\n", "")),
    st.data(),
    st.sampled_from([SHOWN, HIDDEN]),
    st.integers(1, 50),
    st.integers(0, 10),
)
def test_a_strip_is_exactly_as_wide_as_the_view_and_safe(text, data, glyphs, width, first_cell):
    hues = st.builds(lambda hue, bit: hue | bit, st.integers(0, NO_TOKEN), overlays)
    looks = data.draw(st.lists(hues, min_size=len(text), max_size=len(text) + 1))
    looks = looks[: len(text) + 1]
    strip = painted(text, looks, glyphs, width=width, first_cell=first_cell)
    assert strip.cell_length == width == sum(segment.cell_length for segment in strip)
    assert UNSAFE.search(strip.text) is None
    assert all(segment.style for segment in strip)


@pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)
@pytest.mark.parametrize("bits", [0, SELECTED, STAND_IN, SELECTED | STAND_IN])
def test_neighbouring_tokens_look_different_also_when_selected(palette, bits):
    styles = LookStyles(palette, Style(color="#eeeeee", bgcolor="#111111"))
    seen = [styles[hue | bits] for hue in [*range(N_HUES), NO_TOKEN]]
    borders = {(s.bgcolor, s.bold, s.italic, s.underline, s.reverse) for s in seen[:N_HUES]}
    assert len(borders) == N_HUES


@pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)
@pytest.mark.parametrize("bits", [0, SELECTED, PINNED, HOVERED, SPLIT, SPECIAL, PINNED | SELECTED])
def test_the_cursor_is_visible_on_everything(palette, bits):
    styles = LookStyles(palette, Style(color="#eeeeee", bgcolor="#111111"))
    for hue in [*range(N_HUES), PENDING, NO_TOKEN]:
        below, cursor = styles[hue | bits], styles[hue | bits | CURSOR]
        ground = (below.bgcolor, bool(below.reverse))
        assert (cursor.bgcolor, bool(cursor.reverse)) != ground


@given(st.one_of(texts, byte_texts), st.sampled_from([SHOWN, HIDDEN]), st.sampled_from([0, 9, 40]))
def test_every_row_of_any_document_is_as_wide_as_the_view(text, glyphs, wrap_width):
    live = LiveDocument(text, tokviz.load("gpt2"))
    wrapped = ExactWrappedDocument(ExactDocument(live), wrap_width, glyphs)
    painter = RowPainter(live, PALETTES["dark"], glyphs)
    for row in range(wrapped.height + 1):
        strip = painter.strip(wrapped, row, 0, wrap_width + 1, Marks(cursor=len(text)))
        assert strip.cell_length == wrap_width + 1
        assert UNSAFE.search(strip.text) is None


@given(
    st.one_of(texts, byte_texts),
    st.sampled_from(["", "\n", "\n\n"]),
    st.sampled_from([0, 9]),
    st.data(),
)
def test_there_is_one_cursor(text, end, wrap_width, data):
    text += end
    live = LiveDocument(text, tokviz.load("gpt2"))
    wrapped = ExactWrappedDocument(ExactDocument(live), wrap_width, SHOWN)
    cursor = data.draw(st.sampled_from([0, len(text) // 2, len(text)]))
    painter = RowPainter(live, PALETTES["dark"], SHOWN)
    rows = [
        painter.strip(wrapped, row, 0, 999, Marks(cursor=cursor)) for row in range(wrapped.height)
    ]
    ground = PALETTES["dark"].cursor.bgcolor
    shown = [row for row in rows if any(s.style and s.style.bgcolor == ground for s in row)]
    assert len(shown) == 1


@given(st.one_of(texts, byte_texts))
def test_every_token_border_can_be_seen(text):
    """Check that cells on both sides of a border differ in hue, or that its cell is marked."""
    live = LiveDocument(text, tokviz.load("gpt2"))
    spans = live.tokens_in(0, len(text))
    looks = row_looks(0, len(text), spans, frozenset(), Marks())
    for one, two in pairwise(spans):
        if one.end > two.start:
            assert looks[two.start] & SPLIT
        else:
            hues = looks[one.end - 1] & HUE_MASK, looks[two.start] & HUE_MASK
            assert hues[0] != hues[1] or (looks[one.end - 1] | looks[two.start]) & SPLIT


def test_rows_that_look_the_same_are_the_same_strip():
    live = LiveDocument("same\nsame\nother", tokviz.load("gpt2"))
    wrapped = ExactWrappedDocument(ExactDocument(live), 20, SHOWN)
    painter = RowPainter(live, PALETTES["dark"], SHOWN)
    first = painter.strip(wrapped, 0, 0, 21, Marks())
    assert painter.strip(wrapped, 0, 0, 21, Marks()) is first
    assert painter.strip(wrapped, 0, 0, 21, Marks(cursor=2)) is not first
    painter.set_palette(PALETTES["light"])
    assert painter.strip(wrapped, 0, 0, 21, Marks()) is not first


@pytest.mark.parametrize("wrap_width", [0, 9, 40])
def test_cached_rows_look_as_if_drawn_again(wrap_width):
    rng, tokenizer = random.Random(1 + wrap_width), tokviz.load("gpt2")
    fragments = [*FRAGMENTS, "\n", "\udcff"]
    live = LiveDocument("".join(rng.choices(fragments, k=300)), tokenizer, chunk_target=24)
    document = ExactDocument(live)
    wrapped = ExactWrappedDocument(document, wrap_width, SHOWN)
    painter = RowPainter(live, PALETTES["dark"], SHOWN)
    for step in range(80):
        places = sorted(rng.choices(range(live.n_chars + 1), k=10))
        if rng.random() < 0.8:
            at = places[rng.randrange(9)]
            end = at if rng.random() < 0.5 else rng.choice([at + 1, at + 30, places[9]])
            end = min(end, live.n_chars)
            text = "".join(rng.choices(fragments, k=rng.choice([0, 1, 1, 3, 40])))
            document.replace_range(live.location(at), live.location(end), text)
            places = [min(place, live.n_chars) for place in places]
        if step % 40 == 30:
            live.set_tokenizer(rng.choice([None, tokenizer]))
        marks = Marks(
            selection=(places[0], places[rng.randrange(2)]),
            hover=(places[3], places[3 + rng.randrange(2)]),
            pin=(places[6], places[6 + rng.randrange(2)]),
            cursor=rng.choice([places[9], live.n_chars]),
            focused=rng.random() < 0.9,
            unstable=(places[8], places[9]),
        )
        anew = RowPainter(live, PALETTES["dark"], SHOWN)
        rows = range(rng.randrange(3), wrapped.height, rng.choice([1, 1, 2]))
        for row in rows:
            kept = painter.strip(wrapped, row, 0, 50, marks)
            assert list(kept) == list(anew.strip(wrapped, row, 0, 50, marks)), (step, row)


def test_a_special_token_is_drawn_as_one_where_the_tokenizer_has_it():
    tokenizer = tokviz.load("gpt2")
    live = LiveDocument("a<|endoftext|>", tokenizer, parse_specials=True)
    live.ensure(0, live.n_chars)
    wrapped = ExactWrappedDocument(ExactDocument(live), 40, SHOWN)
    painter = RowPainter(live, PALETTES["dark"], SHOWN)
    letter, special, *_ = painter.strip(wrapped, 0, 0, 40, NO_MARKS)
    assert (letter.text, special.text) == ("a", "<|endoftext|>")
    assert special.style is not None and special.style.italic
    assert letter.style is not None and not letter.style.italic
    live.set_tokenizer(None)
    pending, *_ = painter.strip(wrapped, 0, 0, 40, NO_MARKS)
    assert pending.style is not None and not pending.style.italic
