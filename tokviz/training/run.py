"""The result of a training: the tokenizer, the history of its merges, and its run folder."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable
from importlib.machinery import PathFinder
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.errors import InputFileError, TokvizError
from tokviz.formats import run as run_folder
from tokviz.formats.run_arrays import read_arrays
from tokviz.formats.run_writer import write_run
from tokviz.storage.files import StrPath
from tokviz.storage.version import __version__
from tokviz.text.notebooks import displayed
from tokviz.tokenizer.encoding.packed import pack_trained
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.attribution import Attribution
from tokviz.training.corpus.storage import Stored
from tokviz.training.history import TrainingHistory
from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.settings import N_BYTES, TrainSettings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_ABOUT_A_PACKAGE = ".dist-info"


class TrainTimings(NamedTuple):
    """Seconds of a training by phase."""

    reading: float
    merging: float


@displayed("training_run")
class TrainingRun(NamedTuple):
    """The result of a training.

    Attributes:
        tokenizer: The learned tokenizer.
        history: Every merge with its count, ties and runner-up, with the tokenizer's ids.
        pre_token_counts: The distinct pre-tokens of the corpus with their counts.
        settings: The settings of the training.
        timings: The duration of its phases.
        stopped_early: The reason why there are fewer tokens than requested; None if there are not.
        sources: The files that were read; "-" is standard input. Empty for texts from Python.
        engine: The engine that merged: "python" or "compiled" ("sharded" in runs of earlier
            versions).
        left_out: The files that could not be read and were left out, each with the reason.
        attribution: The files that the merges come from; None if that was not saved.
        stored: Size and change stamp of each of the sources.
    """

    tokenizer: Tokenizer
    history: TrainingHistory
    pre_token_counts: PreTokenCounts
    settings: TrainSettings
    timings: TrainTimings
    stopped_early: str | None = None
    sources: tuple[str, ...] = ()
    engine: str = "python"
    left_out: tuple[tuple[str, str], ...] = ()
    attribution: Attribution | None = None
    stored: tuple[Stored, ...] = ()

    def token_lengths(self) -> npt.NDArray[np.int32]:
        """Return the number of bytes of every token by id, 0 for special tokens.

        Bits per byte are computed with it. Source of the convention: karpathy/nanochat
        `scripts/tok_train.py` (`token_bytes`).
        """
        import numpy as np  # a short training ends before anything needs NumPy

        return np.array(self._token_lengths())

    def _token_lengths(self) -> array[int]:
        lengths, tables = array("i", bytes(4 * self.tokenizer.n_vocab)), self.tokenizer.tables
        ordinary = array("i", tables.lengths().tobytes())
        (first, merged), n_merges = self.settings.layout, len(ordinary) - N_BYTES
        lengths[first : first + N_BYTES] = ordinary[:N_BYTES]
        lengths[merged : merged + n_merges] = ordinary[N_BYTES:]
        return lengths

    def save(self, folder: str | PathLike[str]) -> None:
        """Write a run folder; `tokviz.load(folder)` and `TrainingRun.load(folder)` read it.

        An existing run is replaced atomically.

        Raises:
            OutputFileError: If writing fails; an existing run is unchanged.
        """
        pre_tokens = self.pre_token_counts
        write_run(
            folder,
            self.tokenizer,
            about=self._about(),
            history=self.history.memory,
            pre_tokens={
                "data": pre_tokens.memory["data"],
                "lengths": pre_tokens.lengths(),
                "counts": pre_tokens.memory["counts"],
            },
            token_lengths=memoryview(self._token_lengths()),
            files={} if self.attribution is None else self.attribution.memory,
        )

    @property
    def n_tokens(self) -> int:
        """Tokens of the corpus after the last merge, without special tokens."""
        return (
            int(self.history.memory["n_tokens"][-1])
            if len(self.history)
            else self.pre_token_counts.n_bytes
        )

    def _about(self) -> dict[str, Any]:
        pre_tokens = self.pre_token_counts
        return {
            "corpus": {
                "files": list(self.sources),
                "stored": [stored._asdict() for stored in self.stored],
                "left_out": list(map(list, self.left_out)),
                "n_bytes": pre_tokens.n_bytes,
                "n_chars": pre_tokens.n_chars,
                "n_invalid": pre_tokens.n_invalid,
                "n_documents": pre_tokens.n_documents,
                "n_pieces": pre_tokens.n_occurrences(),
                "n_distinct_pieces": len(pre_tokens),
                "complete": pre_tokens.complete,
            },
            "settings": self.settings.as_json(),
            "n_vocab": self.tokenizer.n_vocab,
            "n_merges": len(self.history),
            "stopped_early": self.stopped_early,
            "engine": self.engine,
            "seconds": self.timings._asdict(),
            "versions": {
                "tokviz": __version__,
                "python": sys.version.partition(" ")[0],
                **{name: _version(name) for name in ("llvmlite", "numpy", "regex")},
            },
        }

    @classmethod
    def load(
        cls,
        folder: str | PathLike[str],
        *,
        on_parts: Callable[[TrainingHistory, PreTokenCounts, TrainSettings], object] | None = None,
        read_tokenizer: Callable[[StrPath], Tokenizer] = run_folder.read_run_tokenizer,
    ) -> TrainingRun:
        """Read a run folder.

        Args:
            folder: The folder.
            on_parts: Called with the parts that are read first, before they are checked against
                the tokenizer, so that work can start while the tokenizer is read.
            read_tokenizer: Reads the tokenizer in the folder.

        Raises:
            InputFileError: If the folder is not a run, or is damaged; names the file.
        """
        from tokviz.training import run_checks  # imports NumPy

        about = run_folder.read_about(folder)
        columns = TrainingHistory.empty().memory
        history = read_arrays(folder, run_folder.HISTORY, columns)
        pre_tokens = read_arrays(folder, run_folder.PRE_TOKENS, ("data", "lengths", "counts"))
        try:
            parts = (
                TrainingHistory.from_arrays(history),
                run_checks.pre_tokens_of_arrays(pre_tokens, about["corpus"]),
                TrainSettings.checked(**about["settings"]),
            )
            if on_parts is not None:
                on_parts(*parts)
            tokenizer = read_tokenizer(folder)
            run = cls(
                tokenizer,
                *parts,
                TrainTimings(**{name: about["seconds"][name] for name in TrainTimings._fields}),
                about["stopped_early"],
                tuple(map(str, about["corpus"]["files"])),
                str(about["engine"]),
                tuple(
                    (str(file), str(reason)) for file, reason in about["corpus"].get("left_out", ())
                ),
            )
            attribution = run_checks.read_attribution(
                folder, run.sources, run.history, run.pre_token_counts.n_bytes
            )
            stored = tuple(Stored(**fields) for fields in about["corpus"].get("stored", ()))
            run = run._replace(attribution=attribution, stored=stored)
        except InputFileError:
            raise
        except TokvizError as error:
            raise InputFileError(folder, f"the run in it is damaged: {error}") from None
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputFileError(folder, f"the run in it is damaged: {error!r}") from None
        try:
            run_checks.check_history(run.history, tokenizer, run.settings)
        except TokvizError as error:
            raise InputFileError(Path(folder) / run_folder.HISTORY, str(error)) from None
        return run


def load_attribution(folder: StrPath) -> Attribution | None:
    """Read only the attribution of a run folder; None if it was not saved.

    Raises:
        InputFileError: If the folder is not a run, or is damaged.
    """
    from tokviz.training.run_checks import read_attribution  # imports NumPy

    corpus = run_folder.read_about(folder)["corpus"]
    arrays = read_arrays(folder, run_folder.HISTORY, TrainingHistory.empty().memory)
    try:
        sources, n_bytes = tuple(map(str, corpus["files"])), int(corpus["n_bytes"])
        return read_attribution(folder, sources, TrainingHistory.from_arrays(arrays), n_bytes)
    except (KeyError, TypeError, ValueError) as error:
        raise InputFileError(folder, f"the run in it is damaged: {error!r}") from None


def tokenizer_of(
    settings: TrainSettings, history: TrainingHistory, tokens: list[bytes]
) -> Tokenizer:
    """Create the tokenizer from a history whose new tokens have the ids from 256.

    Args:
        settings: The settings of the training.
        history: The merges.
        tokens: The bytes of all tokens except special ones, by id.
    """
    sides = (array("I", history.memory[side].tobytes()) for side in ("left_id", "right_id"))
    return Tokenizer.of(
        pack_trained(*settings.layout, tokens, *sides),
        settings.special_token_ids(len(history)),
        split_pattern=settings.split_pattern,
        name="trained",
    )


def _version(package: str) -> str | None:
    """Return a package's version from the name of its folder, because reading metadata is slow."""
    spec = PathFinder.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    for name in os.listdir(Path(spec.origin).parent.parent):
        if name.startswith(f"{package}-") and name.endswith(_ABOUT_A_PACKAGE):
            return name.removesuffix(_ABOUT_A_PACKAGE).partition("-")[2]
    return None
