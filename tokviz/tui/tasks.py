"""Run work in a thread, and pass its result to the screen, or only that of the latest request."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from time import monotonic, sleep
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from textual.app import App
from textual.dom import DOMNode
from textual.worker import Worker, get_current_worker

from tokviz.errors import LargeFileError, TokvizError
from tokviz.formats.budget import ask_first, before_large
from tokviz.process.runner import raise_if_stopped, stopped_by
from tokviz.tui.messages import Notice, Question
from tokviz.tui.textual_private.notices import dismiss_notices
from tokviz.tui.textual_private.removed_nodes import is_being_removed

T = TypeVar("T")


class Task:
    """Handle of work in a thread: reports progress, and knows whether the work was cancelled.

    Other threads that the work starts may use it, too, even after the node was removed.
    """

    def __init__(self, node: DOMNode, app: App[Any]) -> None:
        """Create the task of a node's worker, in the worker's thread.

        Args:
            node: The node, which may be removed before its thread starts.
            app: The app of the node.
        """
        self._node, self._app = node, app
        self._worker = get_current_worker()

    @property
    def cancelled(self) -> bool:
        """Whether the result is no longer needed."""
        return self._worker.is_cancelled

    def tell(self, method: Callable[..., object], *arguments: object) -> None:
        """Call a method on the app's thread and wait for it, unless the node was removed."""
        self.tell_app(_call_if_there, self._node, method, *arguments)

    def tell_app(self, method: Callable[..., object], *arguments: object) -> None:
        """Call a method on the app's thread even if the node was removed, unless the app ended."""
        app = self._app
        try:
            app.call_from_thread(method, *arguments)
        except (RuntimeError, CancelledError):
            if app.is_running and not getattr(app, "is_exiting", False):
                raise

    def say(self, text: str) -> None:
        """Show a notification."""
        self._node.post_message(Notice(text))


def in_thread(
    node: DOMNode,
    group: str,
    work: Callable[[Task], T],
    done: Callable[[T], object] | None = None,
    *,
    failed: Callable[[TokvizError], object] | None = None,
    exclusive: bool = True,
    stoppable: str = "",
    is_said: bool = False,
) -> Worker[None]:
    """Run work in a thread, and pass on its result.

    Args:
        node: The screen or widget that the work belongs to, and ends with.
        group: The kind of work. The app waits for "save" before it quits.
        work: Runs in the thread.
        done: Takes the result on the app's thread, unless the work was cancelled.
        failed: Takes a `TokvizError` there; by default it becomes a notification.
        exclusive: Whether to cancel running work of the group.
        stoppable: A description such as "Loading a.json" for work that may take long. A
            notification shows it, Esc stops the work, and `failed` takes a `StoppedError`.
        is_said: Whether the screen shows progress itself, so that no notification is needed.
    """
    agreed: set[str] = set()
    """Questions about large files that the user answered with yes."""

    def show_error(error: TokvizError) -> None:
        node.post_message(Notice(str(error), "error"))

    def ask(error: LargeFileError) -> None:
        def go_on() -> None:
            agreed.add(str(error))
            begin()

        def decline() -> None:
            if failed is not None:
                failed(TokvizError("The file was not read."))

        node.post_message(Question(f"{error}. Read it?", go_on, decline))

    app = node.app

    def run() -> None:
        task = Task(node, app)

        def is_stopped() -> bool:
            return bool(stoppable) and task.cancelled

        def hand_over(take: Callable[[Any], object], what: object) -> None:
            if not task.cancelled:
                take(what)

        try:
            with before_large(ask_first, {*agreed, *_TOLD}), stopped_by(is_stopped):
                result = work(task)
        except LargeFileError as error:
            if error.is_begun:
                # The user may be doing something else, so a question would interrupt.
                _TOLD.add(str(error))
                paused = TokvizError(f"{error}. Open it again to continue reading.")
                task.tell(hand_over, failed or show_error, paused)
            else:
                task.tell(hand_over, ask, error)
            return
        except TokvizError as error:
            task.tell(hand_over, failed or show_error, error)
            return
        finally:
            if stoppable:
                task.tell_app(over, task._worker)
        if done is not None:
            task.tell(hand_over, done, result)

    def over(worker: Worker[None]) -> None:
        _STOPPABLE.pop(worker, None)
        # The last notification may still be queued.
        node.app.call_later(dismiss_notice, node.app, f"{stoppable}…")

    def stop(worker: Worker[None]) -> None:
        over(worker)
        (failed or show_error)(StoppedError(f"{stoppable} was stopped"))

    def begin() -> Worker[None]:
        worker = node.run_worker(
            run, group=group, description=group, exclusive=exclusive, thread=True
        )
        if stoppable:
            _STOPPABLE[worker] = stop
            if not is_said:
                _tell_of(node, worker, stoppable)
        return worker

    return begin()


