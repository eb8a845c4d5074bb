"""Differences between two renderings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tokviz.chat.render import render
from tokviz.chat.rendering import Rendering
from tokviz.chat.rendering_diff import RenderingDiff

GPT2 = tokviz.load("gpt2")
TEXTS = st.lists(st.sampled_from(["a", "b", " c", "dog"]), max_size=12).map("".join)


def rendering(text: str) -> Rendering:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]
    return render(GPT2, {"messages": messages}, "nanochat")


def diff(before: str, after: str) -> RenderingDiff:
    return RenderingDiff.of("text", rendering(before), rendering(after))


@given(TEXTS, TEXTS)
def test_replacing_the_places_turns_one_rendering_into_the_other(before: str, after: str) -> None:
    found = diff(before, after)
    ids = found.before.ids.tolist()
    for old, new in reversed(found.places):
        ids[old.start : old.stop] = found.after.ids[new.start : new.stop].tolist()
    assert ids == found.after.ids.tolist()
    assert (found.first is None) == (before == after)


def test_a_change_is_summed_up() -> None:
    assert str(diff("a dog", "a dog")) == "no token changed"
    found = diff("one two three", "one twentyfold three")
    assert str(found) == "2 tokens changed from #3 on"
    assert found.places == [(range(3, 4), range(3, 5))]
    assert str(diff("one two three", "one two")) == "1 token changed from #4 on"


def test_two_changes_far_apart_are_two_places() -> None:
    middle = " and so on" * 50
    found = diff(f"x{middle} y", f"z{middle} w")
    assert [len(new) for _, new in found.places] == [1, 1]
    assert str(found).startswith("2 tokens changed from #2")


def test_very_many_differences_are_one_place() -> None:
    found = diff("x dog" * 3000, "y dog" * 3000)
    assert len(found.places) == 1
    assert found.first == 2
