"""Tokenizers and results in other processes and threads, and their copies."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

import tokviz
from tests.formats import gguf_files
from tokviz.formats import subprocess_loader
from tokviz.formats.save import FORMATS

TEXT = "naïve 🙂 low lower\n" * 300 + "<|endoftext|>"
MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def trained() -> tokviz.TrainingRun:
    texts = ["low low lower", "newest newest <|endoftext|>widest"]
    return tokviz.train(texts, 270, split_pattern="whitespace", special_tokens=["<|endoftext|>"])


def guarded(folder: Path) -> tokviz.Tokenizer:
    own = trained().tokenizer
    made = tokviz.Tokenizer(own.vocab, own.merges, own.special_tokens, split_pattern=r"\w+|\W")
    assert made.in_child
    return made


def attributed(folder: Path) -> tokviz.TrainingRun:
    for name, text in (("a.txt", "low low"), ("b.txt", "low new new new")):
        (folder / name).write_text(text)
    return tokviz.train(folder, 260)


def of_library(folder: Path) -> tokviz.Tokenizer:
    library = tokenizers.Tokenizer(WordLevel({"low": 0, "?": 1}, unk_token="?"))
    library.pre_tokenizer = Whitespace()
    library.save(str(folder / "tokenizer.json"))
    return tokviz.load(folder / "tokenizer.json")


def of_gguf(folder: Path) -> tokviz.Tokenizer:
    return tokviz.load(gguf_files.write(folder, "model.gguf", gguf_files.sentencepiece()))


def checked(folder: Path) -> tokviz.BpeCheck:
    texts = ["low low lower"]
    merges = tokviz.train(texts, 260, tie_break="smallest_id").tokenizer.merges
    found = tokviz.check_bpe(None, merges, corpus=texts, tie_break="lexicographic")
    assert found.explanations
    return found


CHANGEABLE = tokviz.TrainingRun, tokviz.BpeCheck, tokviz.TokenizerDiff
"""Types whose values can change, and have no hash."""

MADE: dict[str, Callable[[Path], Any]] = {
    "built-in": lambda folder: tokviz.load("cl100k_base"),
    "normalizing": lambda folder: tokviz.load("qwen2.5"),
    "trained": lambda folder: trained().tokenizer,
    "guarded": guarded,
    "library": of_library,
    "sentencepiece": of_gguf,
    "run": lambda folder: trained(),
    "run of files": attributed,
    "tokenization": lambda folder: tokviz.load("gpt2").tokenize(TEXT),
    "comparison": lambda folder: tokviz.compare(TEXT, ["gpt2", trained().tokenizer]),
    "rendering": lambda folder: tokviz.render("gpt2", MESSAGES),
    "difference": lambda folder: tokviz.diff("gpt2", trained().tokenizer, seconds=0.1),
    "check": checked,
}


def unpickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, unpickled])
@pytest.mark.parametrize("name", MADE)
def test_a_copy_is_equal_and_has_the_same_hash(name, copied, tmp_path):
    made = MADE[name](tmp_path)
    if name == "comparison":
        assert made.disagreements
    again = copied(made)
    assert again == made
    assert type(again) is type(made)
    if not isinstance(made, CHANGEABLE):
        assert hash(again) == hash(made)
    if isinstance(made, tokviz.Tokenizer):
        assert again.encode(TEXT) == made.encode(TEXT)
        assert again.vocab == made.vocab
        assert (again.name, again.source, again.lossy) == (made.name, made.source, made.lossy)


def test_a_built_in_tokenizer_is_pickled_by_its_name_unless_it_was_changed():
    gpt2 = tokviz.load("gpt2")
    assert len(pickle.dumps(gpt2)) < 100
    assert unpickled(gpt2) is gpt2
    renamed = copy.copy(gpt2)
    renamed.name = "mine"
    again = unpickled(renamed)
    assert (again.name, gpt2.name) == ("mine", "gpt2")
    assert again == renamed == gpt2
    changed = gpt2.with_parts(gpt2.split_pattern, type(gpt2.specials)())
    again = unpickled(changed)
    assert changed.name == "gpt2"
    assert again == changed != gpt2
    assert again.encode("<|endoftext|>") == gpt2.encode("<|endoftext|>", "none")


@pytest.mark.parametrize("format", FORMATS)
def test_a_tokenizer_of_a_file_equals_the_saved_one(format, tmp_path):
    own = trained().tokenizer
    own.save(tmp_path / "saved", format)
    has_pattern = format in ("huggingface", "minbpe")
    pattern = None if has_pattern else own.split_pattern
    loaded = tokviz.load(tmp_path / "saved", split_pattern=pattern)
    again = unpickled(loaded)
    assert again == loaded
    assert again.encode(TEXT) == loaded.encode(TEXT)
    if format == "huggingface":
        assert loaded == own
        assert subprocess_loader.load(tmp_path / "saved") == own


def test_unequal_values_differ(tmp_path):
    gpt2, gpt4, own = tokviz.load("gpt2"), tokviz.load("gpt-4"), trained()
    assert gpt2 != gpt4
    assert gpt2 != "gpt2"
    assert own.tokenizer != tokviz.Tokenizer(own.tokenizer.vocab, own.tokenizer.merges)
    assert own != trained()._replace(sources=("x",))
    assert gpt2.tokenize("ab") == gpt2.tokenize("ab") != gpt4.tokenize("ab")
    assert gpt2.tokenize("a") != gpt2.tokenize("b")
    assert tokviz.compare("a", [gpt2]) != tokviz.compare("a", [gpt4]) != tokviz.compare("b", [gpt4])
    assert tokviz.render(gpt2, MESSAGES) != tokviz.render(gpt4, MESSAGES)
    library = of_library(tmp_path)
    assert library == of_library(tmp_path)
    assert library != of_gguf(tmp_path)


def encoded(tokenizer: tokviz.Tokenizer, text: str) -> tokviz.Tokenization:
    return tokenizer.tokenize(text)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_other_processes_encode_the_same(method, tmp_path):
    made = [MADE[name](tmp_path) for name in ("built-in", "trained", "guarded", "library")]
    expected = [encoded(tokenizer, TEXT) for tokenizer in made]
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert [*pool.map(encoded, made, [TEXT] * 4, timeout=120)] == expected
    assert [encoded(tokenizer, TEXT) for tokenizer in made] == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_shares_no_child_process_with_its_parent(tmp_path):
    tokenizer = of_library(tmp_path)
    process = os.fork()
    if not process:
        os._exit(tokenizer.encode("low new low") != [0, 1, 0])
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert tokenizer.encode("new low") == [1, 0]


def test_threads_share_a_tokenizer():
    tokenizer = unpickled(trained().tokenizer)
    texts = [TEXT[:n] for n in range(0, len(TEXT), 150)]
    expected = trained().tokenizer.encode_batch(texts)
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(tokenizer.encode, texts)] == expected


def test_a_copy_needs_the_same_file(tmp_path):
    tokenizer = of_library(tmp_path)
    pickled = pickle.dumps(tokenizer)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text().replace("low", "new"))
    with pytest.raises(tokviz.TokvizError, match="changed"):
        pickle.loads(pickled).encode("low")
