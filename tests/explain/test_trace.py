from __future__ import annotations

import random
from pathlib import Path

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.formats.samples import beginning, with_every_merge
from tests.oracles.bpe import last_merge
from tokviz.errors import TokenIdError
from tokviz.explain import trace
from tokviz.explain.facts import entry_of
from tokviz.explain.trace import encode_trace, lineage, render_lineage, why_not_one_token
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.replay.replay import Replay


def merge_list(*merges: tuple[bytes, bytes], specials: dict[str, int] | None = None) -> Tokenizer:
    vocab = {byte: bytes([byte]) for byte in range(256)}
    for index, (left, right) in enumerate(merges):
        vocab.setdefault(256 + index, left + right)
    return Tokenizer(vocab, list(merges), specials, split_pattern="gpt2")


THE = merge_list((b"t", b"h"), (b"th", b"e"), (b" ", b"the"), specials={"<|end|>": 300})


def drawn(tok: Tokenizer, token_id: int) -> list[str]:
    return [str(row) for row in render_lineage(lineage(tok, token_id))]


def test_lineage_goes_down_to_bytes() -> None:
    assert drawn(THE, 258) == [
        "b' the' 258",
        "├─ b' ' 32",
        "└─ b'the' 257",
        "   ├─ b'th' 256",
        "   │  ├─ b't' 116",
        "   │  └─ b'h' 104",
        "   └─ b'e' 101",
    ]


def test_equal_parts_are_drawn_once() -> None:
    spaces = merge_list((b" ", b" "), (b"  ", b"  "))
    assert drawn(spaces, 257) == ["b'    ' 257", "└─ b'  ' twice 256", "   └─ b' ' twice 32"]


def test_lineage_equals_encoding_if_every_way_to_build_a_token_is_listed() -> None:
    tok = with_every_merge()
    order = {merge: at for at, merge in enumerate(tok.merges)}
    replay = Replay.open(tok)
    ids = [i for i in tok.vocab if not tok.is_special(i) and len(tok.token_bytes(i)) > 1]
    short = [i for i in ids if len(tok.token_bytes(i)) < 4]
    for token_id in {*short, *random.Random(5).sample(ids, 300)}:
        merge = last_merge(tok.token_bytes(token_id), order)
        assert merge is not None
        node = lineage(tok, token_id)
        assert (node.merge, node.number) == (merge, replay.merge_of_pair(*map(tok.token_id, merge)))
        assert tok.rank(token_id) == order[merge]
        assert entry_of(tok, token_id).merge == node.number
    refresh = tok.token_id(b" refresh")
    assert refresh is not None
    assert lineage(tok, refresh).merge == beginning("gpt2").merge_of(refresh)


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base"])
def test_merges_have_the_numbers_of_replay(name: str) -> None:
    tok = tokviz.load(name)
    replay = Replay.open(tok)
    (token_id,) = tok.encode(" un")
    entry = entry_of(tok, token_id)
    assert entry.merge is not None
    assert replay.step(entry.merge).token == b" un"
    steps = encode_trace(tok, b" unbelievable").steps
    assert all(replay.step(step.number).token == step.token for step in steps)
    assert entry_of(tok, tok.encode(" ")[0]).merge is None, "a single byte is no merge"


def test_leaves_explain_why_they_are_leaves() -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"orphan"}
    tok = Tokenizer(vocab, [], {"<|end|>": 300})
    assert lineage(tok, 65).note == "a single byte"
    assert lineage(tok, 256).note == "no merge makes it"
    assert lineage(tok, 300).note == "a special token: no merge makes it"


def test_lineage_of_an_unknown_id_is_an_error() -> None:
    with pytest.raises(TokenIdError):
        lineage(THE, 4_000)


def test_recovered_merges_of_a_rank_file_join_to_the_token() -> None:
    tok = tokviz.load("gpt2")
    (token_id,) = tok.encode(" unbelievable")
    replay = Replay.open(tok)
    waiting = [lineage(tok, token_id)]
    leaves = 0
    while waiting:
        node = waiting.pop()
        if node.merge is None:
            assert len(node.token) == 1
            leaves += 1
            continue
        assert b"".join(node.merge) == node.token
        assert node.number is not None
        assert node.number == tok.merge_number(node.id or 0)
        assert replay.step(node.number).token == node.token
        assert all((child.number or 0) < node.number for child in node.children)
        waiting.extend(node.children)
    assert leaves == len(" unbelievable")


