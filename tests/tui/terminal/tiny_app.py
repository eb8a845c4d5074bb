"""A small app for the tests that need a real terminal. It logs what it gets to a file.

    python tiny_app.py LOG [--busy] [--stuck]

Keys: `q` quits, `s` logs the size, `x` raises, `c` crashes like native code, `n` prints to standard
error like native code, `ctrl+z` stops the process.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from tokviz.tui.terminal import watcher
from tokviz.tui.terminal.stdin import read_piped_stdin, reopen_terminal


def main() -> None:
    piped = read_piped_stdin()
    reopen_terminal()
    watcher.start()

    from textual import events
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    from tokviz.tui.terminal.lifecycle import driver_class, exit_process, run_app

    log = open(sys.argv[1], "a", encoding="utf-8", buffering=1)  # noqa: SIM115

    class TinyApp(App[None]):
        def compose(self) -> ComposeResult:
            yield Static("tiny app")

        def on_mount(self) -> None:
            log.write(f"ready {os.getpid()} {piped!r}\n")
            self.app_resume_signal.subscribe(self, lambda _: self.resumed())
            if "--busy" in sys.argv:
                self.run_worker(threading.Event().wait, thread=True)
            if "--stuck" in sys.argv:
                self.set_timer(0.01, self.get_stuck)

        def resumed(self) -> None:
            log.write("resumed\n")
            self.screen.refresh()  # as the app does

        def get_stuck(self) -> None:
            log.write("stuck\n")
            while True:
                time.sleep(0.01)

        def on_key(self, event: events.Key) -> None:
            log.write(f"key {event.key} {event.character!r}\n")
            if event.key == "q":
                self.exit()
            elif event.key == "s":
                log.write(f"size {self.size.width} {self.size.height}\n")
            elif event.key == "x":
                raise ValueError("the x key")
            elif event.key == "c":
                os.kill(os.getpid(), signal.SIGSEGV)
            elif event.key == "n":
                os.write(2, b"native \x1b[31mwords\n")
            elif event.key == "ctrl+z":
                self.action_suspend_process()

        def on_paste(self, event: events.Paste) -> None:
            log.write(f"paste {len(event.text)} {event.text[:60]!r}\n")

    exit_process(run_app(TinyApp(driver_class=driver_class())))


if __name__ == "__main__":
    main()
