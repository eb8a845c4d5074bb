"""Several processes count a custom regex like one process, and all of them end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.nasty import FRAGMENTS
from tests.oracles.pre_tokens import counted
from tokviz.errors import JobError, PatternError
from tokviz.process import limits
from tokviz.process.jobs.count_pre_tokens import answer
from tokviz.process.limits import HAS_CPU_LIMITS
from tokviz.process.protocol import pack_numbers
from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern
from tokviz.training import counting, plain_counter, regex_counter
from tokviz.training.corpus import text_blocks
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.corpus.text_blocks import TextBlock
from tokviz.training.counting import count_pre_tokens
from tokviz.training.plain_counter import PlainCounter
from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.regex_counter import RegexCounter
from tokviz.training.threads import Threads

REGEX = r"\p{L}+(?=x)|\w+|(\s)\s*"
ENDLESS = r"(?:a|aa|[a-z])+[0-9]"
"""Takes very long on many letters without a digit after them."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_counter, "BYTES_AT_ONCE", 300)
    monkeypatch.setattr(counting, "SMALL_FOR_PROCESSES", -1)
    monkeypatch.setattr(counting, "n_processors", lambda: 2)


def documents(seed: int) -> list[str]:
    chosen = random.Random(seed)
    return ["".join(chosen.choices(FRAGMENTS, k=chosen.randrange(40))) for _ in range(60)]


