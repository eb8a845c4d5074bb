from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from textual.app import App, ComposeResult

import tokviz
from tests.oracles.bpe import encode_by_merges
from tokviz.guide.lessons import lessons
from tokviz.training.replay.reference_training import newest_training
from tokviz.training.replay.replay import Replay
from tokviz.training.run_library import runs_folder
from tokviz.training.settings import SpecialIds
from tokviz.tui.palette import token_palette
from tokviz.tui.screens.replay.card import (
    card_rows,
    merge_rows,
    merge_text,
    paint_candidate,
    paint_merge,
)
from tokviz.tui.screens.replay.comparison import nothing_rows
from tokviz.tui.screens.replay.merge_frame import (
    corpus_rows,
    draw,
    lit_stretches,
    make_frame,
    merged,
)
from tokviz.tui.screens.replay.panels import CorpusSide
from tokviz.tui.screens.replay.position import (
    FRAMES_SHOWN_UP_TO,
    SPEEDS,
    START,
    Player,
    Position,
    clamped,
    frame_back,
    frame_on,
)
from tokviz.tui.screens.replay.searching import MergesPanel
from tokviz.tui.screens.replay.state import (
    Opened,
    ReplayState,
    Source,
    open_source,
    source_at_hand,
    source_named,
    spread,
)
from tokviz.tui.screens.replay.transport import status_items, transport_items
from tokviz.tui.widgets.card_rows import tree_rows
from tokviz.tui.widgets.cursor_curve import Curve
from tokviz.tui.widgets.spans import Highlight, Row, RunAction, Span, ToMerge


@pytest.fixture(scope="module")
def tiny() -> Replay:
    return Replay.open(tokviz.train(["abababcb"], 259, split_pattern="none"))


def texts(rows: list[Row]) -> list[str]:
    return ["".join(span.text for span in row).rstrip() for row in rows]


# -- positions


def test_every_merge_has_two_frames_forth_and_back() -> None:
    position, forth = START, [START]
    while (after := frame_on(position, 2)) != position:
        position = after
        forth.append(position)
    assert forth == [
        Position(0),
        Position(1, False),
        Position(1),
        Position(2, False),
        Position(2),
    ]
    back = [position]
    while (before := frame_back(position)) != position:
        position = before
        back.append(position)
    assert back == forth[::-1]


def test_numbers_beyond_the_ends_are_the_ends() -> None:
    assert clamped(-3, 5) == Position(0)
    assert clamped(9, 5, merged=False) == Position(5, False)
    assert clamped(0, 5, merged=False) == Position(0), "there is no pair before the first merge"


def test_a_player_begins_at_once_and_stops_at_the_end() -> None:
    player = Player()
    player.start()
    assert player.advance(START, 0.0, 9) == Position(1, False)
    assert player.advance(Position(1, False), 0.5, 9) == Position(1)
    assert player.advance(Position(1), 0.1, 9) == Position(1)
    assert player.advance(Position(9, False), 0.5, 9) == Position(9)
    assert player.advance(Position(9), 60.0, 9) == Position(9)


def test_frames_that_are_meant_to_be_seen_are_never_left_out_however_busy_the_app_was() -> None:
    player = Player(speed=FRAMES_SHOWN_UP_TO)
    player.start()
    assert player.advance(START, 60.0, 9) == Position(1, False)
    assert player.advance(Position(1, False), 60.05, 9) == Position(1)
    assert player.advance(Position(1), 0.05, 9) == Position(1), "what came late is not made up for"


def test_a_fast_player_leaves_out_the_frames_that_nobody_could_see() -> None:
    player = Player(speed=64.0)
    assert player.advance(START, 0.5, 1000) == Position(32)
    assert player.advance(Position(32), 1 / 128, 1000) == Position(32), "half a merge is owed"
    assert player.advance(Position(32), 1 / 128, 1000) == Position(33)


def test_what_is_read_holds_a_player_for_as_long() -> None:
    player = Player()
    player.start()
    player.hold(3.0)
    assert player.advance(START, 2.9, 9) == START
    assert player.advance(START, 0.2, 9) == Position(1, False)


def test_speeds_stop_at_the_ends() -> None:
    player = Player(speed=SPEEDS[0])
    assert not player.faster(-1) and player.faster(1) and player.speed == SPEEDS[1]
    player.speed = SPEEDS[-1]
    assert not player.faster(1)


