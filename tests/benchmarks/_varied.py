"""Real text without end, in which new words go on to come as they do in its first part.

The sources and documents of what is installed are read once, and then again and again with some of
them in other letters: so many that the number of different pre-tokens goes on to grow as it does
within the first reading (Heaps' law, V = K · nᵝ, with β measured there).

As a program: `_varied.py FOLDER N` writes N files of 1 GB, and prints β and the size of the source.
"""

from __future__ import annotations

import json
import random
import string
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from _corpus import real_texts

from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.counting import count_pre_tokens

_AT_ONCE = 1 << 18
FILE_BYTES = 1_000_000_000


def heaps_exponent(path: Path, n_bytes: int) -> float:
    """Measure β on the last half of a file's length, doubled three times."""
    pattern = get_split_pattern("gpt4")
    sizes = [n_bytes >> halvings for halvings in (3, 2, 1, 0)]
    unique = [len(count_pre_tokens(Corpus(path, max_chars=size), pattern)) for size in sizes]
    return float(np.polyfit(np.log(sizes), np.log(unique), 1)[0])


def varied(source: bytes, exponent: float) -> Iterator[bytes]:
    """Give the source, and then readings of it in which parts are in other letters."""
    chance = random.Random(1)
    letters = string.ascii_lowercase
    parts = [source[at : at + _AT_ONCE] for at in range(0, len(source), _AT_ONCE)]
    reading = 0
    while True:
        other = "".join(chance.sample(letters, len(letters)))
        table = bytes.maketrans(
            (letters + letters.upper()).encode(), (other + other.upper()).encode()
        )
        # A share s of the text in letters of its own has about sᵝ as many pre-tokens as all of it.
        new = (reading + 1) ** exponent - reading**exponent
        share = new ** (1 / exponent) if reading else 0.0
        for part in parts:
            yield part.translate(table) if chance.random() < share else part
        reading += 1


def write_varied(folder: Path, n_files: int, file_bytes: int = FILE_BYTES) -> tuple[float, int]:
    """Write files; give β and the size of the source."""
    most = n_files * file_bytes
    source = bytearray()
    for text in real_texts():
        source += text
        if len(source) >= most:
            break
    (folder / "source").write_bytes(source)
    exponent = heaps_exponent(folder / "source", len(source))
    (folder / "source").unlink()
    texts = varied(bytes(source), exponent)
    for number in range(n_files):
        missing = file_bytes
        with (folder / f"{number:04}.txt").open("wb") as file:
            while missing > 0:
                missing -= file.write(next(texts)[:missing])
    return exponent, len(source)


if __name__ == "__main__":
    print(json.dumps(write_varied(Path(sys.argv[1]), int(sys.argv[2]))))
