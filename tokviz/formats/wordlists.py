"""Readers for vocabularies in text files: BERT's, CLIP's, and `vocab.json` with `merges.txt`.

The `tokenizer_config.json` beside a file decides how text is normalized and split. Source: the
converters in transformers 5.24 `convert_slow_tokenizer.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokviz.errors import InputFileError
from tokviz.formats import equivalents
from tokviz.formats.byte_level import to_characters
from tokviz.formats.merge_files import read_merges
from tokviz.formats.recognize import find
from tokviz.formats.vocab_files import LIKE_SPECIAL
from tokviz.storage.files import StrPath, decode_utf8, read_file, read_unpacked
from tokviz.storage.json_file import read_json
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern

Json = dict[str, Any]

MAX_BYTES = 64_000_000
_BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def _config_beside(path: StrPath) -> Json:
    """Return the content of the `tokenizer_config.json` beside a file; empty if there is none.

    Raises:
        InputFileError: If it is damaged.
    """
    place = Path(path).parent / "tokenizer_config.json"
    content = read_json(place) if place.is_file() else {}
    if not isinstance(content, dict):
        raise InputFileError(place, "does not hold a JSON object")
    return content


def read_wordpiece(path: StrPath) -> Json:
    """Return the equivalent content of BERT's `vocab.txt`, or of its vocabulary as JSON.

    Raises:
        InputFileError: If it is damaged.
    """
    data = read_file(path, limit=MAX_BYTES)
    vocab: dict[str, int] = {}
    if data.lstrip().startswith(b"{"):
        vocab = read_json(path)
        if not all(type(number) is int and number >= 0 for number in vocab.values()):
            raise InputFileError(path, "holds other values than token ids")
    else:
        lines = decode_utf8(data, path).removesuffix("\n").split("\n")
        for number, line in enumerate(lines):
            token = line.removesuffix("\r")
            if token in vocab:
                reason = f"the token {token[:40]!r} is in line {vocab[token] + 1:,} too: remove one"
                raise InputFileError(path, f"line {number + 1:,}: {reason}")
            vocab[token] = number
    if "[UNK]" not in vocab:
        raise InputFileError(path, "has no token [UNK], which WordPiece needs")
    config = _config_beside(path)
    lowercase = config.get("do_lower_case")
    guesses = []
    if not isinstance(lowercase, bool):
        lowercase = not any(text != text.lower() and text[0] != "[" for text in vocab if text)
        what = "lowercase" if lowercase else "keep the case"
        seen = "no" if lowercase else "a"
        guesses = [f"that texts {what} is a guess: {seen} token has a capital letter, and there "
                   "is no tokenizer_config.json beside the file"]  # fmt: skip
    accents = config.get("strip_accents")
    content = equivalents.equivalent("wordpiece", vocab=vocab)
    content["normalizer"] |= {
        "lowercase": lowercase,
        "strip_accents": accents if isinstance(accents, bool) else None,
    }
    added = [equivalents.added_token(text, vocab[text]) for text in _BERT_TOKENS if text in vocab]
    return content | {"added_tokens": added, "guesses": guesses}


_CLIP_SPECIALS = ("<|startoftext|>", "<|endoftext|>")
_CLIP_TOKENS = 49_408


def read_clip(path: StrPath) -> Json:
    """Return the equivalent content of CLIP's `bpe_simple_vocab_16e6.txt` or `.txt.gz`.

    Like CLIP itself, it uses only the merges for 49,408 tokens. Source: openai/CLIP
    `clip/simple_tokenizer.py`.

    Raises:
        InputFileError: If it is damaged.
    """
    data = read_unpacked(path, limit=MAX_BYTES)
    letters = sorted(to_characters(bytes(range(256))))  # visible bytes first, as in CLIP
    singles = [*letters, *(f"{letter}</w>" for letter in letters)]
    lines = decode_utf8(data, path).split("\n")[1 : 1 + _CLIP_TOKENS - len(singles) - 2]
    while lines and not lines[-1].strip():
        del lines[-1]
    merges = []
    for number, line in enumerate(lines, 2):
        pair = line.removesuffix("\r").split(" ")
        if len(pair) != 2 or not all(pair):
            raise InputFileError(path, f"line {number:,}: {line[:40]!r} is not a merge: write two "
                                       "tokens with a space between them")  # fmt: skip
        merges.append((pair[0], pair[1]))
    tokens = [*singles, *("".join(pair) for pair in merges), *_CLIP_SPECIALS]
    content = _clip_content({text: number for number, text in enumerate(tokens)}, merges)
    if len(content["model"]["vocab"]) < len(tokens):
        raise InputFileError(path, "two of its merges make the same token")
    return content


def _clip_content(vocab: dict[str, int], merges: list[tuple[str, str]]) -> Json:
    """Return the equivalent content for CLIP's vocabulary and merges."""
    added = [equivalents.added_token(text, vocab[text]) for text in _CLIP_SPECIALS if text in vocab]
    content = equivalents.equivalent("clip", vocab=vocab, merges=merges)
    return content | {"added_tokens": added}


