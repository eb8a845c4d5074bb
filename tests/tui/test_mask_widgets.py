"""The widgets that show tokens with their mask, and the functions they are made of."""

from __future__ import annotations

import itertools
import random
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.widget import Widget

import tokviz
from tests.tui.waiting import until
from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import Message
from tokviz.chat.render import render
from tokviz.chat.rendering import Rendering
from tokviz.text.glyphs import token_label
from tokviz.tui.palette import token_palette
from tokviz.tui.themes import THEMES
from tokviz.tui.widgets.mask import counts as mask_counts
from tokviz.tui.widgets.mask import flow_layout
from tokviz.tui.widgets.mask.base import MaskTokenPicked
from tokviz.tui.widgets.mask.counts import (
    byte_of_token,
    part_counts,
    percent,
    token_at_byte,
    virtual_sentence,
)
from tokviz.tui.widgets.mask.flow import MaskFlow
from tokviz.tui.widgets.mask.flow_layout import FlowLayout, break_tokens
from tokviz.tui.widgets.mask.look import LEARNED, SPECIAL, MaskStyles
from tokviz.tui.widgets.mask.rows import MaskRows
from tokviz.tui.widgets.mask.why import reason_words, why_content

CHAT = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Compute 2+2, 世界\nplease"},
        {
            "role": "assistant",
            "content": [
                {"type": "python", "text": "2+2"},
                {"type": "python_output", "text": "4"},
                {"type": "text", "text": "It is 4."},
            ],
        },
    ]
}


def rendering(max_tokens: int = 2048) -> Rendering:
    return render(tokviz.load("gpt2"), Conversation.from_json(CHAT), "nanochat", max_tokens)


# -- layout


def stretches(column: list[int]) -> list[tuple[int, int, int]]:
    """Give the stretches of one message: the message of each token is known."""
    ends = list(accumulate(len(list(group)) for _, group in itertools.groupby(column)))
    return [(column[a], a, b) for a, b in itertools.pairwise([0, *ends])]


@given(
    st.lists(st.tuples(st.sampled_from(["a", "bb", "ccc⏎", "dddddddd"]), st.just(0)), max_size=40),
    st.integers(1, 20),
)
def test_broken_tokens_fit_and_tile(drawn: list[tuple[str, int]], width: int) -> None:
    cells = [(text, len(text)) for text, _ in drawn]
    start = 0
    for stop in break_tokens(cells, width):
        assert stop > start
        row = cells[start:stop]
        assert len(row) == 1 or sum(n for _, n in row) + len(row) - 1 <= width
        assert not any(text.endswith("⏎") for text, _ in row[:-1])
        start = stop
    assert start == len(cells)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=80), st.integers(4, 30))
def test_every_token_is_found_in_its_row(column: list[int], width: int) -> None:
    layout = FlowLayout()
    ids = array("I", range(len(column)))
    layout.lay_out(ids, stretches(column), width, lambda a, b: [("ab", 2)] * (b - a))
    for index in range(len(column)):
        row = layout.row(layout.row_of(index))
        assert row.first <= index < row.stop
        assert row.message == column[index]


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 5), max_size=40), st.integers(0, 2)),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 12),
    st.integers(1, 8),
    st.sampled_from(["", "e⏎"]),
)
def test_after_every_change_rows_are_those_of_a_new_layout(
    changes: list[tuple[list[int], int]], width: int, at_once: int, label: str
) -> None:
    labels = ["a", "bb", "c⏎", "dddd", label, "世"]
    layout, ids = FlowLayout(), array("I", [1, 0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_layout, "_AT_ONCE", at_once)
        patch.setattr(flow_layout, "_MOST_AT_ONCE", 2 * at_once)
        for inserted, place in changes:
            cut = place * len(ids) // 2
            ids = ids[:cut] + array("I", inserted) + ids[cut + place :]
            drawn = [(labels[n], cell_len(labels[n])) for n in ids]
            layout.lay_out(ids, [(0, 0, len(ids))], width, lambda a, b, drawn=drawn: drawn[a:b])  # type: ignore[misc]
            rows = [layout.row(number).stop for number in range(layout.n_rows)]
            assert rows == break_tokens(drawn, width)


MESSAGES = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=12), max_size=5)


