"""The job `split`: cut a text by an untrusted regex.

The child keeps the text, so that a new regex costs no new copy, and an edit sends only what
changed. Requests:

- `{"do": "text", "text": part}`: collect text for the next `replace`. Long text comes in parts.
- `{"do": "replace", "start": n, "removed": n}`: replace a range by the collected text.
- `{"do": "split", "regex": text, "seconds": n}`: split the text and answer with its pre-tokens in
  order: `{"start": n, "ends": packed, "gaps": [index…], "n_zero_width": n}`, where `ends` are the
  ends of the pre-tokens counted from `start`, and `gaps` are indexes of the answer's pre-tokens. A
  step that takes longer than `seconds` of processor time is a `PatternError`. With `"start": n`,
  the end of a pre-token, only the text after it is split. With `"near": text` and `"at": n`, a part
  of the text is split independently, and each answer has `"near": true`: a guess until the whole
  text is split.
- `{"do": "each", …, "ends": packed}`: split each of the texts that are concatenated in the text:
  `{"splits": [[ends, gaps, n_zero_width]…]}`, each counted from its start.
- `{"do": "cut", "regex": text, "seconds": n, "start": n, "end": n}`: explain how the regex matched
  a pre-token of the text: `{"cut": …}`, the fields of
  `tokviz.tokenizer.pretokenize.alternatives.Cut`.
- `{"do": "find", "regex": text, "flags": n, "seconds": n, "most": n, "put": text or null}`: find up
  to `most` matches that are not empty: `{"starts": packed, "ends": packed, "texts": […]}`, where
  `texts` are the results of the replacement `put` for each match.
- `{"do": "rows", "regex": text, "flags": n, "seconds": n, "most_seconds": n, "ends": packed}`:
  search each of the texts that are concatenated in the text, and answer with the indexes of those
  in which the regex matches: `{"rows": packed}`.
- `{"do": "check", "regex": text, "seconds": n}`: compile only: `{"matches_empty": bool}`.

Offsets are characters of the byte text.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import regex

from tokviz.errors import PatternError
from tokviz.process.protocol import Body, pack_numbers, unpack_numbers
from tokviz.tokenizer.pretokenize.alternatives import cut_of
from tokviz.tokenizer.pretokenize.patterns import (
    SplitPattern,
    SplitStep,
    compiled_regex,
    stepped,
)
from tokviz.tokenizer.pretokenize.split_steps import Split, join_steps, split_in_steps
from tokviz.tokenizer.pretokenize.step_limit import StepLimit, too_long

ANSWER_SECONDS = 0.05
"""Duration of the work for one answer, well below the time limits."""

_STEP_CHARS = 4096
STEP_ROWS = 256


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer one request of this job.

    Raises:
        PatternError: If the regex is invalid or fails on the text.
    """
    match request["do"]:
        case "text":
            state.setdefault("gathered", []).append(request["text"])
        case "replace":
            _replace(state, request["start"], request["removed"])
        case "split":
            yield from _split(request, state.get("text", ""))
        case "each":
            yield from _each(request, state.get("text", ""))
        case "cut":
            yield _cut(request, state.get("text", ""))
        case "find":
            yield _find(request, state.get("text", ""))
        case "rows":
            yield from _rows(request, state.get("text", ""))
        case "check":
            pattern = SplitPattern("custom", request["regex"], "custom")
            limit = StepLimit(request["seconds"])
            _compile(pattern, limit)
            with limit.step():
                matches_empty = pattern.compile().fullmatch("") is not None
            yield {"matches_empty": matches_empty}


def _replace(state: dict[str, Any], start: int, removed: int) -> None:
    text: str = state.get("text", "")
    state["text"] = "".join((text[:start], *state.pop("gathered", ()), text[start + removed :]))


def _split(request: Body, text: str) -> Iterator[Body]:
    pattern, limit = _prepared(request)
    begin, near = request.get("start", 0), request.get("near")
    find_spans = partial(limit.matches, start=begin)
    steps = split_in_steps(
        pattern, near or text, n_chars=_STEP_CHARS, start=begin, find_spans=find_spans
    )
    if near:
        for body in _pre_tokens(steps):
            yield {**body, "start": body["start"] + request["at"], "near": True}
        return
    yield from _pre_tokens(steps)


