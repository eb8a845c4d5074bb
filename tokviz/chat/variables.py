"""Variables of a Jinja chat template, such as `enable_thinking`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TemplateVariable:
    """A variable that a template reads, as far as its syntax tells.

    Attributes:
        name: Its name.
        kind: "boolean", "text", "list", or "" if unknown.
        default: The value that the template uses if the variable is not given; None if unknown.
        choices: Values that the template compares it with.
    """

    name: str
    kind: str = ""
    default: Any = None
    choices: Sequence[Any] = ()
