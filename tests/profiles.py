"""How many examples property tests try, and which: the same ones every time, or new ones.

A plain run is repeatable. `tests/robustness/search.py` sets `$TOKVIZ_EXAMPLES` to look for faults
with many random examples.
"""

from __future__ import annotations

import os
from typing import Final

from hypothesis import settings

USUAL: Final = 100
"""Examples of a test that does not say how many, where all are tried."""
PLAIN: Final = 25
"""How many of them a plain run tries, which everybody waits for; the search tries the others."""
EXAMPLES: Final = "TOKVIZ_EXAMPLES"
"""The variable that gives a test of `USUAL` examples more or fewer, and others as many times."""

_wanted: Final = int(os.environ.get(EXAMPLES, PLAIN))


def examples(number: int) -> settings:
    """Give the settings of a test whose examples take longer or less long than most."""
    return settings(max_examples=max(1, number * _wanted // USUAL))


# No deadline: the first example pays for tables that are built once, and machines are noisy.
settings.register_profile(
    "tokviz", max_examples=_wanted, derandomize=EXAMPLES not in os.environ, database=None,
    deadline=None,
)  # fmt: skip
settings.load_profile("tokviz")
