"""Tokenizers that need Hugging Face's library: its ids, and spans that tile the text."""

from __future__ import annotations

import gc
import json
import os
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.formats.samples import TEXT
from tests.oracles.nasty import byte_texts, texts
from tests.profiles import examples
from tokviz.formats.budget import Budget
from tokviz.formats.huggingface_tokenizer import HuggingFaceTokenizer
from tokviz.formats.library import LibraryTokenizer
from tokviz.live.document import LiveDocument
from tokviz.text import bytetext

hf = pytest.importorskip("tokenizers")
pre, models, trainers = hf.pre_tokenizers, hf.models, hf.trainers
SPECIALS = ["<unk>", "<s>", "<|endoftext|>"]


def made(model, trainer, pre_tokenizer, normalizer=None, decoder=None):
    tok = hf.Tokenizer(model)
    tok.pre_tokenizer = pre_tokenizer
    if normalizer:
        tok.normalizer = normalizer
    if decoder:
        tok.decoder = decoder
    tok.train_from_iterator([TEXT] * 3, trainer)
    return tok


def bpe_trainer():
    return trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre.ByteLevel.alphabet(), special_tokens=SPECIALS
    )


KINDS = {
    "wordpiece": lambda: made(
        models.WordPiece(unk_token="<unk>"),
        trainers.WordPieceTrainer(vocab_size=300, special_tokens=SPECIALS),
        pre.BertPreTokenizer(),
        hf.normalizers.BertNormalizer(),
        hf.decoders.WordPiece(),
    ),
    "unigram": lambda: made(
        models.Unigram(),
        trainers.UnigramTrainer(vocab_size=200, special_tokens=SPECIALS, unk_token="<unk>"),
        pre.Metaspace(),
        hf.normalizers.NFKC(),
        hf.decoders.Metaspace(),
    ),
    "wordlevel": lambda: made(
        models.WordLevel(unk_token="<unk>"),
        trainers.WordLevelTrainer(special_tokens=SPECIALS),
        pre.Whitespace(),
    ),
    "several steps": lambda: made(
        models.BPE(),
        bpe_trainer(),
        pre.Sequence(
            [pre.Digits(True), pre.Punctuation(), pre.ByteLevel(add_prefix_space=False)]
        ),
        None,
        hf.decoders.ByteLevel(),
    ),
    "prefix space": lambda: made(
        models.BPE(), bpe_trainer(), pre.Sequence([pre.Split("x", "isolated"), pre.ByteLevel()]),
        None, hf.decoders.ByteLevel(),
    ),
    "nfc": lambda: made(
        models.BPE(), bpe_trainer(), pre.ByteLevel(add_prefix_space=False),
        hf.normalizers.Sequence([hf.normalizers.NFC(), hf.normalizers.Lowercase()]),
        hf.decoders.ByteLevel(),
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def both(request, tmp_path_factory):
    """Ours, and the library's own."""
    path = tmp_path_factory.mktemp("library") / "tokenizer.json"
    theirs = KINDS[request.param]()
    theirs.save(str(path))
    ours = tokviz.load(path)
    assert ours.remote
    yield ours, theirs, request.param
    ours.close()


def test_composed_marks_belong_to_their_token(both):
    ours, _, kind = both
    if kind == "nfc":
        spans = ours.tokenize("cafe\u0301 \u1112\u1161\u11ab x").byte_spans.tolist()
        assert [0, 6] in [[start, end] for start, _ in spans for _, end in spans]
        assert not any(start == 4 or end == 4 for start, end in spans)


@examples(60)
@given(text=texts)
def test_ids_are_the_librarys(both, text):
    ours, theirs, kind = both
    theirs.encode_special_tokens = False
    ids = theirs.encode(text, add_special_tokens=False).ids
    assert ours.encode(text) == ids
    assert ours.tokenize(text).ids == ids
    if type(theirs.decoder).__name__ != "ByteLevel":
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
    theirs.encode_special_tokens = True
    as_text = ours.encode(text, "none")
    if kind == "unigram":
        # The library's model finds them in its vocabulary although they are not searched for.
        assert not {ours.special_tokens[name] for name in SPECIALS[1:]} & set(as_text)
    else:
        assert as_text == theirs.encode(text, add_special_tokens=False).ids


@examples(60)
@given(text=byte_texts)
def test_spans_tile_any_text(both, text):
    ours, _, _ = both
    story = ours.byte_text.tokenize(text)
    if story.ids:
        for spans in (story.byte_spans.tolist(), story.pre_tokens.tolist()):
            assert spans[0][0] == 0
            assert spans[-1][1] == len(bytetext.to_bytes(text))
            assert all(a[1] == b[0] for a, b in pairwise(spans))
    assert len(story.byte_spans) == len(story.ids) == len(story.special)
    assert [text[a:b] for a, b in ours.byte_text.split(text)] or not story.ids


def test_byte_level_tokens_lie_where_their_bytes_are(tmp_path):
    KINDS["several steps"]().save(str(tmp_path / "tokenizer.json"))
    ours = tokviz.load(tmp_path / "tokenizer.json")
    data = "naïve 你好, 12 👩‍👩‍👧!".encode()
    story = ours.tokenize(data.decode())
    assert [data[a:b] for a, b in story.byte_spans] == [ours.token_bytes(i) for i in story.ids]
    assert not ours.lossy
    assert ours.decode_bytes(story.ids) == data
    ours.close()


def test_lossy_is_said_where_text_is_changed(both):
    ours, _, kind = both
    assert ours.lossy == (kind != "several steps")
    assert ours.decode(ours.encode("e\u0301  x")) == "e\u0301  x" or ours.lossy


def test_the_vocabulary_is_whole(both):
    ours, theirs, _ = both
    assert ours.vocab.keys() == set(theirs.get_vocab().values())
    assert ours.special_tokens == {text: theirs.token_to_id(text) for text in SPECIALS}
    assert ours.n_vocab == max(theirs.get_vocab().values()) + 1
    assert all(ours.is_special(i) for i in ours.special_tokens.values())
    with pytest.raises(tokviz.TokenIdError):
        ours.decode([10**6])
    with pytest.raises(tokviz.SpecialTokenError, match="all its special tokens or none"):
        ours.encode("x", {"<s>"})
    with pytest.raises(tokviz.FormatError, match=r"copy its tokenizer\.json"):
        ours.save("x.json")


@examples(15)
@given(text=byte_texts, more=st.lists(texts, max_size=3), at=st.floats(0, 1))
def test_live_documents_show_its_tokens(both, text, more, at):
    ours, _, _ = both
    document = LiveDocument(text, ours)
    for number, part in enumerate(["", *more]):
        document.edit(int(at * document.n_chars), 0, part)
        if document.text and (part or not number):
            assert document.tokens_in(0, 5)[0].id == -1  # never on the thread that draws
        while not document.encode_pending(1.0):
            pass
        story = ours.byte_text.tokenize(document.text)
        assert document.ids().tolist() == story.ids
        assert document.settled and document.complete
        tokens = [document.token(index) for index in range(document.n_tokens)]
        assert [[t.byte_start, t.byte_end] for t in tokens] == story.byte_spans.tolist()
        spans = document.tokens_in(0, document.n_chars)
        assert all(a.start < a.end and a.end >= b.start for a, b in pairwise(spans))
        assert not document.text or (spans[0].start, spans[-1].end) == (0, document.n_chars)


@pytest.fixture
def bomb(tmp_path):
    """Write a tokenizer.json whose normalizer explodes on the text "a"."""
    content = json.loads(KINDS["wordlevel"]().to_str())
    steps = [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100_000}] * 2
    content["normalizer"] = {"type": "Sequence", "normalizers": steps}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    return path


def test_a_child_that_dies_is_an_error_and_the_next_call_has_a_new_one(bomb):
    content = json.loads(bomb.read_text())
    tok = HuggingFaceTokenizer(bomb, content, "why", name="b", limits=Budget(600, 5))
    ids = tok.encode("xyz")
    first = tok._library._jobs.pid
    with pytest.raises(tokviz.TokvizError, match="takes more than 600 MB of memory for this text"):
        tok.encode("a")
    assert tok.encode("xyz") == ids
    assert tok._library._jobs.pid != first
    document = LiveDocument("a", tok)
    while not document.encode_pending(1.0):
        pass
    assert document.settled and not document.complete
    assert "takes more than 600 MB of memory for this text" in str(document.failure)
    document.edit(0, 1, "xyz")
    while not document.encode_pending(1.0):
        pass
    assert document.complete and document.failure is None
    tok.close()
    with pytest.raises(tokviz.TokvizError, match="closed"):
        tok.encode("xyz")


def exploding(folder, kind="wordlevel", **changes):
    """Write a tokenizer.json that takes too long on many z's without a b after them."""
    content = json.loads(KINDS[kind]().to_str())
    split = {"type": "Split", "pattern": {"Regex": "(?:z|z)*[bc]|."}, "behavior": "Isolated"}
    content["pre_tokenizer"] = {**split, "invert": False}
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content | changes))
    return path


