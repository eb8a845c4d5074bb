"""A few checks of texts; the long run is `python tests/robustness/lossless.py 1000000`."""

from __future__ import annotations

import pytest

from tests.robustness import lossless
from tokviz.tokenizer.tokenizer import Tokenizer


def test_every_text_is_kept_after_every_edit() -> None:
    n_checks, faults = lossless.search(seed=1, n_checks=500)
    assert n_checks >= 500
    assert faults == []


def test_a_text_that_is_not_kept_is_found_and_told_with_its_round(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    decode = Tokenizer.decode_bytes
    monkeypatch.setattr(
        Tokenizer, "decode_bytes", lambda tok, ids: decode(tok, ids).replace(b"\r", b"")
    )
    _, faults = lossless.search(seed=1, n_checks=200)
    assert faults
    assert all("the bytes of the tokens" in fault.what for fault in faults)
    assert f"FAULT  seed 1, round {faults[0].round}" in capsys.readouterr().out
