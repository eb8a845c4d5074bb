"""A file's content decides its kind, regardless of its name."""

from __future__ import annotations

import gzip
import json

import pytest

import tokviz
from tests.formats.samples import TEXT, trained
from tokviz.formats.recognize import RecognizedFile, find, recognize
from tokviz.formats.save import FORMATS

OURS = trained("gpt2")
KINDS = {
    "huggingface": "Hugging Face tokenizer",
    "tiktoken": "tiktoken rank file",
    "minbpe": "minbpe model",
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("called", ["x", "x.txt", "tokenizer.model", "vocab.json", "x.pkl"])
def test_content_decides_not_the_name(name, called, tmp_path):
    path = tmp_path / called
    OURS.save(path, format=name)
    assert find(path) == RecognizedFile(name, path)
    assert tokviz.load(path).encode("cats") == OURS.encode("cats")
    assert recognize(path) == KINDS[name]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_stands_for_the_tokenizer_in_it(name, indent, tmp_path):
    path = tmp_path if name == "gpt2" else tmp_path / FORMATS[name].default_name
    OURS.save(path, format=name)
    if name == "huggingface":
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")), indent=indent))
    (tmp_path / "README.md").write_text("# A tokenizer\n")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "vocab_size": 400}')
    assert recognize(tmp_path) == {**KINDS, "gpt2": "vocabulary and merges with their config"}[name]
    loaded = tokviz.load(str(tmp_path))
    assert loaded.vocab == OURS.vocab
    assert loaded.encode("cats") == OURS.encode("cats")


def test_a_run_folder_is_a_run(tmp_path):
    tokviz.train([TEXT], 300).save(tmp_path / "run")
    assert recognize(tmp_path / "run") == "training run"
    tok = tokviz.load(tmp_path / "run")
    assert tok.source == f"training run {tmp_path / 'run'}"
    assert tok.load_report is not None
    assert tok.load_report.worst is None


def test_several_tokenizers_in_a_folder_are_a_question(tmp_path):
    OURS.save(tmp_path / "a.tiktoken", format="tiktoken")
    OURS.save(tmp_path / "b.model", format="minbpe")
    with pytest.raises(tokviz.InputFileError, match=r"several tokenizers \(a.tiktoken, b.model\)"):
        tokviz.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"tokenizer_class": "X", "bos_token": "<s>"}', "holds settings, not the tokenizer"),
        ('{"added_tokens_decoder": {}}', "holds settings, not the tokenizer"),
        ("Just a text of some words.\nAnd more.", "is not a tokenizer: choose"),
        ("{'a': 1}", "line 1, column 2: is not JSON"),
    ],
)
def test_what_is_no_tokenizer_says_what_to_choose(content, words, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(content)
    assert recognize(path) is None
    with pytest.raises(tokviz.InputFileError, match=words):
        tokviz.load(path)


CLIP_MERGES = "#version: 0.2\n" + "".join(f"t{n} h</w>\n" for n in range(40))
OTHERS = {
    "bpe_simple_vocab_16e6.txt.gz": (gzip.compress(CLIP_MERGES.encode()), "as CLIP's do"),
    "bpe_simple_vocab_16e6.txt": (f'"a.txt{CLIP_MERGES}'.encode(), "as CLIP's do"),
    "merges.txt": (CLIP_MERGES.encode(), "as CLIP's do"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_known_file_of_another_kind_is_called_by_its_name(name, tmp_path):
    content, words = OTHERS[name]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "config.json").write_text('{"model_type": "x", "vocab_size": 400}')
    with pytest.raises(tokviz.InputFileError, match=words):
        tokviz.load(tmp_path / name)
    with pytest.raises(tokviz.InputFileError, match=words) as in_folder:
        tokviz.load(tmp_path)
    assert in_folder.value.path == str(tmp_path / name)


@pytest.mark.parametrize(
    "data", [gzip.compress(b"a text", mtime=0), b"\x1f\x8bno gzip"], ids=["whole", "damaged"]
)
def test_a_compressed_file_is_to_be_unpacked(data, tmp_path):
    (tmp_path / "x.gz").write_bytes(data)
    with pytest.raises(tokviz.InputFileError, match="is compressed with gzip: unpack it first"):
        tokviz.load(tmp_path / "x.gz")


def test_clips_pair_of_files_is_not_taken_for_gpt2s(tmp_path):
    vocab = {f"t{number}h</w>": number for number in range(40)}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "merges.txt").write_text(CLIP_MERGES)
    with pytest.raises(tokviz.InputFileError, match="as CLIP's do"):
        tokviz.load(tmp_path)


def test_clips_tokenizer_json_is_for_the_library(tmp_path):
    vocab = {f"t{number}h</w>": number for number in range(40)}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"added_tokens": [], "model": {"type": "BPE", "vocab": vocab}}))
    assert find(path).kind == "huggingface"


def test_what_is_not_there_or_no_file_is_an_error(tmp_path):
    for path in (tmp_path / "no.json", f"{tmp_path}/no/"):
        with pytest.raises(tokviz.InputFileError, match="there is no such file"):
            tokviz.load(path)
    with pytest.raises(tokviz.InputFileError, match="holds no tokenizer"):
        tokviz.load(tmp_path)
    with pytest.raises(tokviz.InputFileError, match="not an ordinary file"):
        tokviz.load("/dev/null")
    with pytest.raises(tokviz.UnknownTokenizerError):
        tokviz.load("no-such-name")


def test_a_split_pattern_is_only_for_files_that_hold_none(tmp_path):
    for name in ("huggingface", "minbpe"):
        OURS.save(tmp_path / name, format=name)
        with pytest.raises(tokviz.InputFileError, match="has its own split pattern"):
            tokviz.load(tmp_path / name, split_pattern="gpt4")
    with pytest.raises(tokviz.InputFileError, match="has its own split pattern"):
        tokviz.load("gpt2", split_pattern="gpt4")
    OURS.save(tmp_path / "x.tiktoken", format="tiktoken")
    with pytest.raises(tokviz.PatternError):
        tokviz.load(tmp_path / "x.tiktoken", split_pattern="(")
