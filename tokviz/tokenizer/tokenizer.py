"""The tokenizer: a vocabulary, its merges, a split pattern and special tokens."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.errors import PatternError, SpecialTokenError, TokenIdError, VocabularyError
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.encoded import ToBytes
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.encoding.normalization import is_nfc, nfc, origins
from tokviz.tokenizer.encoding.packed import Tables, check_tokens, pack_merges
from tokviz.tokenizer.encoding.segment_encoder import SegmentEncoder
from tokviz.tokenizer.encoding.specials import (
    AllowedSpecial,
    PostProcessor,
    SpecialTokens,
    segments,
)
from tokviz.tokenizer.pretokenize import unicode_classes
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern
from tokviz.tokenizer.pretokenize.split import split

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.tokenizer.report import Report


def _format_module(name: str) -> ModuleType:
    """Find a module of the file formats, which depend on tokenizers and not the other way round."""
    return import_module(f"tokviz.formats.{name}")


class Tokenization(NamedTuple):
    """The tokens of one text.

    Attributes:
        ids: The token ids, n of them.
        byte_spans: Start and end of every token in the text's bytes; shape (n, 2), int64. The spans
            tile the bytes.
        pre_tokens: Start and end of every pre-token (pre-token or special token) in bytes; shape
            (m, 2), int64. They tile the bytes too.
        special: Whether each token is a special token; shape (n,), bool.
        n_replaced: Number of lone surrogates in the text that became U+FFFD; the spans count the
            bytes of the text after that.
    """

    ids: list[int]
    byte_spans: npt.NDArray[np.int64]
    pre_tokens: npt.NDArray[np.int64]
    special: npt.NDArray[np.bool_]
    n_replaced: int = 0


class Tokenizer:
    """Byte-level BPE: text → pre-tokens → tokens, and back without loss.

    Attributes:
        name: A name to show, such as "cl100k_base".
        split_pattern: How text is cut into pre-tokens before any merge.
        special_tokens: Special token text → id.
        specials: The same tokens with what a file says of them, and the search for them in a text.
        source: Where it comes from, in words: the kind of file, and what was guessed.
        lossy: Whether text may be normalized before it is encoded, so that decoding gives another
            text back.
        pattern_doubt: That the split pattern is a guess, in words, where the file does not say it.
        load_report: What was noticed and checked when it was loaded; None if it was made in memory.
        remote: Whether another process encodes: then a call takes as long as that process likes,
            within its limits, and raises `JobError` when it dies.
    """

    source: str = "made in memory"
    lossy: bool = False
    pattern_doubt: str = ""
    load_report: Report | None = None
    remote: bool = False
    ignore_merges: bool = False
    """Whether a pre-token that is a token becomes it whatever the merges make of it."""
    nfc: bool = False
    """Whether text between special tokens is composed (Unicode's NFC) before it is cut."""

    post_processor: PostProcessor = PostProcessor()
    """What `add_special_tokens` adds around a text."""

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
        """Make a tokenizer from a vocabulary and an ordered merge list.

        Args:
            vocab: Token id → bytes. It may hold special tokens too.
            merges: The merges in the order in which they apply.
            special_tokens: Special tokens with their ids; or a list of them, which get the ids
                after the rest unless the vocabulary already holds them; or `SpecialTokens`, which
                say more about them.
            split_pattern: A named split pattern or any regex, which runs in a child process: it
                may take for ever over a few characters. A `SplitPattern` that is not guarded runs
                here.
            ignore_merges: Whether a pre-token that is a token becomes it whatever the merges make
                of it, as with Hugging Face's option of this name.
            name: A name to show.

        Raises:
            VocabularyError: If the vocabulary and the merges do not hold together.
            SpecialTokenError: If a special token is empty or its id is another token's.
            PatternError: If the split pattern is no valid regex. What encodes raises it where a
                step from one pre-token to the next takes too long.
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
        """Whether a call may wait for another process: for one that encodes, or that splits."""
        return self.remote or self.split_pattern.guarded

    @classmethod
    def of(
        cls,
        tables: Tables,
        special_tokens: Mapping[str, int] | SpecialTokens | None = None,
        *,
        split_pattern: str | SplitPattern,
        ignore_merges: bool = False,
        nfc: bool = False,
        name: str = "custom",
    ) -> Tokenizer:
        """Make a tokenizer from tables that are known to hold together.

        Args:
            tables: The tokens, and what merges them.
            special_tokens: Special token text → id.
            split_pattern: A named split pattern or any regex.
            ignore_merges: See `Tokenizer`.
            nfc: Whether text is composed before it is encoded.
            name: A name to show.

        Raises:
            VocabularyError: If a single byte has no rank.
            SpecialTokenError: If a special token is empty or its id is another token's.
            PatternError: If the split pattern is no valid regex.
        """
        lacking = [byte for byte in range(256) if tables.id_of(bytes([byte])) is None]
        if tables.by_ranks and lacking:
            raise VocabularyError(
                f"{len(lacking)} of the 256 single bytes have no token, first 0x{lacking[0]:02x}"
            )
        pattern = get_split_pattern(split_pattern)
        self = cls.__new__(cls)
        self.ignore_merges = ignore_merges
        self.nfc = self.lossy = nfc
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
        """Read GPT-2's `vocab.json` and `merges.txt`, or the forms of them that CS336 asks for.

        Args:
            vocab_path: JSON: token → id, or id → token.
            merges_path: One merge a line, or JSON; see `tokviz.formats.merge_files`.
            special_tokens: See `Tokenizer`. None means none, also where the vocabulary holds text
                like `<|endoftext|>`.
            split_pattern: A named split pattern or any regex; the files hold none.

        Raises:
            InputFileError: If a file cannot be read, or what it holds does not hold together; it
                names the file and the line or key.
            SpecialTokenError: If a special token is empty or its id is another token's.
        """
        read: Callable[..., Tokenizer] = _format_module("vocab_files").from_files
        return read(vocab_path, merges_path, special_tokens, split_pattern)

    def save(self, path: str | PathLike[str], format: str = "huggingface") -> None:
        """Write the tokenizer in a format that other libraries read; see `tokviz.formats.save`.

        A file that is there is replaced in one step. `tokviz.formats.save.what_is_lost` says
        beforehand what the format cannot hold.

        Args:
            path: The file; with "gpt2" the folder for `vocab.json` and `merges.txt`.
            format: "huggingface", "tiktoken", "gpt2" or "minbpe".

        Raises:
            FormatError: If the format cannot hold the tokenizer so that it gives the same ids.
            OutputFileError: If the file cannot be written.
        """
        write: Callable[..., None] = _format_module("save").save
        write(self, path, format)

    def close(self) -> None:
        """Give back what the tokenizer holds beside memory: a process, where it is remote."""

    def with_parts(
        self, split_pattern: SplitPattern, specials: SpecialTokens, *, nfc: bool
    ) -> Tokenizer:
        """Make a tokenizer of the same tokens and merges, and nothing else of this one.

        Args:
            split_pattern: How it cuts text.
            specials: Its special tokens.
            nfc: Whether it composes text before it encodes it.

        Raises:
            SpecialTokenError: If the id of a special token is another token's.
        """
        made = Tokenizer.of(
            self.tables, specials, split_pattern=split_pattern,
            ignore_merges=self.ignore_merges, nfc=nfc, name=self.name,
        )  # fmt: skip
        made._encoder = self._encoder
        return made

    def encoding_by(self, encoder: Any) -> Tokenizer:
        """Make a tokenizer like this one, whose texts are left to another `SegmentEncoder`."""
        made = copy(self)
        made._encoder = encoder
        return made

    def _set(
        self, tables: Tables, specials: SpecialTokens, pattern: SplitPattern, name: str
    ) -> None:
        self.tables = tables
        whole = tables.by_ranks or self.ignore_merges
        self._encoder = SegmentEncoder(tables, whole=whole)
        self.name = name
        self.split_pattern = pattern
        self.specials = specials
        self.special_tokens = special_tokens = specials.ids
        self._special_bytes = {i: text.encode() for text, i in special_tokens.items()}
        for text, token_id in special_tokens.items():
            if not text:
                raise SpecialTokenError(f"the special token with the id {token_id} is empty")
            if (token := tables.token(token_id)) is not None:
                reason = f"its id {token_id} is the token {token!r}"
                raise SpecialTokenError(f"special token {text!r}: {reason}")
        if len(self._special_bytes) < len(special_tokens):
            raise SpecialTokenError("two special tokens have the same id")
        ids = tables.ids()
        last = max(ids[-1] if ids else -1, max(special_tokens.values(), default=-1))
        self.n_vocab = last + 1
        """One more than the largest id: the size of a model's embedding."""

    def __repr__(self) -> str:
        """Say the name and the size."""
        return f"<Tokenizer {self.name}: {self.n_vocab:,} tokens>"

    # -- encoding

    def encode(
        self, text: str, allowed_special: AllowedSpecial = "all", *,
        add_special_tokens: bool = False,
    ) -> list[int]:  # fmt: skip
        """Encode text.

        Args:
            text: Any `str`. Surrogate pairs join and lone surrogates become U+FFFD, as in tiktoken.
            allowed_special: Which special tokens are recognised; the text of the others is plain
                text. Where special tokens overlap, the leftmost wins, then the longest. For
                every tokenizer, whoever encodes, special tokens are also those which a
                `tokenizer.json` adds to its vocabulary without calling them special, such as
                Qwen3's `<think>` and `<tool_call>`; but for white space (GPT-NeoX's runs of
                spaces), which is always recognised.
                "all": All of them.
                "none": None of them: no text gives the id of a special token.
                "huggingface": Those that are not called special, as Hugging Face's library has it
                where special tokens are text (`split_special_tokens`, `encode_special_tokens`).
                A set of texts: These; not where `remote`.
            add_special_tokens: Add the special tokens, such as BOS and EOS, that the
                post-processor of a `tokenizer.json` puts around a text, as Hugging Face's library
                does by default. Other tokenizers add none, as in tiktoken.

        Returns:
            The token ids.

        Raises:
            SpecialTokenError: If tokviz cannot add what the post-processor adds.
        """
        before, after = self.ids_around() if add_special_tokens else ((), ())
        return [*before, *self._encode_any([text], allowed_special)[0], *after]

    def ids_around(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Give the ids before and after a text that `add_special_tokens` adds.

        Raises:
            SpecialTokenError: If tokviz cannot add what the post-processor adds.
        """
        before, after, problem, _ = self.post_processor
        if problem:
            raise SpecialTokenError(f"{self.name}: {problem}: leave out add_special_tokens")
        return before, after

    def encode_bytes(self, data: bytes, allowed_special: AllowedSpecial = "all") -> list[int]:
        """Encode bytes, also such as are not UTF-8: `decode_bytes` gives exactly them back.

        A byte that is not part of valid UTF-8 counts as a symbol for the split pattern.
        """
        return self.encode_to_array(bytetext.from_bytes(data), allowed_special).tolist()

    def encode_byte_text(
        self, text: str, parse_specials: bool | AllowedSpecial = True
    ) -> list[int]:
        """Encode byte text (see `tokviz.text.bytetext`).

        Args:
            text: The text.
            parse_specials: Whether special tokens are recognised, all or none; or which, as
                `encode` takes it for `allowed_special`.
        """
        return self.encode_to_array(text, parse_specials).tolist()

    def encode_with_borders(
        self, text: str, parse_specials: bool | AllowedSpecial = True
    ) -> tuple[array[int], array[int] | None]:
        """Encode byte text and say where its tokens lie.

        Returns:
            The ids, and the n + 1 byte offsets between the tokens; None if every token is as long
            as its bytes, which is true where the text is not changed.
        """
        if not self.changes(text):
            return self.encode_to_array(text, parse_specials), None
        tokenization = self.tokenize_byte_text(text, parse_specials)
        return array("I", tokenization.ids), array(
            "I", [0, *tokenization.byte_spans[:, 1].tolist()]
        )

    def changes(self, text: str) -> bool:
        """Tell whether byte text is composed to another; of a `remote` one that is not known."""
        return self.nfc and not is_nfc(text)

    def normalized(self, text: str, parse_specials: bool | AllowedSpecial = True) -> str:
        """Give the byte text that is encoded in the place of another."""
        if not self.changes(text):
            return text
        found = segments(text, self.specials.search(parse_specials))
        return "".join(part if special else nfc(part) for part, special in found)

    def encode_iterable(
        self, lines: Iterable[str], allowed_special: AllowedSpecial = "all"
    ) -> Iterator[int]:
        """Encode items one by one, lazily; memory is bounded by the longest item.

        Each item is encoded by itself: no pre-token reaches over its end.
        """
        for line in lines:
            yield from self.encode(line, allowed_special)

    def prepare(self, text: str = "") -> None:
        """Do now, perhaps in a thread, what would otherwise delay the first long text, or this."""
        self._encoder.prepare()
        self.specials.search("all")
        if self.split_pattern.unicode_of_tiktoken:
            unicode_classes.prepare(text)

    def encode_to_numpy(
        self, text: str, allowed_special: AllowedSpecial = "all"
    ) -> npt.NDArray[np.uint32]:
        """Do what `encode` does, into an array; shape (n,), uint32."""
        import numpy as np

        return np.frombuffer(self._encode_any([text], allowed_special)[0], np.uint32)

    def encode_batch(
        self, texts: Iterable[str], allowed_special: AllowedSpecial = "all"
    ) -> list[list[int]]:
        """Encode texts, each by itself; many are faster together than one by one."""
        return [ids.tolist() for ids in self._encode_any([*texts], allowed_special)]

    def _encode_any(self, texts: Sequence[str], allowed: AllowedSpecial) -> list[array[int]]:
        """Encode any texts; that one holds surrogates is noticed when bytes are made of it."""
        try:
            return [*self.encode_byte_texts(texts, allowed, str.encode)]
        except UnicodeEncodeError:
            mended = [bytetext.replace_surrogates(text)[0] for text in texts]
            return [*self.encode_byte_texts(mended, allowed)]

    def encode_to_array(
        self, text: str, parse_specials: bool | AllowedSpecial = True
    ) -> array[int]:
        """Do what `encode_byte_text` does, into an array; typecode "I"."""
        (ids,) = self.encode_byte_texts([text], parse_specials)
        return ids

    def encode_byte_texts(
        self,
        texts: Sequence[str],
        allowed: AllowedSpecial | bool,
        to_bytes: ToBytes = bytetext.to_bytes,
    ) -> Iterator[array[int]]:
        """Encode byte texts, each by itself, into arrays; see `encode_byte_text`.

        Raises:
            UnicodeEncodeError: If `to_bytes` raises it.
        """
        stops: list[tuple[int, int | None]] = []
        """Behind how many segments there is which special token; None where a text ends."""

        at = 0

        def plain() -> Iterator[tuple[str, bool]]:
            nonlocal at
            n = 0
            for text in texts:
                at = 0
                for segment, special in self._segments(text, allowed):
                    if special:
                        stops.append((n, self.special_tokens[segment]))
                    else:
                        n += 1
                        yield nfc(segment) if self.nfc else segment, False
                    at += len(segment)
                stops.append((n, None))

        try:
            with self._split_ahead(texts):
                encoded = self._encoder.encode(
                    self.split_pattern, plain(), sum(map(len, texts)), to_bytes=to_bytes
                )
        except PatternError as error:
            raise error.shifted(at) from None
        if len(stops) == 1:
            yield encoded.ids
            return
        ids, start = array("I"), 0
        for n, special_id in stops:
            end = encoded.after[n - 1] if n else 0
            ids.extend(encoded.ids[start:end])
            start = end
            if special_id is None:
                yield ids
                ids = array("I")
            else:
                ids.append(special_id)

    def _split_ahead(self, texts: Sequence[str]) -> AbstractContextManager[None]:
        """Ask a child once for many texts; those that hold special tokens are asked for alone."""
        if len(texts) == 1 or not self.split_pattern.guarded:
            return nullcontext()
        from tokviz.tokenizer.pretokenize.guard import split_ahead

        return split_ahead(self.split_pattern, texts)

    def _segments(self, text: str, allowed: AllowedSpecial | bool) -> Iterator[tuple[str, bool]]:
        """Give the parts of a text, and whether each is a special token."""
        return segments(text, self.specials.search(allowed))

    # -- decoding

    def decode_bytes(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> bytes:
        """Join the bytes of tokens; see `decode`.

        Raises:
            TokenIdError: If an id is not in the vocabulary; it names the id and its position.
        """
        listed = list(ids)
        known = {token_id: self.bytes_of(token_id) for token_id in set(listed)}
        tokens = {token_id: token for token_id, token in known.items() if token is not None}
        if len(tokens) < len(known):
            index = next(index for index, token_id in enumerate(listed) if token_id not in tokens)
            raise TokenIdError(listed[index], self.name, self.n_vocab, index)
        if skip_special_tokens:
            tokens |= dict.fromkeys(self.specials.skipped_ids, b"")
        return b"".join(map(tokens.__getitem__, listed))

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """Join tokens to text; bytes that are not UTF-8 become U+FFFD.

        Args:
            ids: The token ids.
            skip_special_tokens: Leave out special tokens, but not those that a `tokenizer.json`
                adds without calling them special, as Hugging Face's library does.

        Raises:
            TokenIdError: If an id is not in the vocabulary.
        """
        data = self.decode_bytes(ids, skip_special_tokens=skip_special_tokens)
        return data.decode("utf-8", "replace")

    # -- the whole story of a text

    def tokenize(self, text: str, allowed_special: AllowedSpecial = "all") -> Tokenization:
        """Encode text and say where its tokens and pre-tokens lie.

        Args:
            text: Any `str`; see `encode`.
            allowed_special: See `encode`.
        """
        try:
            return self._tokenize(text, allowed_special, to_bytes=str.encode)
        except UnicodeEncodeError:
            mended, n_replaced = bytetext.replace_surrogates(text)
            return self._tokenize(mended, allowed_special, n_replaced)

    def tokenize_byte_text(
        self, text: str, parse_specials: bool | AllowedSpecial = True
    ) -> Tokenization:
        """Do what `tokenize` does, for byte text; see `encode_byte_text`."""
        return self._tokenize(text, parse_specials)

    def split_byte_text(
        self, text: str, parse_specials: bool | AllowedSpecial = True
    ) -> list[tuple[int, int]]:
        """Return the character spans of a text's pre-tokens and special tokens."""
        spans: list[tuple[int, int]] = []
        offset = 0
        for segment, special in self._segments(text, parse_specials):
            if special:
                spans.append((offset, offset + len(segment)))
            else:
                try:
                    ends, at = [0, *self._pre_tokens(segment)], offset
                except PatternError as error:
                    raise error.shifted(offset) from None
                spans.extend((at + start, at + end) for start, end in pairwise(ends))
            offset += len(segment)
        return spans

    def _tokenize(
        self,
        text: str,
        allowed: AllowedSpecial | bool,
        n_replaced: int = 0,
        to_bytes: ToBytes = bytetext.to_bytes,
    ) -> Tokenization:
        import numpy as np

        noted: list[tuple[str, str, bool]] = []
        """The segments as they are, as they are encoded, and whether they are special tokens."""

        def segments() -> Iterator[tuple[str, bool]]:
            for segment, special in self._segments(text, allowed):
                composed = nfc(segment) if self.nfc and not special else segment
                noted.append((segment, composed, special))
                yield composed, special

        try:
            encoded = self._encoder.encode(
                self.split_pattern, segments(), len(text), with_ends=True, to_bytes=to_bytes
            )
        except PatternError as error:
            offset = sum(len(segment) for segment, _, _ in noted[:-1])
            raise error.shifted(offset) from None
        ids = np.frombuffer(encoded.ids, np.uint32)
        token_borders = np.frombuffer(encoded.token_borders, np.int64)
        pre_token_borders = np.frombuffer(encoded.pre_token_borders, np.int64)
        flags = np.zeros(len(ids), dtype=bool)
        special_ids = [self.special_tokens[segment] for segment, _, special in noted if special]
        if special_ids:
            ends = np.cumsum([bytetext.n_bytes(composed) for _, composed, _ in noted])
            ends = ends[[special for _, _, special in noted]]
            places, pre_token_places = (
                np.searchsorted(borders, ends) for borders in (token_borders, pre_token_borders)
            )
            ids, flags = (
                np.insert(of, places - 1, new) for of, new in ((ids, special_ids), (flags, True))
            )
            token_borders = np.insert(token_borders, places, ends)
            pre_token_borders = np.insert(pre_token_borders, pre_token_places, ends)
        if self.changes(text):
            places = _origins(noted)
            token_borders = places[token_borders]
            pre_token_borders = np.unique(places[pre_token_borders])
        spans, pre_tokens = spans_between(token_borders), spans_between(pre_token_borders)
        return Tokenization(ids.tolist(), spans, pre_tokens, flags, n_replaced)

    def _pre_tokens(self, text: str) -> list[int]:
        """Give where the pre-tokens of plain text end, in its characters."""
        ends = split(self.split_pattern, nfc(text) if self.nfc else text).ends
        if not self.changes(text):
            return list(ends)
        places = origins(text, len)
        return sorted({places[end] for end in ends} - {0})

    # -- the vocabulary

    @property
    def by_ranks(self) -> bool:
        """Whether any two neighbours merge whose concatenation has a rank, as in tiktoken."""
        return self.tables.by_ranks

    @cached_property
    def vocab(self) -> dict[int, bytes]:
        """Every token id → bytes, special tokens too."""
        ordinary = zip(self.tables.ids(), self.tables.tokens(), strict=True)
        return dict(ordinary) | self._special_bytes

    @property
    def merges(self) -> list[Merge]:
        """All merges in the order in which they apply; recovered where only ranks are given."""
        return self.tables.merges()

    def token_bytes(self, token_id: int) -> bytes:
        """Give a token's bytes.

        Raises:
            TokenIdError: If the id is not in the vocabulary.
        """
        token = self.bytes_of(token_id)
        if token is None:
            raise TokenIdError(token_id, self.name, self.n_vocab)
        return token

    def token_id(self, token: bytes) -> int | None:
        """Give the id of an ordinary token, None if the vocabulary does not hold it."""
        return self.tables.id_of(token)

    def is_special(self, token_id: int) -> bool:
        """Tell whether an id is a special token's."""
        return token_id in self._special_bytes

    def rank(self, token_id: int) -> int | None:
        """Give the rank of the merge that makes a token; None for special tokens.

        In a rank vocabulary every token has one, the single bytes too: its id. With a merge list it
        is the index of the merge that makes it when its bytes are encoded, and tokens that no merge
        makes have none.
        """
        return None if self.is_special(token_id) else self.tables.rank(token_id)

    def pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Give the rank at which two neighbouring tokens merge, None if they never do."""
        return self.tables.pair_rank(left, right)

    def merge_number(self, token_id: int) -> int | None:
        """Return the number of the merge that makes a token, None if no merge does.

        Merges count from 1 everywhere that people read them: the first one learned is merge 1.
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
        """Give the merge that makes a token, None if no merge does."""
        is_ordinary = self.bytes_of(token_id) is not None and not self.is_special(token_id)
        return self.tables.merge_of(token_id) if is_ordinary else None

    def bytes_of(self, token_id: int) -> bytes | None:
        """Give a token's bytes, None if the id is not in the vocabulary."""
        special = self._special_bytes.get(token_id)
        return self.tables.token(token_id) if special is None else special


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
                f"special token {name!r} holds half a character: no text has it"
            )
    if isinstance(special_tokens, Mapping):
        return SpecialTokens(special_tokens)
    id_of = {token: token_id for token_id, token in vocab.items()}
    next_id = max(vocab, default=-1) + 1
    ids: dict[str, int] = {}
    for name in special_tokens:
        if name in ids:
            raise SpecialTokenError(f"special token {name!r} is listed twice")
        held = id_of.get(name.encode())
        ids[name] = next_id if held is None else held
        next_id += held is None
    return SpecialTokens(ids)


def spans_between(borders: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give start and end of things that lie one behind another; both are one memory."""
    import numpy as np

    spans: npt.NDArray[np.int64] = np.ndarray((len(borders) - 1, 2), np.int64, borders, 0, (8, 8))
    spans.flags.writeable = False
    return spans


def _origins(segments: Iterable[tuple[str, str, bool]]) -> npt.NDArray[np.int64]:
    """Say for every byte offset in the composed text where it is in the text; see `origins`."""
    import numpy as np

    places: list[Sequence[int] | npt.NDArray[np.int64]] = [[0]]
    at = 0
    for segment, composed, _ in segments:
        n = bytetext.n_bytes(segment)
        changed = composed != segment
        ends = origins(segment, bytetext.n_bytes)[1:] if changed else range(1, n + 1)
        places.append(np.asarray(ends, np.int64) + at)
        at += n
    return np.concatenate(places)
