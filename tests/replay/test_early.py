from __future__ import annotations

import pytest

from tokviz.lessons import lessons
from tokviz.live.document import LiveDocument
from tokviz.replay.early import tokenizer_after
from tokviz.replay.replay import Replay

TEXT = "newest lowest wider <|endoftext|> é 漢 ids, 1984"


@pytest.mark.parametrize("source", ["gpt2", "cl100k_base", "cs336"])
def test_an_edited_text_has_the_tokens_of_a_replay_after_each_merge(source: str) -> None:
    replay = Replay.open(lessons()[source].ready() if source in lessons() else source)
    text, last = replay.text(TEXT), replay.n_merges
    for k in (0, 1, 5, last // 2, last):
        tokens, then = text.at(k), tokenizer_after(replay, k)
        live = LiveDocument(TEXT[:9], then)
        live.edit(9, 0, TEXT[9:])
        assert list(live.ids()) == tokens.ids.tolist()
        assert then.tokenize(TEXT).byte_spans[:, 1].tolist() == tokens.byte_ends.tolist()
    assert replay.tokenizer.encode(TEXT) == text.at(last).ids.tolist()
