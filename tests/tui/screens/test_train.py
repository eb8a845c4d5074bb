from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, Static

import tokviz
from tests.tui.first_frame import imported_for_the_first_frame
from tests.tui.waiting import WAIT, settle, until
from tokviz.errors import JobError, TokvizError
from tokviz.process.jobs.train_messages import HeldOut, TrainRequest, TrainSummary
from tokviz.training.progress import NewMerge, TrainProgress
from tokviz.training.run_library import runs_folder
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.ask_text import AskDialog
from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker
from tokviz.tui.screens.chat import ChatScreen
from tokviz.tui.screens.replay import ReplayScreen
from tokviz.tui.screens.replay.position import Position
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.screens.train import TrainScreen, form, plan, training
from tokviz.tui.screens.train.form import PRESETS, CorpusList
from tokviz.tui.screens.train.plan import RegexVerdict
from tokviz.tui.widgets.field import Choices, PushButton
from tokviz.workspace.session import Opened, RunAction, Session

REPORT = TrainProgress("merging", 0.5, 1.0, 2.0, 1000, 30, 2, 4, 500, (NewMerge(b"t", b"h", 99),))
SUMMARY = TrainSummary(
    "/runs/x", 300, 43, 43, None, {"reading": 1.0}, 1000, 990, 1, 0, 30, 400, b" the", None
)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep the user's folders out of the tests, and the compiler too."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    yield


class FakeTrainer:
    """Stands for the child process: it does what a test says."""

    made: ClassVar[list[FakeTrainer]] = []

    def __init__(
        self,
        on_report: Callable[[int, TrainProgress], object],
        on_done: Callable[[int, TrainSummary], object],
        on_error: Callable[[int, TokvizError], object],
    ) -> None:
        self.on_report, self.on_done, self.on_error = on_report, on_done, on_error
        self.requests: list[TrainRequest] = []
        self.cancelled = self.closed = self.finishing = False
        self.pid = None
        self.made.append(self)

    def train(self, request: TrainRequest) -> int:
        self.requests.append(request)
        return 1

    def cancel(self) -> None:
        self.cancelled = True

    def finish(self) -> None:
        self.finishing = True

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def trainers(monkeypatch: pytest.MonkeyPatch) -> list[FakeTrainer]:
    monkeypatch.setattr(training, "TrainClient", FakeTrainer)
    FakeTrainer.made = []
    return FakeTrainer.made


def make_app(text: str = "hello world") -> TokvizApp:
    return TokvizApp(Session(Opened(text), tokviz.load("gpt2"), remember=False))


async def show_train(pilot: Pilot[None]) -> TrainScreen:
    await pilot.press("alt+r")
    screen = pilot.app.screen
    assert isinstance(screen, TrainScreen)
    await settle(pilot)
    return screen


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text("the theme of the thesis is the theory\n" * 200)
    return path


async def start(pilot: Pilot[None], book: Path) -> TrainScreen:
    screen = await show_train(pilot)
    screen.form.add_sources([str(book)])
    await settle(pilot)
    await pilot.press("ctrl+r")
    return screen