def pending_or(asked: tuple[T, Worker[None]] | None, now: T) -> T:
    """Return the pending value while its work is running, otherwise the current one."""
    if asked is None or asked[1].is_finished or asked[1].is_cancelled:
        return now
    return asked[0]


_TOLD: set[str] = set()
"""Errors about large files that were shown: opening the file again reads all of it."""


class StoppedError(TokvizError):
    """The user stopped work with Esc."""


_STOPPABLE: WeakKeyDictionary[Worker[None], Callable[[Worker[None]], object]] = WeakKeyDictionary()
"""Workers that Esc stops, with a function to call. It must not hold a reference to the worker."""

_PATIENCE, _REPEATS = 0.5, 5.0
"""Seconds until the first notification about running work, and until each update."""


def stop_work(app: App[Any]) -> bool:
    """Stop all work that Esc can stop; return False if there is none."""
    stopped = [worker for worker in app.workers if worker.is_running and worker in _STOPPABLE]
    for worker in stopped:
        worker.cancel()
        _STOPPABLE[worker](worker)
    return bool(stopped)


def _tell_of(node: DOMNode, worker: Worker[None], what: str) -> None:
    begun = monotonic()

    def tell() -> None:
        if worker in _STOPPABLE and not worker.is_cancelled:
            dismiss_notice(node.app, f"{what}…")
            # Through the app, so that dismissing it is queued after it.
            node.app.notify(f"{what}… {monotonic() - begun:.0f} s. Esc stops it.", markup=False)
            node.set_timer(_REPEATS, tell)

    node.set_timer(_PATIENCE, tell)


def dismiss_notice(app: App[Any], prefix: str) -> None:
    """Dismiss the notifications that start with a text."""
    dismiss_notices(app, lambda notice: notice.message.startswith(prefix))


def post_to_ui(node: DOMNode, method: Callable[..., object]) -> Callable[..., None]:
    """Return a function that other threads may call instead of a method of the app's thread.

    It does not wait for the method, so that a callback cannot block closing its child process.
    """

    def call(*arguments: object) -> None:
        node.call_later(_call_if_there, node, method, *arguments)

    return call


def _call_if_there(node: DOMNode, method: Callable[..., object], *arguments: object) -> None:
    """Call a method of a node, unless the node is being removed and has lost its children."""
    if node.app.is_running and node.is_attached and not is_being_removed(node):
        method(*arguments)


RequestT = TypeVar("RequestT")

_POLL_SECONDS = 0.01


class LatestWorker(Generic[RequestT]):
    """Work in a thread for the latest request only.

    By default a request cancels the running work, whose result is dropped. With `one_at_a_time`
    the running work finishes first and its result is still used: for work that must not run twice
    at once, and whose results are worth showing while requests keep coming. Of the requests made
    meanwhile only the latest is worked on.

    Attributes:
        pending: The latest request while its result is still to come, otherwise None.
    """

    def __init__(self, node: DOMNode, group: str, *, one_at_a_time: bool = False) -> None:
        """Create a worker of a screen or widget; see `tasks.in_thread` for its group."""
        self._node, self._group, self._one_at_a_time = node, group, one_at_a_time
        self.pending: RequestT | None = None
        self._worker: Worker[None] | None = None
        self._next: Callable[[], None] | None = None

    def start(
        self,
        request: RequestT,
        work: Callable[[Task], T],
        done: Callable[[T], object],
        failed: Callable[[TokvizError], object],
        *,
        delay: float = 0.0,
        **options: Any,
    ) -> None:
        """Work on a request instead of the previous one.

        Args:
            request: Identifies the work in `pending`.
            work: Does it, in the thread. Jobs of child processes that it runs are canceled with it.
            done: Takes the result on the screen's thread.
            failed: Takes an error there.
            delay: Seconds to wait for a newer request before the work starts.
            options: More options of `tasks.in_thread`.
        """

        def run(task: Task) -> T:
            with stopped_by(lambda: task.cancelled):
                start = monotonic() + delay
                while monotonic() < start:
                    raise_if_stopped()
                    sleep(_POLL_SECONDS)
                return work(task)

        def finish(take: Callable[[Any], object], outcome: object) -> None:
            if self.pending is request:
                self.pending = None
            elif not self._one_at_a_time:
                return
            self._worker = None
            take(outcome)
            following, self._next = self._next, None
            if following is not None:
                following()

        def begin() -> None:
            self._worker = in_thread(
                self._node,
                self._group,
                run,
                lambda result: finish(done, result),
                failed=lambda error: finish(failed, error),
                **options,
            )

        worker = self._worker
        is_running = worker is not None and not (worker.is_finished or worker.is_cancelled)
        if self._one_at_a_time and is_running:
            self.pending, self._next = request, begin
            return
        self.cancel()
        self.pending = request
        begin()

    def cancel(self) -> None:
        """Drop the latest request, and cancel its work, which may run for a moment longer."""
        self.pending = self._next = None
        self._node.workers.cancel_group(self._node, self._group)
