"""Look for crashes: a monkey at the keyboard and the mouse, at human pace and in bursts.

    python tests/robustness/monkey.py 50000
    python tests/robustness/monkey.py 300 --seed 7 --run 12
    python tests/robustness/monkey.py 50000 --day

Every run uses a new app. A crash is printed with its seed, its run and the last actions; the second
command repeats the run. A screen with a pending redraw that waits for other events counts as a
crash. The figures at the end are crashes and the slowest answer (until the app and its screen have
handled all events).

A day is one app for all actions, which ends only with a crash. After each number of actions of a
run, the monkey goes home: dialogs are closed, trainings canceled, text and conversation are empty
without undo history, and every screen shows only gpt2 in 80x24 cells. There the garbage collector
runs, as in a long pause, and the memory of the process is measured, without the memory that Python
keeps free. The drift is the growth from the second quarter of the day to the last: by this time
every screen has been shown, every tokenizer read, and most caches, which are bounded, are full. The
memory that Python keeps free corresponds to an earlier peak: it grows in steps of some 50 MB at
arbitrary times, while the memory in use is constant.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import faulthandler
import gc
import io
import os
import random
import re
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
RUN_ACTIONS = 250
LAST = 25
"""Number of last actions to print with a crash."""
DEAF_SECONDS = 20.0
"""Seconds without an answer after which the app counts as deaf, unless it did something and has not
had the processor for half of them, or others had it for a quarter of them while it could run."""
SLOWEST_SECONDS, MOST_DRIFT = 1.0, 0.05
LATE_SECONDS, LOOK_SECONDS = 0.4, 0.1
"""Seconds after which a late answer is inspected, and between two inspections."""
N_BUSIEST, N_CALLS = 5, 20
DAY_ACTIONS = 10_000
"""Minimum size of a day for a meaningful drift, because caches fill first."""
REDRAW_SECONDS, N_TURNS = 2.0, 100
"""Seconds, and turns of all other tasks, after which a pending redraw counts as lost."""
REST_SECONDS = 60.0
"""Time limit for background work."""
SPIN_SECONDS = 300.0
"""Seconds after which an action counts as an endless loop."""

TEXTS = (
    "hello world", "x", " ", "\n\n\n", "\t", "1234567", "日本語のテキスト",
    "👩‍👩‍👧‍👦 e\u0301\u200b\u202e", "\x1b[31m\x07\x9b", "a" * 3000, " " * 500,
    "def f(x):\r\n    return x\r\n" * 40, "<|endoftext|>", "300", "[a-z]+", "(", ".", "/", "~/",
    "~nobody/x", "/" + "a" * 300 + "/", "a\0b", "\ud800", "{" * 2000, "9" * 30, "hf:nobody/no",
)  # fmt: skip
KEYS = (
    *"abcxyz019 ./?", "enter", "enter", "enter", "escape", "escape", "tab", "shift+tab", "up",
    "down", "left", "right", "home", "end", "pageup", "pagedown", "backspace", "delete", "space",
    "shift+right", "ctrl+home", "ctrl+end", "ctrl+right", "ctrl+p", "ctrl+a", "ctrl+z", "ctrl+y",
    "f1",
)  # fmt: skip
SIZES = ((80, 24), (120, 40), (200, 60), (40, 12), (1, 1), (2, 2), (1000, 300), (20, 5), (300, 3))
MOST_CELLS = 200 * 60
"""On a larger screen, finding places to click takes long."""
TOKENIZERS = ("gpt2", "cl100k_base", "o200k_base", "qwen2")


class Crash(NamedTuple):
    """A run that ended with a crash."""

    run: int
    number: int
    what: str
    last: tuple[str, ...]


class Figures(NamedTuple):
    """The result of a search.

    Attributes:
        actions: Number of actions.
        kinds: Number of actions by kind.
        crashes: The runs that crashed.
        slowest: The slowest answers.
        memory: Megabytes at home, in a day; of the last app, if others have crashed.
    """

    actions: int
    kinds: Counter[str]
    crashes: list[Crash]
    slowest: Slowest
    memory: list[float]
    """Megabytes in use at home."""

    @property
    def drift(self) -> float | None:
        """The growth of memory in use, 0.05 for 5 %; None if there are too few measurements."""
        quarter = len(self.memory) // 4
        if quarter * RUN_ACTIONS * 4 < DAY_ACTIONS:
            return None
        first, last = self.memory[quarter : 2 * quarter], self.memory[-quarter:]
        return statistics.median(last) / statistics.median(first) - 1


class Monkey:
    """Performs random actions in one app."""

    def __init__(
        self, app: Any, chance: random.Random, corpus: Path, slowest: Slowest, run: int = 0
    ) -> None:
        self.app, self.chance, self.corpus = app, chance, corpus
        self.slowest, self.run = slowest, run
        self.index, self.doing = 0, ""
        self.is_waiting = False
        self.begin()
        self.keys = (*KEYS, *_action_keys())
        self.deeds: dict[str, tuple[int, Callable[[], Awaitable[str]]]] = {
            "key": (30, self.key),
            "burst": (20, self.burst),
            "click": (15, self.click),
            "wheel": (6, self.wheel),
            "drag": (4, self.drag),
            "paste": (5, self.paste),
            "resize": (4, self.resize),
            "screen": (8, self.screen),
            "command": (8, self.command),
            "tokenizer": (2, self.tokenizer),
            "train": (1, self.train),
        }

    async def act(self) -> tuple[str, str]:
        """Perform one action, and return its kind and description."""
        names = list(self.deeds)
        weights = [weight for weight, _ in self.deeds.values()]
        self.doing = self.chance.choices(names, weights)[0]
        self.begin()
        what = await self.deeds[self.doing][1]()
        self.doing += f" {what}"
        return self.doing.split()[0], what

    def begin(self) -> None:
        """Time answers from now on."""
        self.asked = time.perf_counter(), time.thread_time()

    async def answer(self) -> None:
        """Wait until all events are handled, and record how long that took."""
        self.is_waiting = True
        try:
            await self.dealt_with()
        finally:
            self.is_waiting = False
        seconds, busy = time.perf_counter() - self.asked[0], time.thread_time() - self.asked[1]
        self.slowest.note(seconds, busy, self.where())
        self.begin()

    def where(self) -> str:
        width, height = self.app.size
        place = f"run {self.run}, {self.index}, {self.app.current_mode} in {width}x{height}"
        return f"{place}: {self.doing}"

    def look(self, ended: threading.Event, watched: int) -> None:
        """Print the stack of a thread repeatedly while an answer is late."""
        while not ended.wait(LOOK_SECONDS):
            late = time.perf_counter() - self.asked[0]
            if self.is_waiting and late > LATE_SECONDS:
                stack = traceback.extract_stack(sys._current_frames()[watched])
                calls = [f"{Path(call.filename).stem}:{call.lineno} {call.name}" for call in stack]
                print(f"late, {late:.2f} s, {self.where()}\n    {' < '.join(calls[:-N_CALLS:-1])}")

    async def drawn(self) -> None:
        """Raise an error if a screen with a pending redraw is not redrawn by itself."""
        left = self.left_undrawn()
        for _ in range(N_TURNS):
            if not left:
                break
            await asyncio.sleep(REDRAW_SECONDS / N_TURNS)
            left &= self.left_undrawn()
        self.begin()
        if left and not self.app._exit:
            raise TimeoutError(f"stands still: nothing will draw {left}")

    def left_undrawn(self) -> set[Any]:
        """Find pending layouts and redraws of widgets that are waiting for events."""
        if self.app._batch_count:  # nothing is drawn now
            return set()
        found = set[Any]()
        for screen in self.app.screen_stack:
            if not screen.is_current or screen._update_timer._active.is_set():
                continue
            for widget in screen.walk_children():
                marks = widget._layout_required, widget._scroll_required, widget._repaint_required
                if any(marks) and widget._running and widget.is_on_screen and not widget._closing:
                    found.add(widget)
        return found

    async def dealt_with(self) -> None:
        """Wait until the app and its screen have handled all events."""
        for pump in (self.app, self.app.screen):
            answered = asyncio.Event()
            if pump.call_later(answered.set):
                happens = (answered, self.app._monkey_ended, self.app._exception_event)
                waits = [asyncio.ensure_future(event.wait()) for event in happens]
                done, is_starved = set[Any](), True
                while is_starved and not done:
                    used, waited = time.process_time(), _seconds_in_queue()
                    done, _ = await asyncio.wait(
                        waits, timeout=DEAF_SECONDS, return_when=asyncio.FIRST_COMPLETED
                    )
                    used, waited = time.process_time() - used, _seconds_in_queue() - waited
                    did_some = used > 0.05 * DEAF_SECONDS or waited > 0.25 * DEAF_SECONDS
                    is_starved = did_some and used < 0.5 * DEAF_SECONDS
                for wait in waits:
                    wait.cancel()
                # A dialog that was closed meanwhile does not answer.
                if not done and (pump is self.app or pump.is_current):
                    raise TimeoutError(f"deaf: no answer in {DEAF_SECONDS:.0f} s")

    def press(self, *keys: str) -> None:
        """Send keys as if they arrived in one read."""
        from textual import events
        from textual.keys import key_to_character

        for key in keys:
            self.app.post_message(events.Key(key, key_to_character(key)).set_sender(self.app))

    def mouse(self, kind: str, x: int, y: int, button: int = 1) -> None:
        from textual import events

        event = getattr(events, f"Mouse{kind}")
        self.app.post_message(event(None, x, y, 0, 0, button, False, False, False, x, y))

    def place(self) -> tuple[int, int]:
        width, height = self.app.size
        return self.chance.randrange(max(1, width)), self.chance.randrange(max(1, height))

    def lively_place(self) -> tuple[int, int]:
        """Choose a place where a click has an effect, unless the screen is too large."""
        from tokviz.tui.dialogs.jump import targets

        width, height = self.app.size
        if width * height <= MOST_CELLS:
            found = targets(self.app.screen, self.app.screen._compositor.render_strips())
            if found:
                x, y = self.chance.choice(found).place
                return x, y
        return self.place()

    async def key(self) -> str:
        key = self.chance.choice(self.keys)
        self.press(key)
        return key

    async def burst(self) -> str:
        if self.chance.random() < 0.4:
            keys = [self.chance.choice(self.keys)] * self.chance.randint(2, 6)
        else:
            keys = [self.chance.choice(self.keys) for _ in range(self.chance.randint(2, 14))]
        self.press(*keys)
        return " ".join(keys)

    async def click(self) -> str:
        x, y = self.chance.choice((self.place, self.lively_place))()
        times = self.chance.choice((1, 1, 1, 2, 3))
        button = self.chance.choice((1, 1, 1, 1, 3))
        self.mouse("Move", x, y, 0)
        for _ in range(times):
            self.mouse("Down", x, y, button)
            self.mouse("Up", x, y, button)
        return f"{times} at {x},{y} button {button}"

    async def wheel(self) -> str:
        x, y = self.place()
        kind = self.chance.choice(("ScrollDown", "ScrollUp"))
        for _ in range(times := self.chance.randint(1, 20)):
            self.mouse(kind, x, y, 0)
        return f"{kind} {times} at {x},{y}"

    async def drag(self) -> str:
        start, end = self.place(), self.place()
        self.mouse("Down", *start)
        self.mouse("Move", *end)
        if self.chance.random() < 0.9:
            self.mouse("Up", *end)
        return f"{start} to {end}"

    async def paste(self) -> str:
        from textual import events

        text = self.chance.choice(TEXTS)
        self.app.post_message(events.Paste(text))
        return repr(text[:30])

    async def resize(self) -> str:
        if self.chance.random() < 0.5:
            size = self.chance.choice(SIZES)
        else:
            size = self.chance.randint(1, 250), self.chance.randint(1, 80)
        self.set_size(*size)
        return "x".join(map(str, size))

    def set_size(self, width: int, height: int) -> None:
        from textual import events
        from textual.geometry import Size

        self.app._driver._size = size = Size(width, height)
        self.app.post_message(events.Resize(size, size))

    async def screen(self) -> str:
        from tokviz.tui.screens.registry import SCREENS

        screens = [self.chance.choice(SCREENS).id for _ in range(self.chance.choice((1, 1, 3, 11)))]
        for screen_id in screens:
            self.app.call_later(self.app.run_action, f"app.show_screen('{screen_id}')")
        return " ".join(screens)

    async def command(self) -> str:
        """Search in the command palette, and press Enter once or twice."""
        from tokviz.tui.app import actions_on

        title = self.chance.choice(actions_on(self.app.current_mode)).title
        self.press("escape", "ctrl+p")
        await self.answer()
        self.press(*title.lower().replace(" ", "_").replace("_", " "))
        if seconds := self.chance.choice((0.0, 0.05, 0.3)):
            await self.answer()
            await asyncio.sleep(seconds)
            self.begin()
        self.press(*["enter"] * self.chance.randint(1, 3))
        return title

    async def tokenizer(self) -> str:
        from tokviz.workspace.session import UseTokenizer

        name = self.chance.choice(TOKENIZERS)
        self.app.call_later(self.app.session.ask, UseTokenizer(name))
        return name

    async def train(self) -> str:
        """Train on a small file without waiting."""
        await self.leave_dialogs()
        self.app.action_show_screen("train")
        await self.answer()
        screen = self.app.screen
        if getattr(screen, "SCREEN_ID", "") == "train" and screen.is_ready:
            screen.form.add_sources([str(self.corpus)])
            self.app.call_later(screen.run_action, "screen.start_training")
        return self.corpus.name

    async def leave_dialogs(self) -> None:
        while len(self.app.screen_stack) > 1:
            self.press("escape")
            await self.answer()

    async def weigh(self) -> tuple[float, float]:
        """Return the megabytes of the process at home, and how many of them are free."""
        from tokviz.process.memory import give_back

        await self.home()
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        give_back()
        return _resident_bytes() / 1e6, _free_bytes() / 1e6

    async def home(self) -> None:
        """Go to the state in which memory is compared; see the module's docstring."""
        from tokviz.tui.screens.chat.editing import EMPTY
        from tokviz.tui.screens.registry import SCREENS
        from tokviz.workspace.session import ReplayRequest, UseTokenizer

        app, session = self.app, self.app.session
        self.doing = "home: size"
        self.begin()
        self.set_size(*SIZES[0])
        await self.leave_dialogs()
        train = app.switcher.created.get("train")
        if train is not None and train.is_ready and train.training._client is not None:
            train.training._give_up(train.training._client)
        for request in (UseTokenizer("gpt2"), ReplayRequest("gpt2")):
            await self.leave_dialogs()
            self.doing = f"home: {request}"
            session.ask(request)
            await self.rest()
        for kind in (*SCREENS, SCREENS[0]):
            await self.leave_dialogs()
            self.doing = f"home: show {kind.id}"
            app.action_show_screen(kind.id)
            await self.rest()
            while kind.id == "compare" and session.others:
                await app.screen.run_action("remove_tokenizer(1)")
                await self.rest()
        self.doing = "home: empty"
        app.switcher.created["tokens"].text.load("", None)
        chat = app.switcher.created["chat"]
        chat.chat.begin(EMPTY)  # what undo leads to, a thousand steps, is as the user's text
        chat._show_state()
        await self.rest()

    async def heard(self) -> None:
        """Wait until no key or click is pending."""
        left, late = 0, 0.0
        while (waiting := self.app.input.pending) and not self.app._exit:
            if len(waiting) != left:
                left, late = len(waiting), time.monotonic() + REST_SECONDS
            if time.monotonic() > late:
                screen, answering = self.app.screen, self.app.input._busy
                about = f"{screen!r}, begun {screen.is_ready}, answering {answering}"
                raise TimeoutError(f"deaf: {len(waiting)} keys and clicks wait for ever: {about}")
            await asyncio.sleep(0.05)

    async def rest(self) -> None:
        """Wait until all background work has ended."""
        late = time.monotonic() + REST_SECONDS
        await self.answer()
        await self.heard()
        await asyncio.sleep(0.1)
        while any(worker.is_running for worker in self.app.workers) and time.monotonic() < late:
            await asyncio.sleep(0.05)
        self.begin()
        await self.answer()


