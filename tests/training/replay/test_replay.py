"""The Replay: every state is the one that training went through."""

from __future__ import annotations

import dataclasses
import random
import re
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.formats.samples import beginning, with_every_merge
from tests.oracles import replay as oracle
from tests.profiles import examples
from tests.training.trainers import corpora, finished, pre_token_counts
from tests.training.trainers import settings as train_settings
from tokviz.compare.trainings import diff_merges
from tokviz.errors import InputFileError, TokvizError, UnknownTokenizerError
from tokviz.process.runner import JobDroppedError, stopped_by
from tokviz.text.sentences import format_sentences
from tokviz.training.history import TrainingHistory
from tokviz.training.python_trainer import PythonTrainer
from tokviz.training.replay import compiled as replay_compiled
from tokviz.training.replay import corpus as replay_corpus
from tokviz.training.replay.corpus import MOST_PRE_TOKEN_BYTES
from tokviz.training.replay.replay import PairCount, Replay
from tokviz.training.run import TrainingRun, TrainTimings, tokenizer_of
from tokviz.training.settings import SpecialIds
from tokviz.training.ties import TIE_BREAKS

RULES = list(TIE_BREAKS)
TEXT = "low low low low low lower lower widest widest widest" + " newest" * 6
LETTERS = random.Random(3)
WORDS = " ".join("".join(LETTERS.choices("abcd", k=LETTERS.randint(1, 12))) for _ in range(300))
TIMES = TrainTimings(0.0, 0.0)


def run_of(
    pre_tokens: list[bytes], counts: list[int], rule: str, n_merges: int, specials=(), ids="first"
):
    asked = train_settings(rule, n_merges)._replace(special_tokens=tuple(specials), special_ids=ids)
    counted = pre_token_counts(pre_tokens, counts)
    history = finished(PythonTrainer(counted, train_settings(rule, n_merges))).history()
    shifted = history.with_ids(asked.layout)
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in history.pairs():
        tokens.append(tokens[left] + tokens[right])
    return TrainingRun(tokenizer_of(asked, history, tokens), shifted, counted, asked, TIMES)


def as_oracle(pairs: list[PairCount], number_of) -> list[tuple[tuple[int, int], int]]:
    return [((number_of(pair.left_id), number_of(pair.right_id)), pair.count) for pair in pairs]


@examples(60)
@given(
    corpus=corpora(),
    rule=st.sampled_from(RULES),
    ids=st.sampled_from(get_args(SpecialIds)),
    data=st.data(),
)
def test_every_state_is_the_one_of_the_training(corpus, rule, ids, data) -> None:
    pre_tokens, counts = corpus
    run = run_of(pre_tokens, counts, rule, 40, specials=["<|a|>", "<|b|>"], ids=ids)
    id_of = run.settings.layout.id_of
    number_of = {id_of(number): number for number in range(256 + 40)}.__getitem__
    replay = Replay.open(run)
    pairs = [(number_of(left), number_of(right)) for left, right in run.history.pairs()]
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [left + right for left, right in run.tokenizer.merges]
    for k in data.draw(st.lists(st.integers(0, replay.n_merges), min_size=1, max_size=6)):
        corpus_then = oracle.corpus_after(pre_tokens, pairs[:k])
        ranking = oracle.ranking(corpus_then, counts, rule, tokens)
        state = replay.state(k)
        assert as_oracle(state.top_pairs(10), number_of) == ranking[:10]
        assert [pair.is_next for pair in state.top_pairs(3)] == [
            i == 0 and k < replay.n_merges for i in range(len(ranking[:3]))
        ]
        assert state.n_tokens == sum(
            len(pre_token) * n for pre_token, n in zip(corpus_then, counts, strict=True)
        )
        shown = [[*map(number_of, pre_token.ids)] for pre_token in state.pre_tokens(0, 100)]
        assert shown == corpus_then
        for (left, right), count in random.Random(k).sample(ranking, min(4, len(ranking))):
            assert state.pair_count(id_of(left), id_of(right)) == count
        assert state.pair_count(1, 2) == dict(ranking).get((0, 1), 0)


