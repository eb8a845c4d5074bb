"""Compiled loops are there before somebody waits for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.timer import Timer

from tokviz.child.protocol import Body
from tokviz.child.runner import JobClient, RunHandlers
from tokviz.tui.tasks import in_thread, later

REST_SECONDS = 15.0
"""So long nobody must have touched the app."""
NOTE = "Compiling once for this computer. You can go on meanwhile."


class Compiling:
    """Compiles in a child of low priority, once, when the app rests or somebody asks for it."""

    def __init__(self, app: App[Any]) -> None:
        """Begin with nothing."""
        self._app = app
        self._client: JobClient | None = None
        self._rest: Timer | None = None
        self._begun = False

    def wait_for_rest(self) -> None:
        """Compile when the app rests, if there is anything to compile."""

        def look() -> None:
            from tokviz.encoding.bulk import KERNELS

            in_thread(self._app, "compile", lambda task: KERNELS.are_compiled(), found)

        def found(compiled: bool) -> None:
            if not compiled:
                self.begin()

        self._rest = self._app.set_timer(REST_SECONDS, look)

    def note_input(self) -> None:
        """Notice that the app does not rest."""
        if self._rest is not None:
            self._rest.reset()

    def begin(self, say: Callable[..., object] | None = None) -> None:
        """Compile now, unless that has begun; `say` takes what there is to tell the user."""
        if self._begun:
            return
        self._begun = True

        def hear(_run: int, body: Body) -> None:
            if say is not None and body.get("compiling"):
                say(NOTE)
            if say is not None and "problem" in body:
                say(body["problem"], severity="warning")

        from tokviz.jobs.train_client import LIMITS

        self._client = JobClient("compile_kernels", limits=LIMITS, keeps_child=False)
        self._client.run(lambda memory: [{}], RunHandlers(later(self._app, hear)))

    def end(self) -> None:
        """End the child, and begin none any more."""
        self._begun = True
        if self._client is not None:
            self._client.close()