_OTHER_IDS = (
    "XLMRoberta", "MBart", "Camembert", "Barthez", "NllbToken", "M2M100", "XGLM", "Bartpho",
    "BigBird",
    "Pegasus", "Reformer", "Deberta", "Plbart", "PLBart", "Speech2Text", "Marian",
)  # fmt: skip
"""Starts of classes that number the pieces of a SentencePiece model in another way."""


def read_hf_folder(path: Path) -> Json:
    """Return the equivalent content of a `vocab.json` with its merges and config.

    Raises:
        InputFileError: If one of the files is damaged.
    """
    merges_path = find(path).other
    assert merges_path is not None
    vocab, merges = read_json(path), read_merges(merges_path)
    if not isinstance(vocab, dict) or not all(type(number) is int for number in vocab.values()):
        raise InputFileError(path, "is not a JSON object of tokens and ids")
    config = _config_beside(path)
    pairs = [(_spelled(left), _spelled(right)) for left, right in merges]
    kind = str(config.get("tokenizer_class", ""))
    if kind.startswith("CLIP"):
        return _clip_content(vocab, pairs)
    name = "qwen2" if kind.startswith("Qwen2") else "gpt2"
    content = equivalents.byte_level([get_split_pattern(name)], vocab=vocab, merges=pairs)
    if config.get("add_prefix_space") is True:
        # GPT-2's regex is that of the byte-level step, which then also adds the space.
        step = content["decoder"] | {"add_prefix_space": True, "use_regex": True}
        content["pre_tokenizer"] = step
    if not isinstance(config.get("added_tokens_decoder"), dict):
        made = {left + right for left, right in pairs}
        found = {text: number for text, number in vocab.items()
                 if LIKE_SPECIAL.fullmatch(text) and text not in made}  # fmt: skip
        content["added_tokens"] = [equivalents.added_token(*item) for item in found.items()]
        shown = ", ".join([*found][:4])
        content["guesses"] = [f"the special tokens are a guess: no merge makes {shown}"][
            : len(found)
        ]
    return content | {"normalizer": {"type": "NFC"} if name == "qwen2" else None}


def _spelled(token: bytes | str) -> str:
    return to_characters(token) if isinstance(token, bytes) else token


def with_config(content: Json, path: Path) -> Json:
    """Add the special tokens that the `tokenizer_config.json` beside a file lists.

    Raises:
        InputFileError: If it is damaged, or numbers the tokens in another way.
    """
    config = _config_beside(path)
    kind = str(config.get("tokenizer_class", ""))
    if isinstance(content["model"].get("vocab"), list) and kind.startswith(_OTHER_IDS):
        raise InputFileError(path, f"its model is a {kind}, which gives the pieces other ids: "
                                   "choose the tokenizer.json")  # fmt: skip
    known = {token["content"]: token for token in content.get("added_tokens") or ()}
    vocab = content["model"]["vocab"]
    listed = config.get("added_tokens_decoder")
    ids = (
        {text: number for number, (text, _) in enumerate(vocab)}
        if isinstance(vocab, list)
        else vocab
    )
    for number, token in sorted(
        (int(key), token) for key, token in (listed if isinstance(listed, dict) else {}).items()
        if key.isdecimal() and len(key) < 8
        and isinstance(token, dict) and isinstance(token.get("content"), str)
    ):  # fmt: skip
        text = token["content"]
        flags = {
            key: bool(token.get(key)) for key in ("lstrip", "rstrip", "single_word", "special")
        }
        flags["normalized"] = bool(token.get("normalized"))
        if ids.setdefault(text, number) != number:
            raise InputFileError(path, f"the token {text[:40]!r} has the id {ids[text]}, but "
                                       f"{number} in tokenizer_config.json")  # fmt: skip
        if isinstance(vocab, list) and number >= len(vocab):
            if number > len(vocab):
                raise InputFileError(path, f"no token has the id {len(vocab)}, but "
                                           f"tokenizer_config.json adds {number}")  # fmt: skip
            vocab.append((text, 0.0))
        known[text] = equivalents.added_token(text, number, **flags)
    return content | {"added_tokens": sorted(known.values(), key=lambda token: token["id"])}
