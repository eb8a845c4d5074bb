from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles.vocabulary import holds
from tokviz.explain.vocabulary.index import Cancelled, VocabularyIndex
from tokviz.explain.vocabulary.query import parse_query
from tokviz.explain.vocabulary.scripts import BYTES, COMMON, MIXED, SCRIPTS
from tokviz.explain.vocabulary.search import LENGTHS, Order, Searcher, Selection
from tokviz.tokenizer.tokenizer import Tokenizer

LATIN, HAN, CYRILLIC = (SCRIPTS.index(name) for name in ("Latin", "Han", "Cyrillic"))


def tokenizer_of(
    tokens: Mapping[int, bytes], specials: Mapping[str, int] | None = None
) -> Tokenizer:
    return Tokenizer(tokens, [], specials)


def searcher_of(tokens: Mapping[int, bytes], specials: Mapping[str, int] | None = None) -> Searcher:
    return Searcher(VocabularyIndex(tokenizer_of(tokens, specials)))


def found(searcher: Searcher, typed: str, order: Order = "id", **options: object) -> list[bytes]:
    selection = searcher.select(parse_query(typed), order, **options)
    return [searcher.index.tokens[row] for row in selection.rows]


SOME = {
    0: b"the", 3: b" The", 5: b"THE", 7: b"other", 9: "世界".encode(), 12: b"\xe4\xb8", 20: b" \n",
    21: b"the end", 30: "Привет".encode(), 31: "aб".encode(), 40: b"\x96the", 50: b"42",
}  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "tokens"),
    [
        ("", list(SOME.values())),
        ("the", [b"the", b" The", b"THE", b"other", b"the end", b"\x96the"]),
        ("The", [b" The"]),
        ('"the"', [b"the", b"other", b"the end", b"\x96the"]),
        ('"the "', [b"the end"]),
        ("^the", [b"the", b"THE", b"the end"]),
        ("the$", [b"the", b" The", b"THE", b"\x96the"]),
        ("^the$", [b"the", b"THE"]),
        ("0xe4b8", ["世界".encode(), b"\xe4\xb8"]),
        ("0x9674", [b"\x96the"]),
        ("界", ["世界".encode()]),
        ("is:partial", [b"\xe4\xb8", b"\x96the"]),
        ("script:han", ["世界".encode()]),
        ("script:mixed", ["aб".encode()]),
        ("script:bytes", [b"\xe4\xb8", b"\x96the"]),
        ("script:common", [b" \n", b"42"]),
        ("script:latin the -end", [b"the", b" The", b"THE", b"other"]),
        ("#5-9", [b"THE", b"other", "世界".encode()]),
        ("#4", []),
        ("chars:2", ["世界".encode(), b"\xe4\xb8", b" \n", "aб".encode(), b"42"]),
        ("len:6", ["世界".encode()]),
        ("/^[^ ]+$/ script:latin", [b"the", b"THE", b"other"]),
        (r"/\p{Cyrillic}/", ["Привет".encode(), "aб".encode()]),
        ("привет", ["Привет".encode()]),
    ],
)
def test_a_query_finds(typed: str, tokens: list[bytes]) -> None:
    assert found(searcher_of(SOME), typed) == tokens


def test_bytes_of_two_neighbours_are_nobodys() -> None:
    searcher = searcher_of({0: b"ab", 1: b"cd", 2: b"bc"})
    assert found(searcher, "bc") == [b"bc"]
    assert found(searcher, "0x6263") == [b"bc"]


tokens = st.dictionaries(
    st.integers(0, 2**32 - 1),
    st.one_of(
        st.binary(min_size=1, max_size=6),
        st.text("aAbBß é世界бБ\n\u0130", min_size=1, max_size=5).map(str.encode),
    ),
    max_size=30,
).map(lambda found: {i: token for token, i in {token: i for i, token in found.items()}.items()})
words = st.lists(
    st.sampled_from(
        ["a", "A", "ab", "ß", "^a", "b$", '" "', "0x61", "0xe4", "len:2", "chars:>1", "#0-1000",
         "script:latin", "script:mixed,bytes", "is:partial", "/a.*b/", "/A/i", "-a", "-is:partial",
         "世", "б"]
    ),
    max_size=3,
).map(" ".join)  # fmt: skip


@given(tokens, words)
def test_a_search_equals_checking_every_token(vocabulary: dict[int, bytes], typed: str) -> None:
    searcher = searcher_of(vocabulary)
    index = searcher.index
    query = parse_query(typed)
    expected = [
        row
        for row in range(len(index))
        if all(
            holds(term, int(index.ids[row]), index.tokens[row], int(index.scripts[row]), False)
            for term in query.terms
        )
    ]
    assert searcher.select(query).rows.tolist() == expected


def test_special_tokens_are_found_as_such() -> None:
    searcher = searcher_of({0: b"a"}, {"<|end|>": 7})
    assert found(searcher, "is:special") == [b"<|end|>"]
    assert found(searcher, "-is:special") == [b"a"]
    assert found(searcher, "end") == [b"<|end|>"]


