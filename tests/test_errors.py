from __future__ import annotations

from pathlib import Path

import pytest

import tokviz
from tokviz.errors import MOST_CHARS


@pytest.mark.parametrize("key", ["9" * 100_000, "x" * 100_000], ids=["digits", "letters"])
def test_what_a_file_holds_makes_no_message_that_fills_the_screen(tmp_path: Path, key: str) -> None:
    (tmp_path / "vocab.json").write_text(f'{{"{key}": "{key}"}}')
    (tmp_path / "merges.txt").write_text(f"{key} {key}")
    with pytest.raises(tokviz.TokvizError) as caught:
        tokviz.Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert len(str(caught.value)) <= MOST_CHARS + 3
    assert str(caught.value).startswith(str(tmp_path))
