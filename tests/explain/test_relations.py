from __future__ import annotations

import pytest

import tokviz
from tokviz.explain import relations
from tokviz.explain.relations import children_of
from tokviz.explain.vocabulary.index import Cancelled, VocabularyIndex
from tokviz.explain.vocabulary.reachable import unreachable_rows
from tokviz.tokenizer.tokenizer import Tokenizer


def merges_tokenizer(*merges: tuple[bytes, bytes], extra: tuple[bytes, ...] = ()) -> Tokenizer:
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += dict.fromkeys([left + right for left, right in merges])
    tokens += extra
    return Tokenizer(dict(enumerate(tokens)), list(merges), {"<|end|>": 5000}, split_pattern="gpt2")


def children(tok: Tokenizer, token: bytes) -> list[bytes]:
    index = VocabularyIndex(tok)
    row = index.row_of(tok.token_id(token) or 0)
    assert row is not None
    found = children_of(index, row)
    assert found.complete
    return [tok.token_bytes(token_id) for token_id in found.ids]


def test_children_are_the_tokens_whose_merge_has_the_token_for_a_part() -> None:
    tok = merges_tokenizer((b"a", b"b"), (b"ab", b"c"), (b"c", b"ab"), (b"a", b"a"))
    assert children(tok, b"ab") == [b"abc", b"cab"]
    assert children(tok, b"a") == [b"ab", b"aa"]
    assert children(tok, b"abc") == []


def test_children_of_gpt2_are_those_of_its_merge_list() -> None:
    tok = tokviz.load("gpt2")
    expected = [left + right for left, right in tok.merges if b" the" in (left, right)]
    assert sorted(children(tok, b" the")) == sorted(expected)


def test_many_children_are_not_all_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "MOST_CHILDREN", 2)
    tok = merges_tokenizer((b"a", b"b"), (b"a", b"c"), (b"a", b"d"))
    found = children_of(VocabularyIndex(tok), 97)
    assert len(found.ids) == 2 and not found.complete


def test_special_tokens_have_no_children_and_a_search_can_be_given_up() -> None:
    tok = merges_tokenizer((b"a", b"b"))
    index = VocabularyIndex(tok)
    row = index.row_of(5000)
    assert row is not None and children_of(index, row).ids == ()
    with pytest.raises(Cancelled):
        children_of(index, 97, cancelled=lambda: True)


def unreachable(tok: Tokenizer) -> list[bytes]:
    index = VocabularyIndex(tok)
    return [index.tokens[row] for row in unreachable_rows(index).nonzero()[0]]


def test_a_token_that_no_merge_makes_is_unreachable() -> None:
    assert unreachable(merges_tokenizer((b"a", b"b"), extra=(b"xyz",))) == [b"xyz"]


def test_a_token_whose_merge_always_comes_too_late_is_unreachable() -> None:
    # "bc" is taken before "ab" can be, so that "abc" is never made of "ab" and "c".
    tok = merges_tokenizer((b"b", b"c"), (b"a", b"b"), (b"ab", b"c"))
    assert unreachable(tok) == [b"abc"]


def test_a_token_that_the_split_pattern_always_cuts_is_unreachable() -> None:
    assert unreachable(merges_tokenizer((b"a", b"1"))) == [b"a1"]


def test_a_token_with_a_part_of_a_character_is_reachable_if_merges_make_it() -> None:
    tok = merges_tokenizer((b"a", b"\xe4"), (b"\xe4", b"\xb8"), extra=(b"b\xe4\xb8",))
    assert unreachable(tok) == [b"b\xe4\xb8"]


def test_gpt2_has_no_unreachable_token_and_cl100k_neither() -> None:
    assert unreachable(tokviz.load("gpt2")) == []


def test_a_token_that_is_whole_only_inside_a_longer_pre_token_is_reachable() -> None:
    o200k = tokviz.load("o200k_base")
    first = {token_id: o200k.token_bytes(token_id) for token_id in range(20_000)}
    merges = [merge for token_id in first if (merge := o200k.merge_of(token_id))]
    found = unreachable(Tokenizer(first, merges, split_pattern=o200k.split_pattern))
    assert b"\n//" not in found
    assert all(token not in found for token in (b" the", "世".encode(), b"\xe4\xb8"))
    with pytest.raises(Cancelled):
        unreachable_rows(VocabularyIndex(tokviz.load("gpt2")), cancelled=lambda: True)
