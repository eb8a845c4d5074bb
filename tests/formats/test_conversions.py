"""Files that are read as their equivalent `tokenizer.json`."""

from __future__ import annotations

import gzip
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers

import tokviz
from tests.formats import gguf_files
from tokviz.chat.template_files import load_template
from tokviz.errors import InputFileError, TokvizError
from tokviz.explain.explanation import as_text, explain
from tokviz.explain.places import Place
from tokviz.formats import subprocess_loader
from tokviz.formats.byte_level import to_characters
from tokviz.formats.files import read
from tokviz.formats.recognize import find, recognize

TEXTS = [
    "", "a", " ab  aab\n", "he <|end|> he", "caf\u00e9 cafe\u0301 Stra\u00dfe", "你好，世界",
    "👍🏽 1️⃣", "\x00\x01\x7f\u200b\ufeff\u00a0", "a" * 23, "\r\n\r\n \t", "👩‍👩‍👧‍👦",
    "1234567", "HELLO World's", "\uac01\u1100\u1161 ﬁ ½ ① ｶﾞ", "abababab baaba", "<s>ab</s>",
]  # fmt: skip
CORPUS = "the cat sat on the mat. naïve café, hello world! 123 456 ab aab 你好 世界\n" * 40


def spans_tile(tokenizer: tokviz.Tokenizer, text: str) -> bool:
    tokens = tokenizer.tokenize(text)
    spans = tokens.byte_spans.tolist()
    ends = [0, *(end for _, end in spans)]
    whole = ends[-1] == len(text.encode())
    return not tokens.ids or (whole and [start for start, _ in spans] == ends[:-1])


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def model(request: Any, tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "corpus.txt").write_text(CORPUS)
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "corpus.txt"), model_prefix=str(folder / "m"), vocab_size=340,
        model_type=request.param, byte_fallback=True, user_defined_symbols=["<tool>"],
        hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    path: Path = folder / "m.model"
    return path


def test_ids_of_a_sentencepiece_model_are_those_of_the_package(model: Path):
    assert recognize(model) == "SentencePiece model"
    tokenizer = tokviz.load(model)
    reference = sentencepiece.SentencePieceProcessor(model_file=str(model))
    for text in [*TEXTS, "the <tool> cat"]:
        assert tokenizer.encode(text, "none") == reference.encode(text), text
        assert spans_tile(tokenizer, text), text
    assert tokenizer.encode("</s>") == [reference.eos_id()]
    assert tokenizer.source.startswith("SentencePiece model")
    tokenizer.close()


def test_a_folder_with_only_a_model_reads_the_added_tokens_of_its_config(
    model: Path, tmp_path: Path
):
    (tmp_path / "tokenizer.model").write_bytes(model.read_bytes())
    size = sentencepiece.SentencePieceProcessor(model_file=str(model)).get_piece_size()
    added = {str(size): {"content": "<|im_end|>", "special": True}}
    config = {"tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": added}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = tokviz.load(tmp_path)
    assert tokenizer.encode("<|im_end|>") == [size]
    tokenizer.close()


def test_a_class_that_renumbers_the_pieces_is_refused(model: Path, tmp_path: Path):
    if tokviz.load(model).encode("x") and "bpe" in str(model):
        return  # such classes use Unigram
    (tmp_path / "tokenizer.model").write_bytes(model.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "XLMRobertaTokenizer"}')
    with pytest.raises(InputFileError, match=r"other ids: choose the tokenizer\.json"):
        tokviz.load(tmp_path)


def test_gguf_of_byte_level_bpe_is_native(tmp_path: Path):
    path = gguf_files.write(tmp_path, "m.gguf", gguf_files.byte_level())
    tokenizer = subprocess_loader.load(path)
    assert not tokenizer.remote
    assert tokenizer.split_pattern.name == "gpt4"
    assert tokenizer.encode("he<|end|>") == [256, 257]
    assert tokenizer.encode("<tool>", "huggingface") == [258]
    assert tokenizer.source.startswith("GGUF model")
    assert all(spans_tile(tokenizer, text) for text in TEXTS)


def test_gguf_of_sentencepiece_bpe_merges_by_score(tmp_path: Path):
    path = gguf_files.write(tmp_path, "m.gguf", gguf_files.sentencepiece())
    tokenizer = tokviz.load(path)
    texts = {token_id: token.decode("latin-1") for token_id, token in tokenizer.vocab.items()}
    # "ab" (score -1) merges before "▁a" (-2) and "aa" (-4), then "▁ab".
    assert [texts[one] for one in tokenizer.encode("ab aab")] == [" ab", " a", "ab"]
    assert tokenizer.encode("c")[1:] == [3 + ord("c")]
    assert all(spans_tile(tokenizer, text) for text in TEXTS)
    tokenizer.close()


