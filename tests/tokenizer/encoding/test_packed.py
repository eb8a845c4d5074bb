from __future__ import annotations

import re
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.formats.packing import from_tiktoken, to_tiktoken
from tokviz.errors import InputFileError, VocabularyError
from tokviz.formats.tiktoken import digest
from tokviz.storage.assets import asset_path
from tokviz.tokenizer.encoding.packed import PackedRanks, pack, pack_merges, pack_trained

_ROW = re.compile(r"(?m)^\| ([\w.-]+)\.ranks \|.*\| ([\d,]+) \| (\w{64}) \|$")
PUBLISHED = _ROW.findall(asset_path("vocab/README.md").read_text("utf-8"))


@pytest.mark.parametrize(("name", "size", "checksum"), PUBLISHED)
def test_shipped_vocabulary_is_the_published_one(name: str, size: str, checksum: str) -> None:
    tokens = PackedRanks(asset_path(f"vocab/{name}.ranks")).tokens()
    ids = tokviz.load(name).tables.ids() if name == "p50k_base" else range(len(tokens))
    assert f"{len(tokens):,}" == size
    assert digest(zip(ids, tokens, strict=True)) == checksum


def test_every_shipped_vocabulary_has_a_checksum() -> None:
    files = {path.stem for path in asset_path("vocab/README.md").parent.glob("*.ranks")}
    assert {name for name, _, _ in PUBLISHED} == files


@given(st.lists(st.binary(min_size=1, max_size=6), unique=True, max_size=40), st.binary())
def test_every_token_is_found_and_no_other(
    tmp_path_factory: pytest.TempPathFactory, tokens: list[bytes], other: bytes
) -> None:
    path = tmp_path_factory.mktemp("packed") / "v.ranks"
    path.write_bytes(pack(tokens))
    packed = PackedRanks(path)
    assert packed.tokens() == tokens
    assert [packed.id_of(token) for token in tokens] == list(range(len(tokens)))
    assert [packed.token(rank) for rank in range(len(tokens))] == tokens
    assert packed.id_of(other) == (tokens.index(other) if other in tokens else None)


def test_tiktoken_form_round_trips() -> None:
    tokens = [b"a", b"\xff\n", b" the"]
    assert from_tiktoken(to_tiktoken(tokens)) == tokens


def test_bad_line_is_named() -> None:
    with pytest.raises(VocabularyError, match="line 2"):
        from_tiktoken(b"YQ== 0\nYg==\n")
    with pytest.raises(VocabularyError, match="line 2: rank 1 was to come, not 7"):
        from_tiktoken(b"YQ== 0\nYg== 7\n")


@pytest.mark.parametrize(
    "data", [b"", b"YQ== 0\n", pack([b"a", b"b"])[:-1], pack([b"a", b"b"])[:30]]
)
def test_a_foreign_or_cut_off_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "v").write_bytes(data)
    with pytest.raises(InputFileError):
        PackedRanks(tmp_path / "v")


@pytest.mark.parametrize(("first_byte", "first_merged"), [(0, 256), (5, 261), (0, 261)])
def test_a_trained_vocabulary_is_packed_like_any_other(first_byte: int, first_merged: int) -> None:
    pairs = [(97, 98), (256, 99), (256, 256), (97, 97)]
    tokens = [*(bytes([byte]) for byte in range(256)), b"ab", b"abc", b"abab", b"aa"]
    ids = [*range(first_byte, first_byte + 256), *range(first_merged, first_merged + len(pairs))]
    listed = zip(ids, tokens, strict=True)
    whole = pack_merges(listed, [(tokens[a], tokens[b]) for a, b in pairs])
    packed = pack_trained(
        first_byte, first_merged, tokens, *(array("I", side) for side in zip(*pairs, strict=True))
    )
    assert [*packed.ids()] == ids
    assert packed.columns() == whole.columns()
    assert packed.merges() == whole.merges()
    assert packed.packed.data == whole.packed.data
    for name in ("pairs", "firsts"):
        assert getattr(packed, name) == getattr(whole, name)


def test_two_merges_that_make_the_same_bytes_are_refused() -> None:
    with pytest.raises(VocabularyError, match="tokens 258 and 259 are both b'abc'"):
        tokens = [*(bytes([byte]) for byte in range(256)), b"ab", b"bc", b"abc", b"abc"]
        pack_trained(0, 256, tokens, array("I", [97, 98, 256, 97]), array("I", [98, 99, 99, 257]))
