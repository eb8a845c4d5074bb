"""Canceled work ends at once and leaves no process running.

    python tests/robustness/cancel.py 200

Every kind in turn: a training, loading a library's tokenizer, an endless regex and an endless
template (each in a child process, until that has ended or is free again), and in an app on a
terminal, from the key press, the check of a dataset and a playing replay. Prints the 99th
percentile.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.robustness.subject import MARK, Subject, marked  # noqa: E402
from tokviz.errors import TokvizError  # noqa: E402

MOST_SECONDS = 0.3
GIVES_UP = 30.0
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"

Cancel = Callable[[random.Random], float]
"""Starts work, waits for a random time, cancels it, and returns the seconds until it ended."""


def _until(over: Callable[[], object]) -> float:
    begun = time.monotonic()
    while not over():
        if time.monotonic() > begun + GIVES_UP:
            raise TimeoutError("it is not over")
        time.sleep(0.002)
    return time.monotonic() - begun


def _in_thread(work: Callable[[], object]) -> Event:
    """Run a function, ignore tokviz's errors, and set the event at the end."""
    ended = Event()

    def run() -> None:
        with suppress(TokvizError):
            work()
        ended.set()

    Thread(target=run, daemon=True).start()
    return ended


def training(folder: Path, stack: ExitStack) -> Cancel:
    """Train in a child process until it has ended."""
    from tokviz.process.jobs.train_client import TrainClient
    from tokviz.process.jobs.train_messages import TrainRequest

    corpus = folder / "corpus.txt"
    corpus.write_text(" ".join(f"{n * 2654435761 % 2**32:x}" for n in range(1_000_000)))
    request = TrainRequest((str(corpus),), str(folder / "run"), 60_000)

    def cancel(chance: random.Random) -> float:
        reported = Event()
        client = TrainClient(
            lambda run, report: reported.set(),
            lambda run, summary: None,
            lambda run, error: None,
        )
        client.train(request)
        reported.wait(GIVES_UP)
        time.sleep(chance.uniform(0, 0.5))
        client.cancel()
        seconds = _until(lambda: client.pid is None)
        client.close()
        return seconds

    return cancel


def loading(folder: Path, stack: ExitStack) -> Cancel:
    """Load a large file with its own library in a child, until the waiting call has ended."""
    import tokviz
    from tokviz.formats.library import LibraryTokenizer

    path = folder / "tokenizer.json"
    tokviz.load("gpt2").save(path)

    def cancel(chance: random.Random) -> float:
        library = LibraryTokenizer(path)
        ended = _in_thread(library.facts)
        time.sleep(chance.uniform(0.2, 0.8))
        begun = time.monotonic()
        library.close()
        ended.wait(GIVES_UP)
        return time.monotonic() - begun

    return cancel


def regex(folder: Path, stack: ExitStack) -> Cancel:
    """Split by an endless regex, until the child is free for the next one."""
    from tokviz.process.jobs.split_client import SplitClient
    from tokviz.text.snapshots import TextPart

    client = SplitClient(
        lambda run, part: None, lambda run: None, lambda run, error: None, seconds=GIVES_UP
    )
    stack.callback(client.close)

    def cancel(chance: random.Random) -> float:
        client.split(r"(a|aa)+$", [TextPart("a" * 100 + "b")])
        _until(lambda: client.pid is not None)
        time.sleep(chance.uniform(0, 0.5))
        client.cancel()
        return _until(lambda: client.pid is None)

    return cancel


def template(folder: Path, stack: ExitStack) -> Cancel:
    """Render an endless template, until the waiting call has ended."""
    from tokviz.chat.conversation import Conversation
    from tokviz.chat.jinja_template import JinjaTemplate

    row = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    conversation = Conversation.from_json(row)

    def cancel(chance: random.Random) -> float:
        endless = JinjaTemplate("endless", ENDLESS)
        ended = _in_thread(lambda: endless.marked(conversation))
        time.sleep(chance.uniform(0.2, 0.8))
        begun = time.monotonic()
        endless.close()
        ended.wait(GIVES_UP)
        return time.monotonic() - begun

    return cancel


def scan(folder: Path, stack: ExitStack) -> Cancel:
    """Check the rows of a dataset in the app; Esc stops it."""
    row = json.dumps(
        [{"role": "user", "content": "word " * 30}, {"role": "assistant", "content": "word " * 90}]
    )
    path = folder / "rows.jsonl"
    path.write_text(f"{row}\n" * 100_000)
    subject = _app(folder, stack, "chat", str(path))
    subject.until("dataset")

    def cancel(chance: random.Random) -> float:
        subject.wish("scan")
        subject.until("scanning")
        time.sleep(chance.uniform(0, 0.3))
        return _press(subject, b"\x1b", "no scan")

    return cancel


def replay(folder: Path, stack: ExitStack) -> Cancel:
    """Play a vocabulary in the app; the space bar stops it."""
    subject = _app(folder, stack, "replay", "gpt2")
    subject.until("opened")

    def cancel(chance: random.Random) -> float:
        subject.type(b" ")
        subject.until("playing")
        time.sleep(chance.uniform(0, 0.3))
        return _press(subject, b" ", "paused")

    return cancel


def _app(folder: Path, stack: ExitStack, *arguments: str) -> Subject:
    home = Path(tempfile.mkdtemp(dir=folder))
    subject = stack.enter_context(Subject(home, *arguments))
    subject.until("begun")
    return subject


def _press(subject: Subject, key: bytes, condition: str) -> float:
    begun = time.monotonic()
    subject.type(key)
    subject.until(condition)
    return time.monotonic() - begun


KINDS = {one.__name__: one for one in (training, loading, regex, template, scan, replay)}


@contextmanager
def prepared(kind: str, folder: Path) -> Iterator[Cancel]:
    """Set up and tear down a kind of work to cancel."""
    with ExitStack() as stack:
        yield KINDS[kind](folder, stack)


def times(kind: str, n_times: int, chance: random.Random) -> tuple[list[float], list[int]]:
    """Cancel n times; return the seconds that each took, and the remaining processes."""
    mark = os.environ[MARK] = uuid.uuid4().hex
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            with prepared(kind, Path(name)) as cancel:
                seconds = [cancel(chance) for _ in range(n_times)]
            deadline = time.monotonic() + 5
            while (left := list(marked(mark))) and time.monotonic() < deadline:
                time.sleep(0.02)
    finally:
        del os.environ[MARK]
    return seconds, left


def main(arguments: list[str] | None = None) -> int:
    """Cancel, print the figures, and return 1 if it took too long or a process remains."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("cancels", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, help="only this kind")
    asked = parser.parse_args(arguments)
    kinds = [asked.kind] if asked.kind else list(KINDS)
    every, n_left = [], 0
    for number, kind in enumerate(kinds):
        n_times = len(range(number, asked.cancels, len(kinds)))
        found, left = times(kind, n_times, random.Random(f"{asked.seed} {kind}"))
        every += found
        n_left += len(left)
        ms = [1000 * seconds for seconds in sorted(found)]
        print(f"{kind:9} {n_times:4}  median {ms[len(ms) // 2]:5.0f}  most {ms[-1]:5.0f} ms")
    p99 = sorted(every)[int(0.99 * (len(every) - 1))]
    print(
        f"{len(every)} cancels: p99 {1000 * p99:.0f} ms, {n_left} processes left; must be "
        f"≤ {1000 * MOST_SECONDS:.0f} ms, 0 left"
    )
    return int(p99 > MOST_SECONDS or n_left > 0)


if __name__ == "__main__":
    sys.exit(main())
