from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest

from tests.oracles.edits import RUNS, tokenizer
from tokviz.live.chunks import Chunk
from tokviz.live.cuts import CutRule
from tokviz.live.document import LiveDocument
from tokviz.text.snapshots import joined

SPECIAL = "<|endoftext|>"
LONG_WORD = "ab" * 20_000


def ids_of(live: LiveDocument) -> list[int]:
    return [span.id for span in live.tokens_in(0, live.n_chars)]


def test_nothing_is_known_without_a_tokenizer() -> None:
    live = LiveDocument("one two\nthree")
    assert live.tokens_in(4, 9) == [(4, 9, -1, -1, -1, 0)]
    assert (live.n_tokens, live.n_pending_chars, live.complete) == (0, 13, False)
    assert live.token_index_at(0) is None
    assert live.encode_pending(60)
    assert (live.n_bytes, live.n_lines, live.location(9)) == (13, 2, (1, 1))


def test_a_long_text_without_a_tokenizer_can_be_edited_and_then_tokenized() -> None:
    live = LiveDocument("some words\n" * 1000)
    live.edit(5_500, 11, "é\r\n")
    live.set_tokenizer(tokenizer("gpt2"))
    assert live.text == "some words\n" * 500 + "é\r\n" + "some words\n" * 499
    assert ids_of(live) == tokenizer("gpt2").encode(live.text)


def test_an_empty_document_is_complete() -> None:
    live = LiveDocument("", tokenizer("gpt2"))
    assert live.complete
    assert live.tokens_in(0, 0) == []
    assert live.ids().tolist() == []
    assert (live.n_lines, live.location(0), live.line_start(0)) == (1, (0, 0), 0)
    assert live.counts(0, 0) == (0, 0, 0)
    live.edit(0, 0, "a")
    live.edit(0, 1, "")
    assert live.complete
    assert live.text == ""


def test_a_request_encodes_only_the_requested_tokens() -> None:
    live = LiveDocument("some words " * 10_000, tokenizer("gpt2"))
    assert live.n_tokens == 0
    assert live.ensure(50_000, 50_100)
    assert 0 < live.n_tokens < 2_000
    assert live.encode_pending(60)
    assert live.complete
    assert live.n_tokens == len(tokenizer("gpt2").encode(live.text))


def test_a_chunk_without_a_cut_waits_for_the_worker() -> None:
    live = LiveDocument(LONG_WORD + " end of it", tokenizer("gpt2"))
    assert not live.ensure(0, 10)
    assert live.tokens_in(5, 15) == [(5, 15, -1, -1, -1, 0)]
    assert live.n_pending_chars >= len(LONG_WORD)
    assert live.encode_pending(60)
    assert live.ensure(0, 10)
    assert ids_of(live) == tokenizer("gpt2").encode(live.text)


def test_editing_a_long_chunk_finds_the_cuts_that_the_edit_makes() -> None:
    live = LiveDocument(LONG_WORD, tokenizer("gpt2"))
    live.edit(20_000, 0, " some words here ")
    assert live.ensure(20_005, 20_010)
    live.encode_pending(60)
    assert ids_of(live) == tokenizer("gpt2").encode(live.text)
    live.edit(20_000, 17, "")
    live.encode_pending(60)
    assert ids_of(live) == tokenizer("gpt2").encode(LONG_WORD)


def test_one_space_typed_into_a_long_word_cuts_it_in_two() -> None:
    live = LiveDocument(LONG_WORD, tokenizer("gpt2"))
    live.edit(20_000, 0, " ")
    assert [chunk.n_chars for chunk in live.chunks()] == [20_000, 20_001]
    live.edit(20_000, 1, "")
    assert [chunk.n_chars for chunk in live.chunks()] == [40_000]


@pytest.mark.parametrize("target", [1, 4])
@pytest.mark.parametrize("cut_at", range(1, len(SPECIAL)))
def test_a_special_token_typed_across_a_chunk_border_is_seen(cut_at: int, target: int) -> None:
    for typed_first in (True, False):
        there, typed = SPECIAL[:cut_at], SPECIAL[cut_at:]
        if typed_first:
            there, typed = "", SPECIAL[:cut_at]
        rest = SPECIAL[cut_at:] if typed_first else ""
        head = "word " * 3 + there
        live = LiveDocument(f"{head}{rest} word word word", tokenizer("gpt2"), chunk_target=target)
        live.edit(len(head), 0, typed)
        assert 50256 in ids_of(live)
        live.edit(len(head), 1, "")
        assert 50256 not in ids_of(live)
        assert ids_of(live) == tokenizer("gpt2").encode(live.text)


