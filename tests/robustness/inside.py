"""tokviz as users start it, with actions that a test triggers from inside; see `subject.py`.

    python tests/robustness/inside.py FOLDER [arguments of tokviz]

Each line that is written to the pipe `FOLDER/wishes` is a condition to wait for or an action to
perform, in order; afterwards it is added to `FOLDER/done`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn


def is_training(app: Any) -> bool:
    """Return whether a training is running and has reported progress."""
    screen = app.screen
    return screen.training._client is not None and screen.side.live.learning.report is not None


CONDITIONS: dict[str, Callable[[Any], object]] = {
    "begun": lambda app: app.screen_stack and app.can_take_input() and app.screen.focused,
    "dialog": lambda app: len(app.screen_stack) > 1,
    "tokens screen": lambda app: app.current_mode == "tokens" and app.can_take_input(),
    "at rest": lambda app: not any(worker.is_running for worker in app.workers),
    "train screen": lambda app: app.current_mode == "train" and app.can_take_input(),
    "training": is_training,
    "opened": lambda app: app.screen.state.n_merges,
    "playing": lambda app: app.screen.state.player.playing and app.screen.state.position.n_done,
    "paused": lambda app: not app.screen.state.player.playing,
    "dataset": lambda app: app.screen.rows.dataset is not None,
    "scanning": lambda app: app.screen.rows.checks.scan.lengths,
    "no scan": lambda app: (
        not any(worker.is_running for worker in app.workers if worker.group == "scan")
    ),
}


def fail(app: Any) -> NoReturn:
    """Raise an unexpected error."""
    raise ValueError("a handler fails")


def crash(app: Any) -> None:
    """Crash like a fault in native code."""
    import faulthandler

    faulthandler._sigsegv()  # type: ignore[attr-defined]


HOARD: list[bytearray] = []


def exhaust(app: Any) -> NoReturn:
    """Allocate more memory than there is, and keep it."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (16 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    n_bytes = 16 << 20
    while True:
        try:
            HOARD.append(bytearray(n_bytes))
        except MemoryError:
            if n_bytes == 1 << 10:
                raise
            n_bytes >>= 1


def train(app: Any, corpus: str) -> None:
    """Start a training on a file."""
    app.screen.form.add_sources([corpus])
    app.call_later(app.screen.run_action, "screen.start_training")


def ask(app: Any, kind: str, path: str, rows: str) -> None:
    """Request a file, as a picker or a dialog does."""
    from tokviz.chat.dataset import ChatRequest
    from tokviz.workspace.session import UseTokenizer

    if kind == "tokenizer":
        app.session.ask(UseTokenizer(path))
    else:
        app.session.ask(ChatRequest(rows, path) if kind == "template" else ChatRequest(path))


def set_clock(app: Any, seconds: str) -> None:
    """Shift the wall clock from now on; the monotonic clock is unchanged."""
    real, off = time.time, float(seconds)
    time.time = lambda: real() + off


DEEDS: dict[str, Callable[..., object]] = {
    "clock": set_clock,
    "fail": fail,
    "crash": crash,
    "exhaust": exhaust,
    "train": train,
    "ask": ask,
    "show": lambda app, screen: app.action_show_screen(screen),
    "scan": lambda app: app.screen.rows.checks.start(app.screen.rows.dataset),
    "choose": lambda app, name, value: app.session.change_settings(**{name: value == "1"}),
}


def obey(app: Any, folder: Path) -> None:
    """Perform the requested actions until the app ends."""
    with open(folder / "wishes") as wishes, open(folder / "done", "a", buffering=1) as done:
        for wish in wishes:
            name, *arguments = wish.rstrip("\n").split("\t")
            if name in CONDITIONS:
                while not _holds(CONDITIONS[name], app):
                    time.sleep(0.01)
            else:
                app.call_from_thread(app.call_later, DEEDS[name], app, *arguments)
            done.write(wish)


def _holds(condition: Callable[[Any], object], app: Any) -> bool:
    # Runs in another thread, so the app's state may be incomplete.
    try:
        return bool(condition(app))
    except (AttributeError, IndexError, LookupError):
        return False


def main() -> None:
    """Run tokviz with the thread that performs the actions."""
    from tokviz.cli.main import main as tokviz
    from tokviz.tui.terminal import lifecycle

    folder = Path(sys.argv[1])
    run_app = lifecycle.run_app

    def run(app: Any) -> int:
        threading.Thread(target=obey, args=(app, folder), daemon=True).start()
        return run_app(app)

    setattr(lifecycle, "run_app", run)  # noqa: B010
    (folder / "pid").write_text(str(os.getpid()))
    sys.exit(tokviz(sys.argv[2:]))


if __name__ == "__main__":
    main()
