"""Counting pre-tokens equals a dict over the regex's pre-tokens, for any blocks of the corpus."""

from __future__ import annotations

import gzip
import sys
import threading
from array import array
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.nasty import FRAGMENTS, byte_texts, texts
from tests.oracles.pre_tokens import counted, documents_of
from tests.pipes import written_to
from tests.profiles import examples
from tokviz.errors import InputFileError, PatternError, SpecialTokenError
from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize import scan_table
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, get_split_pattern
from tokviz.tokenizer.pretokenize.scan import Scanner, scanner_of
from tokviz.training import (
    compiled_counter,
    counting,
    counting_kernels,
    plain_counter,
    pre_token_table,
)
from tokviz.training.compiled_counter import CompiledCounter
from tokviz.training.corpus import readers, text_blocks
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.corpus.text_blocks import TextBlock
from tokviz.training.counting import CountProgress, count_pre_tokens
from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.pre_token_table import PreTokenTable

NAMES = list(SPLIT_PATTERNS)
SPECIALS = ["<|im_start|>", "<|endoftext|><|endoftext|>", "text|>a", "'s"]
BOTH = pytest.mark.parametrize("engine", ["plain", "compiled"])


def use(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = sys.maxsize if engine == "plain" else -1
    monkeypatch.setattr(counting, "SMALL_CORPUS_BYTES", limit)


def both_engines(corpus_of, pattern, specials=(), *, block_bytes=text_blocks.BLOCK_BYTES):
    """Count with both engines, check that they agree, and return the result."""
    results = []
    for engine in ("plain", "compiled"):
        with pytest.MonkeyPatch.context() as patch:
            use(engine, patch)
            patch.setattr(text_blocks, "BLOCK_BYTES", block_bytes)
            results.append(count_pre_tokens(corpus_of(), pattern, specials))
    plain, compiled = results
    assert list(plain.pre_tokens()) == list(compiled.pre_tokens())
    for name in ("n_bytes", "n_chars", "n_invalid", "n_documents", "complete"):
        assert getattr(plain, name) == getattr(compiled, name), name
    for name in ("data", "offsets", "counts"):
        assert getattr(plain, name).dtype == getattr(compiled, name).dtype
        assert getattr(plain, name).tolist() == getattr(compiled, name).tolist()
    return compiled


class Chunks(Corpus):
    """A corpus of byte texts that arrive in chunks of any size."""

    def __init__(self, documents: list[str], size: int, **options: str | int) -> None:
        super().__init__((), **options)
        self._documents = [bytetext.to_bytes(document) for document in documents]
        self._size = size

    def _chunks_of_texts(self) -> Iterator[tuple[bytes, bool]]:
        for document in self._documents:
            for start in range(0, len(document), self._size):
                yield document[start : start + self._size], False
            yield b"", True


@pytest.mark.parametrize("name", NAMES)
@given(
    documents=st.lists(st.one_of(texts, byte_texts), max_size=4),
    specials=st.lists(st.sampled_from(SPECIALS), unique=True),
    delimiter=st.sampled_from(["<|endoftext|>", "", "\n\n", "é"]),
    size=st.sampled_from([1, 2, 3, 7, 50, 10_000]),
    block_bytes=st.sampled_from([1, 5, 40, 10_000]),
)
def test_counts_equal_a_dict(
    name: str,
    documents: list[str],
    specials: list[str],
    delimiter: str,
    size: int,
    block_bytes: int,
) -> None:
    documents = [bytetext.from_bytes(bytetext.to_bytes(document)) for document in documents]
    pattern = SPLIT_PATTERNS[name]

    def corpus() -> Corpus:
        return Chunks(documents, size, delimiter=delimiter)

    result = both_engines(corpus, pattern, specials, block_bytes=block_bytes)
    cuts = [*specials, delimiter] if delimiter else specials
    expected = counted(documents, pattern, cuts)
    assert list(result.pre_tokens()) == list(expected.items())
    assert result.n_bytes == sum(len(pre_token) * n for pre_token, n in expected.items())
    as_text = [(bytetext.from_bytes(pre_token), n) for pre_token, n in expected.items()]
    assert result.n_chars == sum(len(pre_token) * n for pre_token, n in as_text)
    assert result.n_invalid == sum(bytetext.n_raw_bytes(pre_token) * n for pre_token, n in as_text)


@pytest.mark.parametrize("regex", [r"\w+", r"(a)|(b)", r"[a-z]*|\s", r"\p{L}+| ?\p{N}", r"(?=x)"])
@given(documents=st.lists(byte_texts, max_size=3), block_bytes=st.sampled_from([3, 40, 10_000]))
def test_a_custom_regex_counts_as_split_cuts(
    regex: str, documents: list[str], block_bytes: int
) -> None:
    pattern = get_split_pattern(regex, guarded=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_counter, "MATCHES_AT_ONCE", block_bytes % 7)  # some, or a few
        patch.setattr(plain_counter, "CHARS_AT_ONCE", block_bytes % 9)
        patch.setattr(text_blocks, "BLOCK_BYTES", block_bytes)
        result = count_pre_tokens(Chunks(documents, 5, delimiter="'s"), pattern, ["<|im_start|>"])
    expected = counted(documents, pattern, ["'s", "<|im_start|>"])
    assert list(result.pre_tokens()) == list(expected.items())


@pytest.mark.parametrize("name", NAMES)
def test_every_size_of_block_gives_the_same_counts(name: str) -> None:
    text = (
        "".join(FRAGMENTS) + "<|endoftext|>" + "HTMLのa'LL" * 3 + "  \n\n  \udcff\udce4'" + " " * 9
    )
    pattern = SPLIT_PATTERNS[name]
    expected = list(
        counted(documents_of([text], "<|endoftext|>"), pattern, ["<|im_start|>"]).items()
    )
    for size in range(1, 60):
        with pytest.MonkeyPatch.context() as patch:
            use("compiled", patch)
            patch.setattr(text_blocks, "BLOCK_BYTES", 1)
            result = count_pre_tokens(Chunks([text], size), pattern, ["<|im_start|>"])
        assert list(result.pre_tokens()) == expected


@BOTH
def test_specials_are_cut_out_and_nothing_crosses_them(engine: str, monkeypatch) -> None:
    use(engine, monkeypatch)
    corpus = Corpus(["ab<|x|>ab<|x|><|x|>cd", "<|x|>"], delimiter=None)
    result = count_pre_tokens(corpus, SPLIT_PATTERNS["gpt2"], ["<|x|>", "<|x|><|x|>c"])
    assert list(result.pre_tokens()) == [(b"ab", 2), (b"d", 1)]
    assert result.n_documents == 1


@BOTH
def test_a_special_token_does_not_cross_documents(engine: str, monkeypatch) -> None:
    use(engine, monkeypatch)
    result = count_pre_tokens(Corpus(["a<|", "x|>b"]), SPLIT_PATTERNS["none"], ["<|x|>"])
    assert list(result.pre_tokens()) == [(b"a<|", 1), (b"x|>b", 1)]


@BOTH
def test_line_ends_stay_as_they_are(engine: str, monkeypatch, tmp_path: Path) -> None:
    use(engine, monkeypatch)
    file = tmp_path / "a.txt"
    file.write_bytes(b"a\r\nb\rc\n")
    result = count_pre_tokens(Corpus(file), SPLIT_PATTERNS["gpt4"])
    assert list(result.pre_tokens()) == [
        (b"a", 1), (b"\r\n", 1), (b"b", 1), (b"\r", 1), (b"c", 1), (b"\n", 1),
    ]  # fmt: skip


@BOTH
def test_bytes_that_are_not_utf8_are_counted_and_kept(engine: str, monkeypatch, tmp_path) -> None:
    use(engine, monkeypatch)
    file = tmp_path / "a.txt"
    file.write_bytes(b"caf\xe9 \xff\xff caf\xe9 \xe4\xb8\x96")
    result = count_pre_tokens(Corpus(file), SPLIT_PATTERNS["gpt2"])
    assert dict(result.pre_tokens())[b"\xe9"] == 2
    assert (result.n_invalid, result.n_bytes, result.n_chars) == (4, 16, 14)


@BOTH
@pytest.mark.parametrize("source", [[], ["", ""], ["<|endoftext|>"]])
def test_an_empty_corpus_has_no_pre_tokens(engine: str, source: list[str], monkeypatch) -> None:
    use(engine, monkeypatch)
    result = count_pre_tokens(Corpus(source), SPLIT_PATTERNS["gpt4"])
    assert (len(result), result.offsets.tolist(), result.n_documents) == (0, [0], 0)


def test_documents_without_text_are_not_counted() -> None:
    source = ["<|endoftext|>a<|endoftext|><|endoftext|>b", "", "c<|endoftext|>"]
    result = both_engines(lambda: Corpus(source), SPLIT_PATTERNS["gpt4"])
    assert result.n_documents == 3


@BOTH
def test_an_empty_special_token_is_refused(engine: str, monkeypatch) -> None:
    use(engine, monkeypatch)
    with pytest.raises(SpecialTokenError, match="empty"):
        count_pre_tokens(Corpus(["a"]), SPLIT_PATTERNS["gpt4"], ["<|x|>", ""])


@BOTH
def test_an_unreadable_file_in_the_middle_is_named(engine: str, monkeypatch, tmp_path) -> None:
    use(engine, monkeypatch)
    files = [tmp_path / name for name in ("a.txt", "b.txt.gz", "c.txt")]
    for file in files:
        file.write_bytes(b"some text")
    with pytest.raises(InputFileError, match=r"b\.txt\.gz"):
        count_pre_tokens(Corpus(files), SPLIT_PATTERNS["gpt4"])


def test_a_regex_that_fails_on_a_text_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        groups = 0
        pattern = "(?:a|b)"

        def findall(self, text: str) -> list[str]:
            raise MemoryError

        def finditer(self, text: str, start: int) -> Iterator[object]:
            yield from self.findall(text)

    monkeypatch.setattr("tokviz.tokenizer.pretokenize.patterns.compiled_regex", lambda _: Failing())
    with pytest.raises(
        PatternError, match="memory for one pre-token at character 0 of the text, 'ab'"
    ):
        count_pre_tokens(Corpus(["ab"]), get_split_pattern(Failing.pattern, guarded=False))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Write a file that is read in many blocks, with a report for each."""
    use("compiled", monkeypatch)
    monkeypatch.setattr(counting, "SECONDS_BETWEEN_REPORTS", -1.0)
    monkeypatch.setattr(readers, "FIRST_READ", 100)
    monkeypatch.setattr(readers, "BLOCK_BYTES", 100)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 100)
    file = tmp_path / "a.txt"
    file.write_text("one two three<|endoftext|>" * 200)
    return file


@pytest.mark.parametrize("pattern", ["gpt4", "none", r"\w+"])
def test_progress_is_reported(pattern: str, small_blocks: Path) -> None:
    seen: list[CountProgress] = []
    size = small_blocks.stat().st_size
    whole = count_pre_tokens(
        Corpus(small_blocks), get_split_pattern(pattern), on_progress=seen.append
    )
    assert whole.complete
    assert seen[-1] == CountProgress(size, size, len(whole))
    assert [report.n_unique for report in seen] == sorted(report.n_unique for report in seen)


@pytest.mark.parametrize("pattern", ["gpt4", "none"])
def test_stopping_keeps_what_is_counted(pattern: str, small_blocks: Path) -> None:
    seen: list[CountProgress] = []
    part = count_pre_tokens(
        Corpus(small_blocks),
        get_split_pattern(pattern),
        on_progress=seen.append,
        should_stop=lambda: any(report.n_unique for report in seen),
    )
    assert not part.complete
    assert 0 < part.n_bytes < 200 * len("one two three<|endoftext|>")


def counter_of(name: str) -> CompiledCounter:
    """Make a counter that counts in this thread."""
    scanner = scanner_of(SPLIT_PATTERNS[name])
    assert scanner is not None
    return CompiledCounter(scanner, n_threads=0)


@pytest.fixture
def tiny_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pre_token_table, "FIRST_SLOTS", 2)
    monkeypatch.setattr(pre_token_table, "FIRST_DATA_BYTES", 1)


def no_tick(_: int) -> bool:
    return False


def result_of(counter: CompiledCounter) -> PreTokenCounts:
    counter.finish(no_tick)
    return counter.result(1, True)


@pytest.mark.usefixtures("tiny_tables")
def test_the_hash_table_grows() -> None:
    words = [f"{n * n:x}{'y' * (n % 20)}" for n in range(20_000)]
    data = " ".join([*words, *reversed(words)]).encode()
    counter = counter_of("whitespace")
    counter.add(TextBlock(data, [0], [len(data)], [True]), no_tick)
    counts = dict(result_of(counter).pre_tokens())
    assert counts.pop(b" ") == 2 * len(words) - 1
    assert counts == {word.encode(): 2 for word in words}


@pytest.mark.usefixtures("tiny_tables")
def test_pre_tokens_with_the_same_hash_are_told_apart() -> None:
    """Long pre-tokens of different lengths and bytes in a table that is as full as possible."""
    words = [b"a" * n for n in range(1, 40)] + [b"\0" * n for n in range(1, 40)]
    words += [b"12345678" + bytes([65 + n]) + b"87654321" for n in range(26)]
    data = b" ".join(words + words)
    counter = counter_of("whitespace")
    counter.add(TextBlock(data, [0], [len(data)], [True]), no_tick)
    counts = dict(result_of(counter).pre_tokens())
    del counts[b" "]
    assert counts == dict.fromkeys(words, 2)


def test_a_pre_token_much_longer_than_a_block_is_scanned_a_few_times_only(monkeypatch) -> None:
    counter = counter_of("gpt4")
    n_scanned = 0
    last_cut = Scanner.last_cut

    def counting_bytes(scanner: Scanner, data: bytes, start: int, end: int) -> int:
        nonlocal n_scanned
        n_scanned += end - start
        return last_cut(scanner, data, start, end)

    monkeypatch.setattr(Scanner, "last_cut", counting_bytes)
    for _ in range(999):
        counter.add(TextBlock(b"a" * 100, [0], [100], [False], is_open=True), no_tick)
    counter.add(TextBlock(b"a" * 100 + b" b", [0], [102], [True]), no_tick)
    assert list(result_of(counter).pre_tokens()) == [(b"a" * 100_000, 1), (b" b", 1)]
    assert 100_000 < n_scanned < 400_000


@pytest.mark.parametrize("name", ["pipe", "packed.gz"])
@pytest.mark.parametrize(
    ("pattern", "text"),
    [("gpt4", b"x"), ("none", b"a line\n"), (r"\w+|\W", b"a line\n")],
)
def test_what_may_never_end_is_refused_before_it_takes_all_memory(
    name: str, pattern: str, text: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endless pre-token, or a text that a regex needs as a whole."""
    for limit in ("SMALL_CORPUS_BYTES", "SMALL_FOR_PROCESSES"):
        monkeypatch.setattr(counting, limit, 100_000)
    monkeypatch.setattr(counting, "MAX_FILE_BYTES", 1_000_000)
    endless, split = text * (3_000_000 // len(text)), get_split_pattern(pattern)
    path = tmp_path / name
    with _given(path, endless), pytest.raises(InputFileError, match="more than 1,000,000 bytes"):
        count_pre_tokens(Corpus(path), split)
    cut = (text * (300_000 // len(text)) + b"<|endoftext|>") * 10
    path = tmp_path / f"cut.{name}"
    with _given(path, cut):
        assert count_pre_tokens(Corpus(path), split).n_documents == 10
    plain = tmp_path / "plain.txt"
    plain.write_bytes(endless)
    assert count_pre_tokens(Corpus(plain), split).n_bytes == len(endless)


def _given(path: Path, data: bytes) -> AbstractContextManager[object]:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data))
        return nullcontext()
    return written_to(path, data)


def in_blocks(text: str, block_bytes: int) -> list[TextBlock]:
    data = bytetext.to_bytes(text)
    chunks = [(data[at : at + 9], False) for at in range(0, len(data), 9)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", block_bytes)
        return list(text_blocks.text_blocks([*chunks, (b"", True)], [], b""))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("name", ["gpt2", "gpt4", "gpt4o", "whitespace", "none"])
@given(
    documents=st.lists(st.one_of(texts, byte_texts), max_size=5),
    block_bytes=st.sampled_from([5, 40, 200]),
)
@examples(25)
def test_threads_give_what_one_gives(
    n_threads: int, name: str, documents: list[str], block_bytes: int
) -> None:
    text = " and then ".join([*documents, "some words", *documents])
    results = []
    for n in (0, n_threads):
        scanner = scanner_of(SPLIT_PATTERNS[name])
        assert scanner is not None
        counter = CompiledCounter(scanner, n_threads=n)
        for block in in_blocks(text, block_bytes):
            counter.add(block, no_tick)
        results.append(list(result_of(counter).pre_tokens()))
    assert results[0] == results[1]


def test_an_error_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise MemoryError("no room")

    use("compiled", monkeypatch)
    monkeypatch.setattr(compiled_counter, "n_processors", lambda: 2)
    monkeypatch.setattr(PreTokenTable, "count", fail)
    before = threading.active_count()
    with pytest.raises(MemoryError, match="no room"):
        count_pre_tokens(Corpus(["some text"] * 9), SPLIT_PATTERNS["gpt4"])
    assert threading.active_count() == before


def test_no_thread_survives_a_file_that_cannot_be_read(monkeypatch, tmp_path: Path) -> None:
    use("compiled", monkeypatch)
    monkeypatch.setattr(compiled_counter, "n_processors", lambda: 2)
    good, bad = tmp_path / "a.txt", tmp_path / "b.gz"
    good.write_bytes(b"some text\n" * 100_000)
    bad.write_bytes(b"no gzip")
    before = threading.active_count()
    with pytest.raises(InputFileError):
        count_pre_tokens(Corpus([good, bad]), SPLIT_PATTERNS["gpt4"])
    assert threading.active_count() == before


def test_characters_are_told_from_bytes_that_are_not_utf8() -> None:
    """Including overlong forms, surrogates, too large code points and truncated characters."""
    borders = bytes.fromhex("41 7f 80 8f 90 9f a0 bf c1 c2 df e0 e1 ed ef f0 f3 f4 f5 ff")
    for first in borders:
        parts = [bytes([first, *rest]) for n in range(4) for rest in product(borders, repeat=n)]
        offsets = array("q", accumulate(map(len, parts), initial=0))
        counts, sums = array("q", [1] * len(parts)), array("q", [0, 0, 0])
        table, lengths = scan_table.scan_table(), array("q", counts)
        n = counting_kernels.measure(
            b"".join(parts), offsets, counts, len(parts), table, lengths, sums
        )
        assert list(lengths) == list(map(len, parts))
        texts = [bytetext.from_bytes(part) for part in parts]
        assert n == sum(map(len, parts))
        expected = [sum(map(len, texts)), sum(map(bytetext.n_raw_bytes, texts)), len(parts)]
        assert list(sums) == expected, hex(first)