def test_a_regex_that_explodes_in_the_library_is_told_in_words_and_its_child_stays(tmp_path):
    """The library panics, which is not an `Exception` and prints a long traceback."""
    tok = tokviz.load(exploding(tmp_path))
    ids, pid = tok.encode("xyz"), tok._library._jobs.pid
    with pytest.raises(tokviz.PatternError) as caught:
        tok.encode("bc" + "z" * 34)
    assert str(caught.value) == (
        "split pattern '(?:z|z)*[bc]|.': takes too long to encode this text: it exceeds the "
        "library's limit of retries"
    )
    assert (tok.encode("xyz"), tok._library._jobs.pid) == (ids, pid)
    tok.close()


def test_a_regex_that_explodes_in_a_normalizer_is_told_in_words(tmp_path):
    replace = {"type": "Replace", "pattern": {"Regex": "(?:z|z)*b|z!"}, "content": "low"}
    tok = tokviz.load(exploding(tmp_path, pre_tokenizer=None, normalizer=replace))
    with pytest.raises(tokviz.PatternError, match=r"'\(\?:z\|z\)\*b\|z!': takes too long"):
        tok.tokenize("low zzb low " + "z" * 30 + " low")
    tok.close()


def test_a_regex_that_explodes_in_a_decoder_is_told_in_words_and_its_child_stays(tmp_path):
    replace = {"type": "Replace", "pattern": {"Regex": "(?:z|z)*b|z!"}, "content": "x"}
    model = {"type": "WordLevel", "vocab": {"z" * 34: 0, "y": 1}, "unk_token": "y"}
    path = exploding(tmp_path, pre_tokenizer=None, decoder=replace, model=model, added_tokens=[])
    tok = tokviz.load(path)
    pid = tok._library._jobs.pid
    with pytest.raises(tokviz.PatternError, match="takes too long to decode these ids"):
        tok.decode([0])
    assert (tok.decode([1]), tok._library._jobs.pid) == ("y", pid)
    tok.close()


