"""The job `huggingface_tokenizer`: a `tokenizer.json` in Hugging Face's own library.

The child reads the file itself, so that a hostile one costs the child's memory only. Requests:

- `{"do": "facts"}`: answers `{"version": text, "specials": [[text, id]…], "sizes": [n…]}` and then
  the tables of the other tokens, which have these sizes: see `tokviz.formats.tokenizer_ipc`.
- `{"do": "encode", "text": text, "specials": "all", "none" or "huggingface"}`: answers `{"ids":
  packed, "starts": packed, "ends": packed, "words": packed}`: for each token its id, the characters
  it comes from, and the number of its word (pre-token), `NO_WORD` if it has none. If one of the
  file's regexes exceeds the retry limit of the library, that is a `PatternError`.
- `{"do": "decode", "ids": packed}`: answers `{"text": text}`.
- `{"do": "stories", "text": text, "specials": …, "first": number, "stop": number}`: answers
  `{"stories": [{"first": number, "stop": number, "story": …, "changes": [[text, text]…],
  "problem": text}…], "n_words": number}` about the pre-tokens of some tokens: for each its tokens
  and, unless it is an added token, its `Story` with what normalization changed, or a sentence why
  there is none.

The library distinguishes two kinds of added tokens, and can treat only the special ones as plain
text. So all added tokens are marked as special here, except white space. For the library's own
behavior, a second tokenizer is created from the unchanged file on request.

Each request names the file, `path` and `sha256`, which the first request loads in `load_seconds` of
processor time. Its limits are `cpu_seconds`, null for the rest of the previous limit, and
`memory_mb`, null for the initial limit of the process.

Padding, truncation, dropout and the post-processor are removed from the file's content, because
only the tokens of the text are needed.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import Any

import tokenizers

from tokviz.errors import JobError, PatternError
from tokviz.formats.byte_level import from_characters
from tokviz.formats.conversions import fingerprint, own_tokenizer, read_content
from tokviz.formats.hf_pattern import part_types, regexes_in
from tokviz.formats.library import NO_WORD
from tokviz.formats.rwkv import RwkvTokenizer
from tokviz.formats.tokenizer_ipc import messages, of_ranks
from tokviz.process import limits
from tokviz.process.jobs.library_stories import LibraryStories, trie_stories
from tokviz.process.protocol import Body, pack_numbers, unpack_numbers
from tokviz.tokenizer.encoding.packed import pack_ranks

_UNREACHABLE = "\U0010ffff"
"""A prefix that makes a token of a vocabulary unreachable, because no text contains it."""


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer one request of this job.

    Raises:
        JobError: If the library rejects the file, or fails on a text.
    """
    limits.allow_memory(request["memory_mb"])
    if "loaded" not in state:
        limits.allow_cpu(request["load_seconds"])
        state["loaded"] = _Loaded(request["path"], request["sha256"])
    limits.allow_cpu(request["cpu_seconds"])
    loaded: _Loaded = state["loaded"]
    match request["do"]:
        case "facts":
            yield from _facts(loaded)
        case "encode":
            yield _encode(loaded, request)
        case "decode":
            ids = unpack_numbers(request["ids"]).tolist()
            with loaded.describing_errors("decode these ids"):
                text = loaded.tokenizer.decode(ids, skip_special_tokens=False)
            yield {"text": text}
        case "stories":
            first, stop = request["first"], request["stop"]
            tokenizer, found = loaded.encode(request["text"], request["specials"])
            with loaded.describing_errors("explain this text"):
                if isinstance(tokenizer, RwkvTokenizer):
                    body = trie_stories(tokenizer, request["text"], first, stop)
                else:
                    stories = _stories(tokenizer, loaded.token_texts.spelling)
                    body = stories.answer(request["text"], found, first, stop)
            yield body


_stories = lru_cache(maxsize=2)(LibraryStories)


_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")