def shown(app: TokvizApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


# -- going between the screens


async def test_screens_keep_their_state_while_another_is_shown() -> None:
    app = make_app("")
    async with app.run_test() as pilot:
        tokens = app.screen
        assert isinstance(tokens, TokensScreen)
        await pilot.press("a", "b")
        train = await show_train(pilot)
        await pilot.press("x", "y")
        assert train.query_one("#source", Input).value == "xy"
        await pilot.press("alt+k")
        shown_now: object = app.screen
        assert shown_now is tokens and tokens.live.text == "ab"
        await pilot.press("c", "alt+r")
        assert app.screen is train and train.query_one("#source", Input).value == "xy"
        await pilot.press("alt+k")
        assert tokens.live.text == "abc"


async def test_a_click_on_a_tab_shows_its_screen() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        tabs = shown(app).splitlines()[0]
        await pilot.click("#title", offset=(tabs.index("Train") + 1, 0))
        assert isinstance(app.screen, TrainScreen)
        await pilot.click("#title", offset=(10, 0))
        assert isinstance(app.screen, TokensScreen)


async def test_a_dialog_is_answered_before_a_request_shows_another_screen() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await pilot.press("ctrl+t")
        app.session.ask(RunAction("train", "add_files"))
        assert app.current_mode == "tokens"


def test_nothing_of_the_train_screen_is_imported_before_it_is_shown() -> None:
    names = imported_for_the_first_frame()
    assert "tokviz.tui.screens.tokens.screen" in names
    assert not {
        name for name in names if ".train" in name or name.startswith("tokviz.process.jobs")
    }
    later = {
        "numpy",
        "tokviz.training.corpus",
        "tokviz.tui.widgets.rows_view",
        "tokviz.tui.widgets.splits.panel",
    }
    assert not names & later
    assert sum(name.startswith("tokviz") for name in names) <= 160, "what else can wait?"


async def test_help_shows_what_can_be_done_on_the_screen() -> None:
    app = make_app()
    async with app.run_test(size=(120, 50)) as pilot:
        await show_train(pilot)
        await pilot.press("f1")
        await settle(pilot)
        assert "Start the training" in shown(app)
        assert "Copy the token ids" not in shown(app)


async def test_ctrl_t_lists_the_tokenizers_before_while_and_after_one_is_trained(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await show_train(pilot)
        for phase in ("form", "running", "done"):
            if phase == "running":
                await begin(pilot, book, trainers)
            elif phase == "done":
                screen.training.enter("done")
            assert screen.state.phase == phase
            await pilot.press("ctrl+t")
            assert isinstance(app.screen, TokenizerPicker), phase
            await pilot.press("escape")
        await pilot.click("#title", offset=(77, 0))
        assert isinstance(app.screen, TokenizerPicker)
        await pilot.press(*"qwen2", "enter")
        await settle(pilot)
        assert app.current_mode == "train" and screen.is_current
        assert "qwen2" in shown(app).splitlines()[0]


async def test_a_screen_that_rests_is_not_laid_out_again_and_again() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await show_train(pilot)
        laid_out = 0
        lay_out = screen._compositor.reflow

        def count(*arguments: Any) -> Any:
            nonlocal laid_out
            laid_out += 1
            return lay_out(*arguments)

        await pilot.resize_terminal(100, 30)
        await settle(pilot)
        screen._compositor.reflow = count
        await pilot.pause(0.3)
        assert laid_out == 0


# -- the form


async def test_a_form_is_filled_and_started_by_the_keyboard_alone(
    trainers: list[FakeTrainer], book: Path, tmp_path: Path
) -> None:
    (tmp_path / "b").write_text("more")
    app = make_app()
    async with app.run_test() as pilot:
        screen = await show_train(pilot)
        screen.query_one("#source", Input).value = str(book)
        await pilot.press("enter")
        await settle(pilot)
        # type, browse, settings as, size, presets
        await pilot.press("tab", "down", "tab", "tab", "tab", "right")
        await pilot.press("tab", "end", "tab", "a")  # pattern: your own; its regex
        await pilot.press("ctrl+r")
        request = trainers[0].requests[0]
        assert request.sources == (str(book),)
        assert (request.vocab_size, request.split_pattern) == (32_000, "a")
        assert screen.state.phase == "running"


async def test_a_path_that_is_only_typed_is_added_by_a_click_on_start(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await show_train(pilot)
        screen.query_one("#source", Input).value = str(book)
        await settle(pilot)
        await pilot.click("#start")
        await until(pilot, lambda: trainers and trainers[0].requests)
        assert trainers[0].requests[0].sources == (str(book),)


async def test_a_regex_is_tried_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, trainers: list[FakeTrainer], book: Path
) -> None:
    threads = []

    def judge(regex: str) -> RegexVerdict:
        if regex:
            threads.append(threading.current_thread())
        return plan.judge(regex)

    monkeypatch.setattr(training, "judge", judge)
    app = make_app()
    async with app.run_test(size=(120, 60)) as pilot:
        screen = await show_train(pilot)
        screen.form.add_sources([str(book)])
        await settle(pilot)
        screen.query_one("#pattern").focus()
        await pilot.press("end", "tab", "(")
        await until(pilot, lambda: "The regex is invalid: missing )" in shown(app))
        screen.query_one("#regex", Input).value = r"(?:(?:\w|\w\w)+)+(?=!!)|."
        about = screen.query_one("#plan", Static)
        await until(pilot, lambda: "takes longer than" in " ".join(str(about.content).split()))
        assert threading.main_thread() not in threads


async def test_a_form_is_filled_by_the_mouse_alone(
    trainers: list[FakeTrainer], book: Path, tmp_path: Path
) -> None:
    app = make_app()
    app.session.change_settings(folder=str(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show_train(pilot)
        await pilot.click("#browse")
        await settle(pilot)
        lines = shown(app).splitlines()
        y = next(y for y, line in enumerate(lines) if "book.txt" in line)
        x = lines[y].index("book.txt")
        await pilot.click(offset=(x, y))
        await pilot.click(offset=(x, y))
        await settle(pilot)
        assert [entry.source for entry in screen.form.values.corpus] == [str(book)]
        await pilot.click("#presets", offset=(3, 0))
        assert screen.form.values.vocab_size == "512"
        await pilot.click("#start")
        assert trainers[0].requests[0].vocab_size == 512


async def test_a_whole_folder_is_added_from_the_dialog(tmp_path: Path, book: Path) -> None:
    app = make_app()
    app.session.change_settings(folder=str(tmp_path))
    async with app.run_test() as pilot:
        screen = await show_train(pilot)
        await pilot.press("ctrl+o")
        await settle(pilot)
        await pilot.press("ctrl+o")
        await settle(pilot)
        (entry,) = screen.form.values.corpus
        assert (entry.source, entry.n_files) == (str(tmp_path), 1)


async def test_several_dropped_files_are_all_added(tmp_path: Path, book: Path) -> None:
    from textual.events import Paste

    app = make_app()
    async with app.run_test() as pilot:
        screen = await show_train(pilot)
        screen.query_one("#source", Input).post_message(Paste(f"{book}\n{tmp_path}/*.md\n{book}"))
        await settle(pilot)
        await settle(pilot)
        entries = screen.form.values.corpus
        assert [(entry.n_files, entry.error) for entry in entries] == [
            (1, ""),
            (0, "no file matches"),
        ]


async def test_an_entry_is_taken_off_by_key_and_by_mouse(book: Path, tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await show_train(pilot)
        screen.form.add_sources([str(book), str(tmp_path), "/nowhere"])
        await settle(pilot)
        screen.query_one("#corpus").focus()
        await pilot.press("home", "end", "down", "delete")
        assert len(screen.form.values.corpus) == 2
        corpus = screen.query_one(CorpusList)
        assert corpus.highlighted == 1, "the last one, where the list has become shorter"
        width = screen.query_one("#corpus").size.width
        await pilot.click("#corpus", offset=(width - 2, 0))
        assert len(screen.form.values.corpus) == 1
        await pilot.press("delete")
        assert screen.form.values.corpus == ()
        assert screen.focused is screen.query_one("#source")


async def test_a_preset_and_a_typed_size_agree() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await show_train(pilot)
        presets = screen.query_one("#presets", Choices)
        screen.query_one("#vocab_size", Input).value = "5k"
        await pilot.pause()
        assert presets.chosen == "5000"
        screen.query_one("#vocab_size", Input).value = "777"
        await pilot.pause()
        assert "●" not in presets.render_line(0).text


async def test_a_form_that_cannot_be_followed_starts_nothing_and_says_why(
    trainers: list[FakeTrainer],
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await show_train(pilot)
        await pilot.press("ctrl+r")
        assert (trainers, screen.state.phase) == ([], "form")
        assert "Add files, folders or globs" in shown(app)
        assert screen.query_one("#start").disabled


# -- the training


async def test_the_folder_that_the_plan_shows_is_the_one_written_and_each_run_has_its_own(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(200, 50)) as pilot:
        screen = await show_train(pilot)
        screen.form.add_sources([str(book)])
        for press in (["ctrl+r"], ["ctrl+n", "ctrl+r"]):
            await settle(pilot)
            await pilot.press(*press[:-1])
            plan = "".join(str(screen.query_one("#plan", Static).content).split())
            await pilot.press(press[-1])
            assert Path(trainers[-1].requests[0].run_folder).name in plan
            trainers[-1].on_done(1, SUMMARY)
        await settle(pilot)
        app.session.track_renamed_run(
            trainers[1].requests[0].run_folder, str(runs_folder() / "renamed")
        )
        (runs_folder() / "book-10k-2").rename(runs_folder() / "renamed")
        await pilot.press("ctrl+r")
    names = [Path(trainer.requests[0].run_folder).name for trainer in trainers]
    assert names == ["book-10k", "book-10k-2", "book-10k-3"], "a renamed run keeps its name"


async def test_reports_are_shown_as_they_come(trainers: list[FakeTrainer], book: Path) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await start(pilot, book)
        trainers[0].on_report(1, REPORT)
        await pilot.pause()
        text = shown(app)
        for said in ("Reading", "50 %", "2.0 s left", "2 of 4 merges", "2.00", "t + h", "99×"):
            assert said in text


async def begin(pilot: Pilot[None], book: Path, trainers: list[FakeTrainer]) -> TrainScreen:
    """Let a training go on until there are merges."""
    screen = await start(pilot, book)
    trainers[0].on_report(1, REPORT)
    await pilot.pause()
    return screen


@pytest.mark.parametrize("height", [34, 60])
async def test_the_curve_of_a_result_is_not_cut(
    height: int, trainers: list[FakeTrainer], book: Path
) -> None:
    seconds = {name: 9.0 for name in ("reading", "merging", "saving", "comparing")}
    held_out = HeldOut(20_000, {"new": 2.5, "gpt2": 4.0, "cl100k_base": 4.5})
    app = make_app()
    async with app.run_test(size=(120, height)) as pilot:
        screen = await begin(pilot, book, trainers)
        summary = SUMMARY._replace(
            seconds_by_phase=seconds,
            held_out=held_out,
            run_folder="/runs/" + "long name " * 5,
            peak_memory_bytes=10**8,
            n_invalid=3,
        )
        trainers[0].on_done(1, summary)
        await settle(pilot)
        curve = screen.query_one("#final-curve")
        assert curve.size.height >= 6
        assert screen.query_one("#result").region.contains_region(curve.region)


async def test_a_result_names_the_folder_that_its_run_was_renamed_to(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await begin(pilot, book, trainers)
        trainers[0].on_done(1, SUMMARY._replace(run_folder="/runs/old"))
        await settle(pilot)
        assert "/runs/old" in shown(app)
        await pilot.press("ctrl+t")
        app.session.track_renamed_run("/runs/old", "/runs/new")
        await pilot.press("escape")
        await settle(pilot)
        assert "/runs/new" in shown(app) and "/runs/old" not in shown(app)


PENDING = SUMMARY._replace(held_out=HeldOut(20_000, {}))
COMPARED = SUMMARY._replace(held_out=HeldOut(20_000, {"new": 2.5, "gpt2": 4.0}))


async def test_the_result_is_shown_before_it_is_compared(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot, book, trainers)
        trainers[0].on_done(1, PENDING)
        await settle(pilot)
        assert screen.state.phase == "done" and not trainers[0].closed
        assert "300 tokens in 1.0 s" in shown(app) and "Esc skips" in shown(app)
        trainers[0].on_report(1, REPORT._replace(phase="comparing"))
        trainers[0].on_done(1, COMPARED)
        await settle(pilot)
        assert "Esc skips" not in shown(app) and "GPT-2" in shown(app)
        assert trainers[0].closed and screen.state.summary == COMPARED


@pytest.mark.parametrize("end", ["escape", "ctrl+r", "failure"])
async def test_a_comparison_is_skipped_and_the_result_is_kept(
    trainers: list[FakeTrainer], book: Path, end: str
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot, book, trainers)
        run = Path(trainers[0].requests[0].run_folder)
        trainers[0].on_done(1, PENDING)
        await settle(pilot)
        if end == "failure":
            trainers[0].on_error(1, JobError("the train job is gone"))
        else:
            await pilot.press(end)
        await settle(pilot)
        assert trainers[0].closed and run.exists()
        trainers[0].on_done(1, COMPARED)
        await settle(pilot)
        if end == "ctrl+r":
            assert screen.state.phase == "running" and screen.state.summary is None
        else:
            assert screen.state.summary == SUMMARY and "Esc skips" not in shown(app)
            said = [notice.message for notice in app._notifications]
            assert said == (["Not compared: the train job is gone."] if end == "failure" else [])
            await pilot.press("escape")
            assert app.screen is screen and screen.state.phase == "done"


async def test_quitting_during_a_comparison_asks_nothing_and_keeps_the_run(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await begin(pilot, book, trainers)
        run = Path(trainers[0].requests[0].run_folder)
        trainers[0].on_done(1, PENDING)
        await settle(pilot)
        await pilot.press("ctrl+q")
        await settle(pilot)
    assert trainers[0].closed and run.exists()


async def test_esc_asks_and_what_is_discarded_leaves_nothing(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await begin(pilot, book, trainers)
        folder = Path(trainers[0].requests[0].run_folder)
        assert folder.is_dir(), "no other app can take the name"
        (folder.parent / f".{folder.name}.half").mkdir()
        before = screen.form.values
        await pilot.press("escape")
        await settle(pilot)
        assert not trainers[0].cancelled and "Stop the training?" in shown(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is screen and screen.state.phase == "running", "a second Esc is harmless"
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen is screen, "nor is a third one"
        await pilot.click("#stop")
        await settle(pilot)
        await pilot.press(*"discard", "enter")
        await pilot.pause()
        assert trainers[0].cancelled and screen.state.phase == "form"
        assert screen.form.values == before
        trainers[0].on_report(1, REPORT)
        trainers[0].on_done(1, SUMMARY)
        await settle(pilot)
        assert screen.state.phase == "form", "what was stopped is not heard any more"
        assert list(runs_folder().iterdir()) == []
        assert trainers[0].closed
        await pilot.press("ctrl+r")
        assert len(trainers) == 2 and screen.has_class("-running")


async def test_the_merges_so_far_are_kept_if_one_wishes(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot, book, trainers)
        await pilot.click("#stop")
        await settle(pilot)
        rows = app.screen.query_one("#options").region
        await pilot.press("escape")
        await settle(pilot)
        # The second click comes before the dialog that the first one opens has its place.
        for x, y in (screen.query_one("#stop").region.offset, rows.offset):
            for kind in (events.MouseDown, events.MouseUp):
                app.post_message(kind(None, x + 1, y, 0, 0, 1, False, False, False))
        await until(pilot, lambda: trainers[0].finishing)
        await settle(pilot)
        assert not trainers[0].cancelled
        assert screen.has_class("-running") and "Stopping: the merges" in shown(app)
        stopped = SUMMARY._replace(n_merges_wanted=99, stopped_early="stopped at 300 tokens")
        trainers[0].on_done(1, stopped)
        await settle(pilot)
        assert screen.state.phase == "done" and "43 of 99 merges: stopped at" in shown(app)


async def test_before_the_first_merge_the_question_says_so_and_can_be_answered_later(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await start(pilot, book)
        await pilot.press("escape")
        await settle(pilot)
        assert "there are none until the corpus is read." in shown(app)
        trainers[0].on_report(1, REPORT)
        await settle(pilot)
        assert "no merge yet" not in shown(app), "by now there are"
        await pilot.press("enter")
        await settle(pilot)
        assert trainers[0].finishing and not trainers[0].cancelled


async def test_enter_closes_the_question_of_a_training_that_has_ended_and_does_nothing_else(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await begin(pilot, book, trainers)
        await pilot.press("escape")
        await settle(pilot)
        trainers[0].on_done(1, SUMMARY)
        await settle(pilot)
        assert app.screen is not screen and "The training has ended" in shown(app)
        await pilot.press("enter")
        await settle(pilot)
        assert app.screen is screen and screen.state.phase == "done"
        assert app.session.tokenizer.name == "gpt2", "Enter did not press a button below"
        assert not trainers[0].finishing and not trainers[0].cancelled


async def test_ctrl_q_asks_and_the_merges_so_far_are_kept_before_the_end(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await begin(pilot, book, trainers)
        folder = Path(trainers[0].requests[0].run_folder)
        assert folder.is_dir(), "no other app can take the name"
        await pilot.press("alt+k", "ctrl+q")
        await settle(pilot)
        assert "Stop and keep, then quit" in shown(app), "on any screen"
        await pilot.press("enter")
        await pilot.pause()
        assert trainers[0].finishing and app.is_running
        trainers[0].on_done(1, SUMMARY)
        await until(pilot, lambda: app._exit)
    assert folder.exists()


async def test_ctrl_q_takes_the_place_of_a_question_that_is_asked(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await begin(pilot, book, trainers)
        await pilot.press("escape")
        await settle(pilot)
        await pilot.press("ctrl+q")
        await settle(pilot)
        assert "Stop and keep, then quit" in shown(app)
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen is screen and screen.state.phase == "running"


@pytest.mark.parametrize(
    ("keys", "quits"), [(["ctrl+q"], True), (["ctrl+q", "escape"], False), (["escape"], False)]
)
async def test_a_training_that_ends_under_its_question_lets_what_waits_for_it_go_on(
    keys: list[str], quits: bool, trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await begin(pilot, book, trainers)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
        trainers[0].on_done(1, SUMMARY)
        await until(pilot, lambda: screen.state.phase == "done")
        await settle(pilot)
        assert app._exit == quits


async def test_a_training_that_fails_under_the_question_says_so_before_the_end(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await begin(pilot, book, trainers)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app.screen is not screen)
        trainers[0].on_error(1, TokvizError("the disk is full"))
        await until(pilot, lambda: "The training failed" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        await settle(pilot)
        assert not app._exit and "Not trained: the disk is full" in shown(app)


async def test_texts_are_asked_about_after_the_training(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app("")
    async with app.run_test() as pilot:
        await pilot.press("x")
        await begin(pilot, book, trainers)
        await pilot.press("ctrl+q")
        await settle(pilot)
        await pilot.press(*"discard", "enter")
        await until(pilot, lambda: "Unsaved: " in shown(app))
        assert trainers[0].cancelled and not app._exit


async def test_the_curve_is_logarithmic_only_if_one_switches(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot, book, trainers)
        plot = screen.side.live.curve.plot
        assert not plot.is_log
        assert plot.render_line(plot.size.height - 1).text.split() == ["0", "merges", "4"]
        lines = shown(app).splitlines()
        row = next(y for y, line in enumerate(lines) if "linear │" in line)
        await pilot.click(offset=(lines[row].index("linear │"), row))
        assert plot.is_log and app.session.settings.log_scale
        await pilot.press("ctrl+l", "y")
        assert not plot.is_log


async def test_ctrl_q_discards_a_training_only_if_one_says_so(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await begin(pilot, book, trainers)
        await pilot.press("ctrl+q")
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert not app._exit and not trainers[0].cancelled
        await pilot.press("ctrl+q")
        await settle(pilot)
        await pilot.press(*"discard", "enter")
        await until(pilot, lambda: app._exit)
        assert trainers[0].cancelled
    assert list(runs_folder().iterdir()) == []


async def test_other_screens_show_how_far_the_training_is(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await start(pilot, book)

        def title() -> str:
            return shown(app).splitlines()[0]

        await pilot.press("alt+k")
        trainers[0].on_report(1, REPORT._replace(phase="reading"))
        await pilot.pause()
        assert "Train reading" in title()
        trainers[0].on_report(1, REPORT)
        await pilot.pause()
        assert "Train 50 %" in title()
        await pilot.press("alt+y")
        await settle(pilot)
        assert "Train 50 %" in title(), "also on a screen that is made meanwhile"
        await pilot.click("#title", offset=(title().index("50 %") + 1, 0))
        assert app.screen is screen
        await pilot.press("alt+k")
        trainers[0].on_done(1, SUMMARY)
        await settle(pilot)
        assert "%" not in title()


async def test_a_dead_child_is_a_message_and_the_form_is_as_it_was(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = await start(pilot, book)
        before = screen.form.values
        trainers[0].on_error(1, JobError("the train job was ended by SIGKILL: \x1b[31m"))
        await settle(pilot)
        assert (screen.state.phase, screen.form.values) == ("form", before)
        text = " ".join(shown(app).split())
        assert "Not trained: the train job was ended by SIGKILL" in text
        assert "\x1b" not in shown(app)
        assert not app._notifications


async def test_a_failure_stands_until_something_else_is_typed_though_files_are_counted(
    trainers: list[FakeTrainer], book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, inspect_source = threading.Event(), form.inspect_source

    def look_slowly(*arguments: Any) -> Any:
        goes_on.wait(WAIT)
        return inspect_source(*arguments)

    monkeypatch.setattr(form, "inspect_source", look_slowly)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show_train(pilot)
        screen.form.add_sources([str(book)])
        await pilot.press("ctrl+r")
        trainers[-1].on_error(1, TokvizError("it is broken"))
        await until(pilot, lambda: "Not trained: it is broken" in shown(app))
        goes_on.set()
        await until(pilot, lambda: screen.form.values.corpus[0].n_files == 1)
        await settle(pilot)
        assert "Not trained: it is broken" in shown(app)
        screen.form.query_one("#specials", Input).value = "<s>"
        await settle(pilot)
        assert "Not trained" not in shown(app)


async def test_why_nothing_is_started_is_said_also_where_a_path_was_still_in_its_field(
    trainers: list[FakeTrainer], book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_room(folder: Path) -> None:
        raise TokvizError("the disk is full")

    monkeypatch.setattr(training, "make_room", make_room)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show_train(pilot)
        screen.form.query_one("#source", Input).value = str(book)
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert not trainers
        assert "the disk is full" in shown(app)


async def test_a_failure_is_said_on_the_screen_that_one_is_at(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app("")
    async with app.run_test() as pilot:
        await start(pilot, book)
        await pilot.press("alt+k")
        trainers[0].on_error(1, JobError("line 1 has no field 'text'"))
        await settle(pilot)
        said = [notice.message for notice in app._notifications]
        assert said == ["Not trained: line 1 has no field 'text'."]


async def test_a_failure_and_the_button_are_seen_on_a_small_screen(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(40, 12)) as pilot:
        await start(pilot, book)
        trainers[0].on_error(1, JobError("word " * 20 + "end"))
        await settle(pilot)
        assert "end." in shown(app) and "Start training" in shown(app)


async def test_the_curve_of_a_result_is_seen_where_it_fits(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, book)
        trainers[0].on_done(1, SUMMARY)
        await settle(pilot)
        assert "logarithmic" in shown(app)


async def test_every_button_of_a_result_is_seen_on_a_small_screen(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(40, 12)) as pilot:
        screen = await start(pilot, book)
        trainers[0].on_done(1, SUMMARY)
        await settle(pilot)
        seen = [button for button in screen.query(PushButton) if button.region]
        assert len(seen) == 4
        assert all(app.screen.region.contains_region(button.region) for button in seen)


async def test_other_screens_are_usable_meanwhile_and_the_end_is_said(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app("")
    async with app.run_test() as pilot:
        screen = await start(pilot, book)
        await pilot.press("alt+k", "a")
        trainers[0].on_report(1, REPORT)
        trainers[0].on_done(1, SUMMARY)
        await settle(pilot)
        await pilot.press("b")
        assert isinstance(app.screen, TokensScreen) and app.screen.live.text == "ab"
        assert any("300 tokens" in notice.message for notice in app._notifications)
        await pilot.press("alt+r")
        assert screen.state.phase == "done" and "300 tokens in 1.0 s" in shown(app)


async def test_quitting_ends_the_child_and_removes_what_it_wrote(
    trainers: list[FakeTrainer], book: Path
) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await start(pilot, book)
        assert Path(trainers[0].requests[0].run_folder).is_dir()
    assert trainers[0].closed
    assert list(runs_folder().iterdir()) == []


async def test_a_state_folder_that_cannot_be_made_is_a_message(
    trainers: list[FakeTrainer], book: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    app = make_app()
    async with app.run_test() as pilot:
        screen = await start(pilot, book)
        assert (trainers, screen.state.phase) == ([], "form")
        assert "tokviz" in shown(app)


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (40, 12), (20, 6)])
async def test_every_size_shows_every_phase(
    trainers: list[FakeTrainer], book: Path, size: tuple[int, int]
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:

        def assert_whole() -> None:
            for strip in app.screen._compositor.render_strips():
                assert strip.cell_length == size[0]

        screen = await show_train(pilot)
        assert_whole()
        assert size[0] < 40 or screen.query_one("#source").size.width > 12, "a path has room"
        screen.form.add_sources([str(book)])
        await settle(pilot)
        await pilot.press("ctrl+r")
        trainers[0].on_report(1, REPORT)
        await pilot.pause()
        assert_whole()
        trainers[0].on_done(1, SUMMARY)
        await settle(pilot)
        assert_whole()
        assert "300 tokens" in shown(app)


# -- from the corpus to the Tokens screen, with a real child


async def test_a_trained_tokenizer_is_used_and_saved(book: Path, tmp_path: Path) -> None:
    app = make_app("the theory")
    async with app.run_test() as pilot:
        screen = await show_train(pilot)
        screen.form.add_sources([str(book)])
        screen.query_one("#vocab_size", Input).value = "270"
        await settle(pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: screen.state.phase != "running")
        assert screen.state.phase == "done", [notice.message for notice in app._notifications]
        await settle(pilot)
        assert screen.state.summary is not None
        run = Path(screen.state.summary.run_folder)
        assert run.parent == runs_folder()

        await pilot.press("ctrl+s")
        await settle(pilot)
        app.screen.query_one(Input).value = str(tmp_path / "mine")
        await pilot.press("enter")
        await settle(pilot)
        assert tokviz.load(str(tmp_path / "mine")).n_vocab == 270

        await pilot.press("ctrl+l", "u")
        await settle(pilot)
        tokens = app.screen
        assert isinstance(tokens, TokensScreen)
        trained: Any = tokens.live.tokenizer
        assert trained.n_vocab == 270
        assert list(tokens.live.ids()) == tokviz.load(str(run)).encode("the theory")
        assert tokviz.load(app.session.settings.tokenizer).n_vocab == 270, "the next start finds it"


async def test_a_click_on_a_pattern_of_your_own_leads_into_its_field() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show_train(pilot)
        await settle(pilot)
        row = next(y for y, line in enumerate(shown(app).splitlines()) if "your own" in line)
        await pilot.click(offset=(shown(app).splitlines()[row].index("your own") + 2, row))
        await until(pilot, lambda: screen.focused is screen.query_one("#regex"))
        await pilot.press("a", "+")
        assert screen.query_one("#regex", Input).value == "a+"
        assert screen.query_one("#pattern", Choices).chosen == "custom"


async def test_a_preset_fills_the_form_and_its_run_goes_to_chat_with_its_template(
    trainers: list[FakeTrainer], book: Path, tmp_path: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 50)) as pilot:
        screen = await begin(pilot, book, trainers)
        screen.training.enter("form")
        like = screen.query_one("#like", Choices)
        like.focus()
        await pilot.press("right")
        await settle(pilot)
        preset = PRESETS["nanochat"]
        values = screen.form.values
        assert (values.pattern, values.tie_break, values.special_ids) == (
            "nanochat", "smallest_id", "last",
        )  # fmt: skip
        assert values.vocab_size == "65,536"
        assert tuple(values.specials.split()) == preset.special_tokens
        assert "at most two digits" in shown(app)

        run = tmp_path / "chatting"
        trained = tokviz.train(["hi there"], 270, special_tokens=preset.special_tokens)
        trained.save(run)
        screen.training.enter("running")
        trainers[0].on_done(1, SUMMARY._replace(run_folder=str(run)))
        await settle(pilot)
        await app.run_action("screen.chat_with_result")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        await until(pilot, lambda: app.session.tokenizer.name == "chatting")
        assert app.screen.chat.state.template == "nanochat"


async def test_the_text_at_hand_and_a_typed_one_are_learned_from_byte_for_byte() -> None:
    app = make_app("low\r\nl\udcffow")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.screen.is_ready)
        await app.run_action("screen.train_on_text")
        await until(pilot, lambda: isinstance(app.screen, TrainScreen))
        await until(pilot, lambda: len(app.screen.form.values.corpus) == 1)
        (entry,) = app.screen.form.values.corpus
        assert Path(entry.source).read_bytes() == b"low\r\nl\xffow"
        await app.run_action("screen.type_corpus")
        await until(pilot, lambda: isinstance(app.screen, AskDialog))
        await pilot.press(*"a/b a/b", "enter")
        await until(pilot, lambda: len(app.screen.form.values.corpus) == 2)
        typed = Path(app.screen.form.values.corpus[1].source)
        assert (typed.name, typed.read_bytes()) == ("a-b-a-b.txt", b"a/b a/b")


async def test_a_file_that_is_added_again_is_looked_at_again() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show_train(pilot)
        for typed in ("low low low low low low low", "low low low low low low low and lower"):
            await app.run_action("screen.type_corpus")
            await until(pilot, lambda: isinstance(app.screen, AskDialog))
            await pilot.press(*typed, "enter")
            await until(pilot, lambda: isinstance(app.screen, TrainScreen))
            await settle(pilot)
            (entry,) = screen.form.values.corpus
            assert entry.n_bytes == len(typed) == Path(entry.source).stat().st_size


async def test_a_training_on_a_tiny_corpus_grows_by_itself_rung_by_rung(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, words = make_app(), tmp_path / "words"
    words.write_text("low low low low low lower lower widest widest widest" + " newest" * 6)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show_train(pilot)
        screen.form.add_sources([str(words)])
        screen.query_one("#vocab_size", Input).value = "263"
        await settle(pilot)
        await pilot.press("ctrl+r")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, ReplayScreen)
                and app.screen.is_ready
                and app.screen.state.opened
            ),
        )
        replay = app.screen
        (notice,) = app._notifications  # and not that it has ended, besides
        assert notice.message.startswith("Trained. This replay")
        assert replay.state.player.playing and replay.state.position.number <= 1
        seen = [replay.state.position]
        show = replay.transport.show

        def shown() -> None:
            seen.append(replay.state.position)
            show()

        monkeypatch.setattr(replay.transport, "show", shown)
        await pilot.press(*["plus"] * 2)
        await until(pilot, lambda: replay.state.position == Position(6))
        assert {position.number for position in seen} == {0, 1, 2, 3, 4, 5, 6}, "each is seen"
        await settle(pilot)
        assert len(replay.corpus.tokens.rows) == 7
        await pilot.press("alt+r")
        assert app.screen is screen and screen.state.phase == "done"
