"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# The first example pays for tables that are built once, and machines are noisy.
settings.register_profile("tokviz", deadline=None)
settings.load_profile("tokviz")
