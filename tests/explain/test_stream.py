from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tokviz.explain.stream import stream

GPT2 = tokviz.load("gpt2")


@given(st.text(max_size=40))
def test_what_is_shown_is_the_text_and_nothing_is_held_at_the_end(text):
    steps = list(stream(GPT2, GPT2.encode(text)))
    assert "".join(step.shown for step in steps) == text
    assert not steps or steps[-1].held == b""


@given(st.lists(st.integers(0, 50_256), max_size=30))
def test_bytes_are_held_back_only_while_a_character_may_still_become_whole(ids):
    data = b""
    shown = ""
    for step in stream(GPT2, ids):
        data += step.token
        shown += step.shown
        assert len(step.held) <= 3
        assert shown == data[: len(data) - len(step.held)].decode("utf-8", "replace")


def test_wrong_decoding_of_single_tokens_is_reported():
    steps = list(stream(GPT2, GPT2.encode("a世")))
    assert [step.is_broken_alone for step in steps] == [False, True, True]
    assert [step.held for step in steps] == [b"", b"\xe4\xb8", b""]
    assert steps[-1].shown == "世"
    [real] = stream(GPT2, GPT2.encode("\ufffd"))
    assert not real.is_broken_alone
