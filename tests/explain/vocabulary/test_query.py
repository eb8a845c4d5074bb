from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokviz.explain.vocabulary.query import (
    MAX_REGEX,
    SYNTAX,
    FlagTerm,
    RangeTerm,
    RegexTerm,
    ScriptTerm,
    Term,
    TextTerm,
    parse_query,
    split_words,
    toggle_word,
)
from tokviz.explain.vocabulary.scripts import SCRIPTS

EVERYTHING = 2**62


def only(text: str) -> Term:
    query = parse_query(text)
    assert not query.notes
    (term,) = query.terms
    return term


@pytest.mark.parametrize(
    ("typed", "term"),
    [
        ("the", TextTerm(b"the", folded=True)),
        ("The", TextTerm(b"The", folded=False)),
        ("straße", TextTerm(b"strasse", folded=True)),
        ('" the"', TextTerm(b" the", folded=False)),
        ('" the', TextTerm(b" the", folded=False)),
        (r'"\n\t\"\\\xe4世"', TextTerm(b'\n\t"\\\xe4' + "世".encode(), folded=False)),
        (r'"\u4e16"', TextTerm("世".encode(), folded=False)),
        ("^pre", TextTerm(b"pre", folded=True, at_start=True)),
        ("ing$", TextTerm(b"ing", folded=True, at_end=True)),
        ("^the$", TextTerm(b"the", folded=True, at_start=True, at_end=True)),
        ('^" the"$', TextTerm(b" the", folded=False, at_start=True, at_end=True)),
        ("^", TextTerm(b"^", folded=True)),
        ("$", TextTerm(b"$", folded=True)),
        ("/", TextTerm(b"/", folded=True)),
        ("-", TextTerm(b"-", folded=True)),
        ("498", TextTerm(b"498", folded=True)),
        ("#", TextTerm(b"#", folded=True)),
        ("#include", TextTerm(b"#include", folded=True)),
        ("0xe4b8", TextTerm(b"\xe4\xb8", folded=False)),
        ("bytes:e4b8", TextTerm(b"\xe4\xb8", folded=False)),
        ('bytes:"e4 b8"', TextTerm(b"\xe4\xb8", folded=False)),
        ("#498", RangeTerm("id", 498, 498)),
        ("#0-255", RangeTerm("id", 0, 255)),
        ("#1000-", RangeTerm("id", 1000, EVERYTHING)),
        ("#-255", RangeTerm("id", 0, 255)),
        ("id:1,000", RangeTerm("id", 1000, 1000)),
        ("len:5", RangeTerm("len", 5, 5)),
        ("len:>10", RangeTerm("len", 11, EVERYTHING)),
        ("len:>=10", RangeTerm("len", 10, EVERYTHING)),
        ("len:<3", RangeTerm("len", 0, 2)),
        ("chars:3-5", RangeTerm("chars", 3, 5)),
        ("LEN:5", RangeTerm("len", 5, 5)),
        ("script:Cyr", ScriptTerm((SCRIPTS.index("Cyrillic"),))),
        ("is:special", FlagTerm("special")),
        ("is:part", FlagTerm("partial")),
        ("-is:special", FlagTerm("special", negated=True)),
        ("-the", TextTerm(b"the", folded=True, negated=True)),
        ("/^[A-Z]+ x$/", RegexTerm("^[A-Z]+ x$")),
        ("/abc/i", RegexTerm("abc", ignore_case=True)),
        ("/a b", RegexTerm("a b")),
        (r"/a\/b/", RegexTerm("a/b")),
    ],
)
def test_each_typed_word_has_one_meaning(typed: str, term: Term) -> None:
    assert only(typed) == term


def test_words_combine_and_quotes_and_slashes_hold_spaces() -> None:
    query = parse_query('han "a b" /c d/ len:>2 -is:special')
    assert len(query.terms) == 5
    assert RegexTerm("c d") in query.terms