def _action_keys() -> Iterator[str]:
    from tokviz.tui.app import actions_on
    from tokviz.tui.screens.registry import SCREENS

    keys = {key for kind in SCREENS for found in actions_on(kind.id) for key in found.keys}
    # The keys of a chord are separated by a space.
    yield from sorted({key for chord in keys for key in chord.split()} - {"ctrl+q"})


class Slowest:
    """The slowest answer by the clock, and those that used the most time of the app's thread.

    On a busy machine, only the second is meaningful.
    """

    def __init__(self) -> None:
        self.seconds, self.what = 0.0, ""
        self.busiest: list[tuple[float, str]] = []

    def note(self, seconds: float, busy: float, what: str) -> None:
        """Record an answer: its seconds, and the processor time of the app's thread."""
        if seconds > self.seconds:
            self.seconds, self.what = seconds, what
        self.busiest = sorted([*self.busiest, (busy, what)], reverse=True)[:N_BUSIEST]


async def run(
    seed: int,
    number: int,
    n_actions: int,
    kinds: Counter[str],
    slowest: Slowest,
    *,
    verbose: bool = False,
    day: list[float] | None = None,
) -> Crash | None:
    """Run one app from start to end, or a day, which measures the memory at home."""
    import tokviz
    from tokviz.text import bytetext
    from tokviz.tui.app import TokvizApp
    from tokviz.workspace.session import Opened, Session
    from tokviz.workspace.settings import Settings

    chance = random.Random(f"{seed} {number}")
    corpus = Path("corpus.txt")
    corpus.write_text("the cat and the theme of the theory\n" * 200)
    session = Session(
        Opened(bytetext.as_byte_text(chance.choice(TEXTS))),
        tokviz.load("gpt2"),
        Settings(),
        remember=chance.random() < 0.5,
    )
    app: Any = TokvizApp(session)
    app._monkey_ended = asyncio.Event()
    end, done = app.exit, deque[str](maxlen=LAST)

    def exit(*arguments: Any, **options: Any) -> None:
        if day is None or options.get("return_code"):
            app._monkey_ended.set()
            end(*arguments, **options)

    app.exit = exit
    errors, ended = io.StringIO(), threading.Event()
    try:
        with contextlib.redirect_stderr(errors):
            async with app.run_test(size=chance.choice(SIZES[:4]), notifications=True):
                monkey = Monkey(app, chance, corpus, slowest, number)
                about = ended, threading.get_ident()
                threading.Thread(target=monkey.look, args=about, daemon=True).start()
                for index in range(n_actions):
                    if app._exit or app._exception is not None:
                        break
                    monkey.index = index
                    # An endless loop without awaiting does not notice a timeout.
                    faulthandler.dump_traceback_later(
                        2 * SPIN_SECONDS, exit=True, file=sys.__stderr__
                    )
                    async with asyncio.timeout(SPIN_SECONDS):
                        kind, what = await monkey.act()
                    done.append(f"{kind} {what}")
                    if verbose:
                        print(f"{number}.{index} {done[-1]}", flush=True)
                    kinds[kind] += 1
                    if chance.random() < 0.7:
                        await monkey.answer()
                        await monkey.drawn()
                    if chance.random() < 0.3:  # at human pace
                        await asyncio.sleep(chance.choice((0.02, 0.05, 0.2)))
                    if day is not None and (index + 1) % RUN_ACTIONS == 0:
                        async with asyncio.timeout(SPIN_SECONDS):
                            whole, free = await monkey.weigh()
                        day.append(whole - free)
                        done_now = f"{sum(kinds.values()):,} actions"
                        print(f"{done_now}, {whole:.0f} MB, {free:.0f} of them free", flush=True)
                if app._exception is None:
                    await monkey.heard()
                    # As a user does. Otherwise a dialog that is just opening would be torn down.
                    end()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        # A failed worker has its error, but not as the cause of the exception.
        told = getattr(error, "error", error)
        trace = "".join(traceback.format_exception(told))
        return Crash(number, sum(kinds.values()), trace, tuple(done))
    finally:
        ended.set()
        faulthandler.cancel_dump_traceback_later()
    if app.return_code:
        return Crash(number, sum(kinds.values()), f"exit code {app.return_code}", tuple(done))
    return None


