"""The tokenizer: a vocabulary, its merges, a split pattern and special tokens."""

from __future__ import annotations

import reprlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from copy import copy
from functools import cached_property
from importlib import import_module
from operator import index
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, SupportsIndex

from tokviz.errors import (
    ArgumentTypeError,
    SpecialTokenError,
    TokenIdError,
    VocabularyError,
)
from tokviz.text import bytetext
from tokviz.text.notebooks import displayed
from tokviz.tokenizer.encoding.byte_text_encoder import ByteTextEncoder
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.encoding.normalization import NEVER_IN_UTF8, UNCHANGED, Normalizer
from tokviz.tokenizer.encoding.packed import Tables, check_tokens, pack_merges
from tokviz.tokenizer.encoding.segment_encoder import SegmentEncoder
from tokviz.tokenizer.encoding.specials import (
    ALLOWED_SPECIAL,
    AllowedSpecial,
    PostProcessor,
    SpecialTokens,
)
from tokviz.tokenizer.encoding.tokenization import Tokenization, char_offsets
from tokviz.tokenizer.pretokenize import unicode_classes
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.tokenizer.report import Report


_COMPUTED = ("derived", "token_sizes", "vocab")
"""Attributes that are computed from others when needed."""


def _format_module(name: str) -> ModuleType:
    """Import a module of `tokviz.formats` late, because the formats import this module."""
    return import_module(f"tokviz.formats.{name}")


