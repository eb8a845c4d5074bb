from __future__ import annotations

from pathlib import Path

import pytest
import regex

import tokviz
from tests.oracles import wrong_bpe
from tests.oracles.train import learn
from tokviz.errors import TokvizError
from tokviz.guide.lessons import Lesson, lessons
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.training.replay.replay import Replay

LESSONS = list(lessons().values())


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_learns_what_its_source_has_published(lesson: Lesson) -> None:
    replay = Replay.open(lesson.ready())
    assert tuple(replay.tokenizer.merges) == lesson.merges
    assert lesson.verdict(replay.tokenizer.merges).startswith("Same as the textbook ✓")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_counting_anew_at_every_step_learns_the_same(lesson: Lesson) -> None:
    found = regex.findall(SPLIT_PATTERNS[lesson.split_pattern].regex, lesson.corpus)
    pre_tokens: dict[bytes, int] = {}
    for pre_token in (text.encode() for text in found):
        pre_tokens[pre_token] = pre_tokens.get(pre_token, 0) + 1
    learned = learn(
        list(pre_tokens), list(pre_tokens.values()), lesson.tie_break, len(lesson.merges)
    )
    tokens = [bytes([byte]) for byte in range(256)]
    for merge, (left, right) in zip(learned, lesson.merges, strict=True):
        assert (tokens[merge.pair[0]], tokens[merge.pair[1]]) == (left, right)
        tokens.append(left + right)


def test_the_trainer_of_nanochat_learns_the_same() -> None:
    rustbpe = pytest.importorskip("rustbpe")
    lesson, trainer = lessons()["nanochat"], rustbpe.Tokenizer()
    regex = SPLIT_PATTERNS["nanochat"].regex
    trainer.train_from_iterator([lesson.corpus], 256 + len(lesson.merges), pattern=regex)
    learned = [bytes(token) for token, rank in trainer.get_mergeable_ranks() if rank > 255]
    assert learned == [left + right for left, right in lesson.merges]


def test_the_textbooks_last_words_hold() -> None:
    cs336 = Replay.open(lessons()["cs336"].ready())
    assert [cs336.tokenizer.token_bytes(token) for token in cs336.text("newest").at(6).ids] == [
        b"ne", b"west",
    ]  # fmt: skip
    minbpe = tokviz.load(lessons()["minbpe"].ready())
    assert minbpe.encode("aaabdaaabac") == [258, 100, 258, 97, 99]
    offset = tokviz.load(lessons()["abababcb"].ready())
    assert (offset.special_tokens, offset.encode("a")) == ({"<|endoftext|>": 0}, [98])
    nanochat = tokviz.load(lessons()["nanochat"].ready())
    assert nanochat.encode("1984") == nanochat.encode("19") + nanochat.encode("84")
    rare = tokviz.load(lessons()["rare"].ready())
    lengths = [len(rare.encode(word)) for word in ("the", " and", "Dnipro", "Дніпро", "2024", "漢")]
    assert lengths == [1, 1, 6, 12, 4, 3]


@pytest.mark.parametrize(
    ("mistake", "number", "wrong"),
    [
        ("ties-first", 3, (b" ", b"low")),
        ("unweighted-counts", 4, (b"n", b"ew")),
        ("no-pre-tokenization", 9, (b"t", b"\n")),
    ],
)
def test_three_mistakes_show_at_the_stated_merges(
    mistake: str, number: int, wrong: tuple[bytes, bytes]
) -> None:
    lesson = lessons()["debug"]
    merges = wrong_bpe.train(lesson.corpus.encode(), len(lesson.merges), mistake)
    assert (*merges[: number - 1],) == lesson.merges[: number - 1]
    assert merges[number - 1] == wrong
    shown = " ".join(token.decode().replace(" ", "·").replace("\n", "⏎") for token in wrong)
    assert f"“{shown}”" in lesson.say(number)


def test_characters_subwords_and_words_of_one_text_have_the_stated_sizes() -> None:
    lesson = lessons()["hugs"]
    text = Replay.open(lesson.ready()).text(lesson.text)
    n_tokens = {k: len(text.at(k).ids) for k in range(len(lesson.merges) + 1)}
    letters, words = set("".join(lesson.corpus.split())), set(lesson.corpus.split())
    n_spaces = lesson.text.count(" ")
    assert n_tokens[0] == len(lesson.text)
    assert f"{len(lesson.text)} tokens, {len(lesson.text) - n_spaces} letters" in lesson.say(0)
    assert f"{n_spaces} spaces" in lesson.say(0)
    assert f"{len(letters)} different letters" in lesson.say(0)
    unknown = sorted(set(lesson.text) - letters - {" "})
    assert f"does not know {' and '.join(unknown)}" in lesson.say(0)
    assert f"“u g” occurs {lesson.corpus.count('ug')} times" in lesson.say(1)
    assert f"is {n_tokens[1]} tokens" in lesson.say(1)
    assert f"is {n_tokens[3]} tokens" in lesson.say(3)
    tokens = Replay.open(lesson.ready()).tokenizer
    assert {word for word in words if len(tokens.encode(word)) == 1} == words
    cut = lesson.text.split()
    assert f"all {len(words)} words" in lesson.say(7)
    assert f"{len(cut) + n_spaces} tokens, {len(cut)} words" in lesson.say(7)
    *others, last = (word for word in cut if word not in words)
    assert f"{', '.join(others)} and {last} become [UNK]" in lesson.say(7)
    assert f"takes {n_tokens[7]} tokens" in lesson.say(7)
    assert tokens.decode(tokens.encode(lesson.text)) == lesson.text


def test_every_lesson_says_something_from_the_start_to_the_end() -> None:
    for lesson in LESSONS:
        ats = [look.at for look in lesson.looks]
        assert ats[0] == 0 and ats == sorted(ats) and ats[-1] == len(lesson.merges)
        assert [lesson.say(at) for at in ats] == [look.say for look in lesson.looks]


def test_other_merges_are_told_from_the_textbooks() -> None:
    lesson = lessons()["minbpe"]
    wrong = [*lesson.merges[:2], (b"b", b"d")]
    assert "merge 3 differs" in lesson.verdict(wrong)
    assert "merge 3 differs" in lesson.verdict(lesson.merges[:2])


def test_a_lesson_that_cannot_be_kept_says_so(tmp_path: Path) -> None:
    (tmp_path / "tokviz").write_text("in the way")
    with pytest.raises(TokvizError):
        lessons()["minbpe"].ready()
