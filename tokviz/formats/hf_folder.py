"""Reader for `vocab.json` and `merges.txt` with the `tokenizer_config.json` of their model.

The class of the tokenizer in the config decides how text is normalized and split. Source: the
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
from tokviz.formats.wordlists import clip_content, config_beside
from tokviz.storage.json_file import read_json
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern

Json = dict[str, Any]

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
    config = config_beside(path)
    pairs = [(_spelled(left), _spelled(right)) for left, right in merges]
    kind = str(config.get("tokenizer_class", ""))
    if kind.startswith("CLIP"):
        return clip_content(vocab, pairs)
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
    config = config_beside(path)
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