# -- frames


def test_borders_that_a_merge_takes_away_are_lit_up() -> None:
    starts, middles, ends = lit_stretches(np.array([1, 2, 3, 4, 5]), np.array([2, 3, 5]))
    assert (starts.tolist(), middles.tolist(), ends.tolist()) == ([0, 3], [1, 4], [2, 5])
    nothing = lit_stretches(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert [len(places) for places in nothing] == [0, 0, 0]


def test_pairs_are_merged_from_the_left() -> None:
    assert merged([1, 1, 1, 1, 1], (1, 1, 9)) == [9, 9, 1]
    assert merged([], (1, 1, 9)) == []


@pytest.mark.parametrize("number", range(4))
def test_a_frame_shows_the_states_before_and_after_a_merge(tiny: Replay, number: int) -> None:
    def encode(text: bytes, k: int) -> list[int | None]:
        tokens = encode_by_merges(text, tiny.tokenizer.merges[:k])
        return [tiny.tokenizer.token_id(token) for token in tokens]

    frame = make_frame(tiny, number, tiny.text("abab"), 7)
    (pre_token,) = frame.pre_tokens
    assert list(pre_token.before) == encode(b"abababcb", max(number - 1, 0))
    assert list(pre_token.after) == encode(b"abababcb", number)
    assert frame.own is not None and frame.revision == 7
    assert frame.own.after.ids.tolist() == encode(b"abab", number)
    assert sum(row.pair.is_next for row in frame.candidates) == 1


def test_candidates_know_the_merge_that_takes_them(tiny: Replay) -> None:
    frame = make_frame(tiny, 1, None, 0)
    shown = {
        (row.pair.left, row.pair.right): (row.pair.count, row.number) for row in frame.candidates
    }
    assert shown[b"a", b"b"] == (3, 1)
    assert shown[b"b", b"a"] == (2, None)


def test_the_pre_tokens_of_a_large_corpus_that_change_come_first() -> None:
    run = tokviz.train(["the theme of " * 50, *(f"word{i} " for i in range(900))], 300)
    replay = Replay.open(run)
    assert not replay.is_tiny
    frame = make_frame(replay, 5, None, 0)
    assert frame.changed and all(pre_token.is_changed for pre_token in frame.changed)
    counts = [pre_token.count for pre_token in frame.changed]
    assert counts == sorted(counts, reverse=True)


def test_without_counts_there_is_the_text_alone() -> None:
    replay = Replay.open("gpt2")
    frame = make_frame(replay, 1, replay.text(" the"), 0)
    assert (frame.candidates, frame.pre_tokens, frame.changed) == ((), (), ())
    assert frame.own is not None
    assert len(frame.own.before.ids) - len(frame.own.after.ids) == 1


# -- what is said


def test_a_tiny_corpus_is_drawn_as_textbooks_do(tiny: Replay) -> None:
    ladder = draw(tiny)
    assert ladder is not None
    assert texts(ladder.rows(Position(3), 60)) == [
        "  0          a b a b a b c b",
        "  1  ab      ab ab ab c b",
        "  2  abab    abab ab c b",
        "▸ 3  ababab  ababab c b",
    ]
    rows = ladder.rows(Position(2, False), 60)
    assert texts(rows)[-1] == "▸ 1  ab      ab ab ab c b"
    assert [span.text for span in rows[-1] if span.role in ("left", "right")] == ["ab", "ab"]
    assert [row[0].action for row in rows] == [None, ToMerge(1)]


def test_every_word_of_the_ladder_has_a_column_and_separators_have_none() -> None:
    run = tokviz.train(["low low lower"], 258, split_pattern="whitespace")
    ladder = draw(Replay.open(run))
    assert ladder is not None
    assert texts(ladder.rows(Position(2), 60)) == [
        "  0       2× l o w   l o w e r",
        "  1  lo   2× lo w    lo w e r",
        "▸ 2  low  2× low     low e r",
    ]
    narrow = texts(ladder.rows(Position(1), 24))
    assert narrow == [
        "  0       2× l o w",
        "          l o w e r",
        "▸ 1  lo   2× lo w",
        "          lo w e r",
    ]
    assert all(len(row) <= 12 for row in texts(ladder.rows(Position(2), 12)))


def test_every_distinct_pre_token_is_listed_with_its_count() -> None:
    run = tokviz.train(["low low lower"], 258, split_pattern="whitespace")
    replay = Replay.open(run)
    frame = make_frame(replay, 1, None, 0)
    token = replay.tokenizer.token_bytes
    rows = corpus_rows(frame, Position(1), token, is_whole=True, width=40)
    assert texts(rows) == ["2× lo w", "2× ·", "1× lo w e r"]


def test_a_merge_is_explained_in_words_and_numbers(tiny: Replay) -> None:
    rows = card_rows(tiny.step(2), tiny.why(2).sentences, Position(2), tiny.n_bytes, 200)
    said = " ".join(texts(rows))
    for part in ("ab + ab", "abab", "id 257", "count 2, replaced 1,", "tokens 5 → 4"):
        assert part in said
    assert "more than any" in said and "1 replacement, not 2" in said
    first = texts(card_rows(tiny.step(1), tiny.why(1).sentences, Position(1), tiny.n_bytes, 200))
    assert "count 3," in " ".join(first) and "replace" not in " ".join(first)
    tied = " ".join(
        texts(card_rows(tiny.step(3), tiny.why(3).sentences, Position(3), tiny.n_bytes, 200))
    )
    assert "tie of" in tied and "first" in tied
    start = " ".join(texts(card_rows(None, (), START, tiny.n_bytes, 200)))
    assert "every byte" in start and "8 tokens" in start


def test_a_vocabulary_without_its_corpus_says_so() -> None:
    replay = Replay.open("gpt2")
    said = " ".join(
        texts(card_rows(replay.step(9), replay.why(9).sentences, Position(9), None, 80))
    )
    assert "its count is unknown" in said and "times" not in said


@pytest.mark.parametrize("width", [1, 8, 20, 33, 60, 120])
def test_rows_fit_their_width(tiny: Replay, width: int) -> None:
    frame = make_frame(tiny, 1, None, 0)
    for row in frame.candidates:
        if width >= 33:
            assert sum(len(span.text) for span in paint_candidate(row, width)) <= width
    if width >= 20:
        assert sum(len(span.text) for span in paint_merge(tiny.step(3), width)) <= width


def test_a_lineage_leads_down_to_bytes(tiny: Replay) -> None:
    from tokviz.explain.trace import lineage

    rows = texts(list(tree_rows(lineage(tiny.tokenizer, tiny.step(2).new_id), 40)))
    assert rows == ["abab 257", "└─ ab twice 256", "   ├─ a 97", "   └─ b 98"]


def test_a_merge_is_copied_as_a_line(tiny: Replay) -> None:
    assert merge_text(tiny.step(1)) == "merge 1: b'a' + b'b' -> b'ab', id 256, count 3"


def test_the_transport_says_where_it_is() -> None:
    player = Player(0.5, playing=True)

    def words() -> str:
        return " ".join(span.text for item in transport_items(player) for span in item.spans)

    assert "pause" in words() and "0.5 merges/s" in words()
    player.hold(6.0)
    assert "time to read" in words() and "merges/s" not in words(), "no merge follows for seconds"
    player.advance(START, 12.0, 9)
    assert "0.5 merges/s" in words()
    said = [
        "".join(span.text for span in item.spans)
        for position in (START, Position(3, False), Position(3))
        for item in status_items(position, 9)
    ]
    assert said == ["start", "merge 0 of 9", "before", "merge 3 of 9", "after", "merge 3 of 9"]


# -- curves and sources


def test_curves_are_read_at_points_even_on_both_scales() -> None:
    points = spread(100_000, 50)
    assert points[0] == 0 and points[-1] == 100_000
    assert sum(point <= 1000 for point in points) > 25
    assert max(b - a for a, b in pairwise(points)) <= 100_000 / 49 + 1
    assert spread(0) == [0]


def test_a_run_is_opened_with_its_curves(tmp_path: Path) -> None:
    tokviz.train(["the theme of the thesis " * 40], 270).save(tmp_path / "run")
    opened = open_source(Source("run", str(tmp_path / "run")))
    last = opened.replay.n_merges
    assert [k for k, _ in opened.compression.points] == list(range(last + 1))
    ratio = opened.replay.state(last).bytes_per_token
    assert opened.compression.points[-1][1] == pytest.approx(ratio)
    assert len(opened.counts.points) == last


def test_the_tokenizer_at_hand_is_replayed_with_its_training_if_it_has_one(tmp_path: Path) -> None:
    tokviz.train(["abab" * 9], 258).save(tmp_path / "mine")
    mine = tokviz.load(str(tmp_path / "mine"))
    assert source_at_hand(mine, str(tmp_path / "mine")).opens == str(tmp_path / "mine")
    assert source_at_hand(mine, "gpt2").opens is mine


async def test_merges_that_come_when_their_panel_is_gone_or_not_there_yet_do_no_harm() -> None:
    async with App[None]().run_test():
        panel = MergesPanel(ReplayState(), id="merges-panel")
        panel.show_all()
        assert panel.found is None


async def test_a_ladder_follows_another_replay_while_nothing_of_it_can_be_seen() -> None:
    replay = Replay.open(lessons()["cs336"].ready())
    state = ReplayState(position=Position(1), frame=make_frame(replay, 1, None, 0))
    side = CorpusSide(state, token_palette("tokviz-dark", "truecolor", False), id="side")

    class Hidden(App[None]):
        def compose(self) -> ComposeResult:
            yield side

    async with Hidden().run_test() as pilot:
        side.tokens.show(lambda width: [(), (Span("the", "token"),)])
        side.display = False
        await pilot.pause()
        state.opened = Opened(source_named("x"), replay, Curve(""), Curve(""), draw(replay))
        side.show_frame()
        side.display = True
        await pilot.pause()
        assert "heading" in {row[0].role for row in side.tokens.rows}


def test_a_term_of_the_count_lights_its_word_up_in_the_last_rung() -> None:
    replay = Replay.open(lessons()["cs336"].ready())
    ladder, number = draw(replay), 1
    assert ladder is not None
    frame = make_frame(replay, number, None, 0)
    state = ReplayState(position=Position(number, False), frame=frame)
    state.opened = Opened(source_named("x"), replay, Curve(""), Curve(""), ladder)
    links = {span.action for row in merge_rows(state, 80) for span in row if span.action}
    assert {Highlight(b"newest"), Highlight(b"widest")} <= links
    state.lit = number, b"widest"
    rows = ladder.rows(state.position, 120, state.lit_pre_token)
    roles = {span.text: span.role for span in rows[-1] if span.text.strip()}
    assert (roles["3×"], roles["6×"], roles["l"]) == ("heading", "dim", "dim")
    assert {"left", "right"} <= {span.role for span in rows[-1]}, "its pair is still marked"
    state.position = Position(2)
    assert state.lit_pre_token == b"", "another merge has other terms"
    state.take(state.opened, "")
    state.position = Position(1)
    assert state.lit_pre_token == b"", "another replay too"


@pytest.mark.parametrize("special_ids", ["first", "after-bytes"])
def test_a_vocabulary_without_counts_tells_the_same_step_of_the_newest_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, special_ids: SpecialIds
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    replay = Replay.open("gpt2")
    assert newest_training() is None
    notes = tmp_path / "notes.md"
    notes.write_text("the thin thing " * 9)
    trained = tokviz.train(
        notes, 260, split_pattern="gpt2", special_tokens=["<|x|>"], special_ids=special_ids
    )
    trained.save(runs_folder() / "mine")
    (runs_folder() / "broken").mkdir()
    (runs_folder() / "broken" / "run.json").write_text("{")
    beside = newest_training()
    assert beside is not None
    for number, (left, right) in enumerate(trained.tokenizer.merges, 1):
        _, *said = beside.sentence(number)
        assert (said[0], said[2]) == (left, right)
        assert f"{trained.history.count[number - 1]} times" in said[3]
    frame = make_frame(replay, 1, replay.text("a tree"), 0, beside)
    assert frame.reasons[1][0] == "At this step your training on notes.md merged "
    assert "had ended" in beside.sentence(4)[0]


def test_an_empty_diff_offers_the_choice_to_the_mouse_too() -> None:
    links = [
        span
        for row in nothing_rows(46)
        for span in row
        if span.action == RunAction("screen.compare")
    ]
    assert " ".join(span.text for span in links) == "Press D to choose."