@pytest.mark.parametrize("rule", RULES)
def test_walking_step_by_step_equals_jumping(rule) -> None:
    replay = Replay.open(tokviz.train([WORDS], 320, tie_break=rule))
    jumped = []
    for k in range(replay.n_merges + 1):
        other = Replay.open(replay.run)
        jumped.append(other.state(k).top_pairs(200))
    there = range(replay.n_merges + 1)
    for k in [*there, *reversed(there), 3, 9, 4, 40, 1]:
        pairs = replay.corpus().pairs
        if pairs.k >= 0:
            pairs.walk_to(k)
        assert replay.state(k).top_pairs(200) == jumped[k]


@pytest.mark.parametrize("rule", RULES)
def test_a_state_is_the_end_of_a_shorter_training(rule) -> None:
    whole = Replay.open(
        tokviz.train([WORDS], 400, tie_break=rule, special_tokens=["<|a|>", "<|b|>"])
    )
    for k in (0, 1, 7, 70, whole.n_merges):
        short = Replay.open(
            tokviz.train([WORDS], 258 + k, tie_break=rule, special_tokens=["<|a|>", "<|b|>"])
        )
        assert short.n_merges == k
        assert whole.tokenizer.n_vocab - whole.n_merges + k == short.tokenizer.n_vocab
        assert whole.state(k).n_tokens == short.state(k).n_tokens
        ours, theirs = whole.state(k).top_pairs(50), short.state(k).top_pairs(50)
        assert [dataclasses.replace(pair, is_next=False) for pair in ours] == theirs
        assert whole.text("abcd dcba ab").at(k).ids.tolist() == short.tokenizer.encode(
            "abcd dcba ab"
        )


def test_a_large_corpus_in_chunks_is_the_same() -> None:
    rng = random.Random(5)
    text = " ".join("".join(rng.choices("abcde", k=rng.randint(1, 9))) for _ in range(4_000))
    run = tokviz.train([text], 900, split_pattern="gpt2")
    pre_tokens = run.pre_token_counts
    columns = (run.history.left_id.astype(np.int32), run.history.right_id.astype(np.int32))
    small, removed = replay_compiled.joined_by(pre_tokens, *columns, chunk_bytes=50)
    large, removed_too = replay_compiled.joined_by(pre_tokens, *columns)
    assert small.joined.tolist() == large.joined.tolist()
    assert removed.tolist() == removed_too.tolist()
    plain = Replay.open(run).corpus()
    assert plain.times.joined.tolist() == large.joined.tolist()


def test_the_textbook_example() -> None:
    replay = Replay.open(tokviz.train(["abababcb"], 258, split_pattern="none"))
    assert replay.is_tiny
    step = replay.step(1)
    assert (step.left, step.right, step.token, step.count, step.margin) == (
        b"a", b"b", b"ab", 3, 1,
    )  # fmt: skip
    assert (step.n_tokens_before, step.n_tokens_after) == (8, 5)
    (pre_token,) = replay.state(1).pre_tokens()
    assert (pre_token.ids, pre_token.byte_ends) == ((256, 256, 256, 99, 98), (2, 4, 6, 7, 8))
    assert [pair.count for pair in replay.state(1).top_pairs()] == [2, 1, 1]


@pytest.mark.parametrize("special_ids", get_args(SpecialIds))
def test_steps_equal_the_history(special_ids) -> None:
    run = tokviz.train([TEXT], 290, special_tokens=["<|a|>"], special_ids=special_ids)
    replay = Replay.open(run)
    for k in range(1, replay.n_merges + 1):
        step = replay.step(k)
        assert (step.left_id, step.right_id, step.new_id) == (
            run.history.left_id[k - 1], run.history.right_id[k - 1], run.history.new_id[k - 1],
        )  # fmt: skip
        assert step.count == run.history.count[k - 1]
        assert step.token == run.tokenizer.token_bytes(step.new_id) == replay.token(k)
        candidates = replay.state(k - 1).top_pairs(2)
        assert (candidates[0].left_id, candidates[0].right_id) == (step.left_id, step.right_id)
        if step.runner_up is not None:
            assert (candidates[1].left, candidates[1].right) == step.runner_up[2:]
    assert replay.tokenizer.merge_number(step.new_id) == replay.n_merges
    assert replay.tokenizer.merge_number(5) is None


