from __future__ import annotations

import pytest

import tokviz
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


@pytest.mark.parametrize("builtin", BUILTIN_TOKENIZERS, ids=lambda b: b.name)
def test_stated_size_is_true(builtin: object) -> None:
    tok = tokviz.load(builtin.name)  # type: ignore[attr-defined]
    assert len(tok.vocab) == builtin.n_tokens  # type: ignore[attr-defined]
    assert max(tok.vocab) + 1 == tok.n_vocab
    assert len(set(tok.vocab.values())) == len(tok.vocab)


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
