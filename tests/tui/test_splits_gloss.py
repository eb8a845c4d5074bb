from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.style import Style

from tokviz.tui.palette import token_palette
from tokviz.tui.widgets.splits.gloss import (
    GlossPreToken,
    GlossRow,
    GlossStyles,
    Spans,
    begins,
    label_columns,
    legend,
)
from tokviz.tui.widgets.splits.rows import lay_out, text_row_strips

LOOK = GlossStyles(token_palette("tokviz-dark", "truecolor", False))
MONO = GlossStyles(token_palette("tokviz-dark", None, True))


def _pre_tokens(*texts: str, gaps: tuple[int, ...] = ()) -> tuple[GlossPreToken, ...]:
    pre_tokens, start = [], 0
    for index, text in enumerate(texts):
        pre_tokens.append(GlossPreToken(start, start + len(text), index in gaps))
        start += len(text)
    return tuple(pre_tokens)


def _drawn(text: str, *rows: tuple[GlossPreToken, ...], styles: GlossStyles = LOOK) -> list[str]:
    named = tuple(GlossRow(label, row) for label, row in zip("abc", rows, strict=False))
    layout = lay_out(text, named, 80)
    return [strip.text.rstrip() for strip in text_row_strips(layout, 0, 2, Spans(), styles)]


def test_a_boundary_of_one_row_keeps_its_column_free_in_the_others() -> None:
    assert _drawn("123456 a", _pre_tokens("123456", " a"), _pre_tokens("123", "456", " a")) == [
        "a ▏123‿456▏·a",
        "b ▏123▌456▏·a",
        "      ▲",
    ]


def test_an_arrow_points_wherever_any_row_differs() -> None:
    same = _pre_tokens("ab", "c")
    drawn = _drawn("abc", same, same, _pre_tokens("a", "b", "c"))
    assert drawn == ["a ▏a‿b▏c", "b ▏a‿b▏c", "c ▏a▌b▏c", "    ▲"]


def test_tokens_that_divide_a_character_differ_where_they_divide_it_otherwise() -> None:
    rows = [(GlossPreToken(0, 1, hue=3, inner=inner),) for inner in ((1, 2), (1, 2), (2, 1))]
    assert _drawn("世", *rows[:2])[-1] == ""
    assert _drawn("世", *rows)[-1] == "  ▲"


def test_a_gap_has_a_sign_and_a_style_of_its_own() -> None:
    rows = (GlossRow("a", _pre_tokens("ab", "!!", gaps=(1,))),)
    for look_styles in (LOOK, MONO):
        strip = text_row_strips(lay_out("ab!!", rows, 80), 0, 2, Spans(), look_styles)[0]
        assert strip.text == "a ▏ab×!!"
        styles = {segment.text: segment.style for segment in strip}
        assert styles["×!!"] == look_styles.gap


def test_unknown_text_has_no_boundaries() -> None:
    rows = [_pre_tokens("ab", "cd"), _pre_tokens("ab", "cd"), ()]
    assert _drawn("abcd", *rows) == ["a ▏ab▏cd", "b ▏ab▏cd", "c  ab cd", ""]


def test_what_a_terminal_would_obey_is_drawn_as_glyphs() -> None:
    line = _drawn("a\x1b[31m\r\n", _pre_tokens("a\x1b[31m\r\n"))[0]
    assert line == "a ▏a␛[31m␍⏎"


@pytest.mark.parametrize("no_color", [False, True])
def test_neighbouring_pre_tokens_differ_in_style(no_color: bool) -> None:
    look_styles = MONO if no_color else LOOK
    rows = (GlossRow("a", _pre_tokens("x", "y")),)
    strip = text_row_strips(lay_out("xy", rows, 80), 0, 2, Spans(), look_styles)[0]
    styles = {segment.text[-1]: segment.style for segment in strip}
    assert styles["x"] != styles["y"]


def test_marked_tokens_are_pointed_out_in_every_row() -> None:
    rows = (GlossRow("a", _pre_tokens("abc")), GlossRow("b", _pre_tokens("ab", "c")))
    spans = Spans(hover=range(1, 2), pin=range(2, 3))
    strips = text_row_strips(lay_out("abc", rows, 80), 0, 2, spans, LOOK)
    for strip in strips[:2]:
        styles = {segment.text: segment.style or Style() for segment in strip}
        assert styles["b"].bgcolor == LOOK.hover.bgcolor
        assert styles["c"].bgcolor == LOOK.pin.bgcolor


def test_spans_are_cut_to_the_block() -> None:
    spans = Spans(hover=range(8, 14), pin=range(0, 3)).within(10, 20)
    assert spans == Spans(hover=range(0, 4))


def test_boundaries_are_compared_between_the_rows_that_are_known() -> None:
    rows = [
        GlossRow("a", _pre_tokens("ab", "c")),
        GlossRow("b", _pre_tokens("a", "bc")),
        GlossRow("c", ()),
    ]
    assert begins(rows, 3) == ({0, 1, 2}, {0}, {1, 2})
    partly = [GlossRow("a", _pre_tokens("ab", "c")), GlossRow("b", _pre_tokens("ab"))]
    assert begins(partly, 3) == ({0, 2}, {0, 2}, set())


def test_labels_take_no_more_than_nine_columns() -> None:
    assert label_columns(["GPT-2", "custom"]) == 7
    assert label_columns(["nanochat"]) == 9
    assert label_columns(["a very long name"]) == 9
    assert label_columns(["a very long name"], 84) == 14


@pytest.mark.parametrize("width", [24, 34, 46, 76, 120])
@pytest.mark.parametrize("tokens", [False, True])
def test_the_legend_explains_each_mark_in_words(width: int, tokens: bool) -> None:
    lines = legend(width, tokens=tokens).splitlines()
    assert len(lines) <= (2 if width >= 46 else 4)
    assert all(cell_len(line) <= width for line in lines)
    marks = [part.split(" ", 1) for line in lines for part in line.split("  ")]
    assert len(marks) == 5 + tokens and all(len(words) == 2 for words in marks)