def test_merges_out_of_range_are_refused() -> None:
    replay = Replay.open(tokviz.train(["abab"], 258, split_pattern="none"))
    for k in (0, -1, 99):
        with pytest.raises(IndexError):
            replay.step(k)
    with pytest.raises(IndexError):
        replay.state(-1)


def test_the_pre_tokens_of_a_merge_are_the_most_frequent_first() -> None:
    replay = Replay.open(tokviz.train([TEXT], 300, split_pattern="gpt2"))
    for k in range(replay.n_merges):
        step = replay.step(k + 1)
        found = replay.state(k).pre_tokens_of_next(3)
        assert found
        assert [pre_token.count for pre_token in found] == sorted(
            (pre_token.count for pre_token in found), reverse=True
        )
        for pre_token in found:
            pairs = list(zip(pre_token.ids, pre_token.ids[1:], strict=False))
            assert (step.left_id, step.right_id) in pairs
    assert replay.state(replay.n_merges).pre_tokens_of_next() == []


@pytest.mark.parametrize("rule", RULES)
def test_why_names_the_rule_of_a_tie(rule) -> None:
    replay = Replay.open(tokviz.train(["xy zw xy zw q"], 260, tie_break=rule))
    tied = [k for k in range(1, replay.n_merges + 1) if (replay.step(k).n_tied or 0) > 1]
    assert tied
    for k in range(1, replay.n_merges + 1):
        why = replay.why(k)
        assert (f"“{rule}”" in str(why)) == (k in tied)


def test_why_tells_the_margin() -> None:
    replay = Replay.open(tokviz.train(["abababcb"], 257, split_pattern="none"))
    assert str(replay.why(1)) == (
        "'a' + 'b' occurs 3 times, more than any other pair; 'b' + 'a' follows with 2, 1 fewer."
    )


def test_search_finds_the_exact_token_first() -> None:
    replay = Replay.open("gpt2")
    found = list(replay.find("the"))
    assert [replay.token(k) for k in found[:2]] == [b"the", b" the"]
    assert all(b"the" in replay.token(k) for k in found)
    assert found[2:] == sorted(found[2:])
    assert list(replay.find("#123")) == [123]
    assert list(replay.find("#0")) == list(replay.find("#50001")) == list(replay.find("")) == []
    assert list(replay.find("\udce4")) == [
        k for k in range(1, 50_001) if b"\xe4" in replay.token(k)
    ]


def test_a_vocabulary_has_no_counts() -> None:
    replay = Replay.open("gpt2")
    assert not replay.has_counts
    assert (replay.tie_break, replay.n_bytes, replay.n_pre_tokens, replay.is_tiny) == (
        None, None, None, False,
    )  # fmt: skip
    state = replay.state(100)
    assert (state.n_tokens, state.bytes_per_token, state.pair_count(1, 2)) == (None, None, None)
    assert (state.top_pairs(), state.pre_tokens(), state.pre_tokens_of_next()) == ([], [], [])
    step = replay.step(1)
    assert (step.left, step.right, step.count, step.margin) == (b" ", b"t", None, None)
    assert "unknown" in str(replay.why(1))


def test_first_and_last_states_are_those_of_the_training() -> None:
    run = tokviz.train([TEXT], 300)
    replay = Replay.open(run)
    assert replay.state(0).bytes_per_token == 1.0
    last = replay.state(replay.n_merges).bytes_per_token
    assert last == len(TEXT) / int(run.history.n_tokens[-1])
    counts = [replay.step(k).count for k in range(1, replay.n_merges + 1)]
    assert counts == run.history.count.tolist()


