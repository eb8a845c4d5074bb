from __future__ import annotations

import json
from pathlib import Path

import pytest

import tokviz
from tests.formats.nasty_strings import checksum, strings
from tokviz.formats.registry import BUILTIN_TOKENIZERS, place_words, resolve_name


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("gpt2", "gpt2"),
        ("r50k_base", "gpt2"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("gpt-4", "cl100k_base"),
        ("cl100k_base", "cl100k_base"),
        ("gpt-4o", "o200k_base"),
        ("GPT-5", "o200k_base"),
        ("o200k_base", "o200k_base"),
        ("qwen2", "qwen2"),
        ("qwen2.5", "qwen2"),
        ("gpt-oss", "o200k_harmony"),
        ("r1", "deepseek-r1"),
        ("dolma2", "olmo2"),
        ("Qwen3.6", "qwen3.5"),
    ],
)
def test_usual_names_are_known(name: str, canonical: str) -> None:
    assert resolve_name(name).name == canonical


def test_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(tokviz.UnknownTokenizerError, match="did you mean") as caught:
        tokviz.load("cl100_base")
    assert caught.value.suggestions[0] == "cl100k_base"


def test_a_name_like_the_hubs_offers_the_hub() -> None:
    with pytest.raises(tokviz.UnknownTokenizerError, match=r"did you mean hf:Qwen/Qwen3-0\.6B"):
        tokviz.load("Qwen/Qwen3-0.6B")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("claude-sonnet-4-5", "has not been public since Claude 3"),
        ("llama-3.1-8b", "load hf:meta-llama/Llama-3.1-8B"),
        ("Llama4", "hf:meta-llama/Llama-4-Scout"),
        ("gemma3", "hf auth login"),
        ("deepseek-coder-v9", "did you mean deepseek-v4, deepseek-v3"),
        ("kimi-thinking-9", "did you mean kimi-k2"),
    ],
)
def test_a_known_model_without_a_builtin_tokenizer_is_told_what_to_do(
    name: str, words: str
) -> None:
    with pytest.raises(tokviz.UnknownTokenizerError) as caught:
        tokviz.load(name)
    assert words in str(caught.value)


REFERENCE_IDS = json.loads((Path(__file__).parent / "reference_ids.json").read_text())


@pytest.mark.parametrize("name", REFERENCE_IDS)
def test_ids_of_nasty_strings_are_the_reference_librarys(name: str) -> None:
    tok = tokviz.load(name)
    texts = strings([*tok.special_tokens])
    for specials, expected in REFERENCE_IDS[name].items():
        encoded = dict(zip(texts, tok.encode_batch(texts, specials), strict=True))
        assert checksum(encoded.__getitem__, texts) == expected


def test_every_builtin_tokenizer_is_compared_with_its_reference() -> None:
    alike = {"qwen2": "qwen3", "deepseek-r1": "deepseek-v3"}
    names = {builtin.name for builtin in BUILTIN_TOKENIZERS}
    assert names == {*REFERENCE_IDS, *alike}
    for name, reference in alike.items():
        one, other = tokviz.load(name), tokviz.load(reference)
        texts = strings([])
        assert one.encode_batch(texts, "none") == other.encode_batch(texts, "none")


@pytest.mark.parametrize("builtin", BUILTIN_TOKENIZERS, ids=lambda b: b.name)
def test_stated_size_is_true(builtin: object) -> None:
    tok = tokviz.load(builtin.name)  # type: ignore[attr-defined]
    assert len(tok.vocab) == builtin.n_tokens  # type: ignore[attr-defined]
    assert max(tok.vocab) + 1 == tok.n_vocab == builtin.n_vocab  # type: ignore[attr-defined]
    # GPT-NeoX also has added tokens that are spelled like ordinary ones.
    ordinary = tok.tables.tokens()
    assert len(set(ordinary)) == len(ordinary) == len(tok.vocab) - len(tok.special_tokens)


def test_names_are_unambiguous() -> None:
    names = [name for builtin in BUILTIN_TOKENIZERS for name in (builtin.name, *builtin.aliases)]
    assert len(names) == len(set(names))


def test_a_file_goes_by_the_name_of_its_model(tmp_path):
    folder = tmp_path / "gemma3" / "package" / "models"
    folder.mkdir(parents=True)
    assert place_words(str(folder / "tokenizer.json"))[0] == "gemma3"
    assert place_words(str(folder))[0] == "gemma3"
    config = folder / "tokenizer_config.json"
    config.write_text('{"name_or_path": "google/gemma-3-4b", "bos_token": "<bos>"}')
    assert place_words(str(folder / "vocab.txt"))[0] == "gemma-3-4b"
    assert place_words(str(folder / "model-q4.gguf"))[0] == "model-q4.gguf"
