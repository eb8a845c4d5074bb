"""The built-in `qwen2` composes text as Qwen's own tokenizer does, and says where that matters."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles.nasty import byte_texts
from tokviz.chat.conversation import Conversation
from tokviz.chat.render import render
from tokviz.live.document import LiveDocument
from tokviz.text import bytetext
from tokviz.training.replay.replay import Replay

QWEN = tokviz.load("qwen2")
DECOMPOSED = ["e\u0301", "\u1112\u1161\u11ab", "\u212b", "o\u0323\u0302", "\u0301", "\u09c7\u09be"]
texts = st.lists(
    st.one_of(st.sampled_from([*DECOMPOSED, *" ae.\n1", "<|im_end|>", "\u0338"]), byte_texts)
).map(lambda parts: bytetext.from_bytes(bytetext.to_bytes("".join(parts))))


def composed(text: str) -> str:
    """Normalize the text between special tokens."""
    parts = text.split("<|im_end|>")
    return "<|im_end|>".join(QWEN.normalizer.apply(part) for part in parts)


@given(text=texts)
def test_the_tokens_are_those_of_the_composed_text(text):
    text = text.replace("<|endoftext|>", "").replace("<|im_start|>", "")
    story = QWEN.byte_text.tokenize(text)
    assert story.ids == QWEN.byte_text.encode(text).tolist()
    assert QWEN.decode_bytes(story.ids) == bytetext.to_bytes(composed(text))
    assert QWEN.byte_text.changes(text) == (QWEN.normalizer.apply(text) != text)
    for spans in (story.byte_spans.tolist(), story.pre_tokens.tolist()):
        ends = [0, *(end for _, end in spans)]
        assert [start for start, _ in spans] == ends[:-1]
        assert ends[-1] == bytetext.n_bytes(text)
    pre_tokens = QWEN.byte_text.split(text)
    assert [start for start, _ in pre_tokens] == [0, *(end for _, end in pre_tokens)][
        : len(pre_tokens)
    ]
    sizes = [bytetext.n_bytes(text[a:b]) for a, b in pre_tokens]
    assert sizes == [end - start for start, end in story.pre_tokens.tolist()]


@given(text=texts, at=st.floats(0, 1))
def test_a_live_document_has_its_tokens(text, at):
    document = LiveDocument(text, QWEN)
    document.edit(int(at * document.n_chars), 0, "e\u0301 x")
    while not document.encode_pending(1.0):
        pass
    story = QWEN.byte_text.tokenize(document.text)
    assert document.ids().tolist() == story.ids
    tokens = [document.token(index) for index in range(document.n_tokens)]
    assert [[t.byte_start, t.byte_end] for t in tokens] == story.byte_spans.tolist()
    assert document.lossless == (not QWEN.byte_text.changes(document.text))
    document.set_text("plain")
    while not document.encode_pending(1.0):
        pass
    assert document.lossless


def test_a_composed_character_is_one_token_of_all_its_characters():
    text = "Ame\u0301lie"
    story = QWEN.tokenize(text)
    assert QWEN.decode(story.ids) == "Am\u00e9lie"
    assert story.ids == QWEN.encode("Am\u00e9lie")
    assert story.byte_spans[-1][1] == len(text.encode())
    borders = QWEN.byte_text.encode_with_borders(text)[1]
    assert borders is not None
    assert [[a, b] for a, b in pairwise(borders)] == story.byte_spans.tolist()
    assert QWEN.byte_text.encode_with_borders("Am\u00e9lie")[1] is None


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """The tokenizer in Hugging Face's library, read once: that takes longer than all examples."""
    tokenizers = pytest.importorskip("tokenizers")
    path = tmp_path_factory.mktemp("saved") / "qwen2.json"
    QWEN.save(path)
    assert json.loads(path.read_text())["normalizer"] == {"type": "NFC"}
    return tokenizers.Tokenizer.from_file(str(path))


@given(text=st.text(st.characters(exclude_categories=["Cn", "Cs"]), max_size=30))
def test_hugging_faces_library_gives_the_same_ids(text, theirs):
    text += "e\u0301 \u1112\u1161\u11ab<|im_end|>\u0338"
    assert theirs.encode(text).ids == QWEN.encode(text)


def test_chat_replay_and_why_use_the_composed_text():
    said = [{"role": "user", "content": "e\u0301"}, {"role": "assistant", "content": "e\u0301 b"}]
    rendering = render(QWEN, Conversation.from_json(said), "chatml")
    assert b"".join(map(rendering.token_bytes, range(len(rendering)))).count("\u00e9".encode()) == 2
    replay = Replay.open(QWEN)
    assert replay.text("Ame\u0301lie").at(replay.n_merges).ids.tolist() == QWEN.encode(
        "Am\u00e9lie"
    )
    assert tokviz.load("gpt2").encode("e\u0301") != tokviz.load("gpt2").encode("\u00e9")
