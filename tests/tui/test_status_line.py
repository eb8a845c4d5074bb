from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.screen import Screen

from tokviz.tui.widgets.status_line import (
    IdsNote,
    SelectionCounts,
    StatusLine,
    StatusState,
    duration,
    status_spans,
)

USUAL = StatusState(tokens=311, chars=707, bytes=823, seconds=0.0004)
SELECTED = SelectionCounts(3, 12, 14)


def line(state: StatusState, width: int) -> str:
    return "".join(segment.text for segment in status_spans(state, width))


def test_a_wide_line_tells_everything() -> None:
    assert line(USUAL, 200) == (
        "311 tokens · 707 chars · 823 bytes · 2.65 bytes/token · ✓ lossless"
        " · special tokens: parsed · 0.4 ms"
    )


def test_large_numbers_have_separators() -> None:
    state = StatusState(tokens=3_900_123, chars=9_000_000, bytes=10_485_760)
    assert line(state, 200).startswith("3,900,123 tokens · 9,000,000 chars · 10,485,760 bytes · ")


def test_one_is_not_plural() -> None:
    assert line(StatusState(tokens=1, chars=1, bytes=1), 200).startswith(
        "1 token · 1 char · 1 byte ·"
    )


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (92, line(USUAL._replace(seconds=None), 200)),
        (80, "311 tokens · 707 chars · 823 bytes · 2.65 B/tok · ✓ lossless · specials: parsed"),
        (60, "311 tokens · 707 chars · 823 bytes · specials: parsed"),
        (40, "311 tokens · 707 chars · 823 bytes"),
        (30, "311 tokens · 823 bytes"),
        (20, "311 tokens · 823 B"),
        (10, "311 tokens"),
        (8, "311 tok"),
        (4, "311…"),
    ],
)  # fmt: skip
def test_the_least_important_goes_first(width: int, expected: str) -> None:
    assert line(USUAL, width) == expected


def test_the_selection_has_counts_of_its_own() -> None:
    state = StatusState(tokens=311, chars=707, bytes=823, selection=SELECTED)
    assert line(state, 200).endswith(" · selected: 3 tokens · 12 chars · 14 bytes")
    assert line(state, 60).endswith(" · 3 selected")


def test_text_that_cannot_be_tokenized_has_a_reason_where_there_is_room() -> None:
    state = USUAL._replace(pending_chars=707, failure="takes longer than 0.7 s")
    assert "⚠ not tokenized: takes longer than 0.7 s" in line(state, 200)
    assert line(state, 60).endswith("⚠ not tokenized")
    assert "%" not in line(state, 200)


def test_a_loss_is_told_even_where_it_is_narrow() -> None:
    state = StatusState(tokens=311, chars=707, bytes=823, lossless=False, loss="normalises text")
    assert "⚠ lossy: normalises text" in line(state, 200)
    assert "⚠ lossy" in line(state, 40)
    assert "lossless" not in line(state, 200)


def test_pending_text_shows_progress_instead_of_a_ratio() -> None:
    state = StatusState(tokens=100, chars=1000, bytes=1000, pending_chars=580, seconds=0.1)
    text = line(state, 200)
    assert text.startswith("100+ tokens")
    assert text.endswith("━━━━╌╌╌╌╌╌ 42 %")
    assert "bytes/token" not in text and "ms" not in text


def test_notes_are_warnings_and_safe() -> None:
    state = StatusState(tokens=1, chars=1, bytes=1, notes=("2 invalid bytes kept", "\x1b[31m"))
    segments = status_spans(state, 200)
    assert [s.text for s in segments if s.role == "warning"] == [
        "⚠ 2 invalid bytes kept",
        "⚠ ␛[31m",
    ]


def test_an_empty_document_has_no_ratio() -> None:
    assert line(StatusState(), 200).startswith("0 tokens · 0 chars · 0 bytes · ✓ lossless")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0.4 ms"), (0.00996, "10 ms"), (0.037, "37 ms"), (1.239, "1.24 s")],
)
def test_durations_read_like_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(
    st.builds(
        StatusState,
        tokens=st.integers(0, 10**7),
        chars=st.integers(0, 10**7),
        bytes=st.integers(0, 10**7),
        pending_chars=st.integers(0, 10**7),
        lossless=st.booleans(),
        loss=st.text(max_size=9),
        specials_parsed=st.booleans(),
        seconds=st.none() | st.floats(0, 100),
        selection=st.none() | st.builds(SelectionCounts, *[st.integers(0, 10**7)] * 3),
        notes=st.lists(st.text(max_size=30), max_size=2).map(tuple),
        share_read=st.none() | st.floats(0, 1),
    ),
    st.integers(1, 220),
)
def test_the_line_never_overflows(state: StatusState, width: int) -> None:
    segments = status_spans(state, width)
    assert sum(cell_len(segment.text) for segment in segments) <= width
    assert segments[0].role == "heading"


class StatusScreen(Screen[None]):
    toggled = 0

    def compose(self) -> ComposeResult:
        yield StatusLine()

    def action_toggle_specials(self) -> None:
        self.toggled += 1


class StatusApp(App[None]):
    def get_default_screen(self) -> StatusScreen:
        return StatusScreen()


async def test_a_click_on_specials_asks_to_toggle_them() -> None:
    app = StatusApp()
    async with app.run_test(size=(120, 3)) as pilot:
        status = app.query_one(StatusLine)
        status.show(USUAL)
        assert "Lossless: the tokens decode to the same bytes" in str(status.tooltip)
        x = status.text.index("special tokens") + 1
        await pilot.click(StatusLine, offset=(x, 0))
        await pilot.click(StatusLine, offset=(x + 3, 0))
        await pilot.click(StatusLine, offset=(3, 0))
        screen = app.screen
        assert isinstance(screen, StatusScreen) and screen.toggled == 2


async def test_the_same_numbers_draw_nothing() -> None:
    app = StatusApp()
    async with app.run_test(size=(40, 3)) as pilot:
        status = app.query_one(StatusLine)
        status.show(USUAL)
        await pilot.pause()
        drawn = []
        status.refresh = lambda *args, **kwargs: drawn.append(args)  # type: ignore[method-assign]
        status.show(StatusState(tokens=311, chars=707, bytes=823, seconds=0.0009))
        assert drawn == []
        status.show(StatusState(tokens=312, chars=707, bytes=823))
        assert len(drawn) == 1


def test_ids_in_place_of_a_text_are_offered_to_be_decoded() -> None:
    state = USUAL._replace(ids=IdsNote(2, "Alt+D"))
    assert line(state, 200).endswith("· 2 token ids? Alt+D decodes")
    assert line(state, 40).endswith("· Alt+D decodes")