def blocks_of(texts: list[str], block_bytes: int) -> list[TextBlock]:
    chunks = []
    for text in texts:
        data = bytetext.to_bytes(text)
        chunks += [(data[at : at + 50], False) for at in range(0, len(data), 50)]
        chunks.append((b"", True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", block_bytes)
        return list(text_blocks.text_blocks(chunks, [b"<|im_start|>"], b""))


def result_of(counter: RegexCounter | PlainCounter, blocks: list[TextBlock]) -> PreTokenCounts:
    try:
        for block in blocks:
            counter.add(block, lambda _: False)
        counter.finish(lambda _: False)
    finally:
        counter.close()
    return counter.result(7, True)


@pytest.mark.parametrize(("n_processes", "block_bytes", "long_text"),
                         [(1, 60, 1 << 22), (3, 1_000, 1 << 22), (3, 1_000, 40)])  # fmt: skip
def test_processes_give_what_one_gives(
    n_processes: int, block_bytes: int, long_text: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regex_counter, "LONG_TEXT", long_text)
    pattern = get_split_pattern(REGEX)
    texts = documents(n_processes)
    plain = result_of(PlainCounter(pattern), blocks_of(texts, block_bytes))
    counter = RegexCounter(pattern, n_processes)
    shared = result_of(counter, blocks_of(texts, block_bytes))
    assert list(shared.pre_tokens()) == list(plain.pre_tokens())
    assert list(shared.pre_tokens()) == list(counted(texts, pattern, ["<|im_start|>"]).items())
    for name in ("n_bytes", "n_chars", "n_invalid", "n_documents", "complete"):
        assert getattr(shared, name) == getattr(plain, name), name
    assert sum(bool(process.new_by_batch) for process in counter.processes) == n_processes


def test_a_large_corpus_is_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[RegexCounter] = []
    result = RegexCounter.result

    def noting(self: RegexCounter, n_documents: int, complete: bool) -> PreTokenCounts:
        used.append(self)
        return result(self, n_documents, complete)

    monkeypatch.setattr(RegexCounter, "result", noting)
    found = count_pre_tokens(Corpus(["ab cd"] * 200), get_split_pattern(REGEX))
    assert dict(found.pre_tokens()) == {b"ab": 200, b" ": 200, b"cd": 200}
    assert used


REGEXES = [
    REGEX, r"(?<=a)b|.", r"^a|b|c", r"(?m)^a|b+", r"\bab?|.", r"\Ga|b", r"a*|b", r"(?<!a+)b|a|c",
    r"(?:a|b)*?c|$|.", r"(?s)a.*c|.", "[ab]+", r"a(?=.*c)|bb|.", "(a)(b)?|c", r"\s+(?!\S)|\s+",
]  # fmt: skip


@given(
    st.sampled_from(REGEXES), st.text("abc \n\u0558", max_size=40), st.integers(1, 4),
    st.integers(0, 5), st.integers(1, 7), st.booleans(),
)  # fmt: skip
def test_parts_of_a_text_give_what_the_whole_gives(
    regex: str, text: str, n: int, join_chars: int, n_matches: int, of_tiktoken: bool
) -> None:
    pattern = SplitPattern("mine", regex, "here", unicode_of_tiktoken=of_tiktoken)
    data = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_counter, "JOIN_CHARS", join_chars)
        patch.setattr(plain_counter, "MATCHES_AT_ONCE", n_matches)
        parts, begin = PlainCounter(pattern), 0
        for place in range(n):
            *_, last = answer_part(parts, data, place, n)
            parts.keep(begin, text_blocks.REST)
            begin = None if None in (begin, last["end"]) else max(begin, last["end"])
    whole = result_of(PlainCounter(pattern), [TextBlock(data, [0], [len(data)], [True])])
    assert list(parts.result(0, True).pre_tokens()) == list(whole.pre_tokens())


def answer_part(counter: PlainCounter, data: bytes, place: int, n: int) -> list[Any]:
    state = {"counter": counter, "data": [data]}
    lengths = pack_numbers(array("q", [len(data)]))
    return [*answer({"do": "count", "lengths": lengths, "file": -1, "part": [place, n]}, state)]


SLOW = r"(?:a|a)*[0-9]|\w|\s"
"""Takes time on every letter of a word without digits, and twice as much for one letter more."""

needs_timers = pytest.mark.skipif(not HAS_CPU_LIMITS, reason="such a system has no such timers")


@needs_timers
@pytest.mark.parametrize("n_parts", [0, 2])
def test_steps_may_take_long_together_but_not_one_of_them(n_parts: int) -> None:
    pattern = SplitPattern("mine", SLOW, "here")

    def pre_tokens_of(text: str) -> list[tuple[bytes, int]]:
        counter = PlainCounter(pattern, 0.15)
        data = text.encode()
        with counter.watching(len(text)):
            for place in range(n_parts):
                answer_part(counter, data, place, n_parts)
                counter.keep(0, text_blocks.REST)
            if not n_parts:
                deque(counter.steps(TextBlock(data, [0], [len(data)], [True])), maxlen=0)
        return list(counter.result(0, True).pre_tokens())

    began = time.process_time()
    assert dict(pre_tokens_of(f"{'a' * 12} " * 500))[b"a"] >= 6_000
    assert time.process_time() - began > 0.15, "all steps together take longer than one may"
    with pytest.raises(PatternError, match="s for one pre-token at character 51 of the text, 'a"):
        pre_tokens_of("b " * 25 + " " + "a" * 40)


@needs_timers
def test_a_pre_token_that_takes_too_long_is_named_and_nobody_counts_on(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    texts = [f"{'a' * 12} ".encode() * 100_000, b"1\n" + b"a" * 40]
    blocks = [
        TextBlock(text, [0], [len(text)], [True], file=place) for place, text in enumerate(texts)
    ]
    counter = RegexCounter(get_split_pattern(SLOW), 2, files)
    with pytest.raises(PatternError, match=r"character 2 of the text, 'a{24}'…, in .*b\.txt"):
        result_of(counter, blocks)
    assert sum(process.n_counted for process in counter.processes) < len(texts[0])


def test_a_text_that_is_not_long_takes_one_process() -> None:
    pattern = get_split_pattern(r"(?s)a.*z|.")
    counter = RegexCounter(pattern, 2)
    result = result_of(counter, blocks_of(["a" + "b" * 5_000 + "z"], 300))
    assert list(result.pre_tokens()) == [(b"a" + b"b" * 5_000 + b"z", 1)]
    assert sum(bool(process.new_by_batch) for process in counter.processes) == 1


@pytest.mark.parametrize("n_processes", [0, 2])
def test_progress_is_what_is_counted_not_what_is_read(n_processes: int, monkeypatch) -> None:
    """One long text: all of it is read before the first pre-token of it is counted."""
    monkeypatch.setattr(counting, "n_processors", lambda: n_processes)
    monkeypatch.setattr(counting, "SECONDS_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr(plain_counter, "CHARS_AT_ONCE", 0)
    seen: list[int] = []
    text = "word " * 600_000
    count_pre_tokens(
        Corpus([text]),
        get_split_pattern(r"\w+|\s"),
        on_progress=lambda progress: seen.append(progress.n_bytes_read),
    )
    assert seen == sorted(seen)
    assert seen[0] < len(text) / 10 and seen[-1] >= len(text)
    assert len({n * 8 // len(text) for n in seen}) >= 7, "an eighth of the text after the other"


def test_a_pattern_keeps_all_its_fields() -> None:
    pattern = SplitPattern("mine", r"\p{L}+|\P{L}+", "here", unicode_of_tiktoken=True)
    texts = ["\u0558a \U000323b0b"]  # letters in the regex package, but not in tiktoken
    found = result_of(RegexCounter(pattern, 1), blocks_of(texts, 100))
    assert list(found.pre_tokens()) == list(counted(texts, pattern, []).items())


def pid_of(*processes: regex_counter.CountingProcess) -> int:
    """Wait until one of these has started."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for process in processes:
            if process.jobs.pid is not None:
                return process.jobs.pid
        time.sleep(0.001)
    raise AssertionError("no process has started")


def ends(process: int) -> bool:
    """Wait until a process has ended; False if it does not end."""
    until = time.monotonic() + 20
    while is_running(process) and time.monotonic() < until:
        time.sleep(0.02)
    return not is_running(process)


def is_running(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


needs_proc = pytest.mark.skipif(not Path("/proc").exists(), reason="needs a list of processes")


@needs_proc
def test_stopping_ends_a_process_that_is_caught_in_a_text(monkeypatch) -> None:
    monkeypatch.setattr(regex_counter, "SECONDS_TO_STOP", 0.1)
    counter = RegexCounter(get_split_pattern(ENDLESS, guarded=False), 2)
    counter.add(blocks_of(["fine text", "a" * 50_000], 100_000)[0], lambda _: False)
    process = pid_of(*counter.processes)
    assert is_running(process)
    counter.finish(lambda _: True)
    counter.close()
    assert ends(process)
    assert counter.result(0, False).n_bytes == 0


def test_stopping_keeps_what_is_counted() -> None:
    seen: list[counting.CountProgress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "SECONDS_BETWEEN_REPORTS", -1.0)
        patch.setattr(text_blocks, "BLOCK_BYTES", 400)
        part = count_pre_tokens(
            Corpus(["one two three"] * 10_000),
            get_split_pattern(REGEX),
            on_progress=seen.append,
            should_stop=lambda: any(report.n_unique for report in seen),
        )
    assert not part.complete
    assert 0 < part.n_bytes < 130_000


def test_a_regex_that_fails_is_an_error_and_leaves_no_process() -> None:
    counter = RegexCounter(SplitPattern("mine", "(", "here"), 2)
    with pytest.raises(PatternError, match="missing"):
        result_of(counter, blocks_of(documents(1), 1_000))
    until = time.monotonic() + 20
    while any(process.jobs.pid for process in counter.processes):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_a_process_that_dies_is_an_error_and_not_a_wrong_result() -> None:
    counter = RegexCounter(get_split_pattern(REGEX), 1)
    with pytest.raises(JobError, match="ended by SIGKILL"):
        try:
            counter.add(blocks_of(["some text " * 100], 10_000)[0], lambda _: False)
            while counter.processes[0].n_unique == 0:
                time.sleep(0.001)
            process = pid_of(counter.processes[0])
            os.kill(process, signal.SIGKILL)
            assert ends(process)
            counter.finish(lambda _: False)
        finally:
            counter.close()


@needs_proc
def test_no_process_survives_who_started_it() -> None:
    program = (
        "import sys, time\n"
        "from tokviz.training import counting\n"
        "from tokviz.training.regex_counter import RegexCounter\n"
        "from tokviz.training.corpus.text_blocks import TextBlock\n"
        "from tokviz.tokenizer.pretokenize.patterns import get_split_pattern\n"
        f"counter = RegexCounter(get_split_pattern({ENDLESS!r}, guarded=False), 1)\n"
        "counter.add(TextBlock(b'a' * 300_000, [0], [300_000], [True]), lambda _: False)\n"
        "while counter.processes[0].jobs.pid is None: time.sleep(0.001)\n"
        "print(counter.processes[0].jobs.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert Path(f"/proc/{child}").exists()
    parent.kill()
    parent.communicate()
    assert ends(child)


@pytest.mark.parametrize(
    ("n", "niceness", "expected"),
    [(1, 0, 0), (2, 0, 2), (64, 0, limits.MOST_PROCESSORS), (2, 10, 0), (3, 10, 2)],
)
def test_the_number_of_processors_is_within_reason(n, niceness, expected, monkeypatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(n)), raising=False)
    monkeypatch.setattr(os, "nice", lambda _: niceness, raising=False)
    assert limits.n_processors() == expected


class Waits:
    """Work that never ends by itself, or fails."""

    def count(self, number: int, block: TextBlock, should_stop: Callable[[], bool]) -> None:
        if number:
            raise ValueError("too long")
        while not should_stop():
            time.sleep(0.001)


def test_where_one_thread_fails_none_waits_for_what_it_was_to_find() -> None:
    threads, deadline = Threads([Waits().count, Waits().count]), time.monotonic() + 30
    with pytest.raises(ValueError, match="too long"):  # either call may raise it
        for number in range(2):
            threads.put(number, TextBlock(b""), lambda: False)
        threads.finish(lambda: time.monotonic() > deadline)
    assert time.monotonic() < deadline
    threads.close()
