from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Queue
from threading import Event

import pytest

from tokviz.errors import TokvizError
from tokviz.process.jobs.split_client import PreToken, SplitClient, SplitResult
from tokviz.process.limits import Limits
from tokviz.text.snapshots import TextPart
from tokviz.tokenizer.pretokenize.split_steps import Split

WAIT = 60.0
"""Seconds after which a test gives up."""

EXPLODING = r"(a|aa)+$"
"""Takes time exponential in the length of "aaa…b"."""


class _Watched(list[TextPart]):
    """Chunks that signal when they are read, at the start of their run."""

    def __init__(self, chunks: list[TextPart]) -> None:
        super().__init__(chunks)
        self.read = Event()

    def __len__(self) -> int:
        self.read.set()
        return super().__len__()


class Splitter:
    """A `SplitClient` for tests, which waits for the end of each run."""

    def __init__(self, limits: Limits | None = None, seconds: float = 2.5) -> None:
        self.events: Queue[tuple[int, Split | TokvizError | None]] = Queue()
        self.client = SplitClient(
            lambda run, part: self.events.put((run, part)),
            lambda run: self.events.put((run, None)),
            lambda run, error: self.events.put((run, error)),
            limits=limits,
            seconds=seconds,
        )

    def start(self, regex: str, *chunks: str) -> int:
        return self.client.split(regex, [*map(TextPart, chunks)])

    def start_and_hang(self) -> int:
        """Start an endless run, and wait until the child has received it."""
        chunks = _Watched([TextPart("a" * 100 + "b")])
        run = self.client.split(EXPLODING, chunks)
        assert chunks.read.wait(WAIT)
        return run

    def result_of(self, run: int) -> SplitResult:
        """Wait for the run's end; events of other runs are an error."""
        result = SplitResult()
        while True:
            event_run, event = self.events.get(timeout=WAIT)
            assert event_run == run
            if isinstance(event, TokvizError):
                raise event
            if event is None:
                result.complete = True
                return result
            result.add(event)

    def pre_tokens(self, regex: str, *chunks: str) -> list[str]:
        text = "".join(chunks)
        result = self.result_of(self.start(regex, *chunks))
        assert result.n_chars == len(text)
        return [text[p.start : p.end] for p in result.pre_tokens_in(0, len(text))]

    def spans(self, regex: str, *chunks: str) -> list[PreToken]:
        result = self.result_of(self.start(regex, *chunks))
        return result.pre_tokens_in(0, sum(map(len, chunks)))


@pytest.fixture
def make_splitter() -> Iterator[Callable[..., Splitter]]:
    made: list[Splitter] = []

    def make(**arguments: object) -> Splitter:
        made.append(Splitter(**arguments))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for splitter in made:
        splitter.client.close()


@pytest.fixture
def splitter(make_splitter: Callable[..., Splitter]) -> Splitter:
    return make_splitter()