def test_chat_template_and_variables_of_a_gguf_file(tmp_path: Path):
    template = "{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}"
    data = gguf_files.byte_level(**{"tokenizer.chat_template": template})
    path = gguf_files.write(tmp_path, "m.gguf", data)
    for tokenizer in (subprocess_loader.load(path), tokviz.load(path)):
        found = load_template(None, tokenizer)
        assert getattr(found, "source", "") == template
        assert getattr(found, "variables", {})["eos_token"] == "<|end|>"


def test_a_later_part_of_a_split_model_is_read_from_the_first(tmp_path: Path):
    gguf_files.write(tmp_path, "m-00001-of-00002.gguf", gguf_files.byte_level())
    later = gguf_files.gguf({"split.no": 1, "split.count": 2})
    part = gguf_files.write(tmp_path, "m-00002-of-00002.gguf", later)
    assert tokviz.load(part).encode("he") == [256]
    assert tokviz.load(tmp_path).encode("he") == [256]
    (tmp_path / "m-00001-of-00002.gguf").unlink()
    with pytest.raises(InputFileError, match="put the first part"):
        tokviz.load(part)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tokenizer.ggml.pre": "new-model"}, r"tokenizer.ggml.pre: 'new-model' is not"),
        ({"tokenizer.ggml.model": "plamo2"}, r"tokenizer.ggml.model: 'plamo2' is not one of"),
        ({"tokenizer.ggml.tokens": 5}, "tokenizer.ggml.tokens: is not a list"),
        ({"tokenizer.ggml.token_type": [1]}, "has 1 values for 259 tokens"),
    ],
)
def test_an_invalid_gguf_file_is_refused_by_key(tmp_path: Path, change: Any, words: str):
    path = gguf_files.write(tmp_path, "m.gguf", gguf_files.byte_level(**change))
    with pytest.raises(InputFileError, match=words):
        tokviz.load(path)


def wordpiece_vocab() -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,!'"
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return [*specials, *letters, *(f"##{letter}" for letter in letters), "hello", "##llo", "你"]


def test_vocab_txt_of_bert_and_its_guess(tmp_path: Path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(wordpiece_vocab()) + "\n")
    reference = tokenizers.implementations.BertWordPieceTokenizer(str(path), lowercase=True)
    tokenizer = tokviz.load(path)
    for text in TEXTS:
        assert tokenizer.encode(text) == reference.encode(text, add_special_tokens=False).ids, text
        assert spans_tile(tokenizer, text), text
    assert "is a guess" in tokenizer.pattern_doubt
    tokenizer.close()
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    cased = tokviz.load(tmp_path)
    assert cased.encode("Hello hello")[0] == 1 and not cased.pattern_doubt
    cased.close()


def test_vocab_json_of_bert_is_no_list_of_merges(tmp_path: Path):
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps({text: number for number, text in enumerate(wordpiece_vocab())}))
    assert recognize(path) == "vocabulary of WordPiece (BERT)"
    tokenizer = tokviz.load(path)
    assert tokenizer.encode("hello") == [wordpiece_vocab().index("hello")]
    tokenizer.close()


def rwkv_lines() -> str:
    tokens = [bytes([byte]) for byte in range(256)] + [b"he", b"hello", " 世".encode(), b"\xe4\xb8"]
    literals = []
    for token in tokens:
        try:
            literals.append(repr(token.decode()))
        except UnicodeDecodeError:
            literals.append(repr(token))
    return "".join(
        f"{number} {literal} {len(token)}\n"
        for number, (token, literal) in enumerate(zip(tokens, literals, strict=True), 1)
    )


def longest_match(text: str) -> list[int]:
    tokens = {}
    for line in rwkv_lines().splitlines():
        number, literal = line.split(" ", 1)[0], line[line.index(" ") : line.rindex(" ")]
        token = eval(literal)
        tokens[token.encode() if isinstance(token, str) else token] = int(number)
    data, ids = text.encode(), []
    while data:
        best = max((token for token in tokens if data.startswith(token)), key=len)
        ids.append(tokens[best])
        data = data[len(best) :]
    return ids


