"""Tokenizers from the Hugging Face Hub: `hf:org/name` or `hf:org/name@revision`.

It uses `huggingface_hub` (the extra `hub`), so its token, its cache, `HF_ENDPOINT` and
`HF_HUB_OFFLINE` apply. Only files that can hold a tokenizer are downloaded.
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
    ("tekken.json",),
    ("vocab.json", "merges.txt"),
    ("tokenizer.model",),
    ("original/tokenizer.model",),
)
"""The files that can hold a tokenizer, best first; those of one entry are needed together."""

_BESIDE = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")
"""Files of a model with its chat template and its special tokens; any may be missing."""

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
"""Messages for the errors of `huggingface_hub`; the first match applies."""


def fetch(address: str) -> Path:
    """Download a tokenizer from the Hub, or find it in the cache.

    Args:
        address: `hf:org/name`, or with `@` and a branch, tag or commit.

    Returns:
        The file.

    Raises:
        InputFileError: If the address is invalid, or the repository or revision does not exist, is
            not accessible to this user, holds no tokenizer, or cannot be reached.
    """
    match = _ADDRESS.fullmatch(address.strip())
    if match is None or _climbs(match[1]) or _climbs(match[2] or ""):
        raise InputFileError(address, _NO_ADDRESS)
    allowed = confinement()
    if allowed is not None and not allowed.hub:
        raise InputFileError(address, "this session may not use the Hub: start with --allow-hub")
    return _fetch(address, match[1], match[2])


def _climbs(path: str) -> bool:
    """Return whether a name would lead out of its folder in the cache."""
    return not {".", ".."}.isdisjoint(path.split("/")) or path.startswith("/")


def _fetch(address: str, repository: str, revision: str | None) -> Path:
    try:
        from huggingface_hub import errors
    except ImportError:
        raise InputFileError(address, missing_package("huggingface_hub")) from None
    with _silence():
        for names in _CANDIDATES:
            try:
                found = [_file(repository, name, revision) for name in names]
                _fetch_beside(repository, revision)
            except errors.EntryNotFoundError:
                continue
            except Exception as error:
                raise InputFileError(address, _reason(errors, error)) from None
            return found[0]
    files = "tokenizer.json, tekken.json, vocab.json with merges or rank file"
    raise InputFileError(address, f"holds no {files}")


def _fetch_beside(repository: str, revision: str | None) -> None:
    from huggingface_hub import errors

    for name in _BESIDE:
        try:
            _file(repository, name, revision)
        except errors.EntryNotFoundError:
            continue
        except Exception as error:
            if _reason(errors, error) not in (_OFFLINE, _UNREACHABLE):
                raise  # offline, the cache may not have these files


def _file(repository: str, name: str, revision: str | None) -> Path:
    """Download a file, or find it in the cache if the Hub is not available.

    A first request checks the connection, because `hf_hub_download` retries for half a minute
    without a network.
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
    """Silence the library's log and progress bars: tokviz reports errors itself."""
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
    """Describe why a file could not be downloaded."""
    for name, reason in _REASONS.items():
        if isinstance(error, getattr(errors, name)):
            return reason
    if not isinstance(error, errors.HfHubHTTPError):
        return _UNREACHABLE
    first = str(error).strip().splitlines()
    return f"cannot be fetched: {first[0][:200] if first else type(error).__name__}"
