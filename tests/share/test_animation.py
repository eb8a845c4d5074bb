"""Animations show the tokens of every state, also with reduced motion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

import tokviz
from tokviz.errors import TokvizError
from tokviz.share.animation import MOST_STEPS, animation
from tokviz.text.glyphs import UNSAFE, token_label
from tokviz.training.replay.replay import Replay

SVG = "{http://www.w3.org/2000/svg}"
SECONDS = 2


class Moving:
    """Visible elements of an animation at a given time."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self.text = b"".join(lines).decode()
        self.picture = ElementTree.fromstring(self.text)
        style = str(next(self.picture.iter(f"{SVG}style")).text)
        self.total = float(re.findall(r"animation:([\d.]+)s", style)[0])
        self.frames = {
            name: [
                (float(at), int(seen)) for at, seen in re.findall(r"([\d.]+)%{opacity:(\d)}", rest)
            ]
            for name, rest in re.findall(r"@keyframes (a\d+){(.*?})}", style)
        }

    def _opacity(self, name: str, second: float) -> int:
        at = 100 * second / self.total
        return [seen for place, seen in self.frames[name] if place <= at][-1]

    def seen(self, second: float | None = None) -> list[str]:
        """Return the visible labels at a time; None for reduced motion."""
        groups = self.picture.iter(f"{SVG}g")
        shown = (
            group
            for group in groups
            if (
                int(group.attrib["opacity"])
                if second is None
                else self._opacity(group.attrib["class"], second)
            )
        )
        boxes = [group for group in shown if len(group) == 2 and group[0].tag == f"{SVG}rect"]
        places = [(float(box[0].attrib["y"]), float(box[0].attrib["x"]), box) for box in boxes]
        return [str(box[1].text) for *_, box in sorted(places, key=lambda place: place[:2])]


def test_the_words_of_a_corpus_are_joined_as_the_training_did() -> None:
    replay = Replay.open(tokviz.train(["low low lower"], 260, split_pattern="whitespace"))
    moving = Moving(animation(replay, 1, replay.n_merges))
    for k in range(replay.n_merges + 1):
        pre_tokens = replay.state(k).pre_tokens(0, 10)
        words = [pre_token for pre_token in pre_tokens if not pre_token.data.isspace()]
        tokens = [token_label(replay.tokenizer.token_bytes(one)) for p in words for one in p.ids]
        made = [token_label(token) for token in replay.tokens[:k]]
        assert moving.seen(SECONDS * (k + 0.99)) == [*tokens, *made]
    assert moving.seen() == moving.seen(moving.total - 0.01) == ["low", "lower", *made]


def test_a_text_is_joined_as_the_vocabulary_does_it_and_what_changes_nothing_is_left_out() -> None:
    replay = Replay.open("gpt2")
    text = replay.text("the 世 <b>&\x1b[2J\u202e")
    moving = Moving(animation(replay, 1, replay.n_merges, text))
    steps = [k for k in range(1, replay.n_merges + 1) if text.next_change(k - 1) == k]
    for number, k in enumerate([0, *steps]):
        ends = text.at(k).byte_ends.tolist()
        tokens = [token_label(text.data[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
        assert moving.seen(SECONDS * (number + 0.99))[: len(tokens)] == tokens
    assert [line for line in moving.text.split("\n") if UNSAFE.search(line)] == []
    assert "prefers-reduced-motion" in moving.text


def test_it_says_what_is_too_much() -> None:
    replay = Replay.open("gpt2")
    with pytest.raises(TokvizError, match="pass a text"):
        next(animation(replay, 1, 9))
    with pytest.raises(TokvizError, match="no merge changes"):
        next(animation(replay, 1, 9, replay.text("a")))
    with pytest.raises(TokvizError, match="too long to draw"):
        next(animation(replay, 1, 9, replay.text("in the " * 300)))
    with pytest.raises(TokvizError, match="does not fit in a line"):
        long = Replay.open(tokviz.train(["a" * 256], 264, split_pattern="whitespace"))
        next(animation(long, 1, 9))


def test_of_too_many_merges_it_shows_the_last() -> None:
    replay = Replay.open("gpt2")
    text = replay.text(
        "Ancient tokenizers considered interesting possibilities under the "
        "wide mountain, nevertheless unbelievable programmers quickly juggled"
    )
    shown = b"".join(animation(replay, 1, replay.n_merges, text)).decode()
    assert shown.count(">merge ") == MOST_STEPS
    k = text.next_change(1)
    assert k is not None
    shown = b"".join(animation(replay, k, replay.n_merges, text)).decode()
    assert f">merge {k:,}: " in shown and shown.count(">merge ") == MOST_STEPS