def test_the_child_ends_with_its_tokenizer(tmp_path):
    KINDS["wordlevel"]().save(str(tmp_path / "tokenizer.json"))
    tok = tokviz.load(tmp_path / "tokenizer.json")
    tok.encode("xyz")
    pid = tok._library._jobs.pid
    os.kill(pid, 0)
    del tok
    gc.collect()
    give_up = time.monotonic() + 20
    while time.monotonic() < give_up:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail("the child is still there")


def test_a_file_that_changes_is_noticed_when_the_child_is_replaced(bomb):
    tok = LibraryTokenizer(bomb, limits=Budget(600, 5))
    tok.encode("xyz")
    bomb.write_text(bomb.read_text() + " ")
    with pytest.raises(tokviz.TokvizError):
        tok.encode("a")
    for _ in range(2):
        with pytest.raises(tokviz.TokvizError, match="has changed since"):
            tok.encode("xyz")
    tok.close()


@pytest.mark.parametrize("key", ["padding", "truncation"])
def test_padding_and_truncation_are_left_out(key, tmp_path):
    content = json.loads(KINDS["wordlevel"]().to_str())
    content["padding"] = {
        "strategy": {"Fixed": 2**33}, "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>",
    }  # fmt: skip
    content["truncation"] = {
        "direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0
    }  # fmt: skip
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    tok = tokviz.load(path)
    assert len(tok.encode("The cats sat")) == 3
    tok.close()
