"""A worker encodes while the text is edited."""

from __future__ import annotations

import random
import sys
from array import array
from collections import Counter
from collections.abc import Iterator
from copy import copy
from itertools import pairwise
from threading import Event, Thread

import pytest

from tests.oracles.edits import random_edit, random_text, tokenizer
from tokviz.live.document import LiveDocument


@pytest.fixture
def hasty_switching() -> Iterator[None]:
    """Make threads switch as often as possible."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


class Workers:
    """Threads that encode pending chunks until they are stopped."""

    def __init__(self, live: LiveDocument, number: int) -> None:
        self._live = live
        self._stop = Event()
        self._threads = [Thread(target=self._run) for _ in range(number)]
        self.errors: list[BaseException] = []
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                if self._live.encode_pending(0.001):
                    self._stop.wait(0.0002)
        except BaseException as error:
            self.errors.append(error)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def assert_exact(live: LiveDocument, name: str) -> None:
    while not live.encode_pending(60):
        pass
    ids = tokenizer(name).byte_text.encode(live.text, live.parse_specials).tolist()
    assert live.complete
    assert live.ids().tolist() == ids
    spans = live.tokens_in(0, live.n_chars)
    assert [span.id for span in spans] == ids
    assert all(a.hue != b.hue for a, b in pairwise(spans))
    for token_id, number in Counter(ids).most_common():
        assert live.occurrences(token_id, limit=0) == (number, [])
    assert live.occurrences(7, limit=0)[0] == ids.count(7)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_edits_while_workers_encode_lose_nothing(hasty_switching: None, n_workers: int) -> None:
    rng = random.Random(n_workers)
    live = LiveDocument(random_text(rng, 4_000), tokenizer("gpt2"), chunk_target=16)
    name = "gpt2"
    workers = Workers(live, n_workers)
    try:
        for step in range(80):
            if step % 60 == 59:
                name = "o200k_base" if name == "gpt2" else "gpt2"
                live.set_tokenizer(tokenizer(name))
            elif step % 40 == 39:
                live.set_parse_specials(not live.parse_specials)
            elif step % 10 == 9:
                # Long enough to be left to the workers.
                live.edit(rng.randint(0, live.n_chars), 0, random_text(rng, 14_000))
            elif step % 10 == 4:
                offset = rng.randint(0, live.n_chars)
                live.edit(offset, min(live.n_chars - offset, 40_000), "")
            else:
                live.edit(*random_edit(rng, live.n_chars))
            lo = rng.randint(0, live.n_chars)
            for span in live.tokens_in(lo, lo + 200):
                # Indexes stay the same while one asks by index, whatever the workers bring.
                assert live.token(span.index)[:4] == (span.index, span.id, span.start, span.end)
            n_tokens = live.n_tokens
            assert n_tokens == len(live.tokens_slice(0, n_tokens))
    finally:
        workers.stop()
    assert workers.errors == []
    assert_exact(live, name)


def test_a_worker_of_an_old_tokenizer_brings_nothing_into_the_document() -> None:
    live = LiveDocument("some words " * 500, tokenizer("gpt2"))
    live.encode_pending(60)
    live.set_tokenizer(tokenizer("o200k_base"))
    assert live.n_tokens == 0
    assert_exact(live, "o200k_base")


@pytest.mark.parametrize("meanwhile", ["edit", "ask"])
def test_a_chunk_is_edited_or_encoded_by_both_threads_at_once(
    monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    tok = copy(tokenizer("gpt2"))  # what is put in its place stays in a part of it
    live = LiveDocument("some words " * 10, tok)
    encode = tok.byte_text.encode_all
    interruptions = [1]

    def interrupted(texts: list[str], parse_specials: bool) -> Iterator[array[int]]:
        if interruptions:
            interruptions.pop()
            if meanwhile == "edit":
                live.edit(0, 4, "many")
            else:
                assert live.ensure(0, 1)
        return encode(texts, parse_specials)

    monkeypatch.setattr(tok.byte_text, "encode_all", interrupted)
    live.encode_pending(60)
    assert not interruptions
    assert_exact(live, "gpt2")


def test_a_short_time_encodes_only_a_part() -> None:
    live = LiveDocument("some words " * 10_000, tokenizer("gpt2"))
    assert not live.encode_pending(0)
    assert 0 < live.n_tokens < 10_000
