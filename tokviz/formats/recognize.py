"""Detection of the kind of tokenizer in a file or folder, by content and not by name."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tokviz.errors import InputFileError
from tokviz.formats.merge_files import JSON_LIST, merges_of_list
from tokviz.formats.minbpe import MAGIC as MINBPE
from tokviz.storage.files import GZIP, StrPath, looks_binary, read_file, reading
from tokviz.storage.json_file import parse_json, read_json
from tokviz.storage.plugins import Registry

if TYPE_CHECKING:
    from tokviz.formats.draft import Draft

Kind = Literal[
    "huggingface", "tiktoken", "tekken", "bpe_ranks", "minbpe", "vocab", "merges", "combined",
    "run", "gguf", "sentencepiece", "wordpiece", "rwkv", "clip", "folder",
]  # fmt: skip

TITLES: dict[Kind, str] = {
    "huggingface": "Hugging Face tokenizer",
    "tiktoken": "tiktoken rank file",
    "tekken": "Mistral tekken file",
    "bpe_ranks": "rank file of tiktoken for JavaScript",
    "minbpe": "minbpe model",
    "vocab": "vocabulary of a pair of files",
    "merges": "merges of a pair of files",
    "combined": "vocabulary and merges",
    "run": "training run",
    "gguf": "GGUF model",
    "sentencepiece": "SentencePiece model",
    "wordpiece": "vocabulary of WordPiece (BERT)",
    "rwkv": "RWKV vocabulary",
    "clip": "CLIP vocabulary",
    "folder": "vocabulary and merges with their config",
}
"""Every kind of tokenizer that tokviz itself can load, in words."""


class FileFormat(NamedTuple):
    """A format of tokenizer files.

    Attributes:
        title: Its name in words that fit after "a".
        fits: Returns whether a file has this format, from its first 64 KB. None for the formats of
            tokviz, and so is `read`.
        read: Reads a file. The app and the commands call it in a child process with limits. It may
            raise any error, preferably `InputFileError`.
    """

    title: str
    fits: Callable[[bytes], bool] | None = None
    read: Callable[[Path], Draft] | None = None


FILE_FORMATS = Registry(
    "tokviz.formats", FileFormat, {kind: FileFormat(title) for kind, title in TITLES.items()}
)
"""The formats by kind, including those of plugins."""

_UNCERTAIN = ("vocab", "merges")
"""Kinds with the content of many files, which plugins recognize first."""

_HEAD_BYTES = 65_536

_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} \d{1,20}\s*$")
_HUGGING_FACE = re.compile(
    r'"(?:added_tokens|pre_tokenizer|normalizer|truncation|model)"\s*:\s*(?:[{\[]|null)'
)
# Protocols 0 and 1 have no signature; these are the starts of an object, a dict or a list.
_PICKLE = re.compile(rb"\x80[\2-\5]|\(dp\d|\(lp\d|c\w+(?:\.\w+)*\n\w+\n|\}q\0|\]q\0|ccopy_reg\n")
_TEKKEN = re.compile(
    r'(?s)\{\s*"config"\s*:\s*\{.*?"default_num_special_tokens"|.*?"rank":\s*0,\s*"token_bytes"'
)
_BPE_RANKS = re.compile(r'(?s)\{.*?"bpe_ranks"\s*:\s*"')
_SHARD = re.compile(r"-\d{5}-of-(\d{5})\.gguf$")
_JSON_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:')


class OtherFormatError(InputFileError):
    """A file of a known kind that tokviz cannot load as a tokenizer."""


class RecognizedFile(NamedTuple):
    """A recognized tokenizer file or folder.

    Attributes:
        kind: Its kind.
        path: The file to read, which may be inside the given folder; for "run" the folder.
        other: For a pair of files, the one with the merges.
    """

    kind: str
    path: Path
    other: Path | None = None


def recognize(path: StrPath) -> str | None:
    """Return in words the kind of tokenizer that a file or folder seems to hold, or None.

    Reads at most the first 64 KB, fast enough to call while a path is typed.
    """
    try:
        return FILE_FORMATS[find(path).kind].title
    except InputFileError:
        return None


def find(path: StrPath) -> RecognizedFile:
    """Find the tokenizer in a file or folder.

    Raises:
        InputFileError: If it cannot be read or holds no tokenizer; it names the kind of file and
            the remedy.
    """
    place = Path(path)
    if os.path.isdir(place):
        return _in_folder(place, path)
    kind = kind_of(path)
    if kind == "gguf" and (shard := _SHARD.search(place.name)):
        first = place.with_name(f"{place.name[: shard.start()]}-00001-of-{shard[1]}.gguf")
        return RecognizedFile(kind, first if first.exists() else place)
    if kind in ("vocab", "merges"):
        return _with_partner(kind, place, path)
    return RecognizedFile(kind, place)


def kind_of(path: StrPath) -> str:
    """Return the kind of a file, regardless of the files next to it.

    Raises:
        InputFileError: See `find`.
    """
    head = _head(Path(path), path)
    try:
        kind = _kind_of(head, path)
    except InputFileError:
        if plugin := _kind_of_plugin(head):
            return plugin
        raise
    return (_kind_of_plugin(head) or kind) if kind in _UNCERTAIN else kind


def _kind_of_plugin(head: bytes) -> str | None:
    """Return the kind of a file by the plugins; warn about those that fail."""
    for kind, file_format in FILE_FORMATS.items():
        try:
            if file_format.fits is not None and file_format.fits(head):
                return kind
        except Exception as error:
            # A plugin can raise anything.
            reason = f"cannot recognize files: {type(error).__name__}: {error}"
            warnings.warn(f"the plugin {kind!r} (tokviz.formats) {reason}", stacklevel=2)
    return None


def _head(place: Path, path: StrPath) -> bytes:
    with reading(path):
        if os.path.exists(place) and not os.path.isfile(place):
            raise InputFileError(path, "is not an ordinary file")
        with open(place, "rb") as file:
            return file.read(_HEAD_BYTES)


def _kind_of(head: bytes, path: StrPath) -> Kind:
    for beginning, kind in _BINARY_KINDS.items():
        if beginning.match(head):
            return kind
    if head.startswith(GZIP) and _CLIP.match(_unpacked(head)):
        return "clip"
    _refuse(head, path)
    text = head.decode("utf-8-sig", "replace").lstrip()
    if text.startswith(MINBPE.split()[0]):
        return "minbpe"
    for start, kind in _TEXT_KINDS.items():
        if start.match(text):
            return kind
    if text.startswith("{"):
        return _kind_of_object(text, path)
    if head.startswith(GZIP) or _is_rank_file(head):
        return "tiktoken"
    if text.startswith(("#version", "(b", "b'", 'b"')) or _is_merges(text):
        if not _has_config(path):
            _refuse_ends_of_words(text, path)
        return "merges"
    if not text.strip():
        raise InputFileError(path, "is empty" if not head else "holds nothing but white space")
    if JSON_LIST.match(text):
        if _DEEP_LIST.match(text):
            raise InputFileError(path, f"is nested lists, not a tokenizer: {_CHOOSE}")
        if len(head) < _HEAD_BYTES:
            content = parse_json(head, path)
            if not content:
                raise InputFileError(path, f"is an empty list: {_CHOOSE}")
            merges_of_list(content, path)
        return "merges"
    _refuse_ends_of_words(text, path)
    what = "is binary data, not a tokenizer" if looks_binary(head) else "is not a tokenizer"
    raise InputFileError(path, f"{what}: {_CHOOSE}")


_CHOOSE = (
    "choose a tokenizer.json, a .tiktoken file, a tekken.json, vocab.json with merges.txt beside "
    "it, a minbpe .model, or the folder of a training"
)


def _is_rank_file(head: bytes) -> bool:
    first = head.lstrip().split(b"\n", 1)[0]
    return _RANK_LINE.fullmatch(first.strip()) is not None and b"\0" not in head


def _is_merges(text: str) -> bool:
    """Return whether lines of two words are merges: the first merge joins single bytes."""
    lines = [line.removesuffix("\r").split(" ") for line in text.split("\n")[:20]]
    first, *rest = lines
    spelled = max(map(len, first)) == 1 or all(map(_BYTE_IN_HEX.fullmatch, first))
    return len(first) == 2 and spelled and all(len(line) == 2 for line in rest[:-1])


_DEEP_LIST = re.compile(r"(?:\[\s*){4}")
_BYTE_IN_HEX = re.compile("[0-9a-fA-F]{2}")


def _kind_of_object(text: str, path: StrPath) -> Kind:
    """Return the kind of a JSON object by its first keys, without parsing a large file."""
    if _TEKKEN.match(text):
        return "tekken"
    if _BPE_RANKS.match(text):
        return "bpe_ranks"
    keys = _JSON_KEY.findall(text[:_HEAD_BYTES])
    first = set(keys[:40])
    if _HUGGING_FACE.search(text):
        return "huggingface"
    if first & {"[UNK]", "[CLS]"} and '"##' in text:
        return "wordpiece"
    if not _has_config(path):
        _refuse_ends_of_words(text, path)
    if keys[:1] in (["vocab"], ["merges"]):
        return "combined"
    configuration = {"tokenizer_class", "model_type", "architectures", "auto_map", "bos_token"}
    if first & configuration or "added_tokens_decoder" in first:
        reason = "holds settings, not the tokenizer: choose the tokenizer.json beside it"
        raise InputFileError(path, reason)
    if "model" in first:
        return "huggingface"
    if len(text.encode()) < _HEAD_BYTES - 8:
        _refuse_objects(parse_json(text.encode(), path), path)
    elif not keys:
        raise InputFileError(path, f"is neither JSON nor another kind of file: {_CHOOSE}")
    return "vocab"


def _refuse_objects(content: Any, path: StrPath) -> None:
    """Describe a JSON object without tokens and ids."""
    if not content:
        raise InputFileError(path, f"is an empty JSON object: {_CHOOSE}")
    if not any(isinstance(value, int) or key.isdecimal() for key, value in content.items()):
        keys = ", ".join(f"{key[:20]!r}" for key in list(content)[:4])
        reason = f"is JSON, but not a tokenizer: its keys are {keys}. {_CHOOSE.capitalize()}"
        raise InputFileError(path, reason)


def _refuse(head: bytes, path: StrPath) -> None:
    """Describe a file of a kind that tokviz cannot load.

    Raises:
        InputFileError: If it is of such a kind.
    """
    for beginning, reason in _NO_TOKENIZERS.items():
        if beginning.match(head):
            raise OtherFormatError(path, reason)
    if head.startswith(GZIP):
        unpacked = _unpacked(head)
        if _is_rank_file(unpacked.encode()):
            return
        _refuse_ends_of_words(unpacked, path)
        raise InputFileError(path, "is compressed with gzip: unpack it first")


def _unpacked(head: bytes) -> str:
    """Return the start of the text of a file compressed with gzip; empty if it is damaged."""
    with contextlib.suppress(zlib.error):
        unpacked = zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
        return unpacked.decode("utf-8-sig", "replace")
    return ""


def _refuse_ends_of_words(text: str, path: StrPath) -> None:
    if len(_END_OF_WORD.findall(text)) >= _MANY_ENDS:
        reason = f"marks ends of words with `</w>`, as CLIP's do, not spaces: {_FROM_THE_LIBRARY}"
        raise OtherFormatError(path, reason)


_FROM_THE_LIBRARY = (
    "choose the tokenizer.json beside it, or make one with "
    "`transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(folder)`"
)
_NO_TOKENIZERS = {
    _PICKLE: "is a Python pickle: reading one runs whatever code is hidden in it, so tokviz never "
    "does. In the program that made it, write the tokenizer as data: for tiktoken "
    "`tiktoken.load.dump_tiktoken_bpe(encoding._mergeable_ranks, 'name.tiktoken')`, for "
    "your own `tokviz.Tokenizer(vocab, merges).save('tokenizer.json')`",
    re.compile(rb"PK\x03\x04"): "is a zip archive, as PyTorch writes them, with a pickle inside: "
    "tokviz reads none. Save the vocabulary as data, such as tokenizer.json",
    re.compile(rb".{7}\0\{\"", re.DOTALL): "holds a model's weights: choose its tokenizer.json",
    re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8"): "is an image: choose a tokenizer.json",
    re.compile(rb"%PDF-"): "is a PDF: choose a tokenizer.json",
    re.compile(rb"\xff\xfe|\xfe\xff"): "is UTF-16, not UTF-8: save it as UTF-8",
    re.compile(rb"version https://git-lfs"): "is a pointer of Git LFS, not the file itself: fetch "
    "it by `git lfs pull`, or load it from the Hub as hf:org/name",
    re.compile(rb"(?i)\s*<(?:!doctype html|html)"): "is a web page: the download went wrong, as it "
    "does where one must log in; download the file itself",
}
"""First bytes of files that tokviz cannot load, and a message for each."""
_BINARY_KINDS: dict[re.Pattern[bytes], Kind] = {
    re.compile(b"GGUF"): "gguf",
    # The first token ("piece"): its text, its score, and its type or the next token.
    re.compile(rb"(?s)\n.\n.[^\x15]{1,64}\x15.{4}[\x18\n]|\n.{0,194}<unk>"): "sentencepiece",
}
"""First bytes of binary files."""
_CLIP = re.compile('"?bpe_simple_vocab')
_TEXT_KINDS: dict[re.Pattern[str], Kind] = {
    _CLIP: "clip",
    re.compile(r"(?ms)(?!\{).*?^\[(?:PAD|UNK|CLS)\]\r?$"): "wordpiece",
    re.compile(r"(?m)\d+ b?(['\"]).*\1 \d+\s*$"): "rwkv",
}
"""Patterns of text files."""
_END_OF_WORD = re.compile(r'</w>(?="\s*:|\r?\n)')
_MANY_ENDS = 20
"""The number of words with `</w>` that identifies CLIP's vocabulary."""


