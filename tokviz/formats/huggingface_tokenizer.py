"""Tokenizers that need Hugging Face's library: any model, normalizer and pre-tokenizer.

The library works on characters and may normalize them first. A token's span is the part of the
original text that it comes from. Marks that the library composes with the character before them
belong to its token; other characters that it drops (mostly white space) to the next token. Several
tokens of one character divide its bytes if their own lengths add up to it; otherwise the first
token gets all of them. Spans always tile the text.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from os import fspath
from typing import TYPE_CHECKING, Any

from tokviz.errors import InputFileError, JobError, SpecialTokenError
from tokviz.formats.budget import Budget, budget, bytes_of, within_budget
from tokviz.formats.hf_native import KIND, notes_of
from tokviz.formats.hf_pattern import part_types
from tokviz.formats.hf_post_processor import read_post_processor
from tokviz.formats.library import NO_WORD, LibraryEncoding, LibraryTokenizer
from tokviz.formats.self_check import check
from tokviz.storage.files import StrPath
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.byte_text_encoder import ByteTextEncoder
from tokviz.tokenizer.encoding.encoded import ToBytes
from tokviz.tokenizer.encoding.normalization import is_combining
from tokviz.tokenizer.encoding.packed import PackedMerges, PackedRanks
from tokviz.tokenizer.encoding.specials import AllowedSpecial, SpecialTokens
from tokviz.tokenizer.encoding.tokenization import Tokenization, spans_between
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.report import FileFinding, Report
from tokviz.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Json = dict[str, Any]


class LibraryTextEncoder(ByteTextEncoder):
    """Encodes byte text with the library.

    Attributes:
        library: The library's tokenizer.
        name: The name of the tokenizer.
    """

    library: LibraryTokenizer
    name: str

    @property
    def content(self) -> tuple[object, ...]:
        """The checksum of the file."""
        return (self.library.checksum,)

    def encode_all(
        self,
        texts: Sequence[str],
        allowed_special: AllowedSpecial | bool = True,
        to_bytes: ToBytes = bytetext.to_bytes,
    ) -> Iterator[array[int]]:
        """Encode texts one by one."""
        for text in texts:
            to_bytes(text)  # which may refuse it
            yield self.library.encode(text, self.named(allowed_special)).ids

    def encode_with_borders(
        self, text: str, allowed_special: AllowedSpecial | bool = True
    ) -> tuple[array[int], array[int] | None]:
        """Encode a text with the borders of its tokens."""
        encoding = self.library.encode(text, self.named(allowed_special))
        return encoding.ids, self._borders(text, encoding)

    def split(
        self, text: str, allowed_special: AllowedSpecial | bool = True
    ) -> list[tuple[int, int]]:
        """Return the character spans of the library's pre-tokens, without gaps."""
        encoding = self.library.encode(text, self.named(allowed_special))
        char_of = {byte: char for char, byte in enumerate(_byte_offsets(text))}
        ends = [char_of[end] for end in self._pre_token_ends(text, encoding) if end in char_of]
        return list(zip([0, *ends], ends, strict=False))

    def tokenize(
        self,
        text: str,
        allowed_special: AllowedSpecial | bool = True,
        n_replaced: int = 0,
        to_bytes: ToBytes = bytetext.to_bytes,
    ) -> Tokenization:
        """Encode a text and return the spans of its tokens and the library's pre-tokens."""
        import numpy as np

        to_bytes(text)  # which may refuse it
        encoding = self.library.encode(text, self.named(allowed_special))
        borders = np.array(self._borders(text, encoding), np.int64)
        pre_token_borders = np.array([0, *self._pre_token_ends(text, encoding)], np.int64)
        special_ids = list(self.specials.ids.values())
        return Tokenization(
            text=text,
            ids=encoding.ids.tolist(),
            byte_spans=spans_between(borders),
            pre_tokens=spans_between(pre_token_borders),
            special=np.isin(np.frombuffer(encoding.ids, dtype=np.uint32), special_ids),
            n_replaced=n_replaced,
            bytes_of=self.bytes_of,
        )

    def stories(
        self, text: str, allowed_special: AllowedSpecial | bool, tokens: range
    ) -> Mapping[str, Any]:
        """Explain the encoding of the pre-tokens of some tokens; see `LibraryTokenizer.stories`."""
        return self.library.stories(text, self.named(allowed_special), tokens)

    def named(self, allowed_special: AllowedSpecial | bool) -> str:
        """Return the library's name for the allowed special tokens: it does not support sets."""
        if isinstance(allowed_special, str):
            return allowed_special
        if allowed_special is True or not allowed_special:
            return "all" if allowed_special else "none"
        if {*allowed_special} >= self.specials.ids.keys():
            return "all"
        raise SpecialTokenError(
            f"{self.name} recognizes all its special tokens or none: give 'all', 'none' or "
            "'huggingface'"
        )

    def _borders(self, text: str, encoding: LibraryEncoding) -> array[int]:
        """Return the n + 1 byte offsets between n tokens; they never decrease."""
        tokens = [self.bytes_of(token_id) or b"" for token_id in encoding.ids]
        data = bytetext.to_bytes(text)
        if b"".join(tokens) == data:
            return array("I", accumulate(map(len, tokens), initial=0))
        return _borders_of_offsets(data, _byte_offsets(text), _with_marks(text, encoding), tokens)

    def _pre_token_ends(self, text: str, encoding: LibraryEncoding) -> list[int]:
        borders = self._borders(text, encoding)
        numbers = range(len(encoding.ids))
        ends: list[int] = []
        for _, group in groupby(numbers, key=lambda number: _word_of(encoding, number)):
            *_, last = group
            if borders[last + 1] > (ends[-1] if ends else 0):
                ends.append(borders[last + 1])
        return ends