def test_a_run_without_merges_can_be_replayed() -> None:
    replay = Replay.open(tokviz.train(["a b"], 256))
    assert replay.n_merges == 0
    assert replay.state(0).top_pairs() != []
    assert replay.state(0).bytes_per_token == 1.0
    assert replay.text("ab").at(0).ids.tolist() == [97, 98]


def test_a_folder_is_opened_from_its_files_alone(tmp_path) -> None:
    run = tokviz.train([TEXT], 300)
    run.save(tmp_path / "run")
    replay = Replay.open(tmp_path / "run")
    assert replay.has_counts
    assert replay.state(9).top_pairs() == Replay.open(run).state(9).top_pairs()


@pytest.mark.parametrize("wrong", [-1, 256 + 4, 10**6])
def test_merges_of_tokens_not_made_yet_are_not_prepared(wrong) -> None:
    """The loop would write outside its memory."""
    run = tokviz.train([TEXT], 300)
    columns = run.history.arrays()
    columns["right_id"] = columns["right_id"].copy()
    columns["right_id"][4] = wrong
    preparation = replay_corpus.CorpusPreparation()
    preparation.start(TrainingHistory.from_arrays(columns), run.pre_token_counts, run.settings)
    assert preparation.result() is None
    preparation.start(run.history, run.pre_token_counts, run.settings)
    found = preparation.result()
    assert found is not None and found.times.n_merges == len(run.history)


def test_cancelled_work_on_a_corpus_ends() -> None:
    run = tokviz.train([TEXT], 300)
    pre_tokens, history = run.pre_token_counts, run.history
    with stopped_by(lambda: True):
        preparation = replay_corpus.CorpusPreparation()
        preparation.start(history, pre_tokens, run.settings)
        with pytest.raises(JobDroppedError):
            Replay.open(run)
    with pytest.raises(JobDroppedError):
        preparation.result()


def test_names_that_are_nothing_are_refused(tmp_path) -> None:
    with pytest.raises(UnknownTokenizerError):
        Replay.open("gpt5000")
    with pytest.raises(InputFileError, match="holds no tokenizer"):
        Replay.open(tmp_path)


