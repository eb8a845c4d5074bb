"""Size classes at their exact limits."""

from __future__ import annotations

import pytest
from textual.geometry import Size

from tokviz.tui.sizes import size_classes

LOW, BROAD = 30, 160


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("-narrow", (109, 99), (110, 99)),
        ("-short", (999, 15), (999, 16)),
        ("-tiny", (27, 99), (28, 99)),
        ("-tiny", (99, 8), (99, 9)),
        ("-flat", (99, 8), (99, 9)),
        ("-huge", (150, 44), (149, 44)),
        ("-huge", (150, 44), (150, 43)),
        ("-low", (99, LOW - 1), (99, LOW)),
        ("-broad", (BROAD, 99), (BROAD - 1, 99)),
    ],
)
def test_a_class_starts_at_its_exact_size(
    name: str, inside: tuple[int, int], outside: tuple[int, int]
) -> None:
    assert size_classes(Size(*inside), LOW, BROAD)[name]
    assert not size_classes(Size(*outside), LOW, BROAD)[name]
