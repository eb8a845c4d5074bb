"""Files of a folder as git sees them: not hidden, and not ignored by a `.gitignore`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pathspec import GitIgnoreSpec

from tokviz.errors import InputFileError
from tokviz.storage.files import input_error, read_file

OnError = Callable[[InputFileError], object]
_STARS, _MOST_STARS = re.compile(r"\*+"), 3
_Rules = list[tuple[str, GitIgnoreSpec]]
"""The patterns of each `.gitignore`, the innermost last, and the folder that they apply to."""


def project_files(
    folder: str,
    on_skip: Callable[[str, str], object],
    on_error: OnError,
    *,
    everything: bool = False,
) -> Iterator[str]:
    """Yield the files in a folder, sorted by name, then those of its subfolders.

    Links are skipped, so that no file is found twice and no loop of links is entered.

    Args:
        folder: The folder.
        on_skip: Called with the path of every skipped file or folder, and the reason.
        on_error: Called with the error for every folder or `.gitignore` that cannot be read.
        everything: Whether to include hidden and ignored files.
    """
    stack = [(folder, [] if everything else _rules_above(Path(os.path.abspath(folder)), on_error))]
    while stack:
        path, rules = stack.pop()
        try:
            with os.scandir(path) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except (OSError, ValueError) as error:
            on_error(input_error(path, error))
            continue
        if not everything and any(entry.name == ".gitignore" for entry in entries):
            rules = rules + _rules_of(os.path.abspath(path), ".gitignore", on_error)
        folders = list[str]()
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if not everything and entry.name.startswith("."):
                on_skip(entry.path, "hidden")
            elif rules and _is_ignored(rules, os.path.abspath(entry.path), is_folder):
                on_skip(entry.path, "in .gitignore")
            elif is_folder:
                folders.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path
            else:
                on_skip(entry.path, "link" if entry.is_symlink() else "special file")
        stack += [(inner, rules) for inner in reversed(folders)]


def _rules_above(folder: Path, on_error: OnError) -> _Rules:
    """Read the patterns of the folders above, up to the root of the repository."""
    above = [folder, *folder.parents]
    root = next((i for i, parent in enumerate(above) if (parent / ".git").exists()), None)
    if root is None:
        return []
    rules = _rules_of(str(above[root]), ".git/info/exclude", on_error)
    for parent in above[root:0:-1]:
        rules += _rules_of(str(parent), ".gitignore", on_error)
    return rules


def _rules_of(folder: str, name: str, on_error: OnError) -> _Rules:
    file = os.path.join(folder, name)
    if not os.path.exists(file):
        return []
    try:
        lines = read_file(file).decode("utf-8", "surrogateescape").splitlines()
        # The regex of many wildcards takes too long on names made for it.
        if slow := [line for line in lines if len(_STARS.findall(line)) > _MOST_STARS]:
            reason = f"a pattern with more than {_MOST_STARS} wildcards is not applied: {slow[0]}"
            on_error(InputFileError(file, reason))
        spec = GitIgnoreSpec.from_lines(line for line in lines if line not in slow)
        return [(os.path.join(folder, ""), spec)]
    except InputFileError as error:
        on_error(error)
    except ValueError as error:
        on_error(InputFileError(file, str(error)))
    return []


def _is_ignored(rules: _Rules, path: str, is_folder: bool) -> bool:
    """Return what the last matching pattern of the innermost folder decides."""
    for folder, spec in reversed(rules):
        decided = spec.check_file(path[len(folder) :] + "/" * is_folder).include
        if decided is not None:
            return decided
    return False
