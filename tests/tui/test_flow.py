from __future__ import annotations

from tokviz.tui.widgets.spans import Row, Span, flow, words_of


def texts(rows: list[Row]) -> list[str]:
    return ["".join(span.text for span in row) for row in rows]


def test_words_flow_and_hang_under_their_label() -> None:
    rows = flow(words_of("one two three four"), 14, (Span("n    ", "label"),))
    assert texts(rows) == ["n    one two", "     three", "     four"]


def test_a_phrase_is_broken_only_where_it_does_not_fit() -> None:
    phrase = [(Span("see"),), (Span("four words of it"),)]
    assert texts(flow(phrase, 20)) == ["see four words of it"]
    assert texts(flow(phrase, 18)) == ["see", "four words of it"]
    assert texts(flow(phrase, 12)) == ["see four", "words of it"]


def test_a_word_wider_than_the_row_is_cut() -> None:
    assert texts(flow(words_of("a " + "你" * 20), 9)) == ["a", "你你你你…"]