class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer whose encoding and decoding happen in a child process."""

    remote = True

    def __init__(
        self,
        path: StrPath,
        content: Json,
        reason: str,
        *,
        name: str,
        limits: Budget | None = None,
    ) -> None:
        """Load a `tokenizer.json` in the library.

        Args:
            path: The file.
            content: Its content without the vocabulary and the merges.
            reason: The reason that the library is needed.
            name: A name to show.
            limits: The budget to load it; None for the budget of the file's size.

        Raises:
            InputFileError: If the file cannot be read, or the library rejects it or dies.
        """

        def read(allowed: Budget) -> tuple[str, dict[str, int], PackedRanks]:
            self._library = library = LibraryTokenizer(path, limits=allowed)
            try:
                return library.facts()
            except JobError:
                library.close()
                raise

        allowed = limits or budget(bytes_of(path))
        try:
            version, specials, ordinary = within_budget(os.path.basename(path), allowed, read)
        except JobError as error:
            raise InputFileError(path, f"{error} ({reason})") from None
        self._byte_level = part_types(content.get("decoder")) == ["ByteLevel"]
        pre_tokenizer = " + ".join(part_types(content.get("pre_tokenizer"))) or "none"
        pattern = SplitPattern(pre_tokenizer, r"[\s\S]+", "the pre-tokenizer of tokenizer.json")
        added = [token for token in content.get("added_tokens") or () if isinstance(token, dict)]
        non_special = [str(token.get("content")) for token in added if not token.get("special")]
        known = SpecialTokens(specials, non_special=specials.keys() & set(non_special))
        self._set(PackedMerges.none(ordinary), known, pattern, name)
        normalizers = [
            kind for kind in part_types(content.get("normalizer")) if kind != "ByteLevel"
        ]
        self.byte_text = encoder = LibraryTextEncoder(*self.byte_text)
        encoder.library, encoder.name = self._library, name
        self.lossy = bool(normalizers)
        self.config = content.get("tokenizer_config", {})
        self.post_processor = read_post_processor(content)
        self.source = (
            f"{KIND} {fspath(path)}; encoded by Hugging Face's tokenizers {version} in "
            f"another process, as {reason}"
        )
        self.load_report = Report(fspath(path)).joined(
            list(_notes(content, reason, normalizers, sorted(known.non_special)))
        )

    @classmethod
    def checked(
        cls, path: StrPath, content: Json, reason: str, *, name: str
    ) -> HuggingFaceTokenizer:
        """Load and check a file on the budget of its size.

        Raises:
            InputFileError: See `HuggingFaceTokenizer`.
        """
        made = cls(path, content, reason, name=name)
        check(made)
        made._library.trust()
        return made

    def close(self) -> None:
        """End the child process; the tokenizer can no longer encode."""
        self._library.close()

    def char_offsets(
        self, text: str, ids: Sequence[int], lasts: npt.NDArray[np.int64] | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the library's offsets of each token."""
        import numpy as np  # encoding does not need it

        encoding = self._library.encode(text)
        return np.array(encoding.starts, np.int64), np.array(encoding.ends, np.int64)

    def decode_bytes(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> bytes:
        """Join the bytes of byte-level tokens; decode other tokens with the library, in UTF-8.

        Raises:
            TokenIdError: If an id is not in the vocabulary; it names the id and its position.
            JobError: If the child dies.
        """
        listed = list(ids)
        joined = super().decode_bytes(listed, skip_special_tokens=skip_special_tokens)
        if self._byte_level:
            return joined
        if skip_special_tokens:
            listed = [one for one in listed if one not in self.specials.skipped_ids]
        return self._library.decode(array("I", listed)).encode("utf-8", "replace")


def _notes(
    content: Json, reason: str, normalizers: list[str], non_special: list[str]
) -> Iterator[FileFinding]:
    message = f"Hugging Face's library encodes it, as {reason}"
    yield FileFinding("note", "library", "", message)
    if normalizers:
        message = f"it normalizes text ({' + '.join(normalizers)}) before it encodes"
        remedy = "decoding may give a different text: it is marked lossy"
        yield FileFinding("note", "lossy", "normalizer", message, remedy)
    yield from notes_of(content, non_special)


def _byte_offsets(text: str) -> list[int]:
    """Return the byte offset of every character of byte text, and of its end."""
    if text.isascii():
        return list(range(len(text) + 1))
    return list(accumulate((bytetext.n_bytes(char) for char in text), initial=0))


def _with_marks(text: str, encoding: LibraryEncoding) -> LibraryEncoding:
    """Extend the ends of tokens over the marks, vowels … that were composed with their last one."""
    if text.isascii() or not encoding.ids:
        return encoding
    ends = array("I")
    for end, following in zip(encoding.ends, [*encoding.starts[1:], len(text)], strict=True):
        while end < following and is_combining(text[end]):
            end += 1
        ends.append(end)
    return replace(encoding, ends=ends)


def _borders_of_offsets(
    data: bytes, byte_at: list[int], encoding: LibraryEncoding, tokens: list[bytes]
) -> array[int]:
    """Convert the character offsets of tokens to byte offsets between them.

    Tokens whose characters overlap form a group. Its bytes are divided by the tokens' own lengths
    if these add up; otherwise each token ends where its characters end, if possible. A space that
    the library adds before a text gets an empty span.
    """
    n_tokens = len(tokens)
    n_chars = len(byte_at) - 1
    borders = array("I", [0])
    number = 0
    while number < n_tokens:
        last, end = number + 1, encoding.ends[number]
        while last < n_tokens and encoding.starts[last] < end:
            end = max(end, encoding.ends[last])
            last += 1
        start_byte = byte_at[min(encoding.starts[number], n_chars)]
        end_byte = byte_at[min(end, n_chars)]
        if (
            last - number > 1
            and tokens[number] == b" "
            and data[start_byte : start_byte + 1] != b" "
        ):
            borders.append(max(borders[-1], start_byte))
            number += 1
        own = [len(token) for token in tokens[number:last]]
        if len(own) > 1 and sum(own) == end_byte - start_byte:
            ends = list(accumulate(own, initial=start_byte))[1:]
        else:
            ends = [byte_at[min(encoding.ends[k], n_chars)] for k in range(number, last)]
        for at in ends:
            borders.append(max(borders[-1], at))
        number = last
    if n_tokens:
        borders[-1] = byte_at[-1]
    return borders


def _word_of(encoding: LibraryEncoding, number: int) -> tuple[int, int]:
    """Return a key for the word of a token; a token without one is a word by itself."""
    word = encoding.words[number]
    return (word, number) if word == NO_WORD else (word, -1)
