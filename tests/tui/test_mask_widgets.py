"""Widgets that show tokens with their mask, and their functions."""

from __future__ import annotations

import itertools
import random
from array import array
from bisect import bisect_right
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.widget import Widget

import tokviz
from tokviz.chat.conversation import Conversation
from tokviz.chat.render import Rendering, render
from tokviz.text.glyphs import token_label
from tokviz.tui.palette import token_palette
from tokviz.tui.themes import THEMES
from tokviz.tui.widgets.mask.base import LEARNED, SPECIAL, MaskStyles, MaskTokenPicked
from tokviz.tui.widgets.mask.counts import (
    byte_of_token,
    part_counts,
    percent,
    token_at_byte,
    virtual_sentence,
)
from tokviz.tui.widgets.mask.flow import FlowLayout, MaskFlow
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
    """Return the runs of tokens of one message, given the message of each token."""
    ends = list(accumulate(len(list(group)) for _, group in itertools.groupby(column)))
    return [(column[a], a, b) for a, b in itertools.pairwise([0, *ends])]


def broken(cells: list[tuple[str, int]], width: int) -> list[int]:
    """Break tokens into rows one by one."""
    stops: list[int] = []
    used = 0
    for number, (_, size) in enumerate(cells):
        if used and (cells[number - 1][0].endswith("⏎") or used + size > width):
            stops.append(number)
            used = 0
        used += size + 1
    return [*stops, len(cells)] if cells else []


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
    st.sampled_from(["", "e⏎"]),
)
def test_after_every_change_rows_are_those_of_a_new_layout(
    changes: list[tuple[list[int], int]], width: int, label: str
) -> None:
    labels = ["a", "bb", "c⏎", "dddd", label, "世"]
    layout, ids = FlowLayout(), array("I", [1, 0])
    for inserted, place in changes:
        cut = place * len(ids) // 2
        ids = ids[:cut] + array("I", inserted) + ids[cut + place :]
        drawn = [(labels[n], cell_len(labels[n])) for n in ids]
        layout.lay_out(ids, [(0, 0, len(ids))], width, lambda a, b, drawn=drawn: drawn[a:b])  # type: ignore[misc]
        rows = [layout.row(number).stop for number in range(layout.n_rows)]
        assert rows == broken(drawn, width)


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
    assert "they get made-up ids after its last one" in sentence


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


async def test_n_and_p_go_to_the_starts_of_runs_in_the_loss_also_from_within_one() -> None:
    found = rendering()
    starts = [i for i, learned in enumerate(found.mask) if learned and not found.mask[i - 1]]
    first, second = starts[:2]
    assert found.mask[first + 1] and found.mask[second + 1], "both runs are long enough"
    flow = MaskFlow(PALETTE)
    app = MaskApp(flow)
    async with app.run_test(size=(40, 30)) as pilot:
        flow.focus()
        for pin, key, wanted in (
            (first + 1, "p", first),
            (first + 1, "n", second),
            (first, "n", second),
            (second, "p", first),
            (second + 1, "p", second),
        ):
            flow.show(found, pin=pin)
            await pilot.press(key)
            assert app.picked[-1] == wanted
        app.picked.clear()
        flow.show(found, pin=first)
        await pilot.press("p")
        flow.show(found, pin=starts[-1])
        await pilot.press("n")
        assert app.picked == [], "there is no run before the first or after the last"


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
