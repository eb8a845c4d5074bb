"""Reference training: the user's newest run, shown with a vocabulary without counts."""

from __future__ import annotations

from typing import Any

from tokviz.errors import TokvizError
from tokviz.formats.run import HISTORY, read_about
from tokviz.formats.run_arrays import read_arrays
from tokviz.text.sentences import Sentence
from tokviz.training.replay.replay import times_in_words
from tokviz.training.run_library import corpus_words, list_runs
from tokviz.training.settings import N_BYTES, IdLayout


class ReferenceTraining:
    """The merges of a training with their counts, and a description of its corpus.

    Attributes:
        corpus: A short description of its files.
    """

    def __init__(self, folder: str) -> None:
        """Read a run without its tokenizer.

        Raises:
            TokvizError: If the folder is damaged.
        """
        about = read_about(folder)
        self.corpus = corpus_words(about["corpus"]["files"])
        settings = about["settings"]
        n_specials = len(settings.get("special_tokens", ()))
        layout = IdLayout.of(settings.get("special_ids", "last"), n_specials)
        columns: dict[str, Any] = read_arrays(folder, HISTORY, ("left_id", "right_id", "count"))
        self._numbers = [layout.numbers_of(columns[side]) for side in ("left_id", "right_id")]
        self._counts = columns["count"]

    def _token(self, number: int) -> bytes:
        """Return the bytes of a token, from its merges."""
        token, pending = bytearray(), [number]
        while pending:
            at = pending.pop()
            if at < N_BYTES:
                token.append(at)
            else:
                left, right = (int(numbers[at - N_BYTES]) for numbers in self._numbers)
                pending += (right, left)
        return bytes(token)

    def sentence(self, k: int) -> Sentence:
        """Describe merge k of this training."""
        if k > len(self._counts):
            return (f"Your training on {self.corpus} had ended by this step.",)
        left, right = (self._token(int(numbers[k - 1])) for numbers in self._numbers)
        here = f"At this step your training on {self.corpus} merged "
        return (
            here,
            left,
            " + ",
            right,
            f", which occurred {times_in_words(int(self._counts[k - 1]))}.",
        )


def newest_training() -> ReferenceTraining | None:
    """Open the newest undamaged training of the user, None if there is none."""
    for run in list_runs():
        try:
            if run.n_vocab is not None:
                return ReferenceTraining(run.folder)
        except TokvizError:
            pass
    return None