def test_scripts_can_be_listed() -> None:
    assert only("script:han,thai") == ScriptTerm(
        tuple(sorted((SCRIPTS.index("Han"), SCRIPTS.index("Thai"))))
    )


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("len:", "len:>10"),
        ("len:abc", "len:>10"),
        ("script:", "script:latin"),
        ("script:klingon", "klingon"),
        ("is:", "is:special"),
        ("is:nice", "is:partial"),
        ("0xe", "two hexadecimal digits"),
        ("bytes:zz", "two hexadecimal digits"),
        ("//", "between slashes"),
        ('""', "between the quotes"),
        ("/" + "a" * (MAX_REGEX + 1), str(MAX_REGEX)),
    ],
)
def test_invalid_words_are_reported_and_ignored(typed: str, told: str) -> None:
    query = parse_query(f"the {typed}")
    assert query.terms == (TextTerm(b"the", folded=True),)
    assert told in query.notes[0]


@given(st.text(max_size=60))
def test_anything_can_be_typed(text: str) -> None:
    words = split_words(text)
    assert all(text[word.start : word.stop] for word in words)
    assert "".join(text[word.start : word.stop] for word in words).split() == (
        "".join(text.split()).split()
    ) or any(char in text for char in "/\"'")
    query = parse_query(text)
    assert len(query.terms) + len(query.notes) == len(words)


def test_syntax_examples_are_understood() -> None:
    for typed, _ in SYNTAX:
        assert not parse_query(typed).notes
        assert parse_query(typed).terms


@pytest.mark.parametrize(
    ("text", "name", "value", "after"),
    [
        ("", "script", "Han", "script:han"),
        ("the", "script", "Han", "the script:han"),
        ("the script:han", "script", "Han", "the"),
        ("script:thai the", "script", "Han", "the script:han"),
        ("-script:han", "script", "Han", "-script:han script:han"),
        ("is:special", "is", "partial", "is:special is:partial"),
        ("is:special is:partial", "is", "special", "is:partial"),
        ('"a  b" len:3', "len", "4", '"a  b" len:4'),
    ],
)
def test_a_filter_is_put_in_in_place_of_its_kind_and_taken_out(
    text: str, name: str, value: str, after: str
) -> None:
    assert toggle_word(text, name, value) == after


@pytest.mark.parametrize(
    ("typed", "data"),
    [
        (" the", b" the"),
        ("  the ", b"  the"),
        (" ", b" "),
        (" THE len:4", b" THE"),
        (" don't", b" don't"),
        (" http://", b" http://"),
    ],
)
def test_a_space_typed_before_the_first_word_counts(typed: str, data: bytes) -> None:
    (term, *_) = parse_query(typed).terms
    assert isinstance(term, TextTerm) and term.data == data


@pytest.mark.parametrize("typed", ["is:special", "-the", '"the"', "/the/", "#5", "^the", "0xe4b8"])
def test_a_space_before_a_filter_has_no_meaning(typed: str) -> None:
    assert parse_query(" " + typed) == parse_query(typed)


def test_adding_a_filter_keeps_the_leading_space() -> None:
    assert toggle_word(" the", "script", "latin") == " the script:latin"
    assert toggle_word(" the script:latin", "script", "latin") == " the"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("lenght:5", "“lenght:” is not a filter, so it is searched as text."),
        ("lenght:5", "Did you mean “len:”?"),
        ("-Scripts:han", "Did you mean “script:”?"),
        ("foo:bar", "The filters are id:, len:, chars:, script:, is:, bytes:."),
    ],
)
def test_an_unknown_filter_is_reported_and_searched_as_text(typed: str, told: str) -> None:
    query = parse_query(typed)
    assert told in query.notes[0]
    assert isinstance(query.terms[0], TextTerm)


@pytest.mark.parametrize("typed", ["std::", "http:", "https://a", '"foo:bar"', "len:5", "a:/b"])
def test_other_colons_are_text_without_a_word(typed: str) -> None:
    assert not parse_query(typed).notes
