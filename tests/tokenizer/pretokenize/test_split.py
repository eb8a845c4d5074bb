from __future__ import annotations

import re
import sys

import pytest
import regex
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.nasty import FRAGMENTS, byte_texts, texts
from tests.tokenizer.pretokenize import tables
from tests.tokenizer.pretokenize.test_published import by_tiktoken
from tokviz.errors import PatternError
from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize import patterns, unicode_classes
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern, get_split_pattern
from tokviz.tokenizer.pretokenize.split import gap_warning, split
from tokviz.tokenizer.pretokenize.split_steps import join_steps, split_in_steps

OF_TIKTOKEN = [name for name, pattern in SPLIT_PATTERNS.items() if pattern.unicode_of_tiktoken]


@pytest.mark.parametrize("name", OF_TIKTOKEN)
def test_substitutes_exist_for_every_class_of_a_pattern_with_tiktokens_unicode(name: str) -> None:
    classes = set(re.findall(r"\\p\{(\w+)\}", SPLIT_PATTERNS[name].regex))
    # The next test compares Kimi's Chinese characters.
    assert classes <= {*unicode_classes.CLASSES, "L", "Han"}


def test_chinese_characters_of_contested_classes_are_tiktokens() -> None:
    """Two equal characters are one token if both are Han."""
    texts = [chr(code) * 2 for code in (*unicode_classes.substitutes(), 0x4E2D, 0x3007, 0x41)]
    tokens = [*(bytes([byte]) for byte in range(256)), *(text.encode() for text in texts)]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    theirs = tiktoken.Encoding(
        "x", pat_str=r"\p{Han}+|[\s\S]", mergeable_ranks=ranks, special_tokens={}
    )
    for text in texts:
        is_han = len(theirs.encode_ordinary(text)) == 1
        ours = regex.fullmatch(r"\p{Han}+", unicode_classes.as_tiktoken_sees(text))
        assert is_han == (ours is not None)


@pytest.mark.parametrize("name", OF_TIKTOKEN)
@given(parts=st.lists(st.sampled_from(FRAGMENTS), max_size=10))
def test_pre_tokens_are_tiktokens(name: str, parts: list[str]) -> None:
    text = "".join(parts)[:24]
    pattern = SPLIT_PATTERNS[name]
    assert [text[a:b] for a, b in split(pattern, text).spans()] == by_tiktoken(pattern.regex, text)


@pytest.mark.parametrize("name", SPLIT_PATTERNS)
@given(text=byte_texts)
def test_named_patterns_leave_no_gap(name: str, text: str) -> None:
    result = split(SPLIT_PATTERNS[name], text)
    assert "".join(text[a:b] for a, b in result.spans()) == text
    assert result.gaps == ()


@given(text=texts, pattern=st.sampled_from([r"[a-z]*", r"(\w)(\d)?", r"(?=x)", r"\b", "é+|1", "$"]))
def test_any_regex_is_lossless(text: str, pattern: str) -> None:
    result = split(get_split_pattern(pattern), text)
    spans = list(result.spans())
    assert "".join(text[a:b] for a, b in spans) == text
    assert all(a < b for a, b in spans)
    matched = [m.span() for m in regex.finditer(pattern, text) if m.start() < m.end()]
    assert [span for i, span in enumerate(spans) if i not in result.gaps] == matched


def test_gaps_zero_width_matches_and_groups() -> None:
    result = split(get_split_pattern("(a)(b)?|x*"), "ab1xx2")
    assert list(result.spans()) == [(0, 2), (2, 3), (3, 5), (5, 6)]
    assert result.gaps == (1, 3)
    assert result.n_zero_width > 0


@given(text=texts, n_chars=st.integers(1, 30))
def test_steps_give_the_same_pre_tokens(text: str, n_chars: int) -> None:
    pattern = get_split_pattern(r"\w+|\s")
    whole = split(pattern, text)
    ends: list[int] = []
    gaps: list[int] = []
    for part in split_in_steps(pattern, text, n_chars=n_chars):
        assert part.start == (ends[-1] if ends else 0)
        gaps.extend(len(ends) + gap for gap in part.gaps)
        ends.extend(part.ends)
    assert (ends, tuple(gaps)) == (list(whole.ends), whole.gaps)


REGEXES = [
    r"\w+|\s",
    r"(?<=a)\w+|\w",
    r"^\w+|\S",
    r"(?m)^.+$|\s",
    r"\Ga|b+",
    r"\b\w|x*",
    r"(?<!^)\S+|.",
    r"\A.|[a-z]+(?=\s)|$",
    r"(?s).(?=.*1)|\S+",
]


@pytest.mark.parametrize("number", range(len(REGEXES)))
@given(text=st.text("ab1x \n\u0301中", max_size=30), data=st.data())
def test_splitting_can_continue_after_any_pre_token(
    number: int, text: str, data: st.DataObject
) -> None:
    pattern = SplitPattern("custom", REGEXES[number], "custom")
    whole = split(pattern, text)
    matched = [end for n, end in enumerate(whole.ends) if n not in whole.gaps]
    begin = data.draw(st.sampled_from([0, *matched]))
    n_before = len([end for end in whole.ends if end <= begin])
    parts = list(split_in_steps(pattern, text, start=begin))
    rest = join_steps(parts)
    assert parts[0].start == begin
    assert list(rest.ends) == list(whole.ends)[n_before:]
    assert [n_before + n for n in rest.gaps] == [n for n in whole.gaps if n >= n_before]


