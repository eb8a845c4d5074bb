"""Explanations of tokens, compared with slow and simple implementations."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.profiles import examples
from tokviz.explain.algorithms.longest_match import trie_story
from tokviz.explain.explanation import as_text, explain
from tokviz.explain.places import (
    MOST_BYTES,
    bytes_place,
    rendered_place,
    selected_place,
    token_place,
)
from tokviz.explain.pre_token_cuts import character_words
from tokviz.live.document import LiveDocument
from tokviz.text.sentences import format_sentences
from tokviz.tokenizer.pretokenize.alternatives import cut_of, top_level
from tokviz.tokenizer.pretokenize.guard import guarded_cut
from tokviz.tokenizer.pretokenize.patterns import (
    SPLIT_PATTERNS,
    compiled_regex,
    get_split_pattern,
)
from tokviz.tokenizer.pretokenize.split import split
from tokviz.tokenizer.pretokenize.unicode_classes import as_tiktoken_sees
from tokviz.tokenizer.tokenizer import Tokenizer

PARTS = ["'s", "'LL", "  ", "\r\n", "123", "Wo"]
NASTY = st.lists(
    st.sampled_from([*" \t\n\r'abeSTXY019.,/(!éÉ你世ſ\u0301\u3000\u2028", *PARTS]), max_size=12
).map("".join)


def taken_by(regex_text: str, text: str) -> list[tuple[int, int, int]]:
    """Return all matches with the numbers of their alternatives, by a group around each."""
    parts = [regex_text[slice(*span)] for span in top_level(regex_text)]
    grouped = compiled_regex("|".join(f"(?P<a{n}>{part})" for n, part in enumerate(parts, 1)))
    return [(*match.span(), int((match.lastgroup or "a0")[1:])) for match in grouped.finditer(text)]


@examples(60)
@given(text=NASTY, name=st.sampled_from(sorted(SPLIT_PATTERNS)))
def test_the_alternative_is_the_one_whose_group_matches(text: str, name: str) -> None:
    pattern = SPLIT_PATTERNS[name]
    found = []
    for start, end in split(pattern, text).spans():
        alternative = cut_of(pattern, text, start, end).alternative
        assert alternative is not None
        found.append((start, end, alternative.number))
    seen = as_tiktoken_sees(text) if pattern.unicode_of_tiktoken else text
    assert found == taken_by(pattern.regex, seen)


@pytest.mark.parametrize(
    ("name", "text", "pre_token", "limit", "part"),
    [
        ("gpt4", "12345", "123", "most", "{1,3}"),
        ("qwen2", "12", "1", "most", r"\p{N}"),
        ("gpt4", "a  b", " ", "look", r"(?!\S)"),
        ("gpt2", "a \n b", " \n", "look", r"(?!\S)"),
        ("gpt4", "ab.", "ab", "", ""),
        ("gpt4", "ab", "ab", "", ""),
    ],
    ids=["digits", "one-digit", "spaces", "lines", "letters", "end"],
)
def test_the_end_of_a_pre_token_is_explained(
    name: str, text: str, pre_token: str, limit: str, part: str
) -> None:
    start = text.index(pre_token)
    cut = cut_of(SPLIT_PATTERNS[name], text, start, start + len(pre_token))
    assert (cut.limit, cut.limited_by) == (limit, part)


def test_an_earlier_alternative_wins_over_a_longer_one() -> None:
    cut = cut_of(SPLIT_PATTERNS["gpt4"], "'story", 0, 2)
    assert cut.alternative is not None
    assert (cut.alternative.number, cut.longer, cut.longer_end) == (1, 2, 6)
    tok = tokviz.load("cl100k_base")
    found = explain(tok, bytes_place(b"'story"))
    assert "the first alternative that matches wins" in as_text(found)


def test_a_guarded_pattern_is_explained_in_the_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text, custom = "abab 12  c", r"\w{2}|\s+(?!\S)|\s|."
    guarded = get_split_pattern(custom)
    assert guarded.guarded
    free = guarded._replace(guarded=False)
    for start, end in split(free, text).spans():
        assert guarded_cut(guarded, text, start, end) == cut_of(free, text, start, end)

    def never(*arguments: object) -> None:
        raise AssertionError("it ran in this process")

    monkeypatch.setattr("tokviz.explain.pre_token_cuts.cut_of", never)
    base = tokviz.load("gpt2")
    tok = base.with_parts(guarded, base.specials)
    live = LiveDocument(text, tok)
    live.ids()
    found = explain(tok, token_place(live, 0))
    assert found.cuts[0].alternative is not None
    assert "matches no more" in as_text(found)


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
@examples(25)
@given(text=NASTY.filter(bool))
def test_every_token_is_explained_as_it_is_encoded(name: str, text: str) -> None:
    tok = tokviz.load(name)
    live = LiveDocument(text, tok)
    ids = live.ids().tolist()
    for index, token_id in enumerate(ids):
        place = token_place(live, index)
        assert place.data == tok.token_bytes(token_id)
        found = explain(tok, place)
        assert [found_id for _, found_id in found.tokens] == [token_id]
        assert found.n_pre_tokens == len(found.cuts) == 1
        (cut,) = found.cuts
        assert cut.trace is not None
        assert place.data in cut.pre_token
        assert (
            list(cut.trace.tokens)
            == [tok.token_bytes(one) for one in tok.encode_bytes(cut.pre_token, "none")]
            or len(tok.byte_text.split(cut.pre_token.decode("utf-8", "surrogateescape"), False)) > 1
        )


def test_a_selection_explains_each_of_its_pre_tokens() -> None:
    tok = tokviz.load("cl100k_base")
    live = LiveDocument("it's unbelievable", tok)
    live.ids()
    found = explain(tok, selected_place(live, 2, 17))
    assert [cut.pre_token for cut in found.cuts] == [b"'s", b" unbelievable"]
    assert found.single_token is not None and found.single_token.reason == "split"
    assert found.lineage is None


def test_a_special_token_is_explained() -> None:
    tok = tokviz.load("gpt2")
    live = LiveDocument("end<|endoftext|>", tok)
    live.ids()
    assert "because the special token" in as_text(explain(tok, token_place(live, 0)))
    found = explain(tok, token_place(live, 1))
    assert found.cuts[0].alternative is None
    assert "is a special token" in as_text(found)


def test_a_token_that_is_never_encoded_is_reported_as_unreachable() -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b"abc"]
    tok = Tokenizer(dict(enumerate(tokens)), [(b"a", b"b")], name="small")
    found = explain(tok, bytes_place(b"abc", 257))
    assert "never becomes token 257" in as_text(found)


def test_far_in_a_long_text_the_answer_is_that_of_the_whole_text() -> None:
    tok = tokviz.load("cl100k_base")
    text = "It's  un-believable, 12345 times!\n" * 2000
    live = LiveDocument(text, tok)
    ids = live.ids().tolist()
    for index in range(len(ids) // 2, len(ids) // 2 + 20):
        found = explain(tok, token_place(live, index))
        assert [token_id for _, token_id in found.tokens] == [ids[index]]


def test_what_is_too_long_or_nothing_gets_a_whole_sentence() -> None:
    tok = tokviz.load("gpt2")
    live = LiveDocument("a" * (MOST_BYTES + 9), tok)
    for place in (selected_place(live, 0, live.n_chars), bytes_place(b"")):
        found = explain(tok, place)
        assert format_sentences(found.notes).endswith(".")
        assert not found.tokens


def test_the_tokens_of_a_conversation_are_those_that_it_was_rendered_to() -> None:
    from tokviz.chat.conversation import Conversation
    from tokviz.chat.messages import Message
    from tokviz.chat.render import render

    tok = tokviz.load("cl100k_base")
    messages = (Message("user", "it's <|endoftext|>"), Message("assistant", "12345"))
    rendering = render(tok, Conversation(messages), template="nanochat")
    for index, token_id in enumerate(rendering.ids):
        if token_id in rendering.virtual_specials.values():
            continue
        place = rendered_place(rendering, index)
        assert place.is_in(tok), (index, place)
        if token_id == 1774:
            assert "It ends because a special token comes next." in as_text(explain(tok, place))


def test_a_model_that_looks_up_words_is_explained(tmp_path: Path) -> None:
    vocab = {word: number for number, word in enumerate(["the", "cat", "sat", "[UNK]"])}
    made = hf.Tokenizer(hf.models.WordLevel(vocab, unk_token="[UNK]"))
    made.pre_tokenizer = hf.pre_tokenizers.Whitespace()
    path = tmp_path / "words.json"
    path.write_text(made.to_str())
    tok = tokviz.load(path)
    try:
        live = LiveDocument("the cat", tok)
        live.ids()
        found = explain(tok, token_place(live, 0))
        assert [token_id for _, token_id in found.tokens] == [0]
        assert all(cut.alternative is None and cut.trace is None for cut in found.cuts)
        assert "looks up the whole pre-token in its vocabulary" in as_text(found)
        assert not found.at_end
    finally:
        tok.close()


def unigram(path: Path, **model: object) -> Tokenizer:
    """Load a Unigram model that reads spaces as `▁`."""
    pieces = [("<unk>", 0.0), ("▁", -2.0), ("▁a", -2.5), ("a", -1.5), ("b", -2.0), ("ab", -4.0)]
    made = hf.Tokenizer(hf.models.Unigram(pieces, 0, **model))
    made.normalizer = hf.normalizers.Sequence(
        [hf.normalizers.Replace(" ", "▁"), hf.normalizers.NFKC()]
    )
    path.write_text(made.to_str())
    return tokviz.load(path)


def test_a_unigram_model_shows_its_best_paths_and_the_gap(tmp_path: Path) -> None:
    tok = unigram(tmp_path / "unigram.json")
    try:
        found = explain(tok, selected_place(LiveDocument("x ａb a", tok), 2, 3))
        (cut,) = found.cuts
        assert cut.story is not None and cut.pre_token == " ａb".encode()
        assert cut.story.tokens == (("▁a".encode(), 2), (b"b", 4))
        labels = [(row.label, row.tokens) for row in cut.story.rows]
        assert labels[0] == ("-4.50", ("▁a".encode(), b"b"))
        assert labels[1] == ("-5.50", ("▁".encode(), b"a", b"b"))
        brief = found.brief().cuts[0].story
        assert brief is not None and len(brief.rows) == 2 < len(labels) == 3
        text = as_text(found)
        assert "The runner-up is lower by 1.00, so it is 2.72 times less probable." in text
        assert f"{repr('ａ'.encode())[1:]} → 'a'" in text
    finally:
        tok.close()


def test_steps_that_lead_to_other_ids_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tok = unigram(tmp_path / "unigram.json")
    try:
        place = selected_place(LiveDocument("ab", tok), 0, 2)
        body = {"first": 0, "stop": 1, "problem": "They lead to other ids."}
        answer = {"stories": [body], "n_words": 1}
        monkeypatch.setattr(type(tok), "stories", lambda *arguments: answer)
        found = explain(tok, place)
        assert found.cuts[0].story is None
        assert format_sentences(found.cuts[0].sentences) == "They lead to other ids."
    finally:
        tok.close()


def test_a_child_that_dies_leaves_the_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tok = unigram(tmp_path / "unigram.json")

    def dies(*arguments: object) -> None:
        raise tokviz.TokvizError("more than 512 MB of memory")

    try:
        place = selected_place(LiveDocument("ab", tok), 0, 2)
        monkeypatch.setattr(type(tok), "stories", dies)
        found = explain(tok, place)
        assert found.tokens and "The steps are unknown: more than 512 MB" in as_text(found)
    finally:
        tok.close()


def test_a_trie_takes_the_longest_token_at_each_place() -> None:
    ids = {b"a": 1, b"ab": 2, b"abcd": 3, b"c": 4, "é".encode(): 5}
    story = trie_story("abcé".encode(), ids.get, 4)
    assert story.tokens == ((b"ab", 2), (b"c", 4), ("é".encode(), 5))
    assert story.rows[1].tokens == (b"ab", "cé".encode())
    assert story.whole is None


def test_text_omitted_by_a_tokenizer_is_reported(tmp_path: Path) -> None:
    made = hf.Tokenizer(hf.models.WordLevel({"cat": 0, "[UNK]": 1}, unk_token="[UNK]"))
    made.normalizer = hf.normalizers.Replace("x", "")
    path = tmp_path / "without_x.json"
    path.write_text(made.to_str())
    tok = tokviz.load(path)
    try:
        found = explain(tok, selected_place(LiveDocument("xx", tok), 0, 1))
        assert format_sentences(found.notes).startswith("The tokenizer omits this text")
        assert not found.tokens
    finally:
        tok.close()


def test_a_regex_that_explodes_is_a_sentence() -> None:
    base = tokviz.load("gpt2")
    pattern = get_split_pattern(r"(?:z|z)*b|[^z]+")
    tok = base.with_parts(pattern, base.specials)
    found = explain(tok, bytes_place(b"a " + b"z" * 60))
    assert "s for one pre-token" in format_sentences(found.notes)


def test_text_that_is_composed_before_it_is_cut_keeps_its_pre_tokens_in_place() -> None:
    tok = tokviz.load("qwen2")
    text = "cafe\u0301s 12"
    live = LiveDocument(text, tok)
    ids = live.ids().tolist()
    for index, token_id in enumerate(ids):
        found = explain(tok, token_place(live, index))
        assert token_id in [one for _, one in found.tokens]
        assert found.cuts[0].alternative is not None
        assert "normalized" in format_sentences(found.notes)


def test_characters_are_described_by_category() -> None:
    assert character_words("世") == "a letter"
    assert character_words("\udc80") == "a byte that is not part of a character"
    assert character_words("") == "nothing"