def test_a_million_byte_token_is_not_taken_apart() -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"a" * 1_000_000}
    node = lineage(Tokenizer(vocab, []), 256)
    assert node.children == ()
    assert node.note == "1,000,000 bytes: too long to divide"


def test_a_very_deep_lineage_is_cut_with_a_note() -> None:
    letters = bytes(range(97, 97 + 26)) * 8
    deep = merge_list(*((letters[:n], letters[n : n + 1]) for n in range(1, len(letters))))
    rows = render_lineage(lineage(deep, 256 + len(letters) - 2))
    notes = [row.node.note for row in rows if row.node.note != "a single byte"]
    assert [note for note in notes if note] == [
        f"{len(letters) - trace.MAX_LINEAGE_DEPTH:,} bytes, not divided further"
    ]


def test_a_wide_lineage_keeps_its_top() -> None:
    text = bytes((7 * n + n // 16) % 251 for n in range(1024))
    merges = [
        (text[at : at + size], text[at + size : at + 2 * size])
        for size in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
        for at in range(0, 1024, 2 * size)
    ]
    wide = merge_list(*dict.fromkeys(merges))
    rows = render_lineage(lineage(wide, _id(wide, text)))
    assert len(rows) <= trace.MAX_LINEAGE_NODES
    assert [row.node.token for row in rows if row.prefix in ("├─ ", "└─ ")] == [
        text[:512],
        text[512:],
    ]


def _id(tok: Tokenizer, token: bytes) -> int:
    token_id = tok.token_id(token)
    assert token_id is not None
    return token_id


def test_trace_applies_the_lowest_rank_first_and_the_leftmost_of_equals() -> None:
    steps = encode_trace(THE, b"thethe").steps
    assert [(step.start, step.token, step.number) for step in steps] == [
        (0, b"th", 1),
        (3, b"th", 1),
        (0, b"the", 2),
        (3, b"the", 2),
    ]


def test_trace_states_run_from_bytes_to_the_tokens() -> None:
    found = encode_trace(THE, b"then")
    assert list(found.states()) == [
        (b"t", b"h", b"e", b"n"),
        (b"th", b"e", b"n"),
        (b"the", b"n"),
    ]
    assert found.tokens == (b"the", b"n")


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
@given(st.text(st.characters(categories=["L", "M", "N"]), min_size=1, max_size=30))
def test_trace_ends_where_encode_ends(name: str, text: str) -> None:
    tok = tokviz.load(name)
    for start, end in tok.byte_text.split(text):
        pre_token = text[start:end].encode()
        expected = [tok.token_bytes(i) for i in tok.byte_text.encode(text[start:end], False)]
        assert list(encode_trace(tok, pre_token).tokens) == expected


@given(st.binary(min_size=1, max_size=40))
def test_trace_of_any_bytes_follows_a_merge_list(pre_token: bytes) -> None:
    alphabet = bytes(b"abcd"[byte % 4] for byte in pre_token)
    tok = merge_list((b"a", b"b"), (b"b", b"c"), (b"a", b"a"), (b"ab", b"c"), (b"aa", b"aa"))
    tokens = encode_trace(tok, alphabet).tokens
    assert [tok.token_id(token) for token in tokens] == tok.encode(alphabet.decode())


def test_a_million_byte_pre_token_is_not_traced() -> None:
    found = encode_trace(tokviz.load("gpt2"), b"a" * 1_000_000)
    assert found.steps == ()
    assert found.note == "A pre-token of 1,000,000 bytes is too long to show step by step."


def test_a_cut_of_the_split_pattern_is_named() -> None:
    found = why_not_one_token(tokviz.load("cl100k_base"), b"the cat")
    assert found.reason == "split"
    assert "split pattern gpt4 cuts it into 2 pre-tokens, at byte 3" in str(found)
    assert (b"the" in found.sentences[0]) and (b" cat" in found.sentences[0])


def test_a_token_that_the_pattern_always_splits_is_reported() -> None:
    tok = merge_list((b"e", b" "))
    found = why_not_one_token(tok, b"e ")
    assert found.reason == "split"
    assert "The vocabulary contains it (id 256)" in str(found)


def test_text_that_is_not_a_token_shows_the_missing_merge() -> None:
    found = why_not_one_token(THE, b"thethe")
    assert found.reason == "not in the vocabulary"
    assert found.sentences[0][1:4] == (b"the", " + ", b"the")
    assert found.trace is not None and len(found.trace.steps) == 4
    assert str(found).endswith(" The merge 'the' + 'the' is missing.")


def test_a_late_merge_names_the_earlier_one() -> None:
    tok = merge_list((b"b", b"c"), (b"a", b"b"), (b"ab", b"c"))
    found = why_not_one_token(tok, b"abc")
    assert found.reason == "too late"
    assert str(found) == (
        "The vocabulary contains it (id 258), but the merge 'a' + 'b' (merge 2) comes too late: "
        "'b' + 'c' (merge 1) is applied first and uses 'b'."
    )


def test_a_token_that_no_merge_reaches_is_called_unreachable() -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab"}
    assert why_not_one_token(Tokenizer(vocab, []), b"ab").reason == "unreachable"


def test_specials_are_named_only_when_they_are_parsed() -> None:
    assert why_not_one_token(THE, b"a<|end|>").reason == "special"
    assert why_not_one_token(THE, b"<|end|>").reason == "one token"
    assert why_not_one_token(THE, b"<|end|>", parse_specials=False).reason == "split"


def test_one_token_and_nothing_are_answered() -> None:
    assert str(why_not_one_token(THE, b"the")) == "Encoded alone, it is one token: 'the', id 257."
    assert why_not_one_token(THE, b"").reason == "empty"


def test_tokens_of_another_library_have_no_merges(tmp_path: Path) -> None:
    vocab = ["[UNK]", "play", "##ing", "##s", "p"]
    made = hf.Tokenizer(
        hf.models.WordPiece({word: n for n, word in enumerate(vocab)}, unk_token="[UNK]")
    )
    made.normalizer = hf.normalizers.Replace("x", "")
    made.pre_tokenizer = hf.pre_tokenizers.Whitespace()
    (tmp_path / "pre_tokens.json").write_text(made.to_str())
    tok = tokviz.load(tmp_path / "pre_tokens.json")
    try:
        for data, reason, told in (
            (
                b"playing",
                "not in the vocabulary",
                "library encodes it as 2 tokens: 'play' + '##ing'.",
            ),
            (b"ing", "one token", "Encoded alone, it becomes one token: '[UNK]', id 0."),
            (b"play", "one token", "Encoded alone, it is one token: 'play', id 1."),
            (b"xx", "left out", "The tokenizer omits this text: it produces no tokens for it."),
        ):
            found = why_not_one_token(tok, data)
            assert (found.reason, found.trace) == (reason, None)
            assert told in str(found)
    finally:
        tok.close()


def test_a_token_too_long_to_trace_is_reported() -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab" * 300}
    found = why_not_one_token(Tokenizer(vocab, []), b"ab" * 300)
    assert found.reason == "too long"
    assert str(found).endswith("600 bytes is too long to show step by step.")


@pytest.mark.parametrize("data", [b"a" * 1_000_000, b"\xff" * 1_000_000, "你".encode() * 400_000])
def test_a_very_long_stretch_is_answered_without_splitting_it(data: bytes) -> None:
    found = why_not_one_token(tokviz.load("gpt2"), data)
    assert found.reason == "not in the vocabulary"
    assert found.trace is None


@given(st.binary(max_size=60))
def test_any_bytes_get_an_answer_that_agrees_with_encode(data: bytes) -> None:
    tok = tokviz.load("gpt2")
    found = why_not_one_token(tok, data)
    assert (found.reason == "one token") == (len(tok.encode_bytes(data)) == 1)


def test_a_merge_that_is_listed_but_never_happens_makes_no_token() -> None:
    """Llama 3 has 459 such tokens, which are used because whole pre-tokens are looked up."""
    listed = [*("b c", "a b", "c d", "x y", "y z", "ab cd", "xy z", "x yz")]
    merges = [(left, right) for left, right in (pair.encode().split() for pair in listed)]
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += dict.fromkeys(left + right for left, right in merges)
    tok = Tokenizer(dict(enumerate(tokens)), merges, split_pattern="gpt2", ignore_merges=True)
    [abcd] = tok.encode("abcd")
    assert lineage(tok, abcd).note == "no merge makes it"
    replay = Replay.open(tok)
    assert [replay.step(k).is_reached for k in (1, 6, 7)] == [True, False, True]
