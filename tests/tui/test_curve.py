from __future__ import annotations

from tokviz.tui.widgets.curve import curve_rows


def drawn(points: list[tuple[float, float]], width: int = 8, height: int = 2) -> list[str]:
    return curve_rows(points, width, height, x_range=(1, 256), y_range=(0, 2))


def test_a_curve_without_points_is_empty() -> None:
    assert drawn([]) == [" " * 8] * 2


def test_a_full_curve_fills_every_cell() -> None:
    assert drawn([(1, 2.0), (256, 2.0)]) == ["█" * 8] * 2


def test_columns_beyond_the_last_point_stay_empty() -> None:
    assert drawn([(1, 1.0), (15, 1.0)]) == [" " * 8, "████    "]


def test_values_between_two_points_lie_on_a_line_over_the_logarithm() -> None:
    assert drawn([(1, 0.0), (256, 2.0)]) == ["    ▂▄▆█", "▂▄▆█████"]


def test_values_outside_the_scale_stay_inside_the_picture() -> None:
    assert drawn([(1, -5.0), (256, -5.0)]) == [" " * 8, "▁" * 8]
    assert drawn([(1, 9.0), (256, 9.0)]) == ["█" * 8] * 2


def test_any_size_is_kept() -> None:
    for width in range(6):
        for height in range(4):
            rows = curve_rows([(1, 1.0)], width, height, x_range=(1, 1), y_range=(1, 1))
            assert [len(row) for row in rows] == [width] * height
