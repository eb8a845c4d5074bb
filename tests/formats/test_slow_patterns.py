"""Files whose split pattern explodes: nothing hangs, and the error names the pattern."""

from __future__ import annotations

import pytest

import tokviz
from tokviz.chat.mask_text import mask_text
from tokviz.errors import PatternError, TokvizError
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.explain.vocabulary.reachable import unreachable_rows
from tokviz.formats.hf_pattern import means_the_same
from tokviz.formats.validate import validate
from tokviz.live.document import LiveDocument
from tokviz.tokenizer.pretokenize.split import split
from tokviz.training.replay.replay import Replay

Z34 = "z" * 34
TEXT = f"hello\n{Z34}\nhello"


def model(path, regex):
    path.write_text(f"minbpe v1\n{regex}\n1\n<s> 258\n104 101\n122 122\n", encoding="utf-8")
    return tokviz.load(path)


@pytest.fixture
def hostile(tmp_path):
    return model(tmp_path / "hostile.model", r"(?:z|z)*b| ?\p{L}+|\s+|[^\s]")


@pytest.fixture(params=["ours", "the library"])
def any_hostile(request, hostile, tmp_path):
    """The same tokenizer in our engine, and as a file that only Hugging Face's library takes."""
    if request.param == "ours":
        yield hostile
        return
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    hostile.save(path)
    tok = tokviz.load(path)
    assert tok.remote
    yield tok
    tok.close()


def test_the_api_names_the_place_and_the_pre_token(hostile):
    text = f"<s>hello\n{Z34}\nhello"
    for encode in (hostile.encode, hostile.tokenize, hostile.byte_text.split):
        with pytest.raises(
            PatternError, match=r"for one pre-token at character 9 of the text, 'zzz.*'…"
        ):
            encode(text)


def test_a_split_names_the_place(hostile):
    with pytest.raises(PatternError, match=r"at character 1 of the text"):
        split(hostile.split_pattern, f"\n{Z34}")


def test_the_live_document_says_why_it_has_no_tokens(any_hostile):
    document = LiveDocument(TEXT, any_hostile)
    assert document.ensure(0, 99) is False  # the editing thread waits for nothing
    assert document.encode_pending(60)
    assert document.settled and not document.complete
    assert "takes" in str(document.failure)
    document.edit(6, 34, "z")
    assert document.encode_pending(60)
    assert (document.n_pending_chars, document.failure) == (0, None)


def test_the_mask_and_replay_are_refused(any_hostile, hostile):
    with pytest.raises(TokvizError, match="takes"):
        mask_text(any_hostile, TEXT)
    with pytest.raises(PatternError, match="takes longer than"):
        Replay.open(hostile).text(TEXT)


def test_the_vocabulary_tells_what_is_reachable(hostile):
    assert not unreachable_rows(VocabularyIndex(hostile)).any()


def test_a_check_names_the_pre_token_and_comes_to_an_end(tmp_path):
    model(tmp_path / "a.model", r"(?:a|a)*b| ?\p{L}+|\s+|[^\s]")
    report = validate(tmp_path / "a.model")
    (finding,) = [one for one in report.findings if one.code == "slow-pattern"]
    assert "'aaaaaa" in finding.message


def test_a_regex_that_cannot_be_compiled_in_time_is_refused(tmp_path):
    with pytest.raises(TokvizError, match="compile"):
        model(tmp_path / "m.model", "(?:(?:a{1000}){1000}){1000}")


@pytest.mark.parametrize("regex", ["(?:a+)+b", "(?:a|a)*b", "(?:a?){9}", "(?:a+){2,}", "((?:a)?)+"])
def test_what_repeats_a_group_is_left_to_the_library(regex):
    assert not means_the_same(regex)