class _TokenTexts:
    """Converts the texts of tokens to bytes, as the decoder of a `tokenizer.json` does."""

    def __init__(self, content: dict[str, Any]) -> None:
        """Create the converter from the content of the file."""
        kinds = part_types(content.get("decoder"))
        model = content.get("model")
        model = model if isinstance(model, dict) else {}
        self._byte_level = kinds == ["ByteLevel"]
        self._word_start = "▁" if {"Metaspace", "Replace"} & set(kinds) else None
        prefix = model.get("continuing_subword_prefix") or "##"
        self._prefix = prefix if "WordPiece" in kinds and isinstance(prefix, str) else ""
        suffix = model.get("end_of_word_suffix")
        self._suffix = suffix if isinstance(suffix, str) else ""

    def spelling(self, token: bytes) -> bytes:
        """Return a token as its model spells it, except that byte-level tokens become bytes."""
        return self.bytes_of(token.decode()) if self._byte_level else token

    def bytes_of(self, text: str) -> bytes:
        """Return the bytes of a token."""
        if self._byte_level:
            try:
                return from_characters(text)
            except ValueError:
                return text.encode("utf-8", "replace")
        if match := _BYTE_TOKEN.fullmatch(text):
            return bytes.fromhex(match[1])
        if self._word_start:
            text = text.replace(self._word_start, " ")
        if self._prefix and len(text) > len(self._prefix):
            text = text.removeprefix(self._prefix)
        if self._suffix and text.endswith(self._suffix):
            text = text.removesuffix(self._suffix) + " "
        return text.encode("utf-8", "replace")


class _Loaded:
    """The tokenizers created from a file.

    Attributes:
        token_texts: Converts the texts of its tokens to bytes.
        tokenizer: The tokenizer in which all added tokens except white space are special.
        regexes: The regexes with which it normalizes, splits and decodes, for display.
        added_ids_in_model: The ids that its model may assign to the text of an added token.
    """

    def __init__(self, path: str, checksum: str) -> None:
        # Its threads would use memory that counts towards the limit, without any benefit here.
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        self._file = path, checksum
        content = self._content()
        self.token_texts = _TokenTexts(content)
        self.regexes = " and ".join(regexes_in(content))
        for token in _added(content):
            text = str(token.get("content"))
            token["special"] = bool(token.get("special")) or not text.isspace()
        model = content.get("model")
        merges = isinstance(model, dict) and "merges" in model
        self.tokenizer = own_tokenizer(path, content, _load)
        self.added_ids_in_model = set() if merges else {token_id for _, token_id in self.specials()}

    def specials(self) -> list[list[Any]]:
        """List text and id of the special added tokens."""
        added = sorted(self.tokenizer.get_added_tokens_decoder().items())
        return [[token.content, token_id] for token_id, token in added if token.special]

    def encode(self, text: str, specials: str) -> tuple[Any, Any]:
        """Encode a text; return the tokenizer that did it, and its encoding.

        Raises:
            PatternError: If one of the file's regexes exceeds the retry limit of the library.
            JobError: If the library fails otherwise.
        """
        tokenizer = self.unchanged_tokenizer if specials == "huggingface" else self.tokenizer
        tokenizer.encode_special_tokens = specials != "all"
        found = self._encode(tokenizer, text)
        if specials == "none" and not self.added_ids_in_model.isdisjoint(found.ids):
            tokenizer = self.tokenizer_without_added_texts
            found = self._encode(tokenizer, text)
        return tokenizer, found

    def _encode(self, tokenizer: Any, text: str) -> Any:
        with self.describing_errors("encode this text"):
            return tokenizer.encode(text, add_special_tokens=False)

    @contextmanager
    def describing_errors(self, action: str) -> Iterator[None]:
        """Convert the library's errors and panics to a `JobError` about this action."""
        try:
            yield
        except BaseException as error:  # the library raises nothing more precise
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            words = _simplified(error)
            if "retry-limit" in words:
                reason = f"takes too long to {action}: it exceeds the library's limit of retries"
                raise PatternError(self.regexes, reason) from None
            raise JobError(f"Hugging Face's library cannot {action}: {words}") from None

    @cached_property
    def unchanged_tokenizer(self) -> Any:
        """The tokenizer in which the same tokens are special as in the file."""
        return own_tokenizer(self._file[0], self._content(), _load)

    @cached_property
    def tokenizer_without_added_texts(self) -> Any:
        """The tokenizer whose model does not contain the texts of added tokens.

        Models that look up words or pre-tokens (Unigram, WordPiece, WordLevel) find special tokens
        in their vocabulary even if special tokens are treated as plain text.
        """
        content = self._content()
        added = {token.get("content") for token in _added(content)}
        model = content["model"]
        vocab = model["vocab"]

        def unreachable(text: str) -> str:
            return _UNREACHABLE + text if text in added and not text.isspace() else text

        if isinstance(vocab, dict):
            model["vocab"] = {unreachable(text): token_id for text, token_id in vocab.items()}
        else:
            model["vocab"] = [[unreachable(text), score] for text, score in vocab]
        if isinstance(model.get("unk_token"), str):
            model["unk_token"] = unreachable(model["unk_token"])
        content["added_tokens"] = []
        return own_tokenizer(self._file[0], content, _load)

    def _content(self) -> dict[str, Any]:
        path, checksum = self._file
        if fingerprint(path) != checksum:
            raise JobError("the file has changed since it was loaded: load it again")
        content = read_content(path)
        for key in ("padding", "truncation", "post_processor"):
            content[key] = None
        model = content.get("model")
        if isinstance(model, dict) and model.get("dropout"):
            model["dropout"] = None
        return content


