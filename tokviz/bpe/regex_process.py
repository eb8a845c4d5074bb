"""A process that counts the pieces of texts by a regex: `python -m tokviz.bpe.regex_process`.

It reads requests from standard input, a line of JSON each, and answers each with one.

| request | answer |
|---|---|
| the fields of a `SplitPattern` | nothing |
| `{"lengths": [bytes of each text]}`, then the texts | `{"n_unique"}`, or `{"error"}` |
| `{"lengths": null}` | `{"n_chars", "n_invalid", "bytes"}`, then pieces, lengths, counts |

`bytes` says how many there are of the pieces, their lengths and their counts (64 bits each).

The end of the input before that is the end of whoever asked: it ends at once, whatever it does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from queue import SimpleQueue
from typing import BinaryIO

from tokviz.bpe.counting import PlainCounter
from tokviz.corpus.text_blocks import TextBlock
from tokviz.errors import PatternError
from tokviz.pretokenize.patterns import SplitPattern

Request = tuple[list[int] | None, bytes]


def _read(source: BinaryIO, requests: SimpleQueue[Request]) -> None:
    """Read requests while the last one is worked on, and notice that nobody waits any more."""
    while line := source.readline():
        lengths: list[int] | None = json.loads(line)["lengths"]
        requests.put((lengths, source.read(sum(lengths or []))))
        if lengths is None:
            return
    os._exit(1)


def serve(source: BinaryIO, answers: BinaryIO) -> None:
    """Count until there is nothing more to count."""
    counter = PlainCounter(SplitPattern(**json.loads(source.readline())))
    requests: SimpleQueue[Request] = SimpleQueue()
    threading.Thread(target=_read, args=(source, requests), daemon=True).start()
    while True:
        lengths, data = requests.get()
        if lengths is None:
            break
        try:
            _count(counter, lengths, data)
            _say(answers, n_unique=counter.n_unique)
        except PatternError as error:
            return _say(answers, error=error.reason)
    result = counter.result(0, True)
    memory = result.memory
    parts = [part.tobytes() for part in (memory["data"], result.lengths(), memory["counts"])]
    lengths = [len(part) for part in parts]
    _say(answers, n_chars=result.n_chars, n_invalid=result.n_invalid, bytes=lengths)
    answers.writelines(parts)
    answers.flush()


def _count(counter: PlainCounter, lengths: list[int], data: bytes) -> None:
    block = TextBlock(data)
    start = 0
    for length in lengths:
        block.add(start, start + length, True)
        start += length
    counter.add(block, lambda _: False)


def _say(answers: BinaryIO, **values: object) -> None:
    answers.write(json.dumps(values).encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the user's Ctrl+C is for the one who asks
    with contextlib.suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer)
