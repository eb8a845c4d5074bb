from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input

import tokviz
from tests.oracles.bpe import encode_by_merges
from tests.tui.waiting import WAIT, settle, until
from tokviz.live.document import LiveDocument
from tokviz.training.replay.replay import Replay
from tokviz.training.run_library import runs_folder
from tokviz.tui import tasks
from tokviz.tui.actions import LEADER
from tokviz.tui.app import TokvizApp, screen_class
from tokviz.tui.dialogs.ask_text import AskDialog
from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker
from tokviz.tui.dialogs.why import WhyDialog
from tokviz.tui.screens.replay import ReplayScreen
from tokviz.tui.screens.replay import comparing as comparing_module
from tokviz.tui.screens.replay import loader as opening_module
from tokviz.tui.screens.replay import transport as transport_module
from tokviz.tui.screens.replay.merge_frame import Frame, make_frame
from tokviz.tui.screens.replay.position import START, Position
from tokviz.tui.screens.replay.state import source_named
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.screens.train import TrainScreen
from tokviz.tui.widgets.cursor_curve import AXIS_COLUMNS
from tokviz.tui.widgets.editor import TokenEditor
from tokviz.workspace.session import Opened, ReplayRequest, Session, ShowScreen
from tokviz.workspace.settings import Settings


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's folders out of the tests, the desktop's clipboard and the compiler too."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("runs") / "abababcb"
    tokviz.train(["abababcb"], 259, split_pattern="none").save(folder)
    return str(folder)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("runs") / "words"
    texts = ["the theme of the thesis is the theory ", *(f"word{i} item{i} " for i in range(600))]
    tokviz.train(texts, 300).save(folder)
    return str(folder)


def make_app(request: ReplayRequest | None, text: str = "abab the theory") -> TokvizApp:
    settings, first = Settings(tokenizer="gpt2"), request or ShowScreen("replay")
    tokenizer = tokviz.load("gpt2")
    return TokvizApp(Session(Opened(text), tokenizer, settings, remember=False, first=first))


async def opened(pilot: Pilot[None]) -> ReplayScreen:
    await until(pilot, lambda: isinstance(pilot.app.screen, ReplayScreen))
    screen = pilot.app.screen
    assert isinstance(screen, ReplayScreen)
    await until(pilot, lambda: screen.state.frame is not None)
    await settle(pilot)
    return screen


def shown(app: TokvizApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def told(app: TokvizApp) -> str:
    return " ".join(notice.message for notice in app._notifications)


# -- opening


async def test_the_title_follows_a_training_that_is_renamed(tmp_path: Path) -> None:
    run = runs_folder() / "old name"
    tokviz.train(["ab ab cb"], 257, split_pattern="whitespace").save(run)
    app = make_app(ReplayRequest(str(run)))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        assert "old name (1 merge) ▾" in shown(app)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, TokenizerPicker))
        await settle(pilot)
        await pilot.press(*"old name")
        await settle(pilot)
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(app.screen, AskDialog))
        await pilot.press("ctrl+u", *"new", "enter")
        await until(pilot, lambda: isinstance(app.screen, TokenizerPicker))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen))
        await until(pilot, lambda: "old name" not in shown(app))
        assert "new (1 merge)" in shown(app)


@pytest.mark.parametrize(("size", "last"), [((80, 24), "Vocabulary"), ((40, 12), "more ▾")])
async def test_a_long_name_stands_beside_the_screens(size: tuple[int, int], last: str) -> None:
    run = runs_folder() / "-".join(["a", *["very"] * 10, "long name"])
    tokviz.train(["ab ab cb"], 257, split_pattern="whitespace").save(run)
    app = make_app(ReplayRequest(str(run)))
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        title = shown(app).partition("\n")[0]
        assert f"{last}  a-very" in title
        assert "ame ▾" in title


@pytest.mark.parametrize("something_is_shown", [False, True], ids=["empty", "shown"])
async def test_esc_stops_opening_and_what_was_shown_stays(
    tiny: str, words: str, monkeypatch: pytest.MonkeyPatch, something_is_shown: bool
) -> None:
    goes_on, open_source = threading.Event(), opening_module.open_source

    def open_slowly(source: Any) -> Any:
        if source.name == "words":
            goes_on.wait(20)
        return open_source(source)

    told_besides: list[object] = []
    monkeypatch.setattr(opening_module, "open_source", open_slowly)
    monkeypatch.setattr(tasks, "_tell_of", lambda *about: told_besides.append(about))
    app = make_app(ReplayRequest(tiny if something_is_shown else words))
    async with app.run_test(size=(120, 40)) as pilot:
        if something_is_shown:
            await opened(pilot)
            app.session.ask(ReplayRequest(words, 0, "a lesson", lesson="cs336"))
        await until(pilot, lambda: "pening words" in shown(app) and "Esc stops it" in shown(app))
        await pilot.press("escape")
        said = told(app) if something_is_shown else shown(app)
        assert "Stopped opening words." in said
        assert app.screen.state.text == "abab the theory", "the text of a lesson is not begun"
        assert "Esc stops" not in shown(app)
        assert not told_besides, "the screen says so already"
        goes_on.set()
        await settle(pilot)
        opened_now = app.screen.state.opened
        if something_is_shown:
            assert "abababcb (3 merges)" in shown(app)
            assert opened_now.source.name == "abababcb"
        else:
            assert opened_now is None