def search(
    seed: int, n_actions: int, only: int | None = None, *, verbose: bool = False, day: bool = False
) -> Figures:
    """Run apps until there were enough actions."""
    kinds, slowest, crashes = Counter[str](), Slowest(), list[Crash]()
    memory: list[float] = []
    if day:
        _make_machine_code()
    number = 0 if only is None else only
    while (left := n_actions - sum(kinds.values())) > 0:
        memory.clear()
        crash = asyncio.run(
            run(
                seed,
                number,
                left if day else min(RUN_ACTIONS, left),
                kinds,
                slowest,
                verbose=verbose,
                day=memory if day else None,
            )
        )
        if crash is not None:
            crashes.append(crash)
            _print_crash(seed, crash)
        gc.unfreeze()  # every app froze the objects after its first frame
        gc.collect()
        number += 1
        if number % 10 == 0:
            print(f"{sum(kinds.values()):,} actions, {len(crashes)} crashes", flush=True)
        if only is not None:
            break
    return Figures(sum(kinds.values()), kinds, crashes, slowest, memory)


def _make_machine_code() -> None:
    """Load everything that a long text needs, regardless of when the day brings the first one."""
    import tokviz

    for name in TOKENIZERS:
        tokviz.load(name).prepare()


def _print_crash(seed: int, crash: Crash) -> None:
    print(f"\nCRASH  seed {seed}, run {crash.run}, after {crash.number} actions in all")
    print("\n".join(f"    {action}" for action in crash.last))
    print(crash.what, flush=True)