def _added(content: dict[str, Any]) -> list[dict[str, Any]]:
    added = content.get("added_tokens")
    return [token for token in added if isinstance(token, dict)] if isinstance(added, list) else []


def _load(content: dict[str, Any]) -> Any:
    text = json.dumps(content, ensure_ascii=False)
    content.clear()
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing more precise
        raise JobError(f"Hugging Face's library rejects it: {_simplified(error)}") from None


_UNKNOWN_KIND = re.compile(r"untagged enum (\w+?)(?:Untagged|Wrapper|Helper)?\b")
_PLACE = re.compile(r" at line \d+ column \d+$")
_NAMES = {"PreTokenizer": "pre_tokenizer", "PostProcessor": "post_processor"}


def _simplified(error: BaseException) -> str:
    """Simplify a message of the library, without positions, which are not those of the file."""
    words = _PLACE.sub("", str(error))[:300]
    if unknown := _UNKNOWN_KIND.search(words):
        part = _NAMES.get(unknown[1], unknown[1].lower())
        return f"its `{part}` is of a kind, or has fields, that the library does not know"
    return words.replace("Oniguruma error:", "a regex in it does not work:")


def _facts(loaded: _Loaded) -> Iterator[Body]:
    specials = loaded.specials()
    special_ids = {token_id for text, token_id in specials if text}
    vocabulary = loaded.tokenizer.get_vocab(with_added_tokens=True)
    ordinary = pack_ranks(
        (token_id, loaded.token_texts.bytes_of(text))
        for text, token_id in vocabulary.items()
        if token_id not in special_ids
    )
    parts = of_ranks(ordinary)
    about = {"version": tokenizers.__version__, "specials": specials}
    yield about | {"sizes": [len(part) for part in parts]}
    yield from messages(parts)


def _encode(loaded: _Loaded, request: Body) -> Body:
    _, found = loaded.encode(request["text"], request["specials"])
    columns = {
        "ids": found.ids,
        "starts": (start for start, _ in found.offsets),
        "ends": (end for _, end in found.offsets),
        "words": (NO_WORD if word is None else word for word in found.word_ids),
    }
    return {key: pack_numbers(array("I", column)) for key, column in columns.items()}