async def test_a_narrow_title_says_too_that_something_else_is_on_its_way(
    tiny: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, open_source = threading.Event(), opening_module.open_source

    def open_slowly(source: Any) -> Any:
        if source.name == "words":
            goes_on.wait(WAIT)
        return open_source(source)

    monkeypatch.setattr(opening_module, "open_source", open_slowly)
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        app.session.ask(ReplayRequest(words))
        await pilot.pause()
        title = shown(app).partition("\n")[0]
        goes_on.set()
        assert "abababcb" not in title
        assert "opening… ▾" in title
        await until(pilot, lambda: "words" in shown(app).partition("\n")[0])


@pytest.mark.parametrize("screen_id", ["replay", "compare", "vocabulary"])
async def test_a_screen_hears_of_what_the_tokens_screen_does_when_that_has_been_left(
    screen_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, prepare = threading.Event(), LiveDocument.prepare_reading

    def prepare_slowly(*arguments: Any) -> None:
        goes_on.wait(WAIT)
        prepare(*arguments)

    monkeypatch.setattr(LiveDocument, "prepare_reading", prepare_slowly)
    app = make_app(None, text="a<|endoftext|>")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press(LEADER, "1", "f6")
        app.action_show_screen(screen_id)
        await until(pilot, lambda: getattr(app.screen, "SCREEN_ID", "") == screen_id)
        await until(pilot, lambda: app.screen.is_ready)
        heard: list[str] = []
        heeded = type(app.screen).text_changed

        def hear(screen: Any) -> None:
            heard.append(screen.SCREEN_ID)
            heeded(screen)

        monkeypatch.setattr(type(app.screen), "text_changed", hear)
        goes_on.set()
        await until(pilot, lambda: not app.session.live.parse_specials)
        await settle(pilot)
        assert heard == [screen_id]
        if screen_id == "replay":
            await until(pilot, lambda: "specials: text" in shown(app))


async def test_specials_are_read_as_on_the_tokens_screen() -> None:
    app = make_app(ReplayRequest("gpt2"), text="a<|endoftext|>")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "2 tokens · 7.00 bytes/token" in shown(app))
        await pilot.press(LEADER, "1", "f6")
        await until(pilot, lambda: not app.session.live.parse_specials)
        await pilot.press(LEADER, "5")
        # At the start every byte is one.
        await until(pilot, lambda: "14 tokens · specials: text" in shown(app))


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        (150, "13 tokens · merged in 2 places · 1.15 bytes/token"),
        (80, "13 tokens · merged in 2 places"),
        (40, "13 tokens"),
    ],
)
async def test_what_matters_most_of_your_text_stays_where_there_is_little_room(
    columns: int, facts: str
) -> None:
    app = make_app(ReplayRequest("gpt2", at=1))
    async with app.run_test(size=(columns, 24)) as pilot:
        screen = await opened(pilot)
        line = screen.own.head.render_line(0).text
        assert facts in line
        assert f"{facts} ·" not in line


async def test_the_tokenizer_at_hand_is_replayed_where_nothing_is_asked_for() -> None:
    app = make_app(None)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        assert screen.state.replay is not None and screen.state.replay.name == "gpt2"
        assert screen.state.position == START
        assert "50,000 merges" in shown(app)
        await pilot.press("n")
        await settle(pilot)
        text = shown(app)
        assert "in your text" in text, "what the merge does there, as its corpus is not known"
        assert "Made of" in text and "Candidates" not in text