def _seconds_in_queue() -> float:
    """Return how long this thread waited for a processor; 0 if the system does not report it."""
    told = Path("/proc/thread-self/schedstat")
    return int(told.read_text().split()[1]) / 1e9 if told.exists() else 0.0


def _resident_bytes() -> float:
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * 4096 if pages.exists() else 1.0


def _free_bytes() -> int:
    """Return the free memory in Python's own heap; 0 if it has none."""
    before = os.dup(2)
    with tempfile.TemporaryFile("w+b") as file:
        os.dup2(file.fileno(), 2)
        try:
            sys._debugmallocstats()  # to the C library's standard error
        finally:
            os.dup2(before, 2)
            os.close(before)
        file.seek(0)
        told = file.read().decode()
    taken = re.search(r"arenas \* .* = +([\d,]+)", told)
    used = re.search(r"bytes in allocated blocks += +([\d,]+)", told)
    if taken is None or used is None:
        return 0
    return int(taken[1].replace(",", "")) - int(used[1].replace(",", ""))


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Isolate the app from the user's folders, clipboard and network."""
    here, variables = os.getcwd(), dict(os.environ)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "HOME"):
            os.environ[name] = folder
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "TOKVIZ_TOKENIZER"):
            os.environ.pop(name, None)
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(variables)


