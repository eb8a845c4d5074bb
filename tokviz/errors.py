"""Errors whose message is meant for the user: the problem, its location, and the remedy."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from os import PathLike, fspath
from typing import Any

MOST_CHARS = 600
"""Limit of the characters of a message."""


class TokvizError(Exception):
    """Base class of tokviz's errors. `str(error)` is the message for the user."""

    def __str__(self) -> str:
        """Return the message, shortened if quoted content makes it too long."""
        sentence = super().__str__()
        if len(sentence) <= MOST_CHARS:
            return sentence
        return f"{sentence[: MOST_CHARS * 2 // 3]} … {sentence[-MOST_CHARS // 3 :]}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling without calling `__init__`, whose arguments are not kept."""
        return _restore, (type(self), self.args), self.__dict__


def _restore(kind: type[TokvizError], arguments: tuple[Any, ...]) -> TokvizError:
    return kind.__new__(kind, *arguments)


def missing_package(name: str) -> str:
    """Return the message that a package is needed, with the command that installs it.

    The command names the package itself and not an extra of tokviz, because tokviz may have been
    installed from a file or a checkout.
    """
    python = shlex.quote(sys.executable)
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        command = f"pipx inject {shlex.quote(os.path.basename(sys.prefix))}"
    elif find_spec("pip"):
        command = f"{python} -m pip install"
    else:  # as in the environments of uv
        command = f"uv pip install --python {python}"
    return f"needs the package {name}: {command} {name}"


class UnknownTokenizerError(TokvizError, ValueError):
    """A tokenizer name that is neither built in nor a file."""

    def __init__(self, name: str, suggestions: Sequence[str] = (), about: str = "") -> None:
        """Create the error from the unknown name and similar known names, best first.

        Args:
            name: The name.
            suggestions: Similar names.
            about: The reason why a known tokenizer is not built in.
        """
        self.name = name
        self.suggestions = tuple(suggestions)
        self.about = about
        self.hint = about or (f"did you mean {_listed(self.suggestions)}?" if suggestions else "")
        """A question that suggests similar names, or the reason; empty if there are none."""
        super().__init__(about or f"unknown tokenizer {name!r}: {self.hint or _SEE_ALL}")


_SEE_ALL = "run `tokviz tokenizers` to list the known names"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


class _FileError(TokvizError):
    def __init__(self, path: str | PathLike[str], reason: str) -> None:
        """Create the error from the path as the user typed it and the reason."""
        self.path = fspath(path)
        self.reason = reason
        # An empty path, for example from an unset variable, is shown as ''.
        super().__init__(f"{self.path or repr('')}: {reason}")


class InputFileError(_FileError):
    """A file that cannot be read."""


class OutputFileError(_FileError):
    """A file that cannot be written. An existing file is unchanged."""


class PatternError(TokvizError):
    """A split pattern that does not compile, or takes too long."""

    def __init__(
        self,
        pattern: str,
        reason: str,
        position: int | None = None,
        *,
        place: int | None = None,
        pre_token: str = "",
        file: str = "",
    ) -> None:
        """Create the error.

        Args:
            pattern: The regex.
            reason: The reason.
            position: The character offset in the regex, if known; shown counted from 1.
            place: The character offset in the split text at which the regex fails.
            pre_token: The text there, shortened for display.
            file: The file that contains the text, if known.
        """
        self.pattern = pattern
        self.reason = reason
        self.position = position
        self.place = place
        self.pre_token = pre_token
        where = "" if position is None else f" at character {position + 1}"
        if place is not None:
            where = f" at character {place:,} of the text, {pre_token}"
        where += f", in {file}" if file else ""
        self.trouble = f"{reason}{where}"
        shown = repr(pattern if len(pattern) <= 80 else pattern[:77] + "...")
        # Show the regex itself rather than Python's representation.
        shown = shown.replace(r"\\", "\\")
        super().__init__(f"split pattern {shown}: {self.trouble}")

    def shifted(self, n_chars: int) -> PatternError:
        """Return the error for a longer text in which `n_chars` characters come before this one."""
        return self._again(place=None if self.place is None else self.place + n_chars)

    def of_file(self, file: str) -> PatternError:
        """Return the error with the name of the file that the text comes from."""
        return self._again(file=file)

    def _again(self, **changes: Any) -> PatternError:
        fields = {"place": self.place, "pre_token": self.pre_token, **changes}
        return PatternError(self.pattern, self.reason, self.position, **fields)


class ArgumentTypeError(TokvizError, TypeError):
    """An argument of the wrong type."""


class TokenIdError(TokvizError, ValueError):
    """A token id that the vocabulary does not hold."""

    def __init__(self, token_id: object, tokenizer: str, n_vocab: int, index: int | None = None):
        """Create the error from the id, the tokenizer's name and size, and the index of the id."""
        self.token_id = token_id
        self.index = index
        where = "" if index is None else f" (position {index} of the ids)"
        super().__init__(
            f"no token has the id {token_id}{where} in {tokenizer}: its ids end at {n_vocab - 1}"
            if not isinstance(token_id, int) or not 0 <= token_id < n_vocab
            else f"no token has the id {token_id}{where} in {tokenizer}: the id is a gap"
        )


class VocabularyError(TokvizError):
    """An inconsistent vocabulary or merge list."""


class LargeFileError(TokvizError):
    """A file so large that the user must confirm reading it.

    Attributes:
        is_begun: True if reading has started and exceeded the budget for files of its size.
    """

    is_begun = False


class SpecialTokenError(TokvizError, ValueError):
    """Special tokens that collide, are empty, or are unknown."""


class FormatError(TokvizError):
    """A tokenizer that a file format cannot hold."""


class CorpusError(TokvizError):
    """A corpus without text to train on."""


class JobError(TokvizError):
    """A failed child process, with the last line of its output.

    Attributes:
        over: The limit that it exceeded: "memory", "time", or empty.
    """

    over: str = ""