def test_error_of_an_invalid_regex_names_the_position() -> None:
    with pytest.raises(PatternError, match=r"at character 3$") as caught:
        get_split_pattern("a(")
    assert caught.value.position == 2


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(?r)\w+|\W+", r"right to left"),
        (r"a|(?r:b)", r"right to left"),
        (r"(?=(\w)\K)", r"start of a match.* at character 8$"),
        (r"(?=\w\\\K)|\w", r"start of a match.* at character 8$"),
    ],
)
def test_a_regex_that_does_not_go_forward_is_refused(pattern: str, reason: str) -> None:
    """One loses text, the other finds the same position forever."""
    with pytest.raises(PatternError, match=reason):
        get_split_pattern(pattern)
    with pytest.raises(PatternError, match=reason):
        split(SplitPattern("custom", pattern, "custom"), "ab")


@pytest.mark.parametrize("name", SPLIT_PATTERNS)
def test_a_warning_of_gaps_is_for_patterns_that_leave_some(name: str) -> None:
    regex_alone = get_split_pattern(SPLIT_PATTERNS[name].regex)
    assert (regex_alone.gapless, gap_warning(regex_alone)) == (False, "")
    assert "for example '1'" in gap_warning(get_split_pattern(r"[^\d]+|[02-9]|x*"))
    assert "for example '~'" in gap_warning(get_split_pattern("[^~]"))


def test_a_regex_that_explodes_on_everyday_text_is_warned_of() -> None:
    warning = gap_warning(get_split_pattern(r"(?:(?:\w|\w\w)+)+(?=!!)|[^}]"))
    assert "s for one pre-token" in warning


def test_an_escaped_backslash_before_k_is_allowed() -> None:
    assert len(split(get_split_pattern(r"\\K|[^\\]+"), r"a\Kb")) == 3


@pytest.mark.parametrize("name", SPLIT_PATTERNS)
@given(left=texts, right=texts)
def test_safe_cuts_are_pre_token_boundaries(name: str, left: str, right: str) -> None:
    pattern = SPLIT_PATTERNS[name]
    if pattern.safe_cut is None:
        return
    text = left + right
    ends = set(split(pattern, text).ends)
    for match in regex.finditer(pattern.safe_cut, text):
        cut = match.start()
        assert cut in ends
        # ... and cutting there changes nothing on either side.
        parts = {
            *split(pattern, text[:cut]).ends,
            *(cut + e for e in split(pattern, text[cut:]).ends),
        }
        assert parts == ends


def test_stored_classes_are_tiktokens() -> None:
    assert unicode_classes.asset_path(unicode_classes.TABLE).read_text() == tables.render_classes()


def test_every_class_is_tiktokens_after_the_substitutes() -> None:
    everything = "".join(
        map(chr, (c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000))
    )
    seen = unicode_classes.as_tiktoken_sees(everything)
    for name in ("L", "N", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "P", "S"):
        ours = [m.start() for m in regex.finditer(rf"\p{{{name}}}", seen)]
        assert [ord(everything[i]) for i in ours] == tables.code_points_of(name)
    ours = [m.start() for m in regex.finditer(r"\s", seen)]
    assert [ord(everything[i]) for i in ours] == tables.code_points_of("White_Space")


def test_common_characters_have_the_classes_of_tiktoken() -> None:
    blocks = (range(first, last + 1) for first, last in unicode_classes.AGREED)
    common = "".join(chr(code) for block in blocks for code in block)
    assert unicode_classes.as_tiktoken_sees(common) is common
    for name in ("Lu", "Ll", "Lt", "Lm", "Lo", "M", "N", "P", "S", "White_Space"):
        ours = {ord(match[0]) for match in regex.finditer(rf"\p{{{name}}}", common)}
        assert ours == set(tables.code_points_of(name)) & set(map(ord, common))


def test_a_byte_that_is_not_utf8_counts_as_a_symbol() -> None:
    text = bytetext.from_bytes(b"ab\xff cd")
    assert list(split(SPLIT_PATTERNS["gpt2"], text).spans()) == [(0, 2), (2, 3), (3, 6)]


def test_only_a_text_with_contested_characters_needs_their_table() -> None:
    unicode_classes.substitutes.cache_clear()
    unicode_classes.prepare("plain, naïve, 中文, かな, 😀" * 9)
    assert unicode_classes.substitutes.cache_info().currsize == 0
    unicode_classes.prepare("plain\U0001e030")
    assert unicode_classes.substitutes.cache_info().currsize == 1


@given(
    text=st.lists(st.sampled_from(["aa", "11", "..", "  ", "\n", "é", "中", "\r", "'"])).map(
        "".join
    ),
    start=st.integers(0, 9),
    most=st.integers(1, 3),
)
def test_the_first_safe_cut_is_found_however_little_is_looked_at_at_a_time(
    text: str, start: int, most: int
) -> None:
    for safe_cut in patterns.SAFE_CUTS:
        cut = patterns.compiled_cut(safe_cut)
        expected = next((at for at in range(start, len(text)) if cut.match(text, at)), None)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(patterns, "RUN_CHARS", most)
            assert patterns.first_cut(safe_cut, text, start, len(text)) == expected
