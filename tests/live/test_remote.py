"""Documents with a remote tokenizer: no call waits for it, and hues do not flicker."""

from __future__ import annotations

from array import array

import pytest

import tokviz
from tokviz.errors import JobError
from tokviz.live.document import LiveDocument
from tokviz.text.bytetext import to_bytes

WORDS = tokviz.load("gpt2")


class Remote(tokviz.Tokenizer):
    """Remote tokenizer with GPT-2's tokens; fails on "boom"."""

    remote = True
    asked = 0

    def __init__(self) -> None:
        super().__init__(WORDS.vocab, [], WORDS.special_tokens, split_pattern="none")

    def encode_with_borders(self, text, parse_specials=True):
        self.asked += 1
        if "boom" in text:
            raise JobError("the child died")
        tokenization = WORDS.tokenize_byte_text(text, parse_specials)
        ends = [end for _, end in tokenization.byte_spans.tolist()]
        return tokenization.ids, array("I", [0, *ends])


class Here(tokviz.Tokenizer):
    """Local tokenizer with GPT-2's tokens; fails on "boom"."""

    def __init__(self) -> None:
        super().__init__(WORDS.vocab, WORDS.merges, WORDS.special_tokens, split_pattern="gpt2")

    def encode_with_borders(self, text, parse_specials=True):
        if "boom" in text:
            raise JobError("the child died")
        return super().encode_with_borders(text, parse_specials)

    def encode_byte_texts(self, texts, allowed="all", to_bytes=to_bytes):
        if any("boom" in text for text in texts):
            raise JobError("the child died")
        return super().encode_byte_texts(texts, allowed, to_bytes)


@pytest.fixture
def document():
    document = LiveDocument("Hello wörld, how are you?", Remote())
    assert document.encode_pending(60)
    assert document.complete
    return document


def looks(document):
    return [(span.start, span.end, span.hue) for span in document.tokens_in(0, document.n_chars)]


def test_the_editing_thread_asks_for_nothing(document):
    asked = document.tokenizer.asked
    document.edit(5, 0, " dear")
    assert document.ensure(0, 99) is False
    document.tokens_in(0, 99)
    document.token_index_at(0)
    assert document.tokenizer.asked == asked
    assert document.n_tokens == 0


def test_pending_text_keeps_its_previous_hues(document):
    before = looks(document)
    document.edit(6, 1, "W")
    pending = document.tokens_in(0, document.n_chars)
    assert {span.id for span in pending} == {-1}
    assert looks(document)[0] == before[0]
    assert looks(document)[-3:] == before[-3:]
    assert -1 in {span.hue for span in pending}
    assert [span.start for span in pending[1:]] == [span.end for span in pending[:-1]]
    document.edit(7, 0, "W")  # while the first edit is still pending
    assert looks(document)[-1][1:] == (before[-1][1] + 1, before[-1][2])
    assert document.tokens_in(3, 9)[0].start == 3
    assert document.encode_pending(60)
    assert document.complete
    assert document.ids().tolist() == WORDS.encode("Hello WWörld, how are you?")
    assert looks(document)[-1][1:] == (before[-1][1] + 1, before[-1][2])


def test_text_that_cannot_be_encoded_stays_unknown_with_a_reason(document):
    document.edit(0, 0, "boom ")
    assert not document.settled
    assert document.encode_pending(60)
    assert document.settled and not document.complete
    assert str(document.failure) == "the child died"
    with pytest.raises(JobError):
        document.ids()
    document.edit(0, 5, "")
    assert document.failure is None
    assert document.encode_pending(60)
    assert document.complete


def test_after_a_failure_edits_elsewhere_leave_no_pending_work():
    text = "boom " + "words " * 5_000
    document = LiveDocument(text, Here())
    assert document.encode_pending(60)
    assert document.settled
    document.edit(len(text), 0, "x")
    assert document.encode_pending(60)
    assert document.settled
    assert str(document.failure) == "the child died"
    document.edit(0, 5, "")
    assert document.encode_pending(60)
    assert document.complete
    assert document.failure is None
