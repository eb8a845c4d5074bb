"""Built-in tokenizers and the names of tokenizers.

To build a tokenizer in, add an entry to `assets/vocab/tokenizers.json`.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
from array import array
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from tokviz.errors import UnknownTokenizerError
from tokviz.storage.assets import asset_path
from tokviz.storage.files import StrPath
from tokviz.storage.listing import home_label
from tokviz.text.glyphs import safe
from tokviz.tokenizer.encoding.normalization import Normalizer
from tokviz.tokenizer.encoding.packed import PackedRanks
from tokviz.tokenizer.encoding.specials import SpecialTokens
from tokviz.tokenizer.report import FileFinding, Report
from tokviz.tokenizer.tokenizer import Tokenizer

TABLE: dict[str, Any] = json.loads(asset_path("vocab/tokenizers.json").read_bytes())
"""The content of `assets/vocab/tokenizers.json`."""


class BuiltinTokenizer(NamedTuple):
    """A tokenizer that ships with tokviz.

    Attributes:
        name: Its canonical name.
        title: The models known for it.
        family: The family of these models.
        aliases: Its other names.
        vocabulary: The file in `assets/vocab`.
        split_pattern: The name of its split pattern.
        n_tokens: The number of tokens, including special tokens.
        source: The origin of the vocabulary, and its license.
        nfc: Whether it normalizes text to NFC first.
        replaces_bytes: See `Normalizer`.
        ids: The ranges of the ids of its ordinary tokens, as first id and the id after the last;
            empty if they are 0, 1, 2 …
        note: A difference to the reference library, or "".
    """

    name: str
    title: str
    family: str
    aliases: tuple[str, ...]
    vocabulary: str
    split_pattern: str
    n_tokens: int
    source: str
    nfc: bool = False
    replaces_bytes: bool = False
    ids: Sequence[tuple[int, int]] = ()
    note: str = ""

    @property
    def special_tokens(self) -> dict[str, int]:
        """Special token text → id."""
        return special_tokens(self.name).ids

    @property
    def n_vocab(self) -> int:
        """One more than its largest id; some ids may have no token."""
        return max([*self.special_tokens.values(), *(stop - 1 for _, stop in self.ids)]) + 1

    def load(self) -> Tokenizer:
        """Create the tokenizer; its tables are built when first needed."""
        ids = array("I", chain.from_iterable(range(*one) for one in self.ids)) if self.ids else None
        tokenizer = Tokenizer.of(
            PackedRanks(asset_path(f"vocab/{self.vocabulary}"), ids),
            special_tokens(self.name),
            split_pattern=self.split_pattern,
            normalizer=Normalizer("NFC" if self.nfc else "", replaces_bytes=self.replaces_bytes),
            name=self.name,
        )
        tokenizer.source = f"built in: {self.source}"
        if self.note:
            note = FileFinding("note", "special-tokens", "", self.note)
            tokenizer.load_report = Report(self.name, (note,))
        return tokenizer


class OtherTokenizer(NamedTuple):
    """A known tokenizer that does not ship with tokviz.

    Attributes:
        name: A name of a model.
        title: The models known for it.
        family: The family of these models.
        aliases: Other names of the models.
        source: Its address on the Hugging Face Hub, or "" if it is not public.
        about: The reason why it is not built in.
    """

    name: str
    title: str
    family: str
    aliases: tuple[str, ...]
    source: str
    about: str


@cache
def special_tokens(name: str) -> SpecialTokens:
    """Return the special tokens of a built-in tokenizer, or of another known vocabulary."""
    # Parsing all lines would take milliseconds.
    lines = asset_path("vocab/special_tokens.jsonl").read_bytes().splitlines()
    start = b'{"name": "%s",' % name.encode()
    fields = json.loads(next(line for line in lines if line.startswith(start)))
    del fields["name"]
    return SpecialTokens(**fields)


def _entry(fields: dict[str, Any]) -> dict[str, Any]:
    return fields | {"aliases": tuple(fields["aliases"].split())}


BUILTIN_TOKENIZERS = tuple(BuiltinTokenizer(**_entry(fields)) for fields in TABLE["built_in"])
"""The built-in tokenizers, in display order: those of a family follow each other."""

OTHER_TOKENIZERS = tuple(OtherTokenizer(**_entry(fields)) for fields in TABLE["others"])
"""Known tokenizers that are not built in."""

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
    if found is not None:
        return found
    other = other_tokenizer(wanted)
    if other is not None:
        raise UnknownTokenizerError(name, [other.source] * bool(other.source), other.about)
    near = difflib.get_close_matches(wanted, _BY_NAME, n=3)
    if not near:
        # Of a family that is built in, such as "deepseek-coder": its tokenizers.
        families = {builtin.family.lower() for builtin in BUILTIN_TOKENIZERS}
        family = next((one for one in families if wanted.startswith(one)), None)
        near = [one.name for one in BUILTIN_TOKENIZERS if one.family.lower() == family]
    if _HUB_NAME.fullmatch(name):
        near.insert(0, HUB_PREFIX + name)
    raise UnknownTokenizerError(name, near)


def other_tokenizer(name: str) -> OtherTokenizer | None:
    """Find a tokenizer that is not built in by its name, or by the first words of it."""
    fits = [
        (len(alias), other)
        for other in OTHER_TOKENIZERS
        for alias in (other.name, *other.aliases)
        if re.match(rf"{re.escape(alias)}(?![a-z])", name.lower())
    ]
    return max(fits, key=lambda fit: fit[0])[1] if fits else None


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
