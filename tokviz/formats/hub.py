"""Tokenizers from the Hugging Face Hub: `hf:org/name` or `hf:org/name@revision`.

`huggingface_hub` (the extra `hub`) does the work, so its token, its cache, `HF_ENDPOINT` and
`HF_HUB_OFFLINE` count here too. Only files that can hold a tokenizer are fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from logging import CRITICAL
from pathlib import Path
from typing import Any

from tokviz.errors import InputFileError, missing_package
from tokviz.process.confinement import confinement

_ADDRESS = re.compile(r"hf:([\w.-]+(?:/[\w.-]+)?)(?:@([\w./-]+))?")

_CANDIDATES: tuple[tuple[str, ...], ...] = (
    ("tokenizer.json",),
    ("vocab.json", "merges.txt"),
    ("tokenizer.model",),
    ("original/tokenizer.model",),
)
"""The files that may hold a tokenizer, the best first; several are needed together."""

_NO_ADDRESS = "is not an address on the Hub: write hf:org/name[@revision]"
_OFFLINE = "is not in the cache, and offline mode is on (HF_HUB_OFFLINE)"
_UNREACHABLE = (
    "is not in the cache, and the Hub cannot be reached: check the network or HF_ENDPOINT"
)
_LOG_IN = "log in with `hf auth login` or set HF_TOKEN"

_REASONS = {
    "GatedRepoError": f"is gated: accept its terms on the Hub, then {_LOG_IN}",
    "RepositoryNotFoundError": f"there is no such repository, or it is private: {_LOG_IN}",
    "RevisionNotFoundError": "there is no such revision",
    "OfflineModeIsEnabled": _OFFLINE,
    "HFValidationError": _NO_ADDRESS,
}
"""What the errors of `huggingface_hub` mean; the first that fits counts."""


def fetch(address: str) -> Path:
    """Fetch a tokenizer from the Hub, or take it from the cache.

    Args:
        address: `hf:org/name`, or with `@` and a branch, tag or commit.

    Returns:
        The file.

    Raises:
        InputFileError: If the address makes no sense, the repository or revision does not exist, is
            not open to this user, holds no tokenizer, or cannot be reached.
    """
    match = _ADDRESS.fullmatch(address.strip())
    if match is None or _climbs(match[1]) or _climbs(match[2] or ""):
        raise InputFileError(address, _NO_ADDRESS)
    allowed = confinement()
    if allowed is not None and not allowed.hub:
        raise InputFileError(address, "this session may not use the Hub: start with --allow-hub")
    return _fetch(address, match[1], match[2])[0]


def _climbs(path: str) -> bool:
    """Tell whether a name would lead out of its folder in the cache."""
    return not {".", ".."}.isdisjoint(path.split("/")) or path.startswith("/")


def _fetch(address: str, repository: str, revision: str | None) -> list[Path]:
    try:
        from huggingface_hub import errors
    except ImportError:
        raise InputFileError(address, missing_package("huggingface_hub")) from None
    with _silence():
        for names in _CANDIDATES:
            try:
                return [_file(repository, name, revision) for name in names]
            except errors.EntryNotFoundError:
                continue
            except Exception as error:
                raise InputFileError(address, _reason(errors, error)) from None
    raise InputFileError(address, "holds no tokenizer.json, vocab.json with merges or rank file")


def _file(repository: str, name: str, revision: str | None) -> Path:
    """Fetch a file, or take it from the cache where the Hub does not give it.

    The Hub is asked once before: `hf_hub_download` alone tries for half a minute if there is no
    network.
    """
    from huggingface_hub import errors, get_hf_file_metadata, hf_hub_download, hf_hub_url

    try:
        get_hf_file_metadata(hf_hub_url(repository, name, revision=revision))
    except errors.EntryNotFoundError:
        raise
    except Exception as error:
        try:
            return Path(hf_hub_download(repository, name, revision=revision, local_files_only=True))
        except errors.LocalEntryNotFoundError:
            raise error from None
    return Path(hf_hub_download(repository, name, revision=revision))


@contextmanager
def _silence() -> Iterator[None]:
    """Keep the library's own lines and bars from the terminal: tokviz says what went wrong."""
    from huggingface_hub.utils import logging
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    verbosity, bars = logging.get_verbosity(), not are_progress_bars_disabled()
    logging.set_verbosity(CRITICAL)
    if bars:
        disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            enable_progress_bars()


def _reason(errors: Any, error: Exception) -> str:
    """Say in words why a file could not be fetched."""
    for name, reason in _REASONS.items():
        if isinstance(error, getattr(errors, name)):
            return reason
    if not isinstance(error, errors.HfHubHTTPError):
        return _UNREACHABLE
    first = str(error).strip().splitlines()
    return f"cannot be fetched: {first[0][:200] if first else type(error).__name__}"