# -- folders and pairs of files

_MERGES_NAMES = ("merges.txt", "vocab.bpe", "merges.json", "bpe_merges.txt", "bpe_merges.json")
_VOCAB_NAMES = ("vocab.json", "encoder.json", "bpe_vocab.json")
_LIKELY_ENDS = (
    ".json", ".tiktoken", ".gz", ".model", ".gguf", ".txt", ".bpe", ".pkl", ".pickle"
)  # fmt: skip


def _in_folder(folder: Path, path: StrPath) -> RecognizedFile:
    names = _names(folder, path)
    if {"run.json", "tokenizer.json"} <= set(names):
        return RecognizedFile("run", folder)
    if "tokenizer.json" in names:
        return find(folder / "tokenizer.json")
    for vocab in _VOCAB_NAMES:
        for merges in _MERGES_NAMES:
            if vocab in names and merges in names:
                return _pair(folder / vocab, folder / merges)
    found = []
    others: list[OtherFormatError] = []
    for name in names:
        if name.endswith(_LIKELY_ENDS):
            try:
                found.append(find(folder / name))
            except OtherFormatError as error:
                others.append(error)
            except InputFileError:
                continue
    distinct = list(dict.fromkeys(found))
    if len(distinct) == 1:
        return distinct[0]
    if not distinct:
        if others:
            raise others[0]
        reason = (
            "holds no tokenizer: no tokenizer.json, .tiktoken, .model or vocab.json with merges"
        )
        raise InputFileError(path, reason)
    several = ", ".join(str(item.path.name) for item in distinct[:4])
    raise InputFileError(path, f"holds several tokenizers ({several}): choose one of the files")


