"""Number of examples of property tests: the same ones in every run, or new ones.

A plain run is repeatable. `tests/robustness/search.py` sets `$TOKVIZ_EXAMPLES` to look for faults
with many random examples.
"""

from __future__ import annotations

import os
from typing import Final

from hypothesis import settings

USUAL: Final = 100
"""Default number of examples in the long run."""
PLAIN: Final = 25
"""Number of examples in a normal run; the search tries the others."""
EXAMPLES: Final = "TOKVIZ_EXAMPLES"
"""Environment variable with the number for tests of `USUAL` examples; others scale with it."""

_wanted: Final = int(os.environ.get(EXAMPLES, PLAIN))


def examples(number: int) -> settings:
    """Return the settings of a test with slower or faster examples than most."""
    return settings(max_examples=max(1, number * _wanted // USUAL))


# No deadline: the first example builds tables, and machines are noisy.
settings.register_profile(
    "tokviz", max_examples=_wanted, derandomize=EXAMPLES not in os.environ, database=None,
    deadline=None,
)  # fmt: skip
settings.load_profile("tokviz")
