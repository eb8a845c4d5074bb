"""A corpus for training: the sources and documents of what is installed, the same on every run.

As a program: `_corpus.py PATH BYTES`.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from _texts import PHRASES

SUFFIXES = {".c", ".h", ".html", ".js", ".json", ".md", ".py", ".pyi", ".rst", ".txt"}
_LARGEST_FILE = 1_000_000
_LINES_PER_PHRASE = 400


def write_corpus(path: Path, n_bytes: int) -> None:
    """Write `n_bytes` of UTF-8 in which the file types and packages are mixed.

    Where less is installed, it begins again. Every 400 lines comes a line of another script.
    """
    missing = n_bytes
    with path.open("wb") as file:
        for text in _mixed_texts():
            data = text[:missing].decode(errors="ignore").encode()
            data += b"\n" * (len(text[:missing]) - len(data))
            file.write(data)
            missing -= len(data)
            if not missing:
                return


def _mixed_texts() -> Iterator[bytes]:
    """Yield texts without end."""
    while True:
        yield from real_texts()


def real_texts() -> Iterator[bytes]:
    """Yield every text once."""
    phrases = itertools.cycle(PHRASES)
    n_lines = 0
    for path in _files():
        text = Path(path).read_bytes().decode(errors="ignore").replace("\0", "")
        if "<|" in text:
            continue
        n_lines += text.count("\n")
        while n_lines >= _LINES_PER_PHRASE:
            n_lines -= _LINES_PER_PHRASE
            text += next(phrases) + "\n"
        yield text.encode()


def _files() -> list[str]:
    names = ("stdlib", "purelib", "platlib")
    paths = {
        os.path.join(folder, name)
        for top in {os.path.realpath(sysconfig.get_path(name)) for name in names}
        for folder, _, files in os.walk(top)
        for name in files
        if os.path.splitext(name)[1] in SUFFIXES
    }
    small = [path for path in paths if os.stat(path).st_size < _LARGEST_FILE]
    # As paths are sorted, and without making them: there are tens of thousands.
    small.sort(key=lambda path: path.split(os.sep))
    random.Random(1).shuffle(small)
    return small


if __name__ == "__main__":
    write_corpus(Path(sys.argv[1]), int(sys.argv[2]))
