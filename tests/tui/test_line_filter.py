from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import ControlType, Segment
from rich.style import Style
from textual.color import Color
from textual.filter import Monochrome
from textual.strip import Strip

from tests.oracles.nasty import byte_texts
from tokviz.text.glyphs import UNSAFE
from tokviz.tui.line_filter import InTurn, SafeLineFilter

BACKGROUND = Color.parse("black")


def filtered(*segments: Segment) -> list[Segment]:
    return SafeLineFilter().apply(list(segments), BACKGROUND)


def test_an_escape_sequence_does_not_pass():
    (segment,) = filtered(Segment("a\x1b]52;c;aGk=\x07b", Style(bold=True)))
    assert "\x1b" not in segment.text and "\x07" not in segment.text
    assert "␛" in segment.text
    assert segment.style == Style(bold=True)


def test_safe_segments_come_back_as_they_are():
    segments = [Segment("plain"), Segment("世界 é", Style(bold=True))]
    assert SafeLineFilter().apply(segments, BACKGROUND) is segments


def test_control_segments_of_the_framework_pass():
    control = Segment("\x1b[2J", None, [(ControlType.CLEAR,)])
    assert filtered(control, Segment("\x07x"))[0] is control


def test_filters_in_turn_do_as_one_after_the_other():
    strip = Strip([Segment("a\x07", Style(color="#ff0000")), Segment("plain", Style())])
    safe, grey = SafeLineFilter(), Monochrome()
    both = strip.apply_filter(InTurn(safe, grey), BACKGROUND)
    assert both == strip.apply_filter(safe, BACKGROUND).apply_filter(grey, BACKGROUND)
    assert "\x07" not in both.text
    style = next(iter(both)).style
    assert style is not None and style.color is not None
    red, green, blue = style.color.get_truecolor()
    assert red == green == blue


@given(st.one_of(st.text(), byte_texts))
def test_nothing_unsafe_passes_and_the_width_stays(text):
    (segment,) = filtered(Segment(text))
    assert UNSAFE.search(segment.text) is None
    assert cell_len(segment.text) == cell_len(text)
