"""Work in a thread: the one way in which a worker hands what it found to the screen."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from textual.dom import DOMNode
from textual.worker import Worker, get_current_worker

from tokviz.errors import TokvizError
from tokviz.tui.messages import Notice

T = TypeVar("T")


class Task:
    """What a piece of work in a thread knows of itself, and how it speaks meanwhile."""

    def __init__(self, node: DOMNode) -> None:
        """Take the node whose worker this is; to be made in the worker's thread."""
        self._node = node
        self._worker = get_current_worker()

    @property
    def cancelled(self) -> bool:
        """Whether nobody wants the result any more."""
        return self._worker.is_cancelled

    def tell(self, method: Callable[..., object], *arguments: object) -> None:
        """Call a method on the screen's thread, and wait for it; nothing if the app has ended."""
        app = self._node.app
        try:
            app.call_from_thread(method, *arguments)
        except (RuntimeError, CancelledError):
            if app.is_running and not app._exit:
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
) -> Worker[None]:
    """Do something in a thread, and hand over what came of it.

    Args:
        node: The screen or widget that it belongs to: it ends with that.
        group: What sort of work it is. The app waits for "save" before it quits.
        work: Does it, in the thread.
        done: Takes the result on the screen's thread, unless the work was cancelled by then.
        failed: Takes an error of ours there likewise; by default the user is told of it.
        exclusive: Whether it cancels what is still under way in the group.
    """

    def complain(error: TokvizError) -> None:
        node.post_message(Notice(str(error), "error"))

    def run() -> None:
        task = Task(node)

        def hand_over(take: Callable[[Any], object], what: object) -> None:
            if not task.cancelled:
                take(what)

        try:
            result = work(task)
        except TokvizError as error:
            task.tell(hand_over, failed or complain, error)
            return
        if done is not None:
            task.tell(hand_over, done, result)

    return node.run_worker(run, group=group, description=group, exclusive=exclusive, thread=True)


def later(node: DOMNode, method: Callable[..., object]) -> Callable[..., None]:
    """Give what other threads may call in place of a method of the screen's thread.

    For the callbacks of child processes: it does not wait, so that a child can be closed meanwhile.
    """

    def call(*arguments: object) -> None:
        node.call_later(method, *arguments)

    return call
