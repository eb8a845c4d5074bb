"""Training a tokenizer: published examples, the contract of `train`, invalid input."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest

import tokviz
from tokviz.process.limits import HAS_CPU_LIMITS
from tokviz.training import compiled_trainer, counting
from tokviz.training import train as train_module
from tokviz.training.corpus import text_blocks
from tokviz.training.progress import (
    Clock,
    TrainProgress,
    cells_at_end,
    merging_seconds,
    reading_seconds,
)
from tokviz.training.settings import SpecialIds

WORDS = "low low low low low lower lower widest widest widest" + " newest" * 6


def tokens_of(run):
    return [left + right for left, right in run.tokenizer.merges]


# -- worked examples


def test_abababcb_without_a_split():
    run = tokviz.train(["abababcb"], 259, split_pattern="none", tie_break="lexicographic")
    assert tokens_of(run) == [b"ab", b"abab", b"cb"]


def test_low_lower_widest_newest_split_on_spaces():
    run = tokviz.train([WORDS], 1_000, split_pattern="whitespace", tie_break="lexicographic")
    expected = "s t|e st|o w|l ow|w est|n e|ne west|w i|wi d|wid est|low e|lowe r"
    assert run.tokenizer.merges == [tuple(pair.encode().split()) for pair in expected.split("|")]
    assert run.stopped_early == "no pair is left to merge, at 268 of 1,000 tokens"


def test_special_tokens_first_shift_all_other_ids():
    run = tokviz.train(
        ["ab", "abc", "abcd"],
        300,
        special_tokens=["<PAD>", "<UNK>", "<BOS>", "<EOS>"],
        special_ids="first",
    )
    tok = run.tokenizer
    assert tok.encode("ab") == [260]
    assert tok.encode("abcde") == [262, 105]
    assert tok.encode("<BOS>ab<EOS>") == [2, 260, 3]
    assert run.history.new_id.tolist() == [260, 261, 262]
    assert run.history.left_id.tolist() == [101, 260, 261]
    assert run.history.runner_up_left.tolist()[-1] == -1


def test_special_tokens_after_the_bytes_shift_the_merged_tokens():
    specials = ["<PAD>", "<BOS>"]
    run = tokviz.train(["ab", "abc"], 300, special_tokens=specials, special_ids="after-bytes")
    tok = run.tokenizer
    assert tok.special_tokens == {"<PAD>": 256, "<BOS>": 257}
    assert [tok.vocab[token_id] for token_id in (0, 97, 255, 258, 259)] == [
        b"\0", b"a", b"\xff", b"ab", b"abc",
    ]  # fmt: skip
    assert tok.encode("<BOS>abcd") == [257, 259, 100]
    assert tok.decode([257, 259, 100]) == "<BOS>abcd"
    assert run.history.new_id.tolist() == [258, 259]
    assert run.history.left_id.tolist() == [97, 258]
    assert run.history.runner_up_left.tolist()[-1] == -1
    lengths = run.token_lengths()
    assert lengths[[0, 255, 256, 257, 258, 259]].tolist() == [1, 1, 0, 0, 2, 3]


def test_without_special_tokens_their_place_changes_nothing():
    runs = [tokviz.train(["ab ab"], 257, special_ids=ids) for ids in get_args(SpecialIds)]
    assert len({str(run.tokenizer.vocab) for run in runs}) == 1


@pytest.mark.parametrize("rule", ["first", "lexicographic", "smallest_id"])
def test_the_example_of_wikipedia(rule):
    tok = tokviz.train(["aaabdaaabac"], 259, split_pattern="none", tie_break=rule).tokenizer
    assert len(tok.encode("aaabdaaabac")) == 5
    assert tok.decode(tok.encode("aaabdaaabac")) == "aaabdaaabac"


def test_the_example_of_wikipedia_as_minbpe_has_it():
    tok = tokviz.train(["aaabdaaabac"], 259).tokenizer
    assert tok.encode("aaabdaaabac") == [258, 100, 258, 97, 99]


# -- special tokens and documents


def test_special_tokens_are_never_merged_across():
    run = tokviz.train(["xx<|a|>xx<|a|>xx"] * 5, 270, special_tokens=["<|a|>"])
    assert tokens_of(run) == [b"xx"]
    assert run.tokenizer.encode("xx<|a|>") == [256, 257]


def test_special_tokens_come_after_the_last_merge():
    run = tokviz.train([WORDS], 262, special_tokens=["<|b|>", "<|a|>"])
    assert run.tokenizer.special_tokens == {"<|b|>": 260, "<|a|>": 261}
    assert run.tokenizer.n_vocab == 262


def test_documents_are_apart_even_without_special_tokens():
    run = tokviz.train(["ab<|endoftext|>ab"], 300, split_pattern="none")
    assert tokens_of(run) == [b"ab"]


def test_a_minimum_count_ends_training():
    run = tokviz.train(["ab ab ac"], 300, split_pattern="whitespace", min_count=2)
    assert tokens_of(run) == [b"ab"]
    assert run.stopped_early == "no pair occurs 2 times or more, at 257 of 300 tokens"


def test_no_merge_may_be_wanted():
    run = tokviz.train(["abab"], 256)
    assert run.tokenizer.merges == []
    assert run.stopped_early is None


def test_bytes_that_are_not_utf8_are_learned_and_counted(tmp_path):
    path = tmp_path / "broken.txt"
    path.write_bytes(b"\xff\xfe\xff\xfe")
    run = tokviz.train(path, 300, split_pattern="none")
    assert run.tokenizer.merges[0] == (b"\xff", b"\xfe")
    assert run.pre_token_counts.n_invalid == 4


# -- CS336's contract


def test_train_bpe_gives_vocabulary_and_merges(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("low lower<|endoftext|>lowest" * 3)
    vocab, merges = tokviz.train_bpe(path, 260, ["<|endoftext|>"])
    assert merges == [(b"o", b"w"), (b"l", b"ow"), (b"low", b"e")]
    assert [vocab[i] for i in range(256)] == [bytes([i]) for i in range(256)]
    assert [vocab[i] for i in range(256, 260)] == [b"ow", b"low", b"lowe", b"<|endoftext|>"]


def test_train_bpe_knows_no_delimiter_but_its_special_tokens(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("<|endoftext|>" * 5)
    vocab, _ = tokviz.train_bpe(path, 300, [])
    assert b"endoftext" in vocab.values()


def test_a_small_corpus_needs_no_part_of_a_compiler(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(" ".join(f"word{i * i} {i}" for i in range(10_000))[:130_000])
    code = (
        "import sys, tokviz; vocab, _ = tokviz.train_bpe(sys.argv[1], 500, ['<|endoftext|>']);"
        "assert len(vocab) == 500; assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, path], check=True)


# -- progress and stopping


def test_progress_tells_phases_and_merges():
    seen: list[tokviz.TrainProgress] = []
    run = tokviz.train([WORDS], 265, split_pattern="whitespace", on_progress=seen.append)
    assert [*dict.fromkeys(progress.phase for progress in seen)] == ["reading", "merging"]
    last = seen[-1]
    assert (last.fraction, last.n_merges, last.n_merges_wanted) == (1.0, 9, 9)
    assert last.newest[-1] == (*run.tokenizer.merges[-1], run.history.count[-1])
    assert last.tokens_now == run.history.n_tokens[-1]
    assert last.tokens_now == len(run.tokenizer.encode(WORDS))


def test_a_stop_keeps_the_merges_so_far(monkeypatch):
    monkeypatch.setattr(train_module, "SECONDS_BETWEEN_REPORTS", 0.0)
    merges_seen = []
    run = tokviz.train(
        [WORDS],
        1_000,
        split_pattern="whitespace",
        on_progress=lambda progress: merges_seen.append(progress.n_merges),
        should_stop=lambda: bool(merges_seen) and merges_seen[-1] == 3,
    )
    assert len(run.history) == 3
    assert run.stopped_early == "stopped at 259 of 1,000 tokens"
    assert len(run.tokenizer.encode("newest")) == 4


def test_a_stop_while_reading_gives_a_tokenizer_of_bytes(monkeypatch):
    monkeypatch.setattr(counting, "SECONDS_BETWEEN_REPORTS", 0.0)
    run = tokviz.train([WORDS], 1_000, should_stop=lambda: True)
    assert run.tokenizer.n_vocab == 256
    assert run.stopped_early == "stopped while reading, at 256 of 1,000 tokens"


@pytest.mark.parametrize(("pattern", "slower"), [("gpt4", 3.0), ("none", 0.5)])
def test_the_time_left_is_that_of_the_whole_job_on_a_machine_of_any_speed(
    pattern, slower, monkeypatch
):
    """A clock that follows the cost model, slowed down by a factor."""
    text = " ".join(f"{i * i:x}" for i in range(40_000))
    n_cells = len(tokviz.train([text], 256, split_pattern=pattern).pre_token_counts.data)
    seen: list[TrainProgress] = []
    n_merges, take_merges = [0], train_module._Training._take_merges

    def note_merges(training, engine):
        take_merges(training, engine)
        n_merges[0] = engine.n_merges

    def now():
        read = seen[-1].n_bytes if seen else 0
        merging = merging_seconds(n_cells, n_merges[0]) if n_merges[0] else 0.0
        return slower * (reading_seconds(read, is_regex=False) + merging)

    monkeypatch.setattr(train_module._Training, "_take_merges", note_merges)
    monkeypatch.setattr(counting, "SMALL_CORPUS_BYTES", 0)
    for module in (train_module, counting):
        monkeypatch.setattr(module, "SECONDS_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 20_000)
    monkeypatch.setattr(compiled_trainer, "FIRST_BUDGET", 20_000)
    monkeypatch.setattr(train_module, "expected_cells", lambda *_, **__: n_cells)
    monkeypatch.setattr(train_module, "Clock", lambda: Clock(now))
    tokviz.train([text], 1_000, split_pattern=pattern, on_progress=seen.append)
    whole = now()
    late = [p for p in seen if p.seconds > whole / 3 and p.eta_seconds is not None]
    assert len(late) > 4
    for one in late:
        left = whole - one.seconds
        assert one.eta_seconds == pytest.approx(left, rel=0.3, abs=0.1 * whole), one
    assert late[-1].eta_seconds == 0


def test_a_slow_beginning_of_a_phase_says_nothing_of_the_rest():
    seconds = 5.0
    clock = Clock(lambda: seconds)
    clock.start_phase()
    for done in range(1, 10):
        seconds = 10.0 + 2 * done
        pace = clock.pace(done, 10)
    assert pace == pytest.approx(2.0, rel=0.05)


def test_the_pre_tokens_to_come_are_as_rare_as_they_were_of_late():
    n = 1_000_000
    assert cells_at_end(n, [(n // 10, 500)]) == pytest.approx(8 * 500 * 10**0.68)
    assert cells_at_end(n, [(n // 20, 500), (n // 10, 500)]) == 8 * 500
    assert cells_at_end(n, [(n // 20, 500), (n // 10, 1_000)]) == pytest.approx(8 * 10_000)
    assert cells_at_end(n, [(n // 20, 500), (n // 10, 50_000)]) == n


# -- bad input


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"vocab_size": 255}, tokviz.VocabularyError, "the 256 bytes need at least 256"),
        (
            {"vocab_size": 257, "special_tokens": ["<a>", "<b>"]},
            tokviz.VocabularyError,
            "the 256 bytes and 2 special tokens need at least 258",
        ),
        ({"vocab_size": "300"}, tokviz.VocabularyError, "give a whole number"),
        ({"vocab_size": 2**31}, tokviz.VocabularyError, "too many"),
        ({"special_tokens": ["<a>", "<a>"]}, tokviz.SpecialTokenError, "'<a>' is listed twice"),
        ({"special_tokens": [""]}, tokviz.SpecialTokenError, "is empty"),
        ({"special_tokens": ["a"]}, tokviz.SpecialTokenError, "single byte"),
        ({"special_tokens": "<a>"}, tokviz.SpecialTokenError, "give a list"),
        ({"special_tokens": ["\ud800x"]}, tokviz.SpecialTokenError, "surrogate"),
        ({"special_ids": "middle"}, tokviz.TokvizError, "'first', 'last' or 'after-bytes'"),
        ({"tie_break": "random"}, tokviz.TokvizError, "first, lexicographic, smallest_id"),
        ({"min_count": 0}, tokviz.TokvizError, "above 0"),
        ({"split_pattern": "(["}, tokviz.PatternError, "(["),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_read(arguments, error, words):
    def unreadable():
        raise AssertionError("read")
        yield ""

    with pytest.raises(error) as caught:
        tokviz.train(unreadable(), **{"vocab_size": 300, **arguments})
    assert words in str(caught.value)


@pytest.mark.parametrize("texts", [[], [""], ["<|endoftext|>"]])
def test_an_empty_corpus_is_an_error(texts):
    with pytest.raises(tokviz.CorpusError, match="holds no text"):
        tokviz.train(texts, 300)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(tokviz.InputFileError, match=r"nowhere\.txt"):
        tokviz.train(tmp_path / "nowhere.txt", 300)


@pytest.mark.skipif(not HAS_CPU_LIMITS, reason="such a system has no such timers")
@pytest.mark.parametrize("is_large", [False, True])
def test_a_regex_that_explodes_is_an_error_with_the_pre_token_and_its_file(
    is_large, tmp_path, monkeypatch
):
    if is_large:
        monkeypatch.setattr(counting, "SMALL_FOR_PROCESSES", -1)
        monkeypatch.setattr(counting, "n_processors", lambda: 2)
    for name, text in {"a": "fine", "b": f"1 {'z' * 34}"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    named = r"at character 2 of the text, 'z{24}'…"
    for source, where in ((tmp_path, r", in .*b\.txt$"), ([f"1 {'z' * 34}"], "$")):
        with pytest.raises(tokviz.PatternError, match=named + where):
            tokviz.train(source, 260, split_pattern=r"(?:z|z)*b|\d|\s+")


def test_a_corpus_without_any_pair_gives_a_tokenizer_of_bytes():
    run = tokviz.train(["a"], 300)
    assert run.tokenizer.n_vocab == 256
    assert run.stopped_early is not None