def _prepared(request: Body) -> tuple[SplitPattern, StepLimit]:
    """Compile the regex of a request, and make the limit of its steps."""
    pattern = SplitPattern(
        "custom",
        request["regex"],
        "custom",
        unicode_of_tiktoken=request.get("unicode_of_tiktoken", False),
    )
    if steps := request.get("steps"):
        pattern = stepped(SplitStep(*step) for step in steps)
    limit = StepLimit(request["seconds"])
    _compile(pattern, limit)
    return pattern, limit


def _each(request: Body, text: str) -> Iterator[Body]:
    pattern, limit = _prepared(request)
    splits: list[Any] = []
    start, due = 0, time.monotonic() + ANSWER_SECONDS
    for end in unpack_numbers(request["ends"]):
        found = join_steps(split_in_steps(pattern, text[start:end], find_spans=limit.matches))
        splits.append([found.ends.tolist(), found.gaps, found.n_zero_width])
        start = end
        if time.monotonic() >= due:
            yield {"splits": splits}
            splits, due = [], time.monotonic() + ANSWER_SECONDS
    yield {"splits": splits}


def _cut(request: Body, text: str) -> Body:
    pattern, limit = _prepared(request)
    try:
        with limit.step():
            return {"cut": cut_of(pattern, text, request["start"], request["end"])}
    except TimeoutError:
        raise PatternError(pattern.regex, too_long(request["seconds"])) from None


def _find(request: Body, text: str) -> Body:
    starts, ends = array("I"), array("I")
    texts: list[str] = []
    put = request["put"]
    try:
        with StepLimit(request["seconds"]).step():
            for match in compiled_regex(request["regex"], request["flags"]).finditer(text):
                start, end = match.span()
                if start < end:
                    if put is not None:
                        texts.append(_expanded(match, put))
                    starts.append(start)
                    ends.append(end)
                    if len(ends) >= request["most"]:
                        break
    except TimeoutError:
        raise PatternError(request["regex"], _takes_longer(request["seconds"])) from None
    return {"starts": pack_numbers(starts), "ends": pack_numbers(ends), "texts": texts}


def _takes_longer(seconds: float, where: str = "") -> str:
    return f"takes longer than {seconds:g} s{where}; try a simpler regex"


def _expanded(match: Any, put: str) -> str:
    try:
        expanded: str = match.expand(put)
    except (regex.error, IndexError) as error:
        raise PatternError(put, f"in the replacement, {error}") from None
    return expanded


def _rows(request: Body, text: str) -> Iterator[Body]:
    ends = unpack_numbers(request["ends"])
    limit = StepLimit(request["seconds"])
    found = array("I")
    row = start = 0
    until = time.monotonic() + request["most_seconds"]
    due = time.monotonic() + ANSWER_SECONDS
    try:
        while row < len(ends):
            with limit.step():
                search = compiled_regex(request["regex"], request["flags"]).search
                for end in ends[row : row + STEP_ROWS]:
                    if search(text[start:end]):
                        found.append(row)
                    row, start = row + 1, end
            now = time.monotonic()
            if now >= until:
                raise PatternError(request["regex"], _takes_longer(request["most_seconds"]))
            if now >= due:
                yield {"rows": pack_numbers(found)}
                found, due = array("I"), now + ANSWER_SECONDS
    except TimeoutError:
        if row < len(ends):  # otherwise all rows were searched in time
            where = f" on a text of {ends[row] - start} characters"
            reason = _takes_longer(request["seconds"], where)
            raise PatternError(request["regex"], reason) from None
    yield {"rows": pack_numbers(found)}


def _compile(pattern: SplitPattern, limit: StepLimit) -> None:
    try:
        with limit.step():
            for text in [step.regex for step in pattern.steps] or [pattern.regex]:
                compiled_regex(text)
    except TimeoutError:
        raise PatternError(pattern.regex, "takes too long to compile") from None


def _pre_tokens(steps: Iterable[Split]) -> Iterator[Body]:
    """Yield the pre-tokens, one answer for every `ANSWER_SECONDS` of work."""
    gathered: list[Split] = []
    due = time.monotonic() + ANSWER_SECONDS
    for step in steps:
        gathered.append(step)
        if time.monotonic() >= due:
            yield _joined(gathered)
            gathered = []
            due = time.monotonic() + ANSWER_SECONDS
    if gathered:
        yield _joined(gathered)


def _joined(steps: list[Split]) -> Body:
    start, found = steps[0].start, join_steps(steps)
    return {
        "start": start,
        "ends": pack_numbers(array("I", [end - start for end in found.ends])),
        "gaps": found.gaps,
        "n_zero_width": found.n_zero_width,
    }
