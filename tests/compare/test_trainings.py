"""First differences of two trainings, and their causes."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from itertools import pairwise

import pytest
from hypothesis import given

import tokviz
from tests.oracles.nasty import byte_texts
from tests.profiles import examples
from tokviz.compare.trainings import diff_merges, open_merges
from tokviz.errors import InputFileError, UnknownTokenizerError, VocabularyError
from tokviz.text import bytetext
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.replay.replay import Replay
from tokviz.training.ties import TIE_BREAKS

RANDOM = random.Random(8)
WORDS = " ".join("".join(RANDOM.choices("abcd", k=RANDOM.randint(1, 9))) for _ in range(300))
RUNS = {
    rule: tokviz.train([WORDS], 400, split_pattern="gpt2", tie_break=rule) for rule in TIE_BREAKS
}
PAIRS = [(a, b) for a in TIE_BREAKS for b in TIE_BREAKS if a != b]


@pytest.mark.parametrize(("rule_a", "rule_b"), PAIRS)
def test_rules_part_at_a_tie(rule_a, rule_b) -> None:
    a, b = RUNS[rule_a], RUNS[rule_b]
    diff = diff_merges(a, b)
    merges = list(zip(a.tokenizer.merges, b.tokenizer.merges, strict=True))
    k = next(k for k, (one, other) in enumerate(merges, 1) if one != other)
    found = diff.first_difference
    assert found is not None
    assert (found.k, diff.n_equal, found.kind) == (k, k - 1, "tie")
    assert found.a is not None
    assert found.b is not None
    assert found.a.count == found.b.count == found.count_in_a == found.count_in_b
    assert f"“{rule_a}”" in str(found)
    assert f"“{rule_b}”" in str(found)
    in_a, in_b = ({left + right for left, right in run.tokenizer.merges} for run in (a, b))
    assert set(diff.only_in[0]) == in_a - in_b
    assert set(diff.only_in[1]) == in_b - in_a
    assert diff.n_shared == len(in_a & in_b)
    assert ("tie-breaking rule", rule_a, rule_b) in diff.settings


@pytest.mark.parametrize(("rule_a", "rule_b"), PAIRS)
def test_the_rule_of_foreign_merges_is_found_out(rule_a, rule_b) -> None:
    found = diff_merges(RUNS[rule_a], RUNS[rule_b].tokenizer.merges).first_difference
    assert found is not None
    assert found.kind == "tie"
    assert f"is picked by the rule “{rule_b}”" in str(found)


def test_the_one_without_counts_may_stand_first() -> None:
    merges = RUNS["first"].tokenizer.merges
    found = diff_merges(merges, RUNS["lexicographic"]).first_difference
    assert found is not None
    assert found.kind == "tie"
    assert found.count_in_a is None
    assert found.b is not None
    assert found.count_in_b == found.b.count
    assert "is picked by the rule “first”" in str(found)


def test_a_tie_that_no_rule_breaks_so_is_said_to_be_one() -> None:
    text = "ab cd ef gh"
    a = tokviz.train([text], 258, split_pattern="whitespace", tie_break="first")
    found = diff_merges(a, [(b"c", b"d")]).first_difference
    assert found is not None
    assert found.kind == "tie"
    assert "is not picked by any known rule" in str(found)


def test_wrong_counts_are_told_from_ties() -> None:
    a = tokviz.train(["aab aab aab cd cd"], 260, split_pattern="gpt2")
    found = diff_merges(a, [(b"c", b"d")]).first_difference
    assert found is not None
    assert (found.kind, found.count_in_a) == ("counts", 2)
    assert "'c' + 'd' occurs only twice in the corpus of A" in str(found)
    found = diff_merges(a, [(b"x", b"y")]).first_difference
    assert found is not None
    assert "'x' + 'y' does not occur in the corpus of A" in str(found)


TEXT = "numbers 123456 and 123457 don't 123456 123 it's the theory of 123456 1234567 the the"


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"split_pattern": "gpt2"}, "pattern", "“gpt4” gives '123', in B, “gpt2” ' 123456'."),
        ({"split_pattern": "whitespace"}, "pattern", "“gpt4” gives '456', in B, “whitespace” '123"),
        ({"split_pattern": r"\d\d|\D+|\d"}, "pattern", "gives '123', in B"),
        ({"special_tokens": ["the"]}, "specials", "in B 'the' is cut out, and ' the' occurs 3"),
        (
            {"tie_break": "lexicographic"},
            "tie",
            "The tie-breaking rule of B, “lexicographic”, picks",
        ),
        ({"source": [TEXT, " the the"]}, "corpus", "' the' occurs 5 times in B, 3 times in A."),
        ({"source": [TEXT.replace("1", "9")]}, "corpus", "'123' occurs 6 times in A, never in B"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else "",
)
def test_the_cause_is_found_by_trying(changes, kind, words) -> None:
    """Every change of one setting is reported as the cause, in both orders."""
    settings = {"source": [TEXT], "split_pattern": "gpt4", "vocab_size": 300}
    a, b = tokviz.train(**settings), tokviz.train(**{**settings, **changes})
    found = diff_merges(a, b).first_difference
    assert found is not None
    assert found.kind == kind
    assert words in str(found)
    mirrored = diff_merges(b, a).first_difference
    assert mirrored is not None
    assert (mirrored.k, mirrored.kind) == (found.k, kind)


def test_a_pattern_that_looks_ahead_is_the_cause_too() -> None:
    a, b = (
        tokviz.train(["a\n\n\nb " * 9 + "cd " * 8], 258, split_pattern=name)
        for name in ("gpt4", "gpt2")
    )
    found = diff_merges(a, b).first_difference
    assert found is not None
    assert "“gpt4” gives '\\n\\n\\n', in B, “gpt2” '\\n\\n' '\\n'." in str(found)


def test_three_stand_side_by_side() -> None:
    runs = [RUNS[rule] for rule in TIE_BREAKS]
    diff = diff_merges(*runs)
    merges = [run.tokenizer.merges for run in runs]
    k = next(k for k, found in enumerate(zip(*merges, strict=True), 1) if len(set(found)) > 1)
    assert diff.first_number == k
    rungs = dict(diff.rungs())
    assert min(rungs) == max(1, k - 2)
    for number, steps in rungs.items():
        assert [step and (step.left, step.right) for step in steps] == [
            own[number - 1] for own in merges
        ]
    tokens = [{left + right for left, right in own} for own in merges]
    for own, others, found in zip(
        tokens, (tokens[1:], tokens[::2], tokens[:2]), diff.only_in, strict=True
    ):
        assert set(found) == own - set.union(*others)
    third = diff.more[0].first_difference
    assert third is not None
    assert "C merges" in str(third) and "The tie-breaking rule of C" in str(third)


def test_the_same_token_of_other_parts_is_a_difference() -> None:
    merges = [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c")]
    other = [*merges[:2], (b"a", b"bc")]
    found = diff_merges(merges, other).first_difference
    assert found is not None
    assert (found.k, found.kind) == (3, "parts")
    assert diff_merges(merges, other).only_in[0] == []


def test_a_shorter_training_ends() -> None:
    merges = RUNS["first"].tokenizer.merges
    for a, b, which in ((merges[:20], merges, "A"), (merges, merges[:20], "B")):
        found = diff_merges(a, b).first_difference
        assert found is not None
        assert (found.k, found.kind) == (21, "end")
        assert f"has all 20 merges of {which}, and continues with" in str(found)


def test_equal_trainings_have_no_difference() -> None:
    diff = diff_merges(RUNS["first"], RUNS["first"].tokenizer.merges)
    assert diff.first_difference is None
    assert diff.n_equal == len(RUNS["first"].tokenizer.merges)
    assert diff.only_in == ([], [])
    assert diff.settings == ()


def test_pretrained_vocabularies_are_compared_without_counts() -> None:
    diff = diff_merges("gpt2", "cl100k_base")
    found = diff.first_difference
    assert found is not None
    assert (found.k, found.kind) == (1, "unknown")
    assert "The counts of both pairs are unknown." in str(found)
    assert b" the" not in diff.only_in[0]
    assert diff_merges("gpt2", "gpt2").first_difference is None


@examples(60)
@given(text=byte_texts)
def test_outside_of_the_places_both_have_the_same_tokens(text) -> None:
    diff = diff_merges("gpt2", RUNS["first"])
    effect = diff.effect(text)
    data = bytetext.to_bytes(text)

    def tokens(replay: Replay) -> set[tuple[int, int]]:
        ids = replay.tokenizer.byte_text.encode(text, allowed_special=True).tolist()
        ends = [0]
        for token_id in ids:
            ends.append(ends[-1] + len(replay.tokenizer.token_bytes(token_id)))
        return set(pairwise(ends))

    in_a, in_b = tokens(diff.a), tokens(diff.b)
    assert effect.counts == (len(in_a), len(in_b))
    spans = [tuple(span) for span in effect.spans.tolist()]
    for start, end in in_a ^ in_b:
        assert any(first <= start and end <= last for first, last in spans)
    for index, (first, last) in enumerate(spans):
        ours, theirs = effect.tokens_in(index)
        assert ours != theirs
        assert b"".join(ours) == b"".join(theirs) == data[first:last]


def test_special_tokens_count_as_they_do_in_the_text_beside_the_comparison() -> None:
    diff = diff_merges("gpt2", RUNS["first"])
    text = "aa<|endoftext|>bb"
    effect = diff.effect(text)
    beside = [len(replay.text(text).at(replay.n_merges)) for replay in (diff.a, diff.b)]
    assert [*effect.counts] == beside
    assert effect.counts[0] == 3 and effect.tokens_in(0)[0] == [b"<|endoftext|>"]
    assert ("special tokens", "1", "0") in diff.settings


# -- sources of merges


@pytest.mark.parametrize("form", ["gpt2", "cs336", "json", "tokenizer.json", "folder", "tiktoken"])
def test_files_of_every_form_give_the_merges(form, tmp_path) -> None:
    run = RUNS["lexicographic"]
    merges = run.tokenizer.merges
    path = tmp_path / "merges.txt"
    if form == "gpt2":
        lines = [f"{a} {b}".replace("  ", " Ġ") for a, b in _spelled(merges)]
        path.write_text("\n".join(["#version: 0.2", *lines]))
    elif form == "cs336":
        path.write_text("\n".join(map(repr, merges)))
    elif form == "json":
        path.write_text(json.dumps(_spelled(merges)))
    elif form == "tiktoken":
        tokens = [bytes([byte]) for byte in range(256)] + [a + b for a, b in merges]
        path.write_bytes(b"".join(b64encode(t) + b" %d\n" % i for i, t in enumerate(tokens)))
    else:
        run.save(tmp_path / "run")
        path = tmp_path / "run"
        if form == "tokenizer.json":
            path = path / "tokenizer.json"
    diff = diff_merges(run, path)
    assert diff.first_difference is None
    assert diff.b.tokenizer.split_pattern.name == "gpt2"
    assert diff.b.has_counts == (form == "folder")


def _spelled(merges: list[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(a.decode().replace(" ", "Ġ"), b.decode().replace(" ", "Ġ")) for a, b in merges]


def test_merges_without_a_pattern_get_that_of_the_other_one() -> None:
    run = tokviz.train(["abc abc"], 258, split_pattern="whitespace")
    diff = diff_merges(run, run.tokenizer.merges)
    assert diff.b.tokenizer.split_pattern.name == "whitespace"


def test_a_merge_of_what_is_not_made_is_refused(tmp_path) -> None:
    with pytest.raises(VocabularyError, match=r"merge 2 .* b'th' is neither a byte nor made"):
        open_merges([(b"a", b"b"), (b"th", b"e")])
    (tmp_path / "m.txt").write_text("a b\nth e\n")
    with pytest.raises(InputFileError, match=r"m\.txt: merge 2"):
        open_merges(tmp_path / "m.txt")


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff\xfe", b"QQ== x\n", b"QQ== 0\nQQ== 1\n", b"[1]", b"a b c\n"]
)
def test_files_that_hold_no_merges_are_refused_by_name(content, tmp_path) -> None:
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(InputFileError, match="/m: "):
        open_merges(tmp_path / "m")


def test_names_that_are_nothing_are_refused() -> None:
    with pytest.raises(UnknownTokenizerError):
        diff_merges("gpt2", "gpt222")


def test_what_is_open_is_taken_as_it_is() -> None:
    replay = Replay.open("gpt2")
    assert open_merges(replay) is replay
    assert isinstance(open_merges(replay.tokenizer).tokenizer, Tokenizer)
