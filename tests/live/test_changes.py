from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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
