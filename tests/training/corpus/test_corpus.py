"""Every kind of source and file of a corpus, limits, and error messages."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tokviz
from tests.oracles.nasty import byte_texts
from tests.oracles.pre_tokens import documents_of
from tests.pipes import written_to
from tokviz.errors import InputFileError, missing_package
from tokviz.text import bytetext
from tokviz.training.corpus import text_blocks as blocks_module
from tokviz.training.corpus.corpus import Corpus, Source
from tokviz.training.corpus.text_blocks import TextBlock, capped, text_blocks


def texts_of(blocks: Iterable[TextBlock]) -> list[list[bytes]]:
    """Join the texts of blocks: a list of texts for each document."""
    documents: list[list[bytes]] = [[]]
    goes_on = False
    for block in blocks:
        for start, end, ends_document in zip(
            block.starts, block.ends, block.ends_document, strict=True
        ):
            data = block.data[start:end]
            if goes_on:
                documents[-1][-1] += data
            else:
                documents[-1].append(data)
            goes_on = False
            if ends_document:
                documents.append([])
        goes_on = block.is_open
    assert not goes_on
    assert documents.pop() == []
    return documents


def documents(source: Source, **options) -> list[bytes]:
    """Read the documents of a source without special tokens."""
    return [b"".join(texts) for texts in texts_of(Corpus(source, **options).text_blocks())]


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\n<|endoftext|>two\xff")
    expected = [b"\xef\xbb\xbfone\r\n", b"two\xff"]
    assert documents(file) == expected
    assert documents(str(file)) == expected


def test_a_file_larger_than_a_block(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    data = ("日本語 " * 200_000).encode() + b"<|endoftext|>" + b"x" * 1_500_000
    file.write_bytes(data)
    assert documents(file) == data.split(b"<|endoftext|>")


def test_several_files_are_read_in_the_order_given(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("b", "a", "c")]
    for file in files:
        file.write_text(file.name)
    assert documents(files) == [b"b", b"a", b"c"]
    assert documents([str(file) for file in files]) == [b"b", b"a", b"c"]
    assert documents(iter(files)) == [b"b", b"a", b"c"]


def test_a_folder_gives_its_files_by_name_but_no_hidden_ones(tmp_path: Path) -> None:
    for name in ("b/2", "b/10", "a", ".hidden", ".git/config", "b/.x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert documents(tmp_path) == [b"a", b"b/10", b"b/2"]


def test_a_folder_gives_no_programs_pictures_and_pipes(tmp_path: Path) -> None:
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "a.log")
    (tmp_path / "a.txt").write_text("words")
    (tmp_path / "a.pyc").write_bytes(b"\xa7\r\r\n\0\0\0\0")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"packed"))
    assert documents(tmp_path) == [b"words", b"packed"]
    assert documents(tmp_path / "a.pyc") == [b"\xa7\r\r\n\0\0\0\0"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("a.txt", "b/c.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "hard.txt").hardlink_to(tmp_path / "a.txt")
    (tmp_path / "soft.txt").symlink_to(tmp_path / "a.txt")
    (tmp_path / "copy.txt").write_text("a.txt")
    sources = [tmp_path, tmp_path / "*.txt", tmp_path / "b" / ".." / "b" / "c.txt"]
    assert documents(sources) == [b"a.txt", b"a.txt", b"b/c.txt"], "a copy is another file"


def test_a_dangling_link_is_left_out_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    (tmp_path / "b.txt").symlink_to(tmp_path / "gone.txt")
    corpus = Corpus(tmp_path)
    assert corpus.files == (str(tmp_path / "a.txt"),)
    assert corpus.left_out == [str(tmp_path / "b.txt")]
    with pytest.raises(InputFileError, match=r"b\.txt: there is no such file"):
        Corpus(tmp_path / "b.txt")


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_file_that_is_truncated_while_it_is_read_is_an_error(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(b'{"text": "words"}\n' * 200_000)
    blocks = Corpus([file, tmp_path / name]).text_blocks()
    next(blocks)
    os.truncate(file, 2_700_000)
    left = "was truncated while it was read: 2,700,000 of 3,600,000 bytes are left"
    with pytest.raises(InputFileError, match=f"{name}: {left}"):
        list(blocks)


def test_a_pattern_of_names(tmp_path: Path) -> None:
    for name in ("x/b.txt", "a.txt", "a.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert documents(str(tmp_path / "**" / "*.txt")) == [b"a.txt", b"x/b.txt"]
    assert documents([str(tmp_path / "*.md"), str(tmp_path / "x")]) == [b"a.md", b"x/b.txt"]


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    file = tmp_path / "a[1].txt"
    file.write_text("x")
    assert documents(str(file)) == [b"x"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\r\n\xff<|endoftext|>b")))
    corpus = Corpus("-")
    assert corpus.n_bytes_total is None
    assert texts_of(corpus.text_blocks()) == [[b"a\r\n\xff"], [b"b"]]
    assert corpus.n_bytes_read == 18


def test_texts_from_python() -> None:
    assert documents(["ab", "é<|endoftext|>x", "a\ud800"]) == [
        b"ab", b"\xc3\xa9", b"x", b"a\xef\xbf\xbd",
    ]  # fmt: skip
    assert documents(text for text in ["a", "b"]) == [b"a", b"b"]
    assert documents([]) == []


def test_words_that_name_folders_are_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a").write_text("inside")
    monkeypatch.chdir(tmp_path)
    assert documents(["docs", "tests", "[a-z]*?"]) == [b"docs", b"tests", b"[a-z]*?"]
    assert documents(["docs"]) == [b"inside"]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="not int"):
        documents(iter(["a", 1]))


def test_an_open_corpus_is_taken_as_it_is() -> None:
    corpus = Corpus(["ab ab"])
    assert tokviz.train(corpus, 257).tokenizer.merges == [(b"a", b"b")]
    assert corpus.n_bytes_read == 5


def jsonl(records: Iterable[object]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    records = [{"text": "é\r\n"}, {"text": None, "id": 1}, {"text": "a<|endoftext|>b"}]
    file.write_bytes(jsonl(records) + b'\n \n{"text": "raw \xff\\u00e9"}\n{"text": "\\ud800"}')
    expected = ["é\r\n".encode(), b"", b"a", b"b", b"raw \xff\xc3\xa9", b"\xef\xbf\xbd"]
    assert documents(file) == expected


def test_another_field(tmp_path: Path) -> None:
    file = tmp_path / "a.ndjson"
    file.write_bytes(jsonl([{"text": "a", "content": "b"}]))
    assert documents(file, field="content") == [b"b"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": ', "line 2 is not JSON: it is cut off here, or a bracket is not closed"),
        ('{"text": ' + "9" * 5_000 + "}", "line 2: a number has too many digits"),
        (
            '{"content": "a", "id": 1}',
            "line 2 has no field 'text'; its fields are 'content', 'id': "
            "choose one with --field (in the app: Field, column)",
        ),
        ("{}", "line 2 has no field 'text'; it is empty"),
        ("[1]", "line 2 has no field 'text'; it is not an object"),
        ('{"text": 5}', "line 2: the field 'text' is not text"),
        ("[" * 100_000, "line 2: this JSON nests too deeply"),
        pytest.param(
            f"[{'0,' * 8_000_000}0]",
            "line 2: more than 8,000,000 values in one JSON text",
            id="many values",
        ),
    ],
)
def test_a_broken_line_is_named(line: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(f'{{"text": "fine"}}\n{line}\n')
    with pytest.raises(InputFileError) as caught:
        documents(file)
    assert str(caught.value).startswith(f"{file}: {reason}")


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "a.parquet"
    texts = [f"text {n} é" for n in range(1000)] + [None, ""]
    parquet.write_table(pyarrow.table({"text": texts, "n": range(1002)}), file)
    corpus = Corpus(file)
    expected = [[(text or "").encode()] for text in texts]
    assert texts_of(corpus.text_blocks()) == expected
    assert corpus.n_bytes_read == corpus.n_bytes_total == file.stat().st_size
    with pytest.raises(InputFileError, match="no column 'body'; its columns are 'text', 'n'"):
        documents(file, field="body")
    with pytest.raises(InputFileError, match="its column 'n' is not text"):
        documents(file, field="n")
    file.write_bytes(b"PAR1 and then something else")
    with pytest.raises(InputFileError, match="not a readable Parquet file"):
        documents(file)


def test_a_package_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, package in (("a.parquet", "pyarrow"), ("a.zst", "zstandard")):
        monkeypatch.setitem(sys.modules, package, None)
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(InputFileError, match=re.escape(missing_package(package))):
            documents(tmp_path / name)


def zstd(data: bytes) -> bytes:
    compressed: bytes = pytest.importorskip("zstandard").compress(data)
    return compressed


@pytest.mark.parametrize(("ending", "compress"), [(".gz", gzip.compress), (".zst", zstd)])
def test_few_bytes_that_hold_very_many_take_little_memory(
    ending: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    file = tmp_path / f"zeros.txt{ending}"
    file.write_bytes(compress(bytes(1 << 27)))
    tracemalloc.start()
    try:
        n_bytes = sum(block.n_bytes for block in Corpus(file).text_blocks())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert n_bytes == 1 << 27
    assert peak < 100_000_000


@pytest.mark.parametrize(("ending", "compress"), [(".gz", gzip.compress), (".zst", zstd)])
def test_compressed_files(ending: str, compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    data = os.urandom(1000) * 2000
    plain, lines, twice = (tmp_path / (name + ending) for name in ("a", "b.jsonl", "c.txt"))
    plain.write_bytes(compress(data))
    lines.write_bytes(compress(jsonl([{"text": "x"}, {"text": "y"}])))
    twice.write_bytes(compress(b"one ") + compress(b"two"))
    corpus = Corpus(plain)
    assert texts_of(corpus.text_blocks()) == [[data]]
    assert corpus.n_bytes_read == corpus.n_bytes_total == plain.stat().st_size
    assert documents(lines) == [b"x", b"y"]
    assert documents(twice) == [b"one two"]


@pytest.mark.parametrize(("ending", "compress"), [(".gz", gzip.compress), (".zst", zstd)])
@pytest.mark.parametrize("damage", ["cut off", "other bytes", "no such format"])
def test_damaged_compressed_files(
    ending: str, damage: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    file = tmp_path / ("a" + ending)
    data = bytearray(compress(os.urandom(5000) + b"text " * 1000))
    if damage == "cut off":
        del data[3000:]
    elif damage == "other bytes":
        data[:1] = b"\0"
    else:
        data[:] = b"plain text"
    file.write_bytes(data)
    with pytest.raises(InputFileError) as caught:
        documents(file)
    assert caught.value.path == str(file)


def test_missing_files_are_named_before_anything_is_read(tmp_path: Path) -> None:
    there, missing = tmp_path / "a", tmp_path / "b"
    there.write_text("x")
    for source in ([there, missing], [str(there), str(missing)], missing, str(missing)):
        with pytest.raises(InputFileError, match="b: there is no such file"):
            Corpus(source)


def test_a_list_of_names_without_any_file_is_no_list_of_texts() -> None:
    with pytest.raises(InputFileError, match=r"one\.txt: there is no such file"):
        Corpus(["one.txt", "two.jsonl"])
    assert documents(["one.txt", "see two.txt"]) == [b"one.txt", b"see two.txt"]
    assert documents(iter(["one.txt"])) == [b"one.txt"]


@pytest.mark.parametrize(
    ("name", "reason"), [("*.txt", "matches no file"), ("", "holds no text file")]
)
def test_sources_without_any_file(name: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=reason):
        Corpus(os.path.join(tmp_path, name))


def test_a_file_that_vanishes_is_named(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    for file in files:
        file.write_text("x")
    corpus = Corpus(files)
    files[1].unlink()
    with pytest.raises(InputFileError, match="b: there is no such file"):
        texts_of(corpus.text_blocks())


def test_the_size_and_what_has_been_read(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    for file in files:
        file.write_bytes(b"some text " * 10)
    corpus = Corpus(files)
    assert (corpus.n_bytes_total, corpus.n_bytes_read) == (200, 0)
    texts_of(corpus.text_blocks())
    assert corpus.n_bytes_read == 200


def test_what_has_been_read_grows_while_it_is_read(tmp_path: Path) -> None:
    """Progress is the position on the disk, also in compressed files, added up over files."""
    data = bytes(range(32, 127)) * 40_000
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(os.urandom(len(data))))
    corpus = Corpus([plain, packed])
    size = plain.stat().st_size
    positions = [corpus.n_bytes_read for _ in corpus.text_blocks()]
    assert positions == sorted(positions)
    assert len({position for position in positions if 0 < position < size}) > 3
    assert len({position for position in positions if position > size}) > 3
    assert corpus.n_bytes_read == corpus.n_bytes_total


def test_a_named_pipe_has_no_size(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    corpus = Corpus(pipe)
    assert corpus.n_bytes_total is None
    writer = threading.Thread(target=pipe.write_bytes, args=[b"some text"])
    writer.start()
    assert texts_of(corpus.text_blocks()) == [[b"some text"]]
    writer.join()


def test_a_device_is_refused_before_it_takes_all_memory() -> None:
    with pytest.raises(InputFileError, match="/dev/zero: is a device"):
        Corpus("/dev/zero")


@pytest.mark.parametrize("name", ["pipe.jsonl", "pipe.ndjson", "packed.jsonl.gz"])
def test_a_row_that_never_ends_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokviz.training.corpus.readers.MAX_FILE_BYTES", 200_000)
    data = b'{"text": "one"}\n{"text": "' + b"x" * 2_000_000
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(data))
        pipe = nullcontext()
    else:
        pipe = written_to(tmp_path / name, data)
    with (
        pipe,
        pytest.raises(InputFileError, match="line 2: a row has 200,000 bytes at most"),
    ):
        documents(tmp_path / name)


def test_caps_are_those_of_nanochat() -> None:
    """The document that exceeds the total is the last one, and whole."""
    source = ["aaaa", "bbbb", "cccc", "dddd"]
    assert documents(source, max_chars=8) == [b"aaaa", b"bbbb", b"cccc"]
    assert documents(source, max_chars=7) == [b"aaaa", b"bbbb"]
    assert documents(source, max_doc_chars=3) == [b"aaa", b"bbb", b"ccc", b"ddd"]
    assert documents(source, max_chars=7, max_doc_chars=3) == [b"aaa", b"bbb", b"ccc"]
    assert documents(["éüöä", "日\ud800本語"], max_doc_chars=3) == [
        "éüö".encode(), "日\ufffd本".encode(),
    ]  # fmt: skip


def test_a_document_without_an_end_is_capped_by_the_total(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"ab" * 3_000_000)
    corpus = Corpus(file, max_chars=1001)
    assert texts_of(corpus.text_blocks()) == [[b"ab" * 500 + b"a"]]
    assert corpus.n_bytes_read < 3_000_000


@given(
    parts=st.lists(byte_texts, max_size=5),
    max_chars=st.one_of(st.none(), st.integers(1, 60)),
    max_doc_chars=st.one_of(st.none(), st.integers(1, 30)),
    size=st.sampled_from([1, 3, 20, 1000]),
    block_bytes=st.sampled_from([1, 10, 1000]),
)
def test_caps_in_any_blocks(
    parts: list[str], max_chars: int | None, max_doc_chars: int | None, size: int, block_bytes: int
) -> None:
    parts = [bytetext.from_bytes(bytetext.to_bytes(part)) for part in parts]
    expected: list[str] = []
    total = 0
    cap = min(max_chars or 10**9, max_doc_chars or 10**9)
    for part in documents_of(parts, "'s"):
        kept = part[:cap]
        total += len(kept)
        expected.append(kept)
        if max_chars and (total > max_chars or (total == max_chars and len(kept) < len(part))):
            break

    def chunks():
        for part in parts:
            data = bytetext.to_bytes(part)
            yield from ((data[i : i + size], False) for i in range(0, len(data), size))
            yield b"", True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "BLOCK_BYTES", block_bytes)
        blocks = capped(text_blocks(chunks(), [], b"'s"), max_chars, max_doc_chars)
        found = [b"".join(texts) for texts in texts_of(blocks)]
    assert found == [bytetext.to_bytes(text) for text in expected]


@pytest.mark.parametrize("option", ["max_chars", "max_doc_chars"])
def test_a_cap_that_leaves_nothing_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match="a cap of 0 characters"):
        Corpus(["a"], **{option: 0})


def test_an_open_text_ends_between_characters() -> None:
    text = "añ日😀" * 20
    data = text.encode()
    for size in range(1, 9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks_module, "BLOCK_BYTES", 1)
            chunks = [(data[i : i + size], False) for i in range(0, len(data), size)]
            blocks = list(text_blocks([*chunks, (b"", True)], [b"<|x|>"], b""))
        for block in blocks:
            block.data[: block.ends[-1]].decode()
        assert texts_of(blocks) == [[data]]


@example(["<<"], "<<<", 200, 1000)
@given(
    st.sampled_from(
        [["<|a|>"], ["<|a", "<|a|>"], ["<<"], ["\n\n", "\n"], ["<<", "<|a"], ["a<", "<"]]
    ),
    st.lists(st.sampled_from(["<|a|>", "<|a", "<", "|", "a", "\n", "x"]), max_size=30).map("".join),
    st.sampled_from([1, 3, 200]),
    st.sampled_from([1, 7, 1000]),
)
def test_cuts_are_those_of_the_regex_of_all(
    cuts: list[str], text: str, most_firsts: int, size: int
) -> None:
    data = text.encode()
    chunks = [(data[i : i + size], False) for i in range(0, len(data), size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "BLOCK_BYTES", 1)
        patch.setattr(blocks_module, "MOST_FIRSTS", most_firsts)
        found = texts_of(text_blocks([*chunks, (b"", True)], map(str.encode, cuts), b""))
    longest_first = sorted(set(cuts), key=len, reverse=True)
    assert found == [
        [part.encode() for part in re.split("|".join(map(re.escape, longest_first)), text)]
    ]
