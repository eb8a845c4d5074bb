"""Documents with a remote tokenizer: no call waits for it, and hues do not flicker."""

from __future__ import annotations

from array import array

import pytest

import tokviz
from tokviz.errors import JobError
from tokviz.live.document import LiveDocument
from tokviz.text.bytetext import to_bytes
from tokviz.tokenizer.encoding.byte_text_encoder import ByteTextEncoder

WORDS = tokviz.load("gpt2")


class RemoteEncoder(ByteTextEncoder):
    """Encoder with GPT-2's tokens that counts its calls; fails on "boom"."""

    asked = 0

    def encode_with_borders(self, text, allowed_special=True):
        self.asked += 1
        if "boom" in text:
            raise JobError("the child died")
        tokenization = WORDS.byte_text.tokenize(text, allowed_special)
        ends = [end for _, end in tokenization.byte_spans.tolist()]
        return tokenization.ids, array("I", [0, *ends])


class Remote(tokviz.Tokenizer):
    """Remote tokenizer with GPT-2's tokens."""

    remote = True

    def __init__(self) -> None:
        super().__init__(WORDS.vocab, [], WORDS.special_tokens, split_pattern="none")
        self.byte_text = RemoteEncoder(**vars(self.byte_text))


class HereEncoder(ByteTextEncoder):
    """Encoder that fails on "boom"."""

    def encode_with_borders(self, text, allowed_special=True):
        if "boom" in text:
            raise JobError("the child died")
        return super().encode_with_borders(text, allowed_special)

    def encode_all(self, texts, allowed_special="all", to_bytes=to_bytes):
        if any("boom" in text for text in texts):
            raise JobError("the child died")
        return super().encode_all(texts, allowed_special, to_bytes)


class Here(tokviz.Tokenizer):
    """Local tokenizer with GPT-2's tokens."""

    def __init__(self) -> None:
        super().__init__(WORDS.vocab, WORDS.merges, WORDS.special_tokens, split_pattern="gpt2")
        self.byte_text = HereEncoder(**vars(self.byte_text))


@pytest.fixture
def document():
    document = LiveDocument("Hello wörld, how are you?", Remote())
    assert document.encode_pending(60)
    assert document.complete
    return document


def looks(document):
    return [(span.start, span.end, span.hue) for span in document.tokens_in(0, document.n_chars)]


def test_the_editing_thread_asks_for_nothing(document):
    asked = document.tokenizer.byte_text.asked
    document.edit(5, 0, " dear")
    assert document.ensure(0, 99) is False
    document.tokens_in(0, 99)
    document.token_index_at(0)
    assert document.tokenizer.byte_text.asked == asked
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