async def test_a_request_is_shown_where_it_says(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny, at=2, text="ababab"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        assert screen.state.position == Position(2)
        text = shown(app)
        assert "merge 2 of 3" in text
        assert "▸ 2  abab    abab ab c b" in text
        assert "2 tokens" in text, "the text that came with the request"


async def test_a_damaged_run_is_a_message_and_the_screen_lives(tiny: str, tmp_path: Path) -> None:
    import shutil

    bad = tmp_path / "bad"
    shutil.copytree(tiny, bad)
    (bad / "history.npz").write_bytes(b"nothing")
    app = make_app(ReplayRequest(str(bad)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "bad cannot be replayed" in shown(app) and "history.npz" in shown(app)
        assert "choose… ▾" in shown(app), "nothing is on its way any more"
        await pilot.press("right", "space", "end", "ctrl+f", "a", "escape")
        damaged = app.screen
        assert isinstance(damaged, ReplayScreen)
        damaged.answer(ReplayRequest(tiny))
        screen = await opened(pilot)
        screen.answer(ReplayRequest(str(bad)))
        await settle(pilot)
        assert screen.state.replay is not None and screen.state.replay.name == tiny, (
            "what is there stays"
        )
        assert "history.npz" in told(app)


async def test_the_newest_choice_wins(tiny: str, words: str) -> None:
    app = make_app(ReplayRequest(words))
    async with app.run_test() as pilot:
        screen = await opened(pilot)
        for name in (tiny, words, tiny):
            screen.answer(ReplayRequest(name, at=1))
        await until(pilot, lambda: screen.opening.pending is None)
        await settle(pilot)
        assert screen.state.replay is not None and screen.state.replay.name == tiny
        assert screen.state.position == Position(1)


async def test_a_source_is_chosen_from_the_list_by_keys_and_by_mouse(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("ctrl+o")
        await settle(pilot)
        assert isinstance(app.screen, TokenizerPicker) and "o200k_base" in shown(app)
        await pilot.press(*"cl100k", "enter")
        await until(pilot, lambda: screen.state.n_merges == 100_000)
        await settle(pilot)
        await pilot.click("#title", offset=(115, 0))
        await settle(pilot)
        app.screen.query_one(Input).value = tiny
        await pilot.press("enter")
        await until(pilot, lambda: screen.state.n_merges == 3)


@pytest.mark.parametrize("key", ["ctrl+t", "d"])
async def test_trainings_are_listed_to_replay_and_to_compare_with(tiny: str, key: str) -> None:
    kept = runs_folder() / "kept"
    tokviz.train(["abab" * 9], 258).save(kept)
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press(key)
        await settle(pilot)
        await pilot.press(*"kept", "enter")
        await settle(pilot)
        if key == "ctrl+t":
            assert screen.state.opened is not None and screen.state.opened.source.name == "kept"
        else:
            assert (
                screen.state.comparison is not None and screen.state.comparison.names[1] == "kept"
            )


def test_nothing_of_the_screen_is_imported_before_it_is_shown() -> None:
    code = "import sys, tokviz.tui.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = set(done.stdout.split())
    assert not {name for name in names if ".replay" in name}
    assert "numpy" not in names


# -- going through the merges


async def test_merges_are_gone_through_by_the_keyboard(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        places = []
        for key in ("right", "right", "right", "n", "p", "left", "end", "right", "home", "left"):
            await pilot.press(key)
            places.append(screen.state.position)
        assert places == [
            Position(1, False),
            Position(1),
            Position(2, False),
            Position(2),
            Position(1),
            Position(1, False),
            Position(3),
            Position(3),
            START,
            START,
        ]
        await pilot.press("pagedown")
        assert screen.state.position == Position(3)
        await settle(pilot)
        assert "ababab c b" in shown(app)


async def test_the_pair_is_lit_up_before_it_is_merged(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny, text="abab"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("right")
        await settle(pilot)
        assert screen.state.frame is not None and screen.state.frame.own is not None
        assert screen.state.frame.own.before.highlight_starts.tolist() == [0, 2]
        roles = [span.role for row in screen.corpus.tokens.rows for span in row]
        assert roles.count("left") == roles.count("right") == 3
        assert "4 tokens" in shown(app) and "before  merge" in shown(app)
        await pilot.press("right")
        await settle(pilot)
        roles = [span.role for row in screen.corpus.tokens.rows for span in row]
        assert roles.count("result") == 3 and "left" not in roles
        assert "2 tokens" in shown(app) and "after  merge" in shown(app)


async def test_it_plays_stops_at_the_end_and_begins_anew(
    tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(transport_module, "monotonic", lambda: now[0])
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("space")
        await until(pilot, lambda: screen.state.position == Position(1, False))
        now[0] += 0.5
        await until(pilot, lambda: screen.state.position == Position(1))
        await pilot.press(*["plus"] * 12)
        assert screen.state.player.speed == 1024 and "1024 merges/s" in shown(app)
        now[0] += 1.0
        await until(pilot, lambda: screen.state.position == Position(3))
        assert not screen.state.player.playing
        await pilot.press("space")
        assert screen.state.player.playing and screen.state.position.number <= 3
        await pilot.press("space")
        assert not screen.state.player.playing


async def test_playing_waits_while_another_screen_is_shown(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("n", "minus", "space", "alt+k")
        await settle(pilot)
        assert isinstance(app.screen, TokensScreen) and not screen.state.player.playing
        await pilot.press("alt+y")
        await settle(pilot)
        assert screen.state.player.playing and screen.state.position.number >= 1
        assert app.screen is screen


async def test_what_is_to_play_waits_until_it_is_seen(
    tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, open_source = threading.Event(), opening_module.open_source

    def open_slowly(source: Any) -> Any:
        goes_on.wait(WAIT)
        return open_source(source)

    monkeypatch.setattr(opening_module, "open_source", open_slowly)
    app = make_app(ReplayRequest(tiny, play=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen))
        await until(pilot, lambda: "pening" in shown(app))
        screen = app.screen
        await pilot.press("alt+k")
        goes_on.set()
        await until(pilot, lambda: screen.state.opened is not None)
        assert not screen.state.player.playing and screen.state.position == START
        await settle(pilot)
        await pilot.press("alt+y")
        await until(pilot, lambda: screen.state.player.playing)


async def test_merges_are_gone_through_by_the_mouse(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.click("#scrubber", offset=(screen.scrubber.size.width - 1, 0))
        assert screen.state.position == Position(3)
        await pilot.press("n")
        await pilot.click("#corpus", offset=(4, 2))
        assert screen.state.position == Position(2, False), "a click on a rung goes to its merge"
        tabs = shown(app).splitlines()
        row = next(y for y, line in enumerate(tabs) if "│ Curves" in line)
        await pilot.click(offset=(tabs[row].index("Merges"), row))
        await settle(pilot)
        await pilot.click("#merges", offset=(5, 0))
        assert screen.state.position == Position(1, False)
        await pilot.click(offset=(tabs[row].index("Curves"), row))
        await settle(pilot)
        await pilot.click("#counts", offset=(screen.curves.counts.size.width - 1, 2))
        assert screen.state.position == Position(3)
        await pilot.click("#counts", offset=(AXIS_COLUMNS, 2))
        assert screen.state.position == START
        await pilot.click(offset=(tabs[row].index("Texts"), row))
        await pilot.press("n")
        await settle(pilot)
        await pilot.click("#corpus", offset=(13, 1))
        assert screen.state.position == Position(1, False), "a click on a token goes to its merge"
        row = shown(app).splitlines()[-3]
        await pilot.click("#transport", offset=(row.index("on ▶"), 0))
        assert screen.state.position == Position(1)


async def test_curves_and_the_line_below_are_logarithmic_only_by_a_labelled_switch(
    words: str,
) -> None:
    app = make_app(ReplayRequest(words, at=20))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)

        def handle() -> int:
            return screen.scrubber.render_line(0).text.index("●")

        linear = round(20 / screen.state.n_merges * (screen.scrubber.size.width - 1))
        assert (screen.state.n_merges, handle()) == (44, linear)
        assert shown(app).count("│ log") + shown(app).count("│log") == 2
        await pilot.press(LEADER, "y")
        await pilot.pause()
        assert handle() > linear and "logarithmic" in shown(app).splitlines()[-3]
        assert app.session.settings.log_scale
        row = next(y for y, line in enumerate(shown(app).splitlines()) if "linear │" in line)
        await pilot.click(offset=(shown(app).splitlines()[row].index("linear │"), row))
        await pilot.pause()
        assert handle() == linear and not app.session.settings.log_scale


async def test_candidates_lead_to_their_merges(words: str) -> None:
    app = make_app(ReplayRequest(words, at=1))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        rows = screen.candidates.rows
        index = next(i for i, row in enumerate(rows) if row.number not in (1, None))
        await pilot.click("#candidates", offset=(4, index + 1))
        assert screen.state.position == Position(rows[index].number, False)
        await settle(pilot)
        last = Position(screen.state.n_merges)
        for widget in [it for it in screen.focus_chain if not isinstance(it, Input)]:
            widget.focus()
            await pilot.press("end")
            assert screen.state.position == last, f"from {widget}"
            await pilot.press("home")
            assert screen.state.position == START, f"from {widget}"
        await pilot.press("end", "ctrl+f", "a", "home", "b")
        assert screen.merges.field.value == "ba" and screen.state.position == last


async def test_a_right_click_on_a_merge_or_a_candidate_asks_why_it_is_a_token(words: str) -> None:
    app = make_app(ReplayRequest(words, at=1))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        rows = screen.candidates.rows
        at, number = next((i, row.number) for i, row in enumerate(rows) if (row.number or 0) > 1)
        await pilot.click("#candidates", offset=(4, at + 1), button=3)
        await asked(pilot, screen, number or 0)
        assert screen.state.number == 1, "what is asked about is not gone to"
        never = next(i for i, row in enumerate(rows) if row.number is None)
        await pilot.click("#candidates", offset=(4, never + 1), button=3)
        await settle(pilot)
        said = [notice.message for notice in app._notifications]
        assert app.screen is screen and said == ["This pair is never merged."]
        await pilot.click("#merges", offset=(4, 4), button=3)
        await asked(pilot, screen, screen.state.number)
        assert screen.state.number != 1


async def asked(pilot: Pilot[None], screen: ReplayScreen, number: int) -> None:
    """Wait until it is answered why the token of a merge is one, and close that."""
    await until(pilot, lambda: isinstance(pilot.app.screen, WhyDialog))
    dialog = pilot.app.screen
    assert isinstance(dialog, WhyDialog) and screen.state.replay is not None
    await until(pilot, lambda: dialog.answers)
    assert dialog.answers[0].tokens[0][1] == screen.state.replay.step(number).new_id
    await pilot.press("escape")
    await settle(pilot)


async def test_what_is_still_worked_out_is_said_to_be(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slow(*wanted: Any) -> Frame:
        go_on.wait(WAIT)
        return make_frame(*wanted)

    monkeypatch.setattr("tokviz.tui.screens.replay.frame_worker.make_frame", slow)
    app = make_app(ReplayRequest(words))
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(2):
            await until(pilot, lambda: shown(app).count(" working… ") == 2)
            go_on.set()
            screen = await opened(pilot)
            await until(pilot, lambda: "working" not in shown(app))
            go_on.clear()
            screen.transport.jump_to(9)
        go_on.set()


async def test_who_goes_back_before_a_frame_is_there_sees_the_one_of_before(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def slow(*wanted: Any) -> Frame:
        if wanted[1] == 6:
            begun.set()
            goes_on.wait(WAIT)
        return make_frame(*wanted)

    monkeypatch.setattr("tokviz.tui.screens.replay.frame_worker.make_frame", slow)
    app = make_app(ReplayRequest(words, at=5))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("right")
        await until(pilot, begun.is_set)
        await pilot.press("left")
        seen = shown(app)
        goes_on.set()
        await settle(pilot)
        assert screen.state.frame is not None
        assert screen.state.position.number == screen.state.frame.number == 5
        assert shown(app) == seen


async def test_merges_that_change_the_text_are_found(words: str) -> None:
    app = make_app(ReplayRequest(words, text="theory"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        replay = screen.state.replay
        assert replay is not None
        stops = []
        for _ in range(4):
            await pilot.press("full_stop")
            await settle(pilot)
            stops.append(screen.state.position.number)
        merges, ends = replay.tokenizer.merges, range(replay.n_merges + 1)
        lengths = [len(encode_by_merges(b"theory", merges[:k])) for k in ends]
        changes = [k for k in ends[1:] if lengths[k] < lengths[k - 1]]
        assert stops[: len(changes)] == changes[:4]
        await pilot.press("home", "comma")
        assert "No earlier merge" in told(app)


# -- finding


async def test_enter_before_the_search_is_done_goes_to_what_it_finds(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, find = threading.Event(), Replay.find

    def find_slowly(replay: Replay, query: str) -> Iterator[int]:
        goes_on.wait(WAIT)
        return find(replay, query)

    monkeypatch.setattr(Replay, "find", find_slowly)
    app = make_app(ReplayRequest(words, at=3))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("slash", "#", "7", "enter")
        goes_on.set()
        await settle(pilot)
        assert screen.state.position == Position(7, False)
        assert screen.focused is screen.merges.merges

        goes_on.clear()
        await pilot.press("slash", "#", "9", "enter", "backspace", "8")
        goes_on.set()
        await settle(pilot)
        assert screen.merges.found == [8] and screen.state.number == 7, "Enter meant the other one"


async def test_a_token_is_found_and_jumped_to(words: str) -> None:
    app = make_app(ReplayRequest(words))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("ctrl+f", *"ite")
        await settle(pilot)
        assert screen.merges.found and "found" in shown(app)
        await pilot.press("enter")
        replay = screen.state.replay
        assert replay is not None
        assert b"ite" in replay.step(screen.state.position.number).token
        await pilot.press("escape")
        assert screen.merges.found is None and len(screen.merges.merges.rows) == replay.n_merges
        await pilot.press("slash", "#", "7", "enter")
        await settle(pilot)
        await pilot.press("enter")
        assert screen.state.position == Position(7, False)


async def test_the_list_scrubs_with_its_keys(words: str) -> None:
    app = make_app(ReplayRequest(words))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        screen.views.show_view("merges")
        await settle(pilot)
        await pilot.press("down", "down", "down")
        assert screen.state.position == Position(3, False)


async def test_escape_leaves_the_search_and_then_pauses(words: str) -> None:
    app = make_app(ReplayRequest(words))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("space", "ctrl+f", *"ite")
        await settle(pilot)
        await pilot.press("escape")
        assert screen.focused is screen.scrubber and screen.merges.field.value == ""
        assert screen.state.player.playing, "to look for something is not to stop"
        await pilot.press("escape")
        assert not screen.state.player.playing


# -- the user's text


async def test_the_text_at_hand_is_taken_up_until_another_is_typed(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny), text="abab")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        assert screen.state.text == "abab"
        await pilot.press("alt+k", "c", "alt+y")
        await settle(pilot)
        assert screen.state.text == "cabab"
        await pilot.press("f5", "ctrl+a", *"abc", "enter", "x", "f5")
        await settle(pilot)
        assert screen.state.text == "abc\nx" and screen.state.is_own
        await pilot.press("alt+k", "d", "alt+y")
        await settle(pilot)
        assert screen.state.text == "abc\nx", "what was typed here stays"
        await pilot.press(LEADER, "u")
        assert screen.state.text == "cdabab"


async def test_what_is_being_typed_outlives_a_change_of_the_text_on_the_tokens_screen(
    tiny: str,
) -> None:
    app = make_app(ReplayRequest(tiny), text="abab")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f5", "x", "alt+k", "d", "alt+y")
        await settle(pilot)
        assert screen.own.is_editing
        await pilot.press("f5")
        await settle(pilot)
        assert screen.state.text == "xabab" and screen.state.is_own
        await pilot.press(LEADER, "u", "f5", "alt+k", "e", "alt+y")
        await settle(pilot)
        assert screen.state.text == "deabab", "where nothing was typed nothing is lost"


async def test_a_lesson_shows_its_text_also_where_another_was_being_edited(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny), text="abab")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f5", "x")
        app.session.ask(ReplayRequest(tiny, text="abc"))
        await until(pilot, lambda: screen.state.text == "abc")
        await settle(pilot)
        assert not screen.own.is_editing
        assert "3 tokens" in shown(app)


async def test_what_is_typed_takes_the_place_of_the_sample(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny), text="sample")
    app.session.is_sample = True
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        for typed in ("ab", "more"):
            await pilot.press("f5", *typed, "f5")
            await settle(pilot)
        assert screen.state.text == "moreab", "the second time it is the user's own text"


async def test_what_is_typed_takes_the_place_of_the_sample_after_a_step_too(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny))
    app.session.is_sample = True
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f5")
        screen.transport.step_forward()
        await pilot.press("a", "b", "f5")
        await settle(pilot)
        assert screen.state.text == "ab"


async def test_a_text_that_is_edited_no_longer_is_encoded_no_longer(
    tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on, asked = threading.Event(), threading.Event(), []

    def encode_slowly(live: LiveDocument, seconds: float) -> bool:
        asked.append(live)
        begun.set()
        goes_on.wait(WAIT)
        return len(asked) > 3

    app = make_app(ReplayRequest(tiny), text="a" * 100_000)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        monkeypatch.setattr(LiveDocument, "encode_pending", encode_slowly)
        await pilot.press("f5")
        await until(pilot, begun.is_set)
        await pilot.press("f5")
        goes_on.set()
        await settle(pilot)
        assert len(asked) == 1


async def test_a_text_stays_coloured_while_it_is_edited_by_the_merges_that_are_done(
    tiny: str,
) -> None:
    app = make_app(ReplayRequest(tiny, at=2), text="abab")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f5", "ctrl+end", "a", "b")
        live, replay = screen.own.query_one(TokenEditor).live, screen.state.replay
        assert replay is not None
        for k in (2, 0):
            assert list(live.ids()) == replay.text("ababab").at(k).ids.tolist()
            screen.transport.go_start()
            await settle(pilot)
        await pilot.press("ctrl+a")
        screen.own.query_one(TokenEditor).replace("ab" * 8_000, (0, 0), (0, 6))
        await settle(pilot)
        assert live.complete, "what has no place to cut it is encoded by a thread"


async def test_esc_never_leaves_the_text_that_is_edited(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny), text="abab")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f5", "ctrl+o", "escape", "escape", "x", "f5")
        await settle(pilot)
        assert screen.state.text == "xabab"
        for _ in range(3):
            screen.your_text.edit_text()
        await pilot.press("y")
        assert screen.own.end_edit() == "yxabab", "a new editor waits for no old one to go"


async def test_special_tokens_of_a_text_stay_whole() -> None:
    app = make_app(ReplayRequest("gpt2", at=5, text="a<|endoftext|>b"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        assert screen.state.frame is not None and screen.state.frame.own is not None
        assert 50256 in screen.state.frame.own.after.ids.tolist()
        screen.transport.jump_to_token(50256)
        await pilot.pause()
        assert "a special token" in told(app)
        screen.transport.jump_to_token(1_000_000)  # clicked in what another tokenizer had
        assert len(app._notifications) == 1


async def test_a_long_text_is_cut_and_does_not_block(words: str) -> None:
    app = make_app(ReplayRequest(words, text="the theme " * 150_000))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        assert len(screen.state.text) == 1_000_000
        await until(pilot, lambda: screen.state.prepared is not None)


# -- what is taken elsewhere


async def test_a_merge_is_copied_by_its_key_and_an_id_by_a_click(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny, at=1))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("alt+c")
        await settle(pilot)
        assert app.clipboard == "merge 1: b'a' + b'b' -> b'ab', id 256, count 3"
        said = "".join(span.text for span in screen.card.rows[0])
        await pilot.click("#card", offset=(said.index("256") + 2, 1))
        await settle(pilot)
        assert app.clipboard == "256"


async def test_the_tokenizer_that_is_replayed_is_used_on_the_tokens_screen() -> None:
    app = make_app(ReplayRequest("cl100k_base"))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await app.screen.run_action("use_replayed")
        await until(pilot, lambda: app.session.tokenizer.name == "cl100k_base")
        assert isinstance(app.screen, TokensScreen)


# -- from a training


async def test_a_training_is_replayed(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("the theme of the thesis is the theory\n" * 200)
    settings, tokenizer = Settings(tokenizer="gpt2"), tokviz.load("gpt2")
    app = TokvizApp(Session(Opened("the theory"), tokenizer, settings, remember=False))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("alt+r")
        train = app.screen
        assert isinstance(train, TrainScreen)
        await settle(pilot)
        train.form.add_sources([str(book)])
        train.query_one("#vocab_size", Input).value = "270"
        await settle(pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: train.state.phase != "running")
        assert train.state.phase == "done", told(app)
        await settle(pilot)
        await pilot.click("#replay")
        screen = await opened(pilot)
        assert train.state.summary is not None and screen.state.replay is not None
        assert screen.state.replay.name == train.state.summary.run_folder
        assert (
            screen.state.n_merges == train.state.summary.n_merges and screen.state.replay.has_counts
        )


# -- the whole


async def test_every_action_is_answered_and_help_shows_it(tiny: str) -> None:
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(120, 60)) as pilot:
        screen = await opened(pilot)
        for action in screen_class("replay").declared():
            assert hasattr(screen, f"action_{action.method}"), action.id
        await pilot.press("f1")
        await settle(pilot)
        assert "Play or pause" in shown(app) and "Start the training" not in shown(app)


async def test_a_screen_that_rests_is_not_laid_out_again_and_again(words: str) -> None:
    app = make_app(ReplayRequest(words))
    async with app.run_test() as pilot:
        screen = await opened(pilot)
        await pilot.resize_terminal(100, 30)
        await settle(pilot)
        laid_out = 0
        lay_out = screen._compositor.reflow

        def count(*arguments: Any) -> Any:
            nonlocal laid_out
            laid_out += 1
            return lay_out(*arguments)

        screen._compositor.reflow = count
        painted: set[Widget] = set()
        paint = screen._compositor.update_widgets

        def note(widgets: set[Widget]) -> None:
            painted.update(widgets)
            paint(widgets)

        screen._compositor.update_widgets = note
        await pilot.press("right", "right", "right")
        await settle(pilot)
        assert laid_out == 0, "nor does a step lay anything out"
        await pilot.mouse_down("#scrubber", offset=(1, 0))
        for x in range(2, 9):
            await pilot.hover("#scrubber", offset=(x, 0))
            await settle(pilot)
        await pilot.mouse_up("#scrubber")
        assert screen.scrubber in painted
        assert not painted & {screen, screen.texts}, "a drag paints what it changes, no more"


@pytest.mark.parametrize(
    ("size", "source"),
    [
        ((200, 60), "words"),
        ((120, 40), "gpt2"),
        ((120, 30), "words"),
        ((200, 30), "tiny"),
        ((80, 24), "tiny"),
        ((80, 24), "gpt2"),
        ((40, 12), "words"),
        ((20, 6), "tiny"),
    ],
)
async def test_every_size_shows_every_view(
    size: tuple[int, int], source: str, request: pytest.FixtureRequest
) -> None:
    name = source if source == "gpt2" else request.getfixturevalue(source)
    app = make_app(ReplayRequest(name, at=2))
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        width, height = size
        assert screen.has_class("-narrow") == (width < 110)
        assert screen.has_class("-low") == (width >= 110 and height < 34), "one column is not low"
        assert screen.has_class("-broad") == (width >= 160 and height >= 34)
        for view in ("texts", "candidates", "merges", "curves", "diff"):
            screen.views.show_view(view)
            await settle(pilot)
            for strip in app.screen._compositor.render_strips():
                assert strip.cell_length == size[0]
        if size[0] >= 80:
            assert "merge 2 of" in shown(app)


# -- comparing


async def test_two_trainings_are_compared_and_the_parting_is_jumped_to(
    words: str, tmp_path: Path
) -> None:
    texts = ["the theme of the thesis is the theory ", *(f"word{i} item{i} " for i in range(600))]
    tokviz.train(texts, 300, tie_break="lexicographic").save(tmp_path / "other")
    app = make_app(ReplayRequest(words, text="the theory", others=(str(tmp_path / "other"),)))
    async with app.run_test(size=(200, 60)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.state.comparison is not None)
        await settle(pilot)
        assert screen.state.comparison is not None
        number = screen.state.comparison.diff.first_number
        assert number is not None
        text = shown(app)
        for said in (
            "A and B differ first at merge",
            "lexicographic",
            "only in A",
            "only in B",
            "Your text:",
        ):
            assert said in text
        await pilot.press("f3")
        assert screen.state.position == Position(number, False)
        await pilot.press("f5", "ctrl+a", *"word", "f5")
        await until(
            pilot,
            lambda: screen.state.comparison is not None and screen.state.comparison.revision > 1,
        )
        assert screen.state.comparison.effect is not None
        assert screen.state.comparison.effect.data == b"word"
        screen.views.show_view("diff")
        await app.run_action("screen.compare_with_third")
        await settle(pilot)
        app.screen.query_one(Input).value = "gpt2"
        await pilot.press("enter")
        await until(
            pilot,
            lambda: screen.state.comparison is not None and len(screen.state.comparison.names) == 3,
        )
        await settle(pilot)
        assert "A and C differ first at merge" in shown(app) and f"▸{number:>6}" in shown(app)
        screen.comparing.end_comparison()
        await settle(pilot)
        assert "merges file" not in shown(app) and "Compare this training" in shown(app)


async def test_a_merges_file_is_compared(tiny: str, tmp_path: Path) -> None:
    path = tmp_path / "merges.txt"
    path.write_text("a b\nab c\n")
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f3")
        await settle(pilot)
        app.screen.query_one(Input).value = str(path)
        await pilot.press("enter")
        await until(pilot, lambda: screen.state.comparison is not None)
        await settle(pilot)
        assert (
            screen.state.comparison is not None and screen.state.comparison.diff.first_number == 2
        )
        await pilot.click("#diff", offset=(20, 4))
        rows = ["".join(span.text for span in row) for row in screen.diff.rows]
        at = next(index for index, row in enumerate(rows) if "A and B differ" in row)
        await pilot.click("#diff", offset=(rows[at].index("2") + 2, at + 1))
        assert screen.state.position == Position(2, False)
        rows = ["".join(span.text for span in row) for row in screen.diff.rows]
        at = next(index for index, row in enumerate(rows) if row.split()[:2] == ["1", "ab"])
        await pilot.click("#diff", offset=(rows[at].index("ab") + 2, at + 1))
        assert screen.state.position == Position(1, False), "all of a row leads to its merge"


async def test_what_cannot_be_compared_is_a_message(tiny: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no merges here at all\n")
    app = make_app(ReplayRequest(tiny, others=(str(tmp_path / "notes.txt"),)))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: "cannot be compared" in told(app))
        assert screen.state.comparison is None
        await settle(pilot)
        assert "Compare this training" in shown(app)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Hold every comparison until the event is set."""
    goes_on, diff_merges = threading.Event(), comparing_module.diff_merges

    def compare_slowly(*replays: Any) -> Any:
        goes_on.wait(WAIT)
        return diff_merges(*replays)

    monkeypatch.setattr(comparing_module, "diff_merges", compare_slowly)
    return goes_on


async def test_a_comparison_that_was_ended_does_not_come_back(
    tiny: str, held: threading.Event
) -> None:
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        screen.comparing.compare_with(source_named("gpt2"))
        await until(pilot, lambda: "Comparing with gpt2…" in shown(app))
        screen.comparing.end_comparison()
        held.set()
        await settle(pilot)
        assert screen.state.comparison is None and "Compare this training" in shown(app)


async def test_a_text_that_changes_while_it_is_compared_is_compared_as_it_is(
    tiny: str, held: threading.Event
) -> None:
    app = make_app(ReplayRequest(tiny))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        for name, text in [("gpt2", "ab"), ("r50k_base", "abc")]:
            held.clear()
            screen.comparing.compare_with(source_named(name))
            await pilot.pause()
            screen.your_text.show(text, is_own=True)
            held.set()
            await settle(pilot)
            known = screen.state.comparison
            assert known is not None and known.names[1] == name
            assert known.effect is not None and known.effect.data == text.encode()


# -- views


@pytest.mark.parametrize("size", [(120, 40), (120, 30), (80, 24)])
async def test_views_that_share_a_place_take_turns(words: str, size: tuple[int, int]) -> None:
    app = make_app(ReplayRequest(words, at=2))
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        for view, widget in (
            ("candidates", screen.candidates),
            ("merges", screen.merges),
            ("curves", screen.curves.compression),
            ("diff", screen.diff),
            ("texts", screen.own),
        ):
            await pilot.press("f2")
            await settle(pilot)
            assert screen.views.front == view
            assert ("Enter edit" in shown(app)) == (view == "texts")
            assert widget.is_on_screen and widget.size.height > 2, view
            if size == (120, 40):
                assert screen.merges.is_on_screen != screen.diff.is_on_screen
        await pilot.press("shift+f2")
        assert screen.views.front == "diff"


async def test_a_terminal_of_few_lines_has_room_for_one_curve(words: str) -> None:
    app = make_app(ReplayRequest(words, at=2))
    async with app.run_test(size=(40, 12)) as pilot:
        screen = await opened(pilot)
        screen.views.show_view("curves")
        await settle(pilot)
        assert "lin│log" in shown(app) and "▕" in shown(app) and "merges" in shown(app)


async def test_a_history_of_another_corpus_is_a_message(words: str, tmp_path: Path) -> None:
    import shutil

    mixed = tmp_path / "mixed"
    shutil.copytree(words, mixed)
    texts = [f"{word} " * 7 for word in ("other", "words", "entirely", "theme", "item1", "word2")]
    tokviz.train(texts, 300).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "pieces.npz", mixed / "pieces.npz")
    app = make_app(ReplayRequest(str(mixed)))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "mixed cannot be replayed" in shown(app))
        screen = app.screen
        assert isinstance(screen, ReplayScreen) and screen.state.replay is None
        screen.opening.complain(source_named("/x/mixed"), "mixed: it is broken")
        await pilot.pause()
        assert "mixed cannot be replayed: it is broken." in shown(app)
        await pilot.press("space", "right", "end")
        screen.answer(ReplayRequest(words))
        screen = await opened(pilot)
        assert screen.state.replay is not None and screen.state.replay.name == words
