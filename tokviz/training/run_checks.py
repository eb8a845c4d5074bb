"""Consistency checks of the parts of a run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokviz.errors import InputFileError, TokvizError
from tokviz.formats.run import FILES
from tokviz.formats.run_arrays import read_arrays
from tokviz.storage.files import StrPath
from tokviz.training.attribution import COLUMNS, Attribution
from tokviz.training.history import NO_TOKEN, TrainingHistory
from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.settings import N_BYTES, TrainSettings

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokviz.tokenizer.tokenizer import Tokenizer

_NUMBERS = ("n_bytes", "n_chars", "n_invalid", "n_documents")
_LARGEST_CORPUS = 2**62


def pre_tokens_of_arrays(
    arrays: Mapping[str, npt.NDArray[np.generic]], corpus: Mapping[str, Any]
) -> PreTokenCounts:
    """Create the pre-token counts from the arrays of a run folder.

    Args:
        arrays: `data`, `lengths` and `counts`, one-dimensional arrays of integers.
        corpus: The corpus's entry in `run.json`.

    Raises:
        KeyError: If a number is missing.
        ValueError: If arrays and numbers are inconsistent.
    """
    data = arrays["data"]
    if data.dtype != np.uint8:
        raise ValueError("the pre-tokens are not bytes")
    lengths: npt.NDArray[np.int64] = arrays["lengths"].astype(np.int64)
    counts: npt.NDArray[np.int64] = arrays["counts"].astype(np.int64)
    if len(lengths) != len(counts) or (lengths < 1).any() or (counts < 1).any():
        raise ValueError("the pre-tokens do not fit together")
    numbers = {name: corpus[name] for name in _NUMBERS}
    if any(type(number) is not int or number < 0 for number in numbers.values()):
        raise ValueError("the size of the corpus is not a number")
    if float(lengths.sum(dtype=float)) != len(data):
        raise ValueError("the pre-tokens do not fit together")
    estimate = float(lengths.astype(float) @ counts.astype(float))
    if estimate > _LARGEST_CORPUS or int(lengths @ counts) != numbers["n_bytes"]:
        raise ValueError("the pre-tokens do not add up to the corpus")
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return PreTokenCounts(
        data.astype(np.uint8), offsets, counts, **numbers, complete=bool(corpus["complete"])
    )


def read_attribution(
    folder: StrPath, sources: Sequence[str], history: TrainingHistory, n_bytes: int
) -> Attribution | None:
    """Read the attribution of a run; None if it was not saved.

    Raises:
        InputFileError: If it is damaged, or belongs to another training.
    """
    path = Path(folder) / FILES
    if not path.exists():
        return None  # a run of an earlier version
    arrays = read_arrays(folder, FILES)
    if not arrays:
        return None
    try:
        files, lengths, merges, times = (arrays[name].astype(np.int64) for name in COLUMNS)
        if (lengths < 0).any() or lengths.sum(dtype=float) != len(merges):
            raise ValueError("the lengths are not those of the merges")
        places = np.repeat(np.arange(len(files)), lengths)
        n = len(history)
        replaced = np.diff(history.n_tokens, prepend=n_bytes) * -1.0
        is_sound = bool(
            len(merges) == len(times)
            and len(np.unique(files)) == len(files)
            and ((files >= 0) & (files < len(sources))).all()
            and ((merges >= 0) & (merges < n)).all()
            and (np.diff(places * n + merges) > 0).all()
            and (times > 0).all()
            and (np.bincount(merges, times, n)[:n] <= replaced).all()
        )
    except (KeyError, ValueError):
        is_sound = False
    if not is_sound:
        raise InputFileError(path, "is damaged: it does not fit the history")
    return Attribution(sources, {name: arrays[name] for name in COLUMNS}, history, n_bytes)


def check_history(history: TrainingHistory, tokenizer: Tokenizer, settings: TrainSettings) -> None:
    """Check that a history, a tokenizer and settings belong to the same training.

    Raises:
        TokvizError: If they do not; names the first inconsistent merge.
    """
    merges, layout = tokenizer.merges, settings.layout
    if len(history) != len(merges):
        raise TokvizError(
            f"does not fit the tokenizer: it has {len(history):,} merges, not {len(merges):,}"
        )
    if settings.special_token_ids(len(merges)) != tokenizer.special_tokens:
        raise TokvizError("does not fit the tokenizer: it has other special tokens")
    if len(tokenizer.tables.ids()) != N_BYTES + len(merges):
        raise TokvizError("does not fit the tokenizer: it has tokens that no merge makes")
    new_numbers = np.arange(N_BYTES, N_BYTES + len(history), dtype=np.int32)
    new_ids = layout.id_of(new_numbers)
    none_left = history.runner_up_count == 0
    sound = history.new_id == new_ids

    def exists(ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        numbers = layout.numbers_of(ids)
        return (numbers >= 0) & (numbers < new_numbers)

    sound &= exists(history.left_id) & exists(history.right_id)
    for ids in (history.runner_up_left, history.runner_up_right):
        sound &= np.where(none_left, ids == NO_TOKEN, exists(ids))
    sound &= (history.count >= settings.min_count) & (history.n_tied >= 1)
    sound &= (history.runner_up_count >= 0) & (history.runner_up_count <= history.count)
    # There is a tie exactly where the runner-up has the same count.
    sound &= (history.n_tied > 1) == (history.runner_up_count == history.count)
    sound &= history.n_tokens >= 1
    wrong = np.flatnonzero(~sound)
    if len(wrong):
        raise TokvizError(f"is damaged: merge {wrong[0] + 1:,} is invalid")
    tokens = [bytes([byte]) for byte in range(N_BYTES)]
    token_ids = {token: tokenizer.token_id(token) for token in tokens}
    if [*token_ids.values()] != list(map(layout.id_of, range(N_BYTES))):
        raise TokvizError("does not fit the tokenizer: its bytes have other ids")
    token_ids |= {left + right: tokenizer.token_id(left + right) for left, right in merges}
    id_of = token_ids.get
    expected = [(id_of(left), id_of(right), id_of(left + right)) for left, right in merges]
    columns = history.left_id.tolist(), history.right_id.tolist(), new_ids.tolist()
    pairs = enumerate(zip(zip(*columns, strict=True), expected, strict=True), 1)
    if number := next((number for number, (made, wanted) in pairs if made != wanted), 0):
        raise TokvizError(f"does not fit the tokenizer, first at merge {number:,}")