def test_a_tokenizer_without_merges_of_bytes_is_refused(tmp_path) -> None:
    library = pytest.importorskip("tokenizers")
    words = library.Tokenizer(library.models.WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>"))
    words.save(str(tmp_path / "words.json"))
    with pytest.raises(TokvizError, match=r"words\.json: .* so its merges are unknown"):
        Replay.open(tmp_path / "words.json")
    tokenizer = tokviz.load(tmp_path / "words.json")
    with pytest.raises(TokvizError, match="so its merges are unknown"):
        Replay.open(tokenizer)
    assert tokenizer.encode("a") == [1]
    tokenizer.close()


@pytest.mark.parametrize("column", ["count", "n_tokens"])
def test_a_history_of_other_pre_tokens_is_refused(column) -> None:
    run = tokviz.train([TEXT], 300)
    columns = run.history.arrays()
    columns[column] = columns[column].copy()
    columns[column][4] += 1  # type: ignore[operator]
    history = TrainingHistory.from_arrays(columns)
    with pytest.raises(TokvizError, match="first at merge 5"):
        Replay.open(run._replace(history=history)).prepare()


def test_a_run_is_a_training_run() -> None:
    run = tokviz.train(["abab"], 257)
    assert isinstance(Replay.open(run).run, TrainingRun)


def test_a_list_of_every_way_to_build_a_token_is_one_merge_a_token() -> None:
    tok, gpt2 = with_every_merge(), beginning("gpt2")
    listed, ranked = Replay.open(tok), Replay.open(gpt2)
    assert len(tok.merges) > 25_000
    assert listed.n_merges == ranked.n_merges == 15_744
    assert list(listed.tokens) == list(ranked.tokens)
    texts = [replay.text("We refresh the theory, unbelievably.") for replay in (listed, ranked)]
    for k in [*range(1, 300), *random.Random(7).sample(range(300, 15_745), 200)]:
        assert listed.step(k) == ranked.step(k)
        assert listed.tokenizer.merge_number(listed.step(k).new_id) == k
        assert texts[0].at(k).ids.tolist() == texts[1].at(k).ids.tolist()
    assert diff_merges(tok, gpt2).first_difference is None


def test_a_long_pre_token_is_shown_around_the_merge() -> None:
    rare = "zq zq"
    text = "low lower lowest " * 2_000 + rare + " new newer newest" * 2_000
    replay = Replay.open(tokviz.train([text], 270, split_pattern="none"))
    assert (replay.n_pre_tokens, len(text) > 20 * MOST_PRE_TOKEN_BYTES) == (1, True)
    for k in range(replay.n_merges):
        step = replay.step(k + 1)
        assert " = " not in format_sentences(replay.details(k + 1)), (
            "what only a part of the corpus adds up to"
        )
        (part,) = replay.state(k).pre_tokens_of_next()
        assert (step.left_id, step.right_id) in zip(part.ids, part.ids[1:], strict=False)
        assert len(part.data) < 2 * MOST_PRE_TOKEN_BYTES and part.is_cut
        assert text.encode()[part.start :].startswith(part.data)
        after = replay.pre_token(0, k + 1, part.start)
        assert (after.data, len(after.ids) < len(part.ids)) == (part.data, True)
        assert b"".join(map(replay.tokenizer.token_bytes, after.ids)) == part.data
    (first,) = replay.state(0).pre_tokens()
    assert (first.start, first.is_cut, first.data) == (0, True, text.encode()[: len(first.data)])


def test_a_count_is_explained_by_the_pre_tokens_it_comes_from() -> None:
    run = tokviz.train([TEXT], 264, split_pattern="whitespace", tie_break="lexicographic")
    replay = Replay.open(run)
    details = [format_sentences(replay.details(k)) for k in range(1, replay.n_merges + 1)]
    assert details[:3] == [
        "9 = 6 × 'newest' + 3 × 'widest'. The rule “first” would have merged 'e' + 's'. "
        "The rule “smallest_id” would have merged 'e' + 's'.",
        "9 = 6 × 'newest' + 3 × 'widest'.",
        "7 = 5 × 'low' + 2 × 'lower'. The rule “first” would have merged 'l' + 'o'. "
        "The rule “smallest_id” would have merged 'l' + 'o'.",
    ]
    tiny = Replay.open(tokviz.train(["aaabdaaabac"], 257, split_pattern="none"))
    assert format_sentences(tiny.details(1)) == "4 = 1 × 4 in 'aaabdaaabac'."
    assert Replay.open("gpt2").details(5) == ()


@given(st.text("abc ", min_size=2, max_size=60), st.sampled_from(list(TIE_BREAKS)))
@examples(30)
def test_the_terms_of_a_count_add_up_and_other_rules_are_right(text: str, rule: str) -> None:
    run = tokviz.train([text], 262, split_pattern="whitespace", tie_break=rule)
    replay = Replay.open(run)
    for k in range(1, replay.n_merges + 1):
        words = format_sentences(replay.details(k)[:1]).rstrip(".").split(" = ")[1]
        total = 0
        for term in words.split(" + "):
            count, _, rest = term.partition(" × ")
            inside = re.match(r"(\d+) in ", rest)
            total += int(count.split(" ")[0]) * (int(inside[1]) if inside else 1)
        assert total == replay.step(k).count
        for other in TIE_BREAKS:
            best = replay.state(k - 1).top_pairs(1, other)[0]
            is_told = f"“{other}”" in format_sentences(replay.details(k))
            assert is_told == ((best.left_id, best.right_id) != replay.step(k).pair[:2])


def test_search_accepts_a_space_as_displayed() -> None:
    replay = Replay.open("gpt2")
    assert list(replay.find("·the")) == list(replay.find(" the"))
    assert all("·".encode() in replay.token(k) for k in replay.find("·")), "the dot itself"