def test_special_tokens_can_be_taken_for_text() -> None:
    live = LiveDocument(f"a{SPECIAL}b", tokenizer("gpt2"))
    assert live.tokens_in(3, 4)[0][:4] == (1, 14, 1, 50256)
    live.set_parse_specials(False)
    assert 50256 not in ids_of(live)
    assert ids_of(live) == tokenizer("gpt2").encode(live.text, allowed_special="none")


def test_tokens_that_share_a_character_are_marked() -> None:
    live = LiveDocument("a🤖", tokenizer("gpt2"))
    assert [(s.start, s.end, s.split) for s in live.tokens_in(0, 2)] == [
        (0, 1, 0),
        (1, 2, 2),
        (1, 2, 3),
        (1, 2, 1),
    ]
    assert live.counts(1, 2) == (1, 4, 3)
    assert live.token_index_at(1) == 1


def test_raw_bytes_are_one_byte_each() -> None:
    live = LiveDocument("a\udcff\udc80é", tokenizer("gpt2"))
    assert live.n_bytes == 5
    assert live.byte_offset(3) == 3
    last = live.token(len(live.ids()) - 1)
    assert (last.byte_start, last.byte_end) == (3, 5)


def test_every_change_is_a_new_revision() -> None:
    live = LiveDocument("a")
    seen = [live.revision]
    for change in (
        lambda: live.edit(0, 0, "b"),
        lambda: live.set_text("c"),
        lambda: live.set_tokenizer(tokenizer("gpt2")),
        lambda: live.set_parse_specials(False),
    ):
        change()
        seen.append(live.revision)
    assert seen == list(range(seen[0], seen[0] + 5))
    live.edit(1, 0, "")
    live.set_parse_specials(False)
    live.encode_pending(60)
    assert live.revision == seen[-1]


@pytest.mark.parametrize("edit", [(-1, 0, "x"), (4, 0, "x"), (2, 2, ""), (0, -1, "")])
def test_an_edit_outside_the_text_changes_nothing(edit: tuple[int, int, str]) -> None:
    live = LiveDocument("abc", tokenizer("gpt2"))
    with pytest.raises(IndexError):
        live.edit(*edit)
    assert (live.text, live.revision) == ("abc", 0)


def test_a_lone_surrogate_is_refused_and_changes_nothing() -> None:
    live = LiveDocument("abc", tokenizer("gpt2"))
    with pytest.raises(UnicodeEncodeError):
        live.edit(1, 1, "\ud800")
    with pytest.raises(UnicodeEncodeError):
        live.set_text("\ud800")
    assert (live.text, live.revision) == ("abc", 0)
    assert ids_of(live) == tokenizer("gpt2").encode("abc")


def test_parts_of_the_text_that_did_not_change_stay_the_same_objects() -> None:
    live = LiveDocument("some words\n" * 1000, tokenizer("gpt2"))
    before = live.parts()
    live.edit(5_000, 0, "x")
    behind = live.parts()
    assert joined(behind) == live.text
    assert len({id(part) for part in before} & {id(part) for part in behind}) >= len(before) - 2


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("name", ["cl100k_base", "small none"])
def test_a_key_in_a_long_run_examines_few_characters(name: str, kind: str) -> None:
    live = LiveDocument(RUNS[kind] * 300_000, tokenizer(name))
    for offset, n_removed, inserted in [(150_000, 0, "x"), (150_001, 1, ""), (90_000, 0, "\n")]:
        before = set(map(id, live.parts()))
        live.edit(offset, n_removed, inserted)
        new = [part for part in live.parts() if id(part) not in before]
        assert 0 < sum(part.n_chars for part in new) < 16_384


def test_replacing_all_of_a_long_text_leaves_nothing_of_it() -> None:
    live = LiveDocument("some words " * 10_000, tokenizer("gpt2"))
    live.encode_pending(60)
    live.edit(0, live.n_chars, "new")
    assert ids_of(live) == tokenizer("gpt2").encode("new")
    assert live.occurrences(tokenizer("gpt2").encode(" words")[0]) == (0, [])
    assert live.revision == 1


def test_indexes_outside_are_errors_or_empty() -> None:
    live = LiveDocument("one two", tokenizer("gpt2"))
    live.ensure(0, 7)
    for index in (-1, 2):
        with pytest.raises(IndexError):
            live.token(index)
    assert live.token_index_at(7) is None
    assert live.tokens_slice(-5, 99) == live.tokens_slice(0, 2)
    assert live.tokens_in(-5, 99) == live.tokens_in(0, 7)
    assert live.tokens_in(5, 2) == []
    assert live.line_start(9) == 0
    assert live.location(99) == (0, 7)


