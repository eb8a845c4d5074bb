from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.document._document import Selection

from tests.oracles.nasty import byte_texts, texts
from tokviz.live.document import LiveDocument
from tokviz.text.glyphs import HIDDEN
from tokviz.tui.widgets.editor.document import ExactDocument, LineChange
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument

any_text = st.one_of(texts, byte_texts)
places = st.tuples(st.integers(-1, 12), st.integers(-1, 30))


@given(any_text)
def test_lines_end_at_line_feeds_only(text):
    document = ExactDocument(LiveDocument(text))
    assert "\n".join(document.lines) == text == document.text
    assert document.line_count == text.count("\n") + 1


@given(any_text, st.lists(st.tuples(places, places, any_text), max_size=8))
def test_every_replacement_reaches_the_live_document_exactly(text, edits):
    live = LiveDocument(text)
    document = ExactDocument(live)
    for start, end, inserted in edits:
        before = document.text
        lo, hi = document.offsets(Selection(start, end))
        result = document.replace_range(start, end, inserted)
        assert document.text == live.text == before[:lo] + inserted + before[hi:]
        assert result.replaced_text == before[lo:hi]
        assert document.get_index_from_location(result.end_location) == lo + len(inserted)


def test_carriage_returns_and_other_line_ends_stay_inside_lines():
    text = "a\r\nb\rc\x0bd\x0ce\x85f\u2028g\x1ch"
    document = ExactDocument(LiveDocument(text))
    assert document.lines == ["a\r", "b\rc\x0bd\x0ce\x85f\u2028g\x1ch"]
    document.replace_range((1, 1), (1, 2), "\r\n")
    assert document.text == "a\r\nb\r\nc\x0bd\x0ce\x85f\u2028g\x1ch"


def test_a_change_tells_which_lines_took_the_place_of_which():
    document = ExactDocument(LiveDocument("one\ntwo\nthree"))
    changes: list[LineChange] = []

    class Noted(ExactWrappedDocument):
        def after_change(self, change: LineChange) -> None:
            changes.append(change)

    Noted(document, 80, HIDDEN)
    document.replace_range((0, 1), (2, 2), "X\nY")
    assert changes == [LineChange(0, 2, 2, 1, last_column=2, n_removed=9, inserted="X\nY")]


@given(any_text)
def test_offsets_and_locations_are_inverse(text):
    document = ExactDocument(LiveDocument(text))
    for offset in range(len(text) + 1):
        assert document.get_index_from_location(document.get_location_from_index(offset)) == offset
