from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokviz.live.document import LiveDocument
from tokviz.tui.palette import token_palette
from tokviz.tui.widgets.splits.gloss import GlossStyles, Spans
from tokviz.tui.widgets.splits.rows import BLOCK_CHARS, Gloss, NamedRow, frame

LOOK = GlossStyles(token_palette("tokviz-dark", "truecolor", False))
TEXT = st.text("ab 1中\n", max_size=200)


def _gloss(text: str, width: int = 30) -> Gloss:
    live = LiveDocument(text)
    rows = [NamedRow(live, name, lambda: None) for name in ("gpt2", "gpt4")]
    return Gloss(live, rows, width)


@given(TEXT, st.integers(30, 100))
def test_walking_over_all_stretches_tiles_the_text(text: str, width: int) -> None:
    gloss = _gloss(text, width)
    position = 0
    for place in gloss.from_text_row(0):
        assert place.start == position
        position = place.end
    assert position == len(text)


@given(TEXT, st.integers(0, 200), st.integers(0, 5))
def test_stepping_back_and_forth_comes_back(text: str, offset: int, n_rows: int) -> None:
    gloss = _gloss(text)
    start = gloss.text_row_at(min(offset, len(text))).start
    ahead = gloss.step(start, n_rows)
    walked = len({place.start for place in gloss.from_text_row(start) if place.start <= ahead}) - 1
    assert walked <= n_rows
    assert gloss.step(ahead, -walked) == start


def test_a_long_line_is_laid_out_in_parts() -> None:
    gloss = _gloss("word " * 100_000)
    block = gloss.block_at(250_000)
    assert block.start <= 250_000 < block.end
    assert block.end - block.start == BLOCK_CHARS


def test_a_frame_fills_the_view_and_no_more() -> None:
    gloss = _gloss("one\ntwo\nthree\n")
    lines = frame(gloss, 0, 7, Spans(), LOOK)
    assert [line.row for line in lines] == [0, 1, 2, 0, 1, 2, 0]
    assert [strip.text.strip() for strip in (line.strip for line in lines)] == [
        "GPT-2 ▏one▏⏎",
        "GPT-4 ▏one▏⏎",
        "",
        "GPT-2 ▏two▏⏎",
        "GPT-4 ▏two▏⏎",
        "",
        "GPT-2 ▏three▏⏎",
    ]


def test_an_empty_document_has_an_empty_frame() -> None:
    (first, second, below) = frame(_gloss(""), 0, 9, Spans(), LOOK)
    assert first.strip.text.strip() == "GPT-2"
    assert second.strip.text.strip() == "GPT-4"
    assert below.strip.text.strip() == ""


def test_a_place_in_a_row_leads_to_its_pre_token() -> None:
    gloss = _gloss("x\nab 12345")
    place = gloss.text_row_at(2)
    # Columns: mark a b mark · mark/joint 1 2 3 …; GPT-4 cuts the blank off, and after three digits.
    assert place.pre_token_at(0, 1) == (2, 4)
    assert place.pre_token_at(0, 5) == (4, 10)
    assert place.pre_token_at(1, 4) == (4, 5)
    assert place.pre_token_at(1, 7) == (5, 8)
    assert place.pre_token_at(0, 40) is None