def test_rwkv_matches_the_longest_token(tmp_path: Path):
    path = tmp_path / "rwkv_vocab.txt"
    path.write_text(rwkv_lines())
    tokenizer = tokviz.load(path)
    for text in [*TEXTS, "hello hell 世界 世"]:
        ids = tokenizer.encode(text)
        assert ids == longest_match(text), text
        assert tokenizer.decode(ids) == text
        assert spans_tile(tokenizer, text), text
    tokenizer.close()


def test_rwkv_is_explained_by_its_longest_matches(tmp_path: Path):
    path = tmp_path / "rwkv_vocab.txt"
    path.write_text(rwkv_lines())
    tokenizer = tokviz.load(path)
    why = explain(tokenizer, Place("a hello", 2, 7))
    tokenizer.close()
    assert [token for token, _ in why.tokens] == [b"hello"]
    assert "the longest token of the vocabulary that the rest starts with" in as_text(why)


@pytest.mark.parametrize("compressed", [False, True])
def test_clip_vocabulary(tmp_path: Path, compressed: bool):
    merges = "h e\nhe l\nhel l\nhell o</w>\na b</w>\n"
    data = f'"bpe_simple_vocab_16e6.txt#version: 0.2\n{merges}'.encode()
    path = tmp_path / ("bpe_simple_vocab.txt.gz" if compressed else "bpe_simple_vocab.txt")
    path.write_bytes(gzip.compress(data) if compressed else data)
    tokenizer = tokviz.load(path)
    assert tokenizer.encode("Hello  ab<|endoftext|>") == [515, 516, 518]
    assert all(spans_tile(tokenizer, text) for text in TEXTS)
    tokenizer.close()


@pytest.mark.parametrize(("kind", "nfc"), [("Qwen2Tokenizer", True), ("GPT2Tokenizer", False)])
def test_folder_with_vocabulary_merges_and_config(tmp_path: Path, kind: str, nfc: bool):
    vocab = {to_characters(bytes([byte])): byte for byte in range(256)} | {"he": 256}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nh e\n")
    added = {"257": {"content": "<|end|>", "special": True}}
    config = {"tokenizer_class": kind, "added_tokens_decoder": added}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = tokviz.load(tmp_path)
    assert tokenizer.encode("he<|end|>") == [256, 257]
    assert (tokenizer.encode("e\u0301") == tokenizer.encode("\u00e9")) == nfc
    assert not tokenizer.pattern_doubt
    tokenizer.close()


def damaged(data: bytes, rnd: random.Random) -> bytes:
    made = bytearray(data)
    match rnd.randrange(5):
        case 0:
            return data[: rnd.randrange(len(data))]
        case 1:
            at = rnd.randrange(len(data))
            made[at : at + 8] = struct.pack(
                "<Q", rnd.choice([0, 1, 1 << 31, 1 << 40, (1 << 64) - 1])
            )
        case 2:
            at = rnd.randrange(len(data))
            made[at:at] = rnd.randbytes(rnd.randrange(1, 20))
        case 3:
            at = rnd.randrange(len(data))
            del made[at : at + rnd.randrange(1, 40)]
        case _:
            for _ in range(rnd.randrange(1, 6)):
                made[rnd.randrange(len(data))] = rnd.randrange(256)
    return bytes(made)


FILES: dict[str, Callable[[], bytes]] = {
    "m.gguf": gguf_files.byte_level,
    "s.gguf": gguf_files.sentencepiece,
    "vocab.txt": lambda: "\n".join(wordpiece_vocab()).encode(),
    "rwkv.txt": lambda: rwkv_lines().encode(),
    "clip.txt": lambda: b'"bpe_simple_vocab#version: 0.2\nh e\nhe l\nhel l\n',
    "clip.txt.gz": lambda: gzip.compress(b'"bpe_simple_vocab#version: 0.2\nh e\nhe l\n' * 9),
}


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str):
    rnd, data, path = random.Random(49), FILES[name](), tmp_path / name
    n_refused = 0
    for _ in range(1000):
        path.write_bytes(damaged(data, rnd))
        try:
            read(find(path), None, name)
        except TokvizError as error:
            n_refused += 1
            assert str(error).startswith(str(path)), error
    assert n_refused


def test_damaged_sentencepiece_models_are_read_or_refused(model: Path, tmp_path: Path):
    rnd, data, path = random.Random(49), model.read_bytes(), tmp_path / "m.model"
    for _ in range(1000):
        path.write_bytes(damaged(data, rnd))
        try:
            read(find(path), None, "m")
        except TokvizError as error:
            assert str(error).startswith(str(path)), error