@displayed("tokenizer")
class Tokenizer:
    """Byte-level BPE: text → pre-tokens → tokens, and back without loss.

    Attributes:
        name: A display name, such as "cl100k_base".
        split_pattern: The pattern that splits text into pre-tokens before any merge.
        special_tokens: Special token text → id.
        specials: The same tokens with their flags from the file, and the search for them in a text.
        source: A description of its origin: the kind of file, and any guesses.
        folder: The folder of its file, with the files that belong to it, such as
            `tokenizer_config.json`; "" if it has none.
        lossy: Whether text may be normalized before it is encoded, so that decoding may return
            different text.
        pattern_doubt: A warning that the split pattern is a guess, if the file does not name it.
        load_report: Findings and checks from loading; None if it was made in memory.
        remote: Whether another process encodes. A call then takes as long as that process needs,
            within its limits, and raises `JobError` if the process dies.
    """

    source: str = "made in memory"
    folder: str = ""
    config: Mapping[str, Any] = {}
    """The content of a `tokenizer_config.json` that is in the tokenizer's own file (GGUF)."""
    lossy: bool = False
    pattern_doubt: str = ""
    load_report: Report | None = None
    remote: bool = False
    ignore_merges: bool = False
    """Whether a pre-token that is a token is encoded as that token without merging."""
    normalizer: Normalizer = UNCHANGED
    """The changes to the text between special tokens before it is split."""

    post_processor: PostProcessor = PostProcessor()
    """The special tokens that `add_special_tokens` adds around a text."""

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Sequence[Merge],
        special_tokens: Sequence[str] | Mapping[str, int] | SpecialTokens | None = None,
        *,
        split_pattern: str | SplitPattern = "gpt2",
        ignore_merges: bool = False,
        name: str = "custom",
    ) -> None:
        """Create a tokenizer from a vocabulary and an ordered merge list.

        Args:
            vocab: Token id → bytes. It may contain special tokens too.
            merges: The merges in the order in which they apply.
            special_tokens: Special tokens with their ids; or a list of them, which get the ids
                after the rest unless the vocabulary already contains them; or `SpecialTokens` with
                their flags.
            split_pattern: A named split pattern or any regex. A regex runs in a child process,
                because it may take years for a few characters; a `SplitPattern` that is not
                guarded runs in this process.
            ignore_merges: Whether a pre-token that is a token is encoded as that token without
                merging, as with Hugging Face's option of this name.
            name: A display name.

        Raises:
            VocabularyError: If the vocabulary and the merges are inconsistent.
            SpecialTokenError: If a special token is empty or has the id of another token.
            PatternError: If the split pattern is not a valid regex. Encoding raises it too, if
                a step from one pre-token to the next takes too long.
        """
        pattern = get_split_pattern(split_pattern)
        specials = _specials(special_tokens, vocab)
        special_bytes = {token_id: text.encode() for text, token_id in specials.ids.items()}
        ordinary = {i: token for i, token in vocab.items() if special_bytes.get(i) != token}
        check_tokens(ordinary)
        self.ignore_merges = ignore_merges
        self._set(pack_merges(ordinary.items(), merges), specials, pattern, name)

    @property
    def in_child(self) -> bool:
        """True if calls may wait for a child process that encodes or splits."""
        return self.remote or self.split_pattern.guarded

    @classmethod
    def of(
        cls,
        tables: Tables,
        special_tokens: Mapping[str, int] | SpecialTokens | None = None,
        *,
        split_pattern: str | SplitPattern,
        ignore_merges: bool = False,
        normalizer: Normalizer = UNCHANGED,
        name: str = "custom",
    ) -> Tokenizer:
        """Create a tokenizer from tables that are known to be consistent.

        Args:
            tables: The tokens and merges.
            special_tokens: Special token text → id.
            split_pattern: A named split pattern or any regex.
            ignore_merges: See `Tokenizer`.
            normalizer: The changes to a text before it is encoded.
            name: A display name.

        Raises:
            VocabularyError: If a single byte has no rank.
            SpecialTokenError: If a special token is empty or has the id of another token.
            PatternError: If the split pattern is not a valid regex.
        """
        lacking = [byte for byte in range(256) if tables.id_of(bytes([byte])) is None]
        if tables.by_ranks and {*lacking} - {*(NEVER_IN_UTF8 if normalizer.replaces_bytes else ())}:
            raise VocabularyError(
                f"{len(lacking)} of the 256 single bytes have no token, first 0x{lacking[0]:02x}"
            )
        pattern = get_split_pattern(split_pattern)
        self = cls.__new__(cls)
        self.ignore_merges = ignore_merges
        self.normalizer, self.lossy = normalizer, bool(normalizer)
        self._set(tables, _specials(special_tokens, {}), pattern, name)
        return self

    @classmethod
    def from_files(
        cls,
        vocab_path: str | PathLike[str],
        merges_path: str | PathLike[str],
        special_tokens: Sequence[str] | Mapping[str, int] | None = None,
        *,
        split_pattern: str | SplitPattern = "gpt2",
    ) -> Tokenizer:
        """Read GPT-2's `vocab.json` and `merges.txt`, or their variants in CS336.

        Args:
            vocab_path: JSON: token → id, or id → token.
            merges_path: One merge per line, or JSON; see `tokviz.formats.merge_files`.
            special_tokens: See `Tokenizer`. None means none, even if the vocabulary contains
                text like `<|endoftext|>`.
            split_pattern: A named split pattern or any regex; the files contain none.

        Raises:
            InputFileError: If a file cannot be read or its content is inconsistent; it names the
                file and the line or key.
            SpecialTokenError: If a special token is empty or has the id of another token.
        """
        read: Callable[..., Tokenizer] = _format_module("vocab_files").from_files
        return read(vocab_path, merges_path, special_tokens, split_pattern)

    def save(self, path: str | PathLike[str], format: str = "huggingface") -> None:
        """Write the tokenizer in a format that other libraries read; see `tokviz.formats.save`.

        An existing file is replaced in one step. `tokviz.what_is_lost` lists the
        properties that a format cannot store.

        Args:
            path: The file; with "gpt2" the folder for `vocab.json` and `merges.txt`.
            format: "huggingface", "tiktoken", "gpt2" or "minbpe".

        Raises:
            FormatError: If the format cannot store the tokenizer so that it produces the same ids.
            OutputFileError: If the file cannot be written.
        """
        write: Callable[..., None] = _format_module("save").save
        write(self, path, format)

    def close(self) -> None:
        """Release resources: the child process of a remote tokenizer."""

    def with_parts(
        self,
        split_pattern: SplitPattern,
        specials: SpecialTokens,
        normalizer: Normalizer = UNCHANGED,
        *,
        ignore_merges: bool | None = None,
    ) -> Tokenizer:
        """Create a tokenizer with the same tokens and merges, but other properties.

        Args:
            split_pattern: Its split pattern.
            specials: Its special tokens.
            normalizer: Its changes to a text before encoding.
            ignore_merges: See `Tokenizer`; None for that of this tokenizer.

        Raises:
            SpecialTokenError: If a special token has the id of another token.
        """
        ignore_merges = self.ignore_merges if ignore_merges is None else ignore_merges
        made = Tokenizer.of(
            self.tables, specials, split_pattern=split_pattern,
            ignore_merges=ignore_merges, normalizer=normalizer, name=self.name,
        )  # fmt: skip
        if ignore_merges == self.ignore_merges:
            encoder = self.byte_text.segment_encoder
            made.byte_text = made.byte_text._replace(segment_encoder=encoder)
        return made

    def encoding_by(self, encoder: Any) -> Tokenizer:
        """Return a copy of this tokenizer with another `SegmentEncoder`."""
        made = copy(self)
        made.byte_text = self.byte_text._replace(segment_encoder=encoder)
        return made

    def _set(
        self, tables: Tables, specials: SpecialTokens, pattern: SplitPattern, name: str
    ) -> None:
        self.tables = tables
        encoder = SegmentEncoder(tables, whole=tables.by_ranks or self.ignore_merges)
        self.byte_text = ByteTextEncoder(tables, specials, pattern, self.normalizer, encoder)
        self.name = name
        self.split_pattern = pattern
        self.specials = specials
        self.special_tokens = special_tokens = specials.ids
        for text, token_id in special_tokens.items():
            if not text:
                raise SpecialTokenError(f"the special token with the id {token_id} is empty")
            if (token := tables.token(token_id)) is not None:
                reason = f"its id {token_id} is the token {token!r}"
                raise SpecialTokenError(f"special token {text!r}: {reason}")
        if len(self.specials.bytes_by_id) < len(special_tokens):
            raise SpecialTokenError("two special tokens have the same id")
        ids = tables.ids()
        last = max(ids[-1] if ids else -1, max(special_tokens.values(), default=-1))
        self.n_vocab = last + 1
        """One more than the largest id: the size of a model's embedding."""

    def __repr__(self) -> str:
        """Return the name and the size; `n_vocab` differs if some ids have no token."""
        n_tokens = len(self.specials.bytes_by_id.keys() | {*self.tables.ids()})
        n_vocab = "" if n_tokens == self.n_vocab else f", n_vocab {self.n_vocab:,}"
        return f"<Tokenizer {self.name}: {n_tokens:,} tokens{n_vocab}>"

    def __eq__(self, other: object) -> bool:
        """Return whether another tokenizer has the same parts; names and sources do not count.

        `tokviz.diff` compares tokenizers in detail.
        """
        same = self is other
        return same or (isinstance(other, Tokenizer) and self._content == other._content)

    def __hash__(self) -> int:
        """Return a hash of the parts that are fast to compare."""
        return hash((self.n_vocab, self.split_pattern.rules))

    @property
    def _content(self) -> tuple[object, ...]:
        """All that ids depend on."""
        return self.byte_text.content, self.specials.content, self.post_processor

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Support pickling: a built-in tokenizer by its name, others by their content."""
        loader = _format_module("loader")
        if loader.is_shared(self):
            return loader.built_in, (self.name,)
        return super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that others are not computed from."""
        return {name: value for name, value in vars(self).items() if name not in _COMPUTED}

    def __copy__(self) -> Tokenizer:
        """Return another tokenizer with the same content, which cannot change."""
        made = type(self).__new__(type(self))
        vars(made).update(self.__getstate__())
        return made

    def __deepcopy__(self, memo: object) -> Tokenizer:
        """Return a copy; see `__copy__`."""
        return copy(self)

    @cached_property
    def derived(self) -> dict[str, Any]:
        """What other modules compute from this tokenizer and cache, by a name."""
        return {}

    # -- encoding

    def encode(
        self, text: str, allowed_special: AllowedSpecial = "all", *,
        add_special_tokens: bool = False,
    ) -> list[int]:  # fmt: skip
        """Encode text.

        By default, the text of a special token such as `<|endoftext|>` becomes that token. Encode
        text from users, files or the web with `allowed_special="none"`, so that nobody can inject
        the end of a document or a message of another role.

        Args:
            text: Any `str`. Surrogate pairs join and lone surrogates become U+FFFD, as in tiktoken.
            allowed_special: The special tokens to recognize; the text of others is plain text. If
                special tokens overlap, the leftmost wins, then the longest. For every
                tokenizer, added tokens that a `tokenizer.json` does not flag as special, such
                as Qwen3's `<think>` and `<tool_call>`, count as special tokens too, except
                white space (GPT-NeoX's runs of spaces), which is always recognized.
                "all": All of them.
                "none": None of them: no text produces the id of a special token. For untrusted
                text.
                "huggingface": Those not flagged as special, as Hugging Face's library does if
                special tokens are text (`split_special_tokens`, `encode_special_tokens`).
                A set of texts: These; not if `remote`.
            add_special_tokens: Add the special tokens, such as BOS and EOS, that the
                post-processor of a `tokenizer.json` puts around a text, as Hugging Face's library
                does by default. Other tokenizers add none, as in tiktoken.

        Returns:
            The token ids.

        Raises:
            ArgumentTypeError: If the text is not a `str`.
            SpecialTokenError: If `allowed_special` contains other texts than special tokens, or
                tokviz cannot add the tokens of the post-processor.
        """
        before, after = self.ids_around() if add_special_tokens else ((), ())
        return [*before, *self._encode_any([text], allowed_special)[0], *after]

    def ids_around(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids that `add_special_tokens` adds before and after a text.

        Raises:
            SpecialTokenError: If tokviz cannot add the tokens of the post-processor.
        """
        post = self.post_processor
        if post.problem:
            raise SpecialTokenError(f"{self.name}: {post.problem}: leave out add_special_tokens")
        return post.before, post.after

    def encode_bytes(self, data: bytes, allowed_special: AllowedSpecial = "all") -> list[int]:
        """Encode any bytes, even invalid UTF-8; `decode_bytes` returns exactly these bytes.

        A byte that is not part of valid UTF-8 counts as a symbol for the split pattern.
        """
        if isinstance(data, str):
            raise ArgumentTypeError("the data is a str, not bytes: call encode")
        text = bytetext.from_bytes(data)
        check_arguments([text], allowed_special, self.specials, self.name)
        return self.byte_text.encode(text, allowed_special).tolist()

    def char_offsets(
        self, text: str, ids: Sequence[int], lasts: npt.NDArray[np.int64] | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the start and end of each token in characters, as Hugging Face's library does.

        A token with a part of a character has the offsets of the whole character.

        Args:
            text: Byte text.
            ids: Its token ids.
            lasts: The end of each token in bytes, shape (n,); None to find them.

        Returns:
            Shape (n,) each.
        """
        import numpy as np  # `encode` does not need it

        if lasts is None and self.byte_text.changes(text):
            lasts = self.byte_text.tokenize(text).byte_spans[:, 1]
        elif lasts is None:
            lasts = np.cumsum(self.token_sizes[np.asarray(ids, np.int64)])
        firsts = np.append(0, lasts[:-1])[: len(lasts)]
        if self.post_processor.trims_offsets:
            data = np.frombuffer(bytetext.to_bytes(text), np.uint8)
            places, is_space = np.arange(len(data) + 1), np.append(data == ord(" "), False)
            spaces_end = np.minimum.accumulate(np.where(is_space, len(data), places)[::-1])[::-1]
            text_ends = np.append(0, np.where(is_space, 0, places + 1)[:-1])
            firsts = np.minimum(spaces_end[firsts], lasts)
            lasts = np.maximum(firsts, np.maximum.accumulate(text_ends)[lasts])
        return char_offsets(text, firsts, lasts)

    @property
    def safe_cut(self) -> str | None:
        """The split pattern's `safe_cut`, if text may also be normalized in parts; else None."""
        return self.split_pattern.safe_cut if self.normalizer.keeps_cuts else None

    def encode_iterable(
        self, lines: Iterable[str], allowed_special: AllowedSpecial = "all"
    ) -> Iterator[int]:
        """Encode items lazily, one at a time; memory is bounded by the longest item.

        Items are encoded independently: no pre-token extends beyond the end of an item.
        """
        _check_many(lines, "encode")
        for line in lines:
            yield from self.encode(line, allowed_special)

    def prepare(self, text: str = "") -> None:
        """Do the slow one-time work for long texts, and for this text. Callable from any thread."""
        self.byte_text.segment_encoder.prepare()
        self.specials.search("all")
        if self.split_pattern.unicode_of_tiktoken:
            unicode_classes.prepare(text)

    def encode_to_numpy(
        self, text: str, allowed_special: AllowedSpecial = "all"
    ) -> npt.NDArray[np.uint32]:
        """Encode text into an array; see `encode`. Shape (n,), uint32."""
        import numpy as np  # `encode` does not need it

        return np.frombuffer(self._encode_any([text], allowed_special)[0], np.uint32)

    def encode_batch(
        self, texts: Iterable[str], allowed_special: AllowedSpecial = "all"
    ) -> list[list[int]]:
        """Encode texts independently, faster than in separate calls."""
        _check_many(texts, "encode")
        return [ids.tolist() for ids in self._encode_any([*texts], allowed_special)]

    def count(self, text: str, allowed_special: AllowedSpecial = "all") -> int:
        """Return the number of tokens of a text; see `encode`."""
        return len(self._encode_any([text], allowed_special)[0])

    def _encode_any(self, texts: Sequence[str], allowed: AllowedSpecial) -> list[array[int]]:
        """Encode any texts; replace surrogates only after a conversion to bytes has failed."""
        check_arguments(texts, allowed, self.specials, self.name)
        try:
            return [*self.byte_text.encode_all(texts, allowed, str.encode)]
        except UnicodeEncodeError:
            fixed = [bytetext.replace_surrogates(text)[0] for text in texts]
            return [*self.byte_text.encode_all(fixed, allowed)]

    # -- decoding

    def decode_bytes(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> bytes:
        """Return the concatenated bytes of tokens; see `decode`.

        Raises:
            TokenIdError: If an id is not in the vocabulary; it names the id and its position.
            ArgumentTypeError: If an id is not an integer.
        """
        listed = _checked_ids(ids)
        known = {token_id: self.bytes_of(token_id) for token_id in set(listed)}
        tokens = {token_id: token for token_id, token in known.items() if token is not None}
        if len(tokens) < len(known):
            index = next(index for index, token_id in enumerate(listed) if token_id not in tokens)
            raise TokenIdError(listed[index], self.name, self.n_vocab, index)
        if skip_special_tokens:
            tokens |= dict.fromkeys(self.specials.skipped_ids, b"")
        return b"".join(map(tokens.__getitem__, listed))

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """Return the text of tokens; bytes that are not UTF-8 become U+FFFD.

        Args:
            ids: The token ids.
            skip_special_tokens: Omit special tokens, but not added tokens that a `tokenizer.json`
                does not flag as special, as Hugging Face's library does.

        Raises:
            TokenIdError: If an id is not in the vocabulary.
            ArgumentTypeError: If an id is not an integer.
        """
        data = self.decode_bytes(ids, skip_special_tokens=skip_special_tokens)
        return data.decode("utf-8", "replace")

    def decode_batch(
        self, batch: Iterable[Iterable[int]], *, skip_special_tokens: bool = False
    ) -> list[str]:
        """Return the text of each list of token ids; see `decode`."""
        _check_many(batch, "decode")
        return [self.decode(ids, skip_special_tokens=skip_special_tokens) for ids in batch]

    # -- tokens with their positions

    def tokenize(self, text: str, allowed_special: AllowedSpecial = "all") -> Tokenization:
        """Encode text and return the spans of its tokens and pre-tokens.

        Args:
            text: Any `str`; see `encode`.
            allowed_special: See `encode`.
        """
        check_arguments([text], allowed_special, self.specials, self.name)
        try:
            return self.byte_text.tokenize(text, allowed_special, to_bytes=str.encode)
        except UnicodeEncodeError:
            fixed, n_replaced = bytetext.replace_surrogates(text)
            return self.byte_text.tokenize(fixed, allowed_special, n_replaced)

    # -- the vocabulary

    @property
    def by_ranks(self) -> bool:
        """True if adjacent tokens merge whenever their concatenation has a rank, as in tiktoken."""
        return self.tables.by_ranks

    @cached_property
    def vocab(self) -> dict[int, bytes]:
        """Every token id → bytes, including special tokens."""
        ordinary = zip(self.tables.ids(), self.tables.tokens(), strict=True)
        return dict(ordinary) | self.specials.bytes_by_id

    @cached_property
    def token_sizes(self) -> npt.NDArray[np.int64]:
        """The number of bytes of each token by id, 0 where no token has an id. Shape (n,)."""
        import numpy as np  # `encode` does not need it

        ids, specials = np.asarray(self.tables.ids(), np.int64), self.specials.bytes_by_id
        sizes = np.zeros(self.n_vocab, np.int64)
        sizes[ids] = self.tables.lengths()
        sizes[[*specials]] = [*map(len, specials.values())]
        return sizes

    @property
    def merges(self) -> list[Merge]:
        """All merges in the order in which they apply; recovered if there are only ranks."""
        return self.tables.merges()

    def token_bytes(self, token_id: int) -> bytes:
        """Return a token's bytes.

        Raises:
            TokenIdError: If the id is not in the vocabulary.
        """
        token = self.bytes_of(token_id)
        if token is None:
            raise TokenIdError(token_id, self.name, self.n_vocab)
        return token

    def token_id(self, token: bytes) -> int | None:
        """Return the id of an ordinary token, None if it is not in the vocabulary."""
        return self.tables.id_of(token)

    def is_special(self, token_id: int) -> bool:
        """Return whether an id is that of a special token."""
        return token_id in self.specials.bytes_by_id

    def rank(self, token_id: int) -> int | None:
        """Return the rank of the merge that makes a token; None for special tokens.

        In a rank vocabulary, the rank of every token, including single bytes, is its id. With a
        merge list, it is the index of the merge that makes the token when its bytes are encoded,
        or None if no merge does.
        """
        return None if self.is_special(token_id) else self.tables.rank(token_id)

    def pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Return the rank at which two adjacent tokens merge, None if they never do."""
        return self.tables.pair_rank(left, right)

    def merge_number(self, token_id: int) -> int | None:
        """Return the number of the merge that makes a token, None if no merge does.

        Merge numbers start at 1: the first merge learned is merge 1.
        """
        rank = self.rank(token_id)
        if rank is None or len(self.token_bytes(token_id)) < 2:
            return None
        return self.tables.merge_number(rank)

    def pair_number(self, left: bytes, right: bytes) -> int | None:
        """Return the number of the merge of two tokens, from 1; None if they never merge."""
        rank = self.pair_rank(left, right)
        return None if rank is None else self.tables.merge_number(rank)

    def merge_of(self, token_id: int) -> Merge | None:
        """Return the merge that makes a token, None if no merge does."""
        is_ordinary = self.bytes_of(token_id) is not None and not self.is_special(token_id)
        return self.tables.merge_of(token_id) if is_ordinary else None

    def bytes_of(self, token_id: int) -> bytes | None:
        """Return a token's bytes, None if the id is not in the vocabulary."""
        return self.byte_text.bytes_of(token_id)


_REMEDIES = {
    "NoneType": 'use "" for an empty text',
    **dict.fromkeys(("bytes", "bytearray", "memoryview"), "decode it, or call encode_bytes"),
    **dict.fromkeys(("list", "tuple", "set", "generator"), "call encode_batch for several texts"),
}
"""What to do with a value that is not a text, by the name of its type."""


def check_arguments(
    texts: Iterable[object], allowed: object, specials: SpecialTokens, name: str
) -> None:
    """Check texts to encode, and the special tokens to recognize.

    Args:
        texts: The texts.
        allowed: The special tokens to recognize; see `Tokenizer.encode`.
        specials: The special tokens of the tokenizer.
        name: The name of the tokenizer.

    Raises:
        ArgumentTypeError: If a text is not a `str`, or `allowed` is of another type.
        SpecialTokenError: If `allowed` is another string, or contains a text that is not a special
            token.
    """
    for text in texts:
        if not isinstance(text, str):
            kind = type(text).__name__
            remedy = _REMEDIES.get(kind, "convert it with str()")
            raise ArgumentTypeError(f"the text is not a str but of type {kind}: {remedy}")
    if not isinstance(allowed, str | Set | list | tuple):
        raise ArgumentTypeError(f"allowed_special is {allowed!r}: {ALLOWED_SPECIAL}")
    specials.check_allowed(allowed, name)


def _check_many(items: object, method: str) -> None:
    """Check that the argument of a method for batches is not one text."""
    if isinstance(items, (str, bytes)):
        raise ArgumentTypeError(f"a single text is not a batch: put it in a list, or call {method}")


def _checked_ids(ids: Any) -> list[int]:
    """Return ids as a list.

    Raises:
        ArgumentTypeError: If they are not integers.
    """
    is_text = isinstance(ids, (str, bytes))
    with suppress(TypeError):
        if not is_text:
            return [*map(index, ids)]
    remedy = f"[{ids}]" if isinstance(ids, int) else "integers, or decode_batch for several lists"
    remedy = "the result of encode" if is_text else remedy
    raise ArgumentTypeError(f"{reprlib.repr(ids)} is not a list of token ids: use {remedy}")


def _specials(
    special_tokens: Sequence[str] | Mapping[str, int] | SpecialTokens | None,
    vocab: Mapping[int, bytes],
) -> SpecialTokens:
    if isinstance(special_tokens, SpecialTokens):
        return special_tokens
    if special_tokens is None:
        return SpecialTokens()
    for name in special_tokens:
        if bytetext.replace_surrogates(name)[1]:
            raise SpecialTokenError(
                f"special token {name!r} contains a lone surrogate: no text contains it"
            )
    if isinstance(special_tokens, Mapping):
        return SpecialTokens(special_tokens)
    id_of = {token: token_id for token_id, token in vocab.items()}
    next_id = max(vocab, default=-1) + 1
    ids: dict[str, int] = {}
    for name in special_tokens:
        if name in ids:
            raise SpecialTokenError(f"special token {name!r} is listed twice")
        known_id = id_of.get(name.encode())
        ids[name] = next_id if known_id is None else known_id
        next_id += known_id is None
    return SpecialTokens(ids)
