from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles.nasty import FRAGMENTS
from tokviz.live.changes import Change, ChangeLog
from tokviz.live.document import LiveDocument


def _apply(old: str, new: str, change: Change) -> str:
    return old[: change.start] + new[change.start : change.new_end] + old[change.old_end :]


@given(st.data())
def test_a_summed_change_turns_the_old_text_into_the_new(data: st.DataObject) -> None:
    document = LiveDocument(data.draw(st.text("abc", max_size=10)))
    texts = [document.text]
    for _ in range(data.draw(st.integers(0, 5))):
        start = data.draw(st.integers(0, document.n_chars))
        removed = data.draw(st.integers(0, document.n_chars - start))
        document.edit(start, removed, data.draw(st.text("xyz", min_size=1, max_size=4)))
        texts.append(document.text)
    for revision, old in enumerate(texts):
        change = document.changes.since(revision)
        assert change is not None
        assert _apply(old, document.text, change) == document.text
        assert len(old) + change.shift == document.n_chars


def test_nothing_is_known_of_a_text_before_it_was_replaced() -> None:
    document = LiveDocument("old")
    document.set_text("new")
    assert document.changes.since(0) is None
    assert document.changes.since(document.revision) == Change(0, 0, 0)


def test_changes_long_ago_are_forgotten() -> None:
    log = ChangeLog()
    for revision in range(1, 3000):
        log.note(revision, 0, 0, 1)
    assert log.since(0) is None
    assert log.since(2900) == Change(0, 0, 99)


@given(st.text("ab \n", max_size=60), st.integers(-3, 70), st.integers(-3, 70))
def test_a_stretch_of_the_text_is_a_slice_of_it(text: str, lo: int, hi: int) -> None:
    document = LiveDocument(text, chunk_target=4)
    assert document.text_in(lo, hi) == text[max(lo, 0) : max(hi, 0)]


def test_treating_specials_otherwise_changes_no_text() -> None:
    document = LiveDocument("same text")
    document.set_parse_specials(False)
    assert document.revision == 1
    assert document.changes.since(0) == Change(0, 0, 0)


Placed = tuple[int, int, int, int]


def _tokens(document: LiveDocument) -> list[Placed]:
    found = [document.token(index) for index in range(document.n_tokens)]
    return [(token.byte_start, token.byte_end, token.id, token.hue) for token in found]


def test_text_outside_an_edit_keeps_its_tokens_and_hues() -> None:
    rng, words = random.Random(1), [*FRAGMENTS, " word", "\udcff"]
    text, gpt2 = "".join(rng.choices(words, k=150)), tokviz.load("gpt2")
    document = LiveDocument(text, gpt2, chunk_target=99)
    document.ensure(0, document.n_chars)
    for step in range(40):
        before, stage = _tokens(document), document.stage
        at = rng.randrange(document.n_chars + 1)
        removed = min(rng.choice([0, 0, 1, 9]), document.n_chars - at)
        document.edit(at, removed, "".join(rng.choices(words, k=rng.choice([1, 1, 5]))))
        change = document.token_changes.since(stage)
        assert change is not None
        kept = [token for token in before if token[1] <= change.start]
        kept += [
            (start + change.shift, end + change.shift, token_id, hue)
            for start, end, token_id, hue in before
            if start >= change.old_end
        ]
        lo, hi = change.start, change.new_end
        now = _tokens(document)
        assert kept == [token for token in now if token[1] <= lo or token[0] >= hi], step
        assert len(kept) > len(before) // 3, "most of it"


def test_tokens_that_become_known_may_be_anywhere() -> None:
    document = LiveDocument("some text", tokviz.load("gpt2"))
    stage = document.stage
    document.ensure(0, 9)
    assert document.token_changes.since(stage) is None