def test_tokens_of_the_current_text_are_found_and_sorted_by_use() -> None:
    searcher = searcher_of({0: b"a", 2: b"b", 4: b"c"})
    uses = {2: 3, 4: 9, 99: 1}
    assert found(searcher, "is:used", "uses", descending=True, uses=uses) == [b"c", b"b"]
    assert found(searcher, "-is:used", uses=uses) == [b"a"]
    assert found(searcher, "is:used", uses={0: 1}) == [b"a"]


@pytest.mark.parametrize(
    ("order", "descending", "tokens"),
    [
        ("id", True, [b" B", "世".encode(), b"aa", b"b"]),
        ("text", False, [b"aa", b"b", b" B", "世".encode()]),
        ("length", False, [b"b", b"aa", b" B", "世".encode()]),
        ("length", True, ["世".encode(), b"aa", b" B", b"b"]),
        ("characters", False, [b"b", "世".encode(), b"aa", b" B"]),
    ],
)
def test_tokens_are_sorted(order: Order, descending: bool, tokens: list[bytes]) -> None:
    searcher = searcher_of({0: b"b", 1: b"aa", 2: "世".encode(), 3: b" B"})
    assert found(searcher, "", order, descending=descending) == tokens


def test_tokens_without_a_rank_come_last() -> None:
    tok = Tokenizer({0: b"a", 1: b"b", 2: b"ab", 3: b"aab"}, [(b"a", b"b"), (b"a", b"ab")])
    searcher = Searcher(VocabularyIndex(tok))
    assert found(searcher, "", "merge") == [b"ab", b"aab", b"a", b"b"]


def counts_of(selection: Selection) -> dict[str, int]:
    return {script.name: script.n_tokens for script in selection.scripts}


def test_a_histogram_counts_matches_of_the_other_terms() -> None:
    searcher = searcher_of(SOME)
    every = searcher.select(parse_query(""))
    han = searcher.select(parse_query("script:han len:6"))
    assert counts_of(every)["Han"] == 1
    assert counts_of(every)["Latin"] == 5
    assert counts_of(han) == {"Han": 1}
    assert counts_of(searcher.select(parse_query("script:han"))) == counts_of(every)
    assert sum(length.n_tokens for length in han.lengths) == 1
    assert sum(length.n_tokens for length in every.lengths) == len(SOME)


def test_lengths_have_a_class_each() -> None:
    assert LENGTHS[0][0] == 1
    assert all(before[1] + 1 == after[0] for before, after in pairwise(LENGTHS))


def test_an_invalid_regex_is_reported_and_ignored() -> None:
    searcher = searcher_of(SOME)
    selection = searcher.select(parse_query("/(/"))
    assert "missing )" in selection.note
    assert len(selection.rows) == len(SOME)


def test_regex_that_backtracks_for_ever_ends_with_a_sentence() -> None:
    searcher = searcher_of({0: b"a" * 60, 1: b"b"})
    selection = searcher.select(parse_query("/(a|a|aa)+$/ /(a|a|aa)+c/"))
    assert "takes longer than 0.7 s" in selection.note


def test_a_cancelled_search_ends() -> None:
    searcher = searcher_of(SOME)
    with pytest.raises(Cancelled):
        searcher.select(parse_query("/a/"), cancelled=lambda: True)
    with pytest.raises(Cancelled):
        VocabularyIndex(tokenizer_of(SOME), cancelled=lambda: True)


def test_an_empty_vocabulary_is_searched_too() -> None:
    searcher = searcher_of({})
    for typed in ("", "a", "^a", "is:partial", "script:han", "/a/", "0x61", "len:3"):
        assert found(searcher, typed, "text") == []


def test_a_property_is_looked_up_again_once_it_is_known() -> None:
    searcher = searcher_of({0: b"a", 1: b"b"})
    assert found(searcher, "is:unreachable") == []
    searcher.index.unreachable = searcher.index.ids == 1
    searcher.forget("unreachable")
    assert found(searcher, "is:unreachable") == [b"b"]


def test_scripts_of_a_real_vocabulary() -> None:
    tok = tokviz.load("gpt2")
    index = VocabularyIndex(tok)
    assert len(index) == 50257

    def script_of(text: str) -> int:
        token_id = tok.token_id(text.encode())
        assert token_id is not None
        row = index.row_of(token_id)
        assert row is not None
        return int(index.scripts[row])

    assert script_of(" the") == LATIN
    assert script_of("и") == CYRILLIC
    assert script_of("の") == SCRIPTS.index("Hiragana")
    assert script_of("中") == HAN
    assert script_of("...") == COMMON
    assert int(index.scripts[index.partial].min()) == BYTES
    assert MIXED not in (LATIN, HAN)
    assert index.row_of(50256) == 50256 and index.row_of(50257) is None
