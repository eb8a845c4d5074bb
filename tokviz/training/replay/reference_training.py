"""The same step of the user's newest training, beside a vocabulary without counts."""

from __future__ import annotations

from typing import Any

from tokviz.errors import TokvizError
from tokviz.formats.run import HISTORY, read_about
from tokviz.formats.run_arrays import read_arrays
from tokviz.text.sentences import Sentence
from tokviz.training.replay.merge_reasons import times
from tokviz.training.run_library import corpus_words, list_runs
from tokviz.training.settings import N_BYTES, IdLayout


class Beside:
    """The merges of a training with their counts, and what it has learned from.

    Attributes:
        corpus: The files, in a word or two.
    """

    def __init__(self, folder: str) -> None:
        """Read them, without the tokenizer.

        Raises:
            TokvizError: If the folder is damaged.
        """
        about = read_about(folder)
        self.corpus = corpus_words(about["corpus"]["files"])
        settings = about["settings"]
        n_specials = len(settings.get("special_tokens", ()))
        layout = IdLayout.of(settings.get("special_ids", "last"), n_specials)
        found: dict[str, Any] = read_arrays(folder, HISTORY, ("left_id", "right_id", "count"))
        self._numbers = [layout.numbers_of(found[side]) for side in ("left_id", "right_id")]
        self._counts = found["count"]

    def _token(self, number: int) -> bytes:
        """Give the bytes of a token, which its merges make up."""
        found, waiting = bytearray(), [number]
        while waiting:
            at = waiting.pop()
            if at < N_BYTES:
                found.append(at)
            else:
                left, right = (int(numbers[at - N_BYTES]) for numbers in self._numbers)
                waiting += (right, left)
        return bytes(found)

    def say(self, k: int) -> Sentence:
        """Say what the training merged as merge k."""
        if k > len(self._counts):
            return (f"Your training on {self.corpus} had ended by this step.",)
        left, right = (self._token(int(numbers[k - 1])) for numbers in self._numbers)
        here = f"At this step your training on {self.corpus} merged "
        return here, left, " + ", right, f", which occurred {times(int(self._counts[k - 1]))}."


def newest_training() -> Beside | None:
    """Open the newest training of the user that is whole, None if there is none."""
    for run in list_runs():
        try:
            if run.n_vocab is not None:
                return Beside(run.folder)
        except TokvizError:
            pass
    return None
