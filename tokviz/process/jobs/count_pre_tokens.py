"""The job `count_pre_tokens`: count the pre-tokens of texts by a regex.

The child keeps the counts. Requests:

- `{"do": "begin", …}`: set the split pattern, with the fields of `SplitPattern`. If it is guarded,
  a step from one pre-token to the next that takes too long is an error.
- `{"do": "take", "data": packed}`: receive a part of the data of the next texts.
- `{"do": "count", "lengths": packed, "file": number}`: count texts of a file, which have
  these lengths in bytes. Answers repeatedly with `{"n_unique": n, "n_counted": n}`: the number of
  distinct pre-tokens so far, and the number of bytes of these texts that are counted. With
  `"part": [i, n]`, only one of n parts of a text is counted, and the last answer also has `"end"`;
  see `PlainCounter.part_steps`.
- `{"do": "keep", "begin": position, "file": number}`: add that part, see `PlainCounter.keep`.
- `{"do": "end"}`: answers `{"n_chars": n, "n_invalid": n}`, then all pre-tokens in the order of
  their first occurrence in several `{"data": packed, "lengths": packed, "counts": packed}`, and
  `{"file": number, "pre_tokens": packed, "times": packed}` for each tracked file.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice, pairwise
from typing import Any

from tokviz.process.protocol import Body, pack, pack_numbers, unpack, unpack_numbers
from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.step_limit import STEP_SECONDS
from tokviz.training.corpus.text_blocks import TextBlock
from tokviz.training.plain_counter import PlainCounter

_SLICE = 50_000


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer one request of this job.

    Raises:
        PatternError: If the regex is invalid or fails on a text, or (guarded) takes too long.
    """
    match request:
        case {"do": "begin", **fields}:
            pattern = SplitPattern(**fields)
            state["counter"] = PlainCounter(pattern, STEP_SECONDS if pattern.guarded else None)
        case {"do": "take"}:
            state.setdefault("data", []).append(unpack(request["data"]))
        case {"do": "count"}:
            counter = state["counter"]
            block = TextBlock(b"".join(state.pop("data", [])), file=request["file"])
            with counter.watching(len(block.data)):
                if request.get("part"):
                    yield from _part(counter, block.data, *request["part"])
                else:
                    yield from _whole(counter, block, unpack_numbers(request["lengths"], "q"))
        case {"do": "keep"}:
            state["counter"].keep(request["begin"], request["file"])
            yield {"n_unique": state["counter"].n_unique}
        case {"do": "end"}:
            result = state["counter"].result(0, True)
            yield {"n_chars": result.n_chars, "n_invalid": result.n_invalid}
            counted = result.pre_tokens()
            while part := dict(islice(counted, _SLICE)):
                yield {
                    "data": pack(b"".join(part)),
                    "lengths": pack_numbers(array("q", map(len, part))),
                    "counts": pack_numbers(array("q", part.values())),
                }
            for file, pre_tokens, times in result.by_file:
                packed = {"pre_tokens": pack(pre_tokens.tobytes()), "times": pack(times.tobytes())}
                yield {"file": file, **packed}


def _whole(counter: PlainCounter, block: TextBlock, lengths: Iterable[int]) -> Iterator[Body]:
    for start, end in pairwise(accumulate(lengths, initial=0)):
        block.add(start, end, True)
    for n_counted in counter.steps(block):
        yield {"n_unique": counter.n_unique, "n_counted": n_counted}
    yield {"n_unique": counter.n_unique, "n_counted": block.n_bytes}


def _part(counter: PlainCounter, data: bytes, place: int, n: int) -> Iterator[Body]:
    first, last = (len(data) * i // n for i in (place, place + 1))
    steps = counter.part_steps(bytetext.from_bytes(data), place, n)
    while True:
        try:
            share = next(steps)
        except StopIteration as done:
            yield {"n_unique": counter.n_unique, "n_counted": last - first, "end": done.value}
            return
        yield {"n_unique": counter.n_unique, "n_counted": int(share * (last - first))}
