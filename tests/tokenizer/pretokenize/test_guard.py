"""The guarded splitter: the same pre-tokens as here and now, and an end to everything."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from tokviz.errors import PatternError
from tokviz.process.runner import JobClient, JobDroppedError
from tokviz.tokenizer.pretokenize import guard, regex_process
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern, get_split_pattern
from tokviz.tokenizer.pretokenize.split import split
from tokviz.tokenizer.pretokenize.split_steps import join_steps, split_in_steps
from tokviz.tokenizer.pretokenize.step_limit import StepLimit
from tokviz.tokenizer.tokenizer import Tokenizer

ATOMS = [r"a", r"b", r".", r"\s", r"\w", r"[^a]", r"\p{L}", r"(?=b)", r"(?<=a)", r"(?:ab|b)"]
ATOMS += [r"^", r"$", r"\b", r"\udcff", r"\x00", r"\u2028"]
ALTERNATIVES = st.lists(
    st.tuples(st.sampled_from(ATOMS), st.sampled_from(["", "?", "*", "+", "{1,2}", "*?"])),
    min_size=1,
    max_size=3,
).map(lambda atoms: "".join(map("".join, atoms)))
REGEXES = st.lists(ALTERNATIVES, min_size=1, max_size=3).map("|".join)
HARMLESS = [
    r"\w+|\s+|[^\w\s]+",
    r"[a-z]+",
    r"a*",
    r"(?<=b)a|b",
    r"\b|x",
    r"^.|.$",
    r"(?m)^.*$",
    r"\G..?",
    r" ?\p{L}+(?=\d)|\p{N}{1,3}",
    r"\udcff|\x00+|\u2028",
    r".",
    r"(?s).{1,3}?(?!\n)",
]
TEXTS = st.text("ab1 \n\r\0\u2028\u0558é中\U000323b0🙂\udc80\udcff<-", max_size=40)
EXPLODING = r"(?:z|z)*b| ?\p{L}+|\s+|[^\s]"
Z34 = "z" * 34


def compiles(regex_text):
    try:
        regex.compile(regex_text)
    except regex.error:
        return False
    return True


def parts(found):
    return list(found.ends), found.gaps, found.n_zero_width


@pytest.mark.parametrize("of_tiktoken", [False, True])
@given(written=st.sampled_from(HARMLESS) | REGEXES, text=TEXTS)
def test_the_pre_tokens_are_those_of_the_regex_here(of_tiktoken, written, text):
    assume(compiles(written))
    here = SplitPattern("custom", written, "custom", unicode_of_tiktoken=of_tiktoken)
    there = here._replace(guarded=True)
    assert parts(split(there, text)) == parts(join_steps(split_in_steps(here, text)))


def test_a_long_text_is_split_in_many_answers():
    text = "some words, 123 numbers 🙂\n" * 15_000
    here = SplitPattern("custom", r"\w+|\s+|[^\w\s]+", "custom")
    assert parts(split(here._replace(guarded=True), text)) == parts(split(here, text))


def test_only_unknown_regexes_are_guarded():
    for pattern in SPLIT_PATTERNS.values():
        assert not pattern.guarded
        assert not get_split_pattern(pattern.regex).guarded
    assert get_split_pattern("[ab]|[^ab]").guarded
    assert not get_split_pattern("[ab]|[^ab]", guarded=False).guarded


def spans(text, written=EXPLODING):
    found = split(get_split_pattern(written), text)
    return list(found.spans()), found.gaps


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="such a system has no such timers")
def test_a_step_is_measured_in_processor_time():
    limit = StepLimit(0.02)
    with limit.step():
        time.sleep(0.2)
    with pytest.raises(TimeoutError), limit.step():
        while True:
            pass


def test_an_error_names_the_limit_and_the_pre_token():
    pattern = get_split_pattern(EXPLODING)
    words = r"takes longer than \S+ s for one pre-token at character 1 of the text, 'zzz"
    with pytest.raises(PatternError, match=words):
        split(pattern, "\n" + Z34)


def test_a_tokenizer_stops_backtracking_regexes_and_splits_many_texts_in_one_request(monkeypatch):
    bytes_only = {i: bytes([i]) for i in range(256)}
    tok = Tokenizer(bytes_only, [], split_pattern=EXPLODING)
    assert tok.split_pattern.guarded
    for encode in (tok.encode, tok.tokenize, lambda text: tok.encode_batch(["a", text])):
        with pytest.raises(PatternError, match="at character 1 of the text, 'zzz"):
            encode("\n" + Z34)
    calls = []
    ask = JobClient.call

    def counted(*given, **more):
        calls.append(given)
        return ask(*given, **more)

    monkeypatch.setattr(JobClient, "call", counted)
    texts = [f"ab {i}" for i in range(50)]
    assert tok.encode_batch(texts) == [list(text.encode()) for text in texts]
    assert len(calls) == 1


def test_a_child_that_ignores_signals_is_killed(monkeypatch):
    for module in (guard, regex_process):
        monkeypatch.setattr(module, "STEP_SECONDS", 0.4)
    monkeypatch.setattr(regex_process, "PATIENCE_SECONDS", 0.3)
    regex_process.close()
    with pytest.raises(PatternError, match="takes too long to compile"):
        regex_process.check("(?:(?:a{1000}){1000}){1000}")
    with pytest.raises(PatternError, match=r"takes longer than 0\.4 s for one pre-token"):
        spans(f"ab {Z34}b\n{Z34} cd")
    regex_process.close()
    monkeypatch.undo()
    assert spans("ab cd") == ([(0, 2), (2, 5)], ())


def test_closing_the_child_releases_waiting_threads():
    pattern = get_split_pattern(EXPLODING)
    ends = []

    def wait():
        try:
            split(pattern, Z34 + "!")
        except (JobDroppedError, PatternError) as error:
            ends.append(type(error))

    thread = threading.Thread(target=wait)
    thread.start()
    while not regex_process.client_for("split").pid:
        pass
    regex_process.close()
    thread.join(10)
    assert ends == [JobDroppedError]


def test_threads_take_turns():
    pattern = get_split_pattern(r"\w+|\W+")
    found = {}

    def work(number):
        text = f"{number} " * (number + 1)
        found[number] = [len(split(pattern, text)) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [2 * (number + 1)] * 20 for number in range(8)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_its_own_child():
    assert spans("ab cd")[1] == ()
    process = os.fork()
    if not process:
        os._exit(spans("ab cde") != ([(0, 2), (2, 6)], ()))
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert spans("ab cdef")[0] == [(0, 2), (2, 7)]