@given(st.lists(MESSAGES, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_messages_that_come_go_and_move_are_laid_out_as_anew(
    conversations: list[list[list[int]]], rng: random.Random
) -> None:
    labels = ["a", "bb", "c⏎", "dddd", "", "世"]
    layout, messages = FlowLayout(), list[list[int]]()
    for more in conversations:
        messages = [*messages, *more]
        rng.shuffle(messages)
        for message in messages[len(more) :]:
            message.insert(rng.randint(0, len(message)), rng.randint(0, 5))
        for made in (messages, messages[1:], messages[:-1], messages):
            ids = array("I", itertools.chain.from_iterable(made))
            column = [number for number, message in enumerate(made) for _ in message]
            drawn = [(labels[n], cell_len(labels[n])) for n in ids]
            new = FlowLayout()
            for one in (layout, new):
                one.lay_out(ids, stretches(column), 9, lambda a, b, drawn=drawn: drawn[a:b])  # type: ignore[misc]
            assert layout.n_rows == new.n_rows
            assert [*map(layout.row, range(new.n_rows))] == [*map(new.row, range(new.n_rows))]


@given(MESSAGES.filter(len), st.integers(1, 12), st.integers(1, 4))
def test_tokens_that_are_laid_out_in_slices_get_the_same_rows(
    messages: list[list[int]], width: int, at_once: int
) -> None:
    labels = ["a", "bb", "c⏎", "dddd", "", "世"]
    ids = array("I", itertools.chain.from_iterable(messages))
    whose = stretches([number for number, message in enumerate(messages) for _ in message])
    drawn = [(labels[n], cell_len(labels[n])) for n in ids]
    whole, sliced, slices = FlowLayout(), FlowLayout(), [0]
    whole.lay_out(ids, whose, width, lambda a, b: drawn[a:b])
    rows = [*map(whole.row, range(whole.n_rows))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_layout, "_AT_ONCE", at_once)
        patch.setattr(flow_layout, "_MOST_AT_ONCE", at_once)
        while not sliced.lay_out(ids, whose, width, lambda a, b: drawn[a:b], -1.0):
            slices.append(sliced.n_tokens)
            known = [*map(sliced.row, range(sliced.n_rows))]
            assert known[:-1] == rows[: len(known) - 1], "more may stand in the last one"
            assert slices[-1] > slices[-2]
    assert [*map(sliced.row, range(sliced.n_rows))] == rows


@given(st.lists(st.tuples(MESSAGES, st.integers(0, 4)), min_size=1, max_size=5), st.data())
def test_tokens_that_change_while_they_are_laid_out_get_the_rows_of_new_ones(
    states: list[tuple[list[list[int]], int]], data: st.DataObject
) -> None:
    labels = ["a", "bb", "c⏎", "dddd", "", "世"]
    layout, width = FlowLayout(), 9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_layout, "_AT_ONCE", 2)
        patch.setattr(flow_layout, "_MOST_AT_ONCE", 2)
        for messages, n_slices in states:
            ids = array("I", itertools.chain.from_iterable(messages))
            whose = stretches([number for number, message in enumerate(messages) for _ in message])
            drawn = [(labels[n], cell_len(labels[n])) for n in ids]
            width = data.draw(st.sampled_from([width, width, 5]))

            def cells(first: int, stop: int, drawn: Any = drawn) -> list[tuple[str, int]]:
                return drawn[first:stop]  # type: ignore[no-any-return]

            for _ in range(n_slices):
                layout.lay_out(ids, whose, width, cells, -1.0)
        while not layout.lay_out(ids, whose, width, cells, -1.0):
            pass
    fresh = FlowLayout()
    fresh.lay_out(ids, whose, width, cells)
    assert [*map(layout.row, range(layout.n_rows))] == [*map(fresh.row, range(fresh.n_rows))]
    assert layout.n_tokens == len(ids)


def test_what_goes_on_does_not_begin_with_a_look_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, look = list[int](), flow_layout._n_unmoved

    def counting(*how: Any) -> tuple[int, int]:
        looks.append(1)
        return look(*how)

    monkeypatch.setattr(flow_layout, "_n_unmoved", counting)
    layout, ids = FlowLayout(), array("I", range(1_000))
    whose = [(message, message * 10, message * 10 + 10) for message in range(100)]
    n_slices = 1
    # Two numbers as large as this are equal, but not the same object.
    while not layout.lay_out(ids, whose, int("1000"), lambda a, b: [("ab", 2)] * (b - a), -1.0):
        n_slices += 1
    assert n_slices > 50
    assert len(looks) == 1


def test_a_key_in_a_long_message_lays_out_a_few_tokens_and_keeps_one_layout() -> None:
    asked = 0

    def cells(first: int, stop: int) -> list[tuple[str, int]]:
        nonlocal asked
        asked += stop - first
        return [("end⏎", 4) if n % 40 == 0 else ("word", 4) for n in ids[first:stop]]

    layout, ids = FlowLayout(), array("I", range(100_000))
    for number in range(20):
        layout.lay_out(ids, [(0, 0, len(ids))], 80, cells)
        if number == 0:
            asked = 0
        ids = array("I", [*ids[:50_000], 7, *ids[50_000:]])
    assert asked < 20 * 2_000
    assert len(layout._stops) == 1


# -- counts and words


@pytest.mark.parametrize("part_chars", [3, 4_096])
def test_tokens_are_found_by_their_bytes_as_by_walking(
    part_chars: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokviz.chat.caching_encoder._PART_CHARS", part_chars)
    found = rendering()
    counts = part_counts(found)
    for (message, part), runs in counts.spans.items():
        own = [
            i
            for i in range(len(found))
            if (found.message_of[i], found.part_of[i]) == (message, part)
            and not found.from_structure[i]
        ]
        assert own == [i for run in runs for i in range(run.first, run.last)]
        ends = list(accumulate(len(found.token_bytes(index)) for index in own))
        for offset in range(ends[-1] + 2 if ends else 1):
            wanted = own[min(bisect_right(ends, offset), len(own) - 1)] if own else None
            assert token_at_byte(found, counts, message, part, offset) == wanted
        for index, start in zip(own, [0, *ends], strict=False):
            assert byte_of_token(found, counts, index) == start


def test_few_tokens_of_a_long_message_are_measured_to_find_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "".join(f"Some words, and {number} of them.\n" for number in range(10_000))
    found = render(tokviz.load("gpt2"), Conversation((Message("user", text),)), "chatml")
    counts, measured, sizes = part_counts(found), list[int](), mask_counts._sizes

    def measuring(tokens: Rendering, first: int, last: int) -> Iterator[int]:
        for size in sizes(tokens, first, last):
            measured.append(size)
            yield size

    monkeypatch.setattr(mask_counts, "_sizes", measuring)
    for offset in (0, 150_000, len(text) - 1):
        index = token_at_byte(found, counts, 0, 0, offset)
        assert index is not None
        assert byte_of_token(found, counts, index) <= offset
    assert len(measured) < 3 * 2 * 5_000


def test_counts_by_part_are_those_of_a_plain_count() -> None:
    found = rendering(max_tokens=25)
    counts = part_counts(found)
    for (message, part), count in counts.by_part.items():
        own = [
            i
            for i in range(found.n_kept)
            if (found.message_of[i], found.part_of[i]) == (message, part)
        ]
        assert count == (len(own), sum(found.mask[i] for i in own))
    assert sum(count.tokens for count in counts.by_message.values()) == found.n_kept
    assert sum(count.learned for count in counts.by_message.values()) == found.n_learned


def test_a_share_is_not_rounded_to_all_or_nothing() -> None:
    assert percent(0.99996) != "100 %"
    assert percent(0.0001) != "0 %"
    assert (percent(1e-7), percent(1 - 1e-7)) == ("< 0.01 %", "> 99.99 %")


def test_virtual_specials_are_named() -> None:
    sentence = virtual_sentence(rendering())
    assert "<|assistant_end|>" in sentence
    assert "they get the ids after its last" in sentence


def test_every_token_has_a_reason_in_words() -> None:
    found = rendering(max_tokens=25)
    roles = ["system", "user", "assistant"]
    for index in range(len(found)):
        text = why_content(found, index, roles, 60).plain
        assert f"#{index} " in text
        assert ("● learned" in text) == bool(found.mask[index])
        assert reason_words(found, index)
    assert "cursor keys" in why_content(found, None, roles, 60).plain
    assert "cursor keys" in why_content(found, 9999, roles, 60).plain


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("colours", ["truecolor", "256", "standard", None])
def test_learned_is_never_told_by_colour_alone(theme: str, colours: str | None) -> None:
    styles = MaskStyles(
        token_palette(theme, colours, colours is None),
        token_palette(theme, colours, colours is None).base,
    )
    for special in (0, SPECIAL):
        learned, other = styles[LEARNED | special], styles[special]
        assert learned.underline and learned.bold
        assert not other.underline


# -- widgets


class MaskApp(App[None]):
    def __init__(self, shown: Widget) -> None:
        super().__init__()
        self.shown = shown
        self.picked: list[int] = []
        self.entered = 0

    def compose(self) -> ComposeResult:
        yield self.shown

    def on_mask_token_picked(self, event: MaskTokenPicked) -> None:
        self.picked.append(event.index)

    def on_mask_view_entered(self) -> None:
        self.entered += 1


def lines(app: App[None]) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


PALETTE = token_palette("tokviz-dark", "truecolor", False)


async def test_the_flow_shows_every_token_once_and_in_order() -> None:
    flow = MaskFlow(PALETTE)
    app = MaskApp(flow)
    async with app.run_test(size=(40, 30)) as pilot:
        found = rendering()
        flow.show(found)
        await pilot.pause()
        shown = " ".join(line[2:].strip(" ") for line in lines(app)).split()
        labels = [token_label(found.token_bytes(i)) for i in range(len(found))]
        words = " ".join(labels).split()
        assert [word for word in shown if word in words] == words


async def test_other_colours_are_drawn_however_often_they_change() -> None:
    flow = MaskFlow(PALETTE)
    async with MaskApp(flow).run_test(size=(40, 30)):
        flow.show(rendering())
        for theme in [*THEMES] * 5:
            flow.set_palette(token_palette(theme, "truecolor", False))
            drawn = {segment.style for segment in flow.render_line(0)}
            styles = flow.styles_of
            assert drawn <= {styles.base, styles.muted, *styles.values()}


async def test_rows_that_are_kept_are_drawn_as_anew_whatever_is_marked() -> None:
    flow = MaskFlow(PALETTE)
    async with MaskApp(flow).run_test(size=(40, 30)):
        for found in (rendering(), rendering(max_tokens=25)):
            flow.show(found)
            for pin, hover in itertools.product((None, 0, 1, 24, len(found) - 1), repeat=2):
                flow.set_pin(pin)
                flow.hover(hover)
                kept = [flow.render_line(y) for y in range(30)]
                flow._strips.clear()
                assert kept == [flow.render_line(y) for y in range(30)]


async def test_ids_are_shown_as_numbers() -> None:
    flow = MaskFlow(PALETTE, "ids")
    app = MaskApp(flow)
    async with app.run_test(size=(40, 30)) as pilot:
        found = rendering()
        flow.show(found)
        await pilot.pause()
        text = " ".join(line[2:] for line in lines(app))
        for token_id in found.ids:
            assert str(token_id) in text


async def test_keys_and_clicks_choose_tokens() -> None:
    flow = MaskFlow(PALETTE)
    app = MaskApp(flow)
    async with app.run_test(size=(40, 30)) as pilot:
        flow.show(rendering())
        flow.focus()
        await pilot.press("right", "right", "end", "home", "n")
        last = flow.n_tokens - 1
        first_learned = rendering().mask.index(1)
        assert app.picked == [0, 1, last, 0, first_learned]
        await pilot.click(offset=(3, 0))
        assert app.picked[-1] == 0


@pytest.mark.parametrize("key", ["up", "down", "pageup", "pagedown", "left", "right", "enter"])
async def test_without_a_chosen_token_a_key_chooses_the_first_one_in_view(key: str) -> None:
    rows = MaskRows(PALETTE, "mask", lambda index: "")
    app = MaskApp(rows)
    async with app.run_test(size=(40, 5)) as pilot:
        rows.show(rendering())
        rows.focus()
        rows.scroll_to(y=4, animate=False)
        await pilot.pause()
        await pilot.press(key)
        assert app.picked == [rows.row_tokens(4).start] == [3]


async def test_without_tokens_no_key_chooses_any() -> None:
    rows = MaskRows(PALETTE, "mask", lambda index: "")
    app = MaskApp(rows)
    async with app.run_test(size=(40, 5)) as pilot:
        rows.show(None)
        rows.focus()
        await pilot.press("up", "down", "pagedown", "left", "right", "home", "end", "n", "enter")
        assert app.picked == []


async def test_keys_move_by_rows_and_stop_at_the_ends() -> None:
    rows = MaskRows(PALETTE, "mask", lambda index: "")
    app = MaskApp(rows)
    async with app.run_test(size=(40, 5)) as pilot:
        rows.show(rendering())
        rows.focus()
        last = rows.n_tokens - 1
        await pilot.press("home", "down", "pagedown", "up", "end", "down", "pagedown")
        assert app.picked == [0, 1, 5, 4, last, last, last]


@pytest.mark.parametrize("going", ["nowhere", "end", "message"])
async def test_the_end_of_many_tokens_comes_later_or_when_somebody_goes_there(
    going: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_layout, "_AT_ONCE", 8)
    monkeypatch.setattr(flow_layout, "_MOST_AT_ONCE", 8)
    monkeypatch.setattr("tokviz.tui.widgets.mask.flow._SLICE_SECONDS", -1.0)
    if going != "nowhere":
        monkeypatch.setattr("tokviz.tui.widgets.mask.flow._REST_SECONDS", 3600.0)
    flow = MaskFlow(PALETTE)
    async with MaskApp(flow).run_test(size=(12, 6)) as pilot:
        found = rendering()
        flow.show(found)
        assert flow._layout.n_tokens < len(found)
        if going == "end":
            flow.focus()
            await pilot.press("end")
        elif going == "message":
            flow.show_message(found.stretches[-1][0])
        await until(pilot, lambda: flow._layout.n_tokens == len(found))
        assert flow.row_tokens(flow._layout.n_rows - 1).stop == len(found)
        await pilot.pause()
        assert (flow.top_row > 0) == (going != "nowhere")


async def test_tokens_that_are_laid_out_anew_in_slices_stay_where_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flow_layout, "_AT_ONCE", 2)
    monkeypatch.setattr(flow_layout, "_MOST_AT_ONCE", 2)
    monkeypatch.setattr("tokviz.tui.widgets.mask.flow._SLICE_SECONDS", -1.0)
    monkeypatch.setattr("tokviz.tui.widgets.mask.flow._REST_SECONDS", 3600.0)
    flow = MaskFlow(PALETTE)
    async with MaskApp(flow).run_test(size=(12, 4)) as pilot:
        flow.show(rendering())
        flow.focus()
        await pilot.press("end")
        await pilot.pause()
        top = flow.top_row
        flow.scroll_to(y=top - 4, animate=False, force=True)
        flow.forget()
        flow.sync()
        await pilot.pause()
        assert flow.top_row == top - 4 > 0
        waiting = flow._goes_on
        assert waiting is not None, "the rest comes later"
        flow.sync()
        assert flow._goes_on is not waiting, "and once, however many keys came meanwhile"
        assert waiting._task is None


async def test_keys_move_by_rows_where_there_is_no_room_to_draw_any() -> None:
    flow = MaskFlow(PALETTE)
    app = MaskApp(flow)
    async with app.run_test(size=(40, 30)) as pilot:
        flow.focus()
        flow.styles.height = 0
        await pilot.pause()
        flow.show(rendering(), pin=0)
        await pilot.press("pagedown", "pageup")
        assert app.picked[-1:] == [0]


async def test_a_second_click_goes_to_the_message_of_the_token() -> None:
    rows = MaskRows(PALETTE, "mask", lambda index: "")
    app = MaskApp(rows)
    async with app.run_test(size=(40, 5)) as pilot:
        rows.show(rendering())
        await pilot.pause()
        await pilot.click(offset=(6, 2))
        assert (app.picked, app.entered) == ([1], 0)
        await pilot.click(offset=(6, 2), times=2)
        assert app.entered == 1


async def test_targets_are_shifted_by_one() -> None:
    rows = MaskRows(PALETTE, "targets", lambda index: "")
    app = MaskApp(rows)
    async with app.run_test(size=(60, 60)) as pilot:
        found = rendering()
        rows.show(found)
        await pilot.pause()
        shown = lines(app)[1:]
        for position in range(found.n_kept - 1):
            line = shown[position]
            seen, target = line.split("→")
            assert seen.split()[0] == str(position)
            assert token_label(found.token_bytes(position)) in seen
            assert token_label(found.token_bytes(position + 1)) in target
            assert ("● learned" in target) == bool(found.mask[position + 1])


async def test_targets_end_where_the_rendering_is_cut() -> None:
    rows = MaskRows(PALETTE, "targets", lambda index: "")
    app = MaskApp(rows)
    async with app.run_test(size=(60, 60)) as pilot:
        rows.show(rendering(max_tokens=10))
        await pilot.pause()
        assert sum("→" in line for line in lines(app)[1:]) == 9


async def test_the_mask_list_marks_what_is_learned_and_what_is_cut() -> None:
    found = rendering(max_tokens=24)
    rows = MaskRows(PALETTE, "mask", lambda index: reason_words(found, index))
    app = MaskApp(rows)
    async with app.run_test(size=(60, 60)) as pilot:
        rows.show(found)
        await pilot.pause()
        shown = lines(app)[1:]
        for index in range(len(found)):
            sign = "✂" if index >= 24 else "●" if found.mask[index] else "○"
            assert shown[index].split()[1] == sign


async def test_the_mark_of_the_pointer_does_not_go_to_another_token() -> None:
    flow = MaskFlow(PALETTE)
    app = MaskApp(flow)
    async with app.run_test(size=(40, 30)) as pilot:
        flow.show(rendering())
        await pilot.pause()
        await pilot.hover(MaskFlow, offset=(4, 1))
        assert flow._hover is not None
        flow.show(rendering(2047))
        assert flow._hover is None