def _with_partner(kind: str, place: Path, path: StrPath) -> RecognizedFile:
    """Find the second file of a vocabulary and its merges, in the same folder."""
    names = _names(place.parent, path)
    wanted = _MERGES_NAMES if kind == "vocab" else _VOCAB_NAMES
    words = ("vocab", "merges") if kind == "vocab" else ("merges", "vocab")
    likely = [place.name.replace(*words), *wanted]
    likely += [str(Path(name).with_suffix(end)) for name in likely[:1] for end in (".txt", ".json")]
    for name in likely:
        if name in names and name != place.name:
            other = place.parent / name
            return _pair(place, other) if kind == "vocab" else _pair(other, place)
    if kind == "vocab":
        # Report a truncated file, or JSON that is not a vocabulary, before missing merges.
        ids = read_json(place).values()
        if not all(isinstance(token_id, int) for token_id in ids):
            raise InputFileError(path, "is JSON, but not a tokenizer's")
    missing = "merges: put merges.txt" if kind == "vocab" else "vocabulary: put vocab.json"
    what = "a vocabulary" if kind == "vocab" else "a list of merges"
    raise InputFileError(path, f"is {what} without its {missing} beside it")


def _has_config(path: StrPath) -> bool:
    """Return whether the config beside a file has a tokenizer class that tokviz knows."""
    config = Path(path).with_name("tokenizer_config.json")
    if not config.is_file():
        return False
    text = read_file(config, limit=20_000_000).decode("utf-8", "replace")
    return _KNOWN_CLASS.search(text) is not None


def _pair(vocab: Path, merges: Path) -> RecognizedFile:
    """Return the kind of a pair: "folder" if the config beside it tells how it splits text."""
    if _has_config(vocab):
        return RecognizedFile("folder", vocab, merges)
    _refuse_ends_of_words(_head(vocab, vocab).decode("utf-8", "replace"), vocab)
    return RecognizedFile("vocab", vocab, merges)


_KNOWN_CLASS = re.compile(
    r'"tokenizer_class"\s*:\s*"(?:GPT2|Roberta|Bart|Qwen2|CLIP|Longformer|CodeGen)Tokenizer'
)
"""The classes of tokenizers that `tokviz.formats.wordlists` can read."""


def _names(folder: Path, path: StrPath) -> list[str]:
    with reading(path):
        return sorted(entry.name for entry in folder.iterdir())[:10_000]