def main(arguments: list[str] | None = None) -> int:
    """Search, print the figures, and return 1 if there was a crash."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("actions", type=int)
    parser.add_argument("--seed", type=int, help="the same one does the same (random)")
    parser.add_argument("--run", type=int, help="only this run")
    parser.add_argument("--day", action="store_true", help="one app, and how its memory grows")
    parser.add_argument("--verbose", action="store_true", help="print every action as it is done")
    asked = parser.parse_args(arguments)
    seed = random.randrange(2**32) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    with apart():
        figures = search(seed, asked.actions, asked.run, verbose=asked.verbose, day=asked.day)
    print(f"{figures.actions:,} actions: {dict(figures.kinds)}")
    slowest, drift = figures.slowest, figures.drift
    print(f"{len(figures.crashes)} crashes; must be 0")
    print(
        f"slowest answer {slowest.seconds:.2f} s ({slowest.what}); "
        f"must be ≤ {SLOWEST_SECONDS:.0f} s"
    )
    for busy, what in slowest.busiest:
        print(f"    {busy:.2f} s of the processor for the app's own thread: {what}")
    if drift is not None:
        print(f"memory {drift:+.1%}; must be ≤ {MOST_DRIFT:.0%}")
    is_late = slowest.seconds > SLOWEST_SECONDS
    return int(bool(figures.crashes) or is_late or (drift or 0.0) > MOST_DRIFT)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
