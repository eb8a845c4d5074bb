"""Work in a thread: the one way in which a worker hands what it found to the screen."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from textual.app import App
from textual.dom import DOMNode
from textual.worker import Worker, get_current_worker

from tokviz.errors import LargeFileError, TokvizError
from tokviz.formats.budget import ask_first, before_large
from tokviz.tui.messages import Notice, Question
from tokviz.tui.textual_private.notices import dismiss_notices
from tokviz.tui.textual_private.removed_nodes import is_being_removed

T = TypeVar("T")


class Task:
    """What a piece of work in a thread knows of itself, and how it speaks meanwhile.

    Threads that the work begins may speak for it too, also once the node has gone.
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
        """Whether nobody wants the result any more."""
        return self._worker.is_cancelled

    def tell(self, method: Callable[..., object], *arguments: object) -> None:
        """Call a method on the screen's thread, and wait for it; nothing if the node has gone."""
        self.tell_app(_call_if_there, self._node, method, *arguments)

    def tell_app(self, method: Callable[..., object], *arguments: object) -> None:
        """Call what has to be done though the node may have gone; nothing if the app has ended."""
        app = self._app
        try:
            app.call_from_thread(method, *arguments)
        except (RuntimeError, CancelledError):
            if app.is_running and not getattr(app, "is_exiting", False):
                raise

    def say(self, text: str) -> None:
        """Show the user a sentence."""
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
    """Do something in a thread, and hand over what came of it.

    Args:
        node: The screen or widget that it belongs to: it ends with that.
        group: What sort of work it is. The app waits for "save" before it quits.
        work: Does it, in the thread.
        done: Takes the result on the screen's thread, unless the work was cancelled by then.
        failed: Takes an error of ours there likewise; by default the user is told of it.
        exclusive: Whether it cancels what is still under way in the group.
        stoppable: What it does, such as "Loading a.json", if that may take long: then it is said
            so, Esc ends it, and `failed` takes that.
        is_said: Whether the screen says that already.
    """
    agreed: set[str] = set()
    """Sentences about large files that the user was asked about and agreed to."""

    def complain(error: TokvizError) -> None:
        node.post_message(Notice(str(error), "error"))

    def ask(error: LargeFileError) -> None:
        def go_on() -> None:
            agreed.add(str(error))
            begin()

        def leave() -> None:
            if failed is not None:
                failed(TokvizError("It was not read."))

        node.post_message(Question(f"{error}. Read it?", go_on, leave))

    app = node.app

    def run() -> None:
        from tokviz.process.runner import stopped_by  # which the first frame need not wait for

        task = Task(node, app)

        def wanted_no_more() -> bool:
            return bool(stoppable) and task.cancelled

        def hand_over(take: Callable[[Any], object], what: object) -> None:
            if not task.cancelled:
                take(what)

        try:
            with before_large(ask_first, {*agreed, *_TOLD}), stopped_by(wanted_no_more):
                result = work(task)
        except LargeFileError as error:
            if error.is_begun:
                # By now the user does something else, which a question would come in the way of.
                _TOLD.add(str(error))
                told = TokvizError(f"{error}. Open it again to read on.")
                task.tell(hand_over, failed or complain, told)
            else:
                task.tell(hand_over, ask, error)
            return
        except TokvizError as error:
            task.tell(hand_over, failed or complain, error)
            return
        finally:
            if stoppable:
                task.tell_app(over, task._worker)
        if done is not None:
            task.tell(hand_over, done, result)

    def over(worker: Worker[None]) -> None:
        _STOPPABLE.pop(worker, None)
        # What was said last may still be on its way.
        node.app.call_later(dismiss_notice, node.app, f"{stoppable}…")

    def stop(worker: Worker[None]) -> None:
        over(worker)
        (failed or complain)(StoppedError(f"{stoppable} was stopped"))

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
    """Give what was asked for last while its work is under way, else what is there."""
    if asked is None or asked[1].is_finished or asked[1].is_cancelled:
        return now
    return asked[0]


_TOLD: set[str] = set()
"""Sentences about files that take more than others: whoever opens one again means it."""


class StoppedError(TokvizError):
    """What was stopped by Esc."""


_STOPPABLE: WeakKeyDictionary[Worker[None], Callable[[Worker[None]], object]] = WeakKeyDictionary()
"""What Esc ends, each with what is done then: it must not hold the worker, or none would go."""

_PATIENCE, _REPEATS = 0.5, 5.0
"""Seconds after which work is worth a word, and then another."""


def stop_work(app: App[Any]) -> bool:
    """End what Esc can end; False if there is no such work."""
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
            # To the app itself, so that what takes it back comes behind it.
            node.app.notify(f"{what}… {monotonic() - begun:.0f} s. Esc stops it.", markup=False)
            node.set_timer(_REPEATS, tell)

    node.set_timer(_PATIENCE, tell)


def dismiss_notice(app: App[Any], beginning: str) -> None:
    """Let no sentence stand that begins so: what it says holds no longer."""
    dismiss_notices(app, lambda notice: notice.message.startswith(beginning))


def post_to_ui(node: DOMNode, method: Callable[..., object]) -> Callable[..., None]:
    """Give what other threads may call in place of a method of the screen's thread.

    For the callbacks of child processes: it does not wait, so that a child can be closed meanwhile.
    """

    def call(*arguments: object) -> None:
        node.call_later(_call_if_there, node, method, *arguments)

    return call


def _call_if_there(node: DOMNode, method: Callable[..., object], *arguments: object) -> None:
    """Call a method of a node, unless that is being taken apart.

    Then it has lost its parts, while work of its own goes on until it hears of that itself.
    """
    if node.app.is_running and node.is_attached and not is_being_removed(node):
        method(*arguments)
