"""Files of a folder as git sees them: not hidden, and not ignored by a `.gitignore`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from tokviz.errors import InputFileError
from tokviz.storage.files import input_error

HIDDEN, IGNORED, LINK, SPECIAL = "hidden", "in .gitignore", "link", "special file"
"""Why an entry of a folder is skipped."""
_PATTERN_FILE = ".gitignore"


class _Ignored(NamedTuple):
    """The patterns of a `.gitignore`, and the folder that they are relative to."""

    folder: str
    spec: GitIgnoreSpec


def project_files(
    folder: str,
    *,
    everything: bool = False,
    on_skip: Callable[[str, str], object],
    on_error: Callable[[InputFileError], object],
) -> Iterator[str]:
    """Yield the files in a folder, sorted by name, then those of its subfolders.

    Links are skipped, so that no file is found twice and no loop of links is entered.

    Args:
        folder: The folder.
        everything: Whether to include hidden and ignored files.
        on_skip: Called with the path of every skipped file or folder, and the reason.
        on_error: Called with the error for every folder or `.gitignore` that cannot be read.
    """
    stack = [(folder, [] if everything else _rules_above(folder, on_error))]
    while stack:
        path, rules = stack.pop()
        try:
            with os.scandir(path) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except (OSError, ValueError) as error:
            on_error(input_error(path, error))
            continue
        if not everything and any(entry.name == _PATTERN_FILE for entry in entries):
            rules = rules + _rules_of(path, _PATTERN_FILE, on_error)
        folders = list[str]()
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if not everything and entry.name.startswith("."):
                on_skip(entry.path, HIDDEN)
            elif rules and _is_ignored(rules, os.path.abspath(entry.path), is_folder):
                on_skip(entry.path, IGNORED)
            elif is_folder:
                folders.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path
            else:
                on_skip(entry.path, LINK if entry.is_symlink() else SPECIAL)
        stack += [(path, rules) for path in reversed(folders)]


def _rules_above(folder: str, on_error: Callable[[InputFileError], object]) -> list[_Ignored]:
    """Read the patterns of the folders above, up to the root of the repository."""
    rules: list[_Ignored] = []
    parent = os.path.abspath(folder)
    while not os.path.exists(os.path.join(parent, ".git")):
        above = os.path.dirname(parent)
        if above == parent:
            return []  # not in a repository
        parent = above
        rules = _rules_of(parent, _PATTERN_FILE, on_error) + rules
    return _rules_of(parent, os.path.join(".git", "info", "exclude"), on_error) + rules


def _rules_of(
    folder: str, name: str, on_error: Callable[[InputFileError], object]
) -> list[_Ignored]:
    file = os.path.join(folder, name)
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            spec = GitIgnoreSpec.from_lines(lines)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError) as error:
        reason = input_error(file, error).reason if isinstance(error, OSError) else str(error)
        on_error(InputFileError(file, reason))
        return []
    return [_Ignored(os.path.join(os.path.abspath(folder), ""), spec)]


def _is_ignored(rules: list[_Ignored], path: str, is_folder: bool) -> bool:
    """Return what the last matching pattern of the innermost folder decides."""
    for folder, spec in reversed(rules):
        decided = spec.check_file(path[len(folder) :] + "/" * is_folder).include
        if decided is not None:
            return decided
    return False