@pytest.mark.parametrize("text", ["7" * 50_000, "some words\n" * 5_000], ids=["a run", "with cuts"])
@pytest.mark.parametrize("place", ["in an empty text", "in a text", "in place of all"])
def test_a_prepared_text_is_not_searched_for_cuts_again(
    text: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = "" if place == "in an empty text" else "1234567890" * 2_000
    document = LiveDocument(before, tokenizer("cl100k_base"))
    document.prepare_edit(text)
    searched: list[int] = []
    split = CutRule.split

    def counted(rule: CutRule, part: str, *arguments: Any) -> list[str]:
        searched.append(len(part))
        return split(rule, part, *arguments)

    monkeypatch.setattr(CutRule, "split", counted)
    if place == "in place of all":
        document.edit(0, len(before), text)
        expected = text
    else:
        document.edit(len(before) // 2, 0, text)
        expected = before[: len(before) // 2] + text + before[len(before) // 2 :]
    assert document.text == expected
    assert sum(searched) < 100_000  # of 700,000
    assert document.ids().tolist() == tokenizer("cl100k_base").encode(expected)


@pytest.mark.parametrize("edited", [False, True])
def test_a_prepared_reading_is_used_with_later_edits(
    edited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = LiveDocument("some words 12\n" * 50_000, tokenizer("cl100k_base"))
    document.prepare_reading(tokenizer("gpt2"), False)
    searched: list[int] = []
    split = CutRule.split

    def counted(rule: CutRule, part: str, *arguments: Any) -> list[str]:
        searched.append(len(part))
        return split(rule, part, *arguments)

    monkeypatch.setattr(CutRule, "split", counted)
    if edited:
        document.edit(30_000, 20, "é!")
        document.edit(40_000, 0, SPECIAL)
    revision, text = document.revision, document.text
    document.parse_specials = False
    document.set_tokenizer(tokenizer("gpt2"))
    assert document.text == text
    assert document.ids().tolist() == tokenizer("gpt2").encode(text, allowed_special="none")
    assert sum(searched) < 100_000  # of 700,000
    assert document.changes.since(revision) == (0, 0, 0)


def test_a_stale_reading_is_not_used() -> None:
    document = LiveDocument("some words\n" * 2_000, tokenizer("cl100k_base"))
    document.prepare_reading(tokenizer("gpt2"), True)
    document.set_text("other words\n")
    document.set_tokenizer(tokenizer("gpt2"))
    assert (document.text, ids_of(document)) == ("other words\n", [847, 2456, 198])
    document.prepare_reading(tokenizer("gpt2"), True)
    document.set_tokenizer(tokenizer("cl100k_base"))
    assert ids_of(document) == tokenizer("cl100k_base").encode("other words\n")


@pytest.mark.parametrize("overtake", ["the tokenizer of now", "another text"])
def test_a_superseded_reading_is_discarded(overtake: str) -> None:
    document = LiveDocument("some words\n" * 2_000, tokenizer("cl100k_base"))
    before = _chunks_there_are()
    document.prepare_reading(tokenizer("gpt2"), True)
    if overtake == "another text":
        document.set_text("other words\n")
    else:
        document.prepare_reading(tokenizer("cl100k_base"), True)
    assert _chunks_there_are() <= before + 1


def _chunks_there_are() -> int:
    gc.collect()
    return sum(isinstance(one, Chunk) for one in gc.get_objects())


def test_counts_of_a_long_removed_text_are_updated_gradually() -> None:
    document = LiveDocument("some words\n" * 20_000, tokenizer("cl100k_base"))
    while not document.encode_pending(1):
        pass
    assert document.settled
    words = document.token(1).id
    assert document.occurrences(words)[0] == 20_000
    document.edit(11, document.n_chars - 22, "")
    assert document.complete
    assert not document.settled
    assert document.occurrences(words)[1] == [1, 4]
    while not document.encode_pending(1):
        pass
    assert document.settled
    assert document.occurrences(words) == (2, [1, 4])


def test_the_tokens_of_a_long_text_are_counted_as_those_of_a_short_one() -> None:
    text = "some words of 12,345 and 世界\n" * 8_000
    document = LiveDocument(text, tokenizer("gpt2"))
    while not document.encode_pending(1.0):
        pass
    assert document.token_counts() == Counter(document.ids())
    document.edit(5, 100_000, "x")
    while not document.encode_pending(1.0):
        pass
    assert document.token_counts() == Counter(document.ids())


def test_a_pasted_text_is_laid_out_in_blocks_before_anything_of_it_is_encoded() -> None:
    """Ten million empty lines in one block once took five seconds."""
    live = LiveDocument("top", tokenizer("gpt2"))
    live.edit(3, 0, "\n" * 100_000)
    blocks = list(live.line_blocks(1, 100_001, 1000))
    assert sum(n_lines for n_lines, _ in blocks) == 100_000
    assert max(n_lines for n_lines, _ in blocks) <= 2000
