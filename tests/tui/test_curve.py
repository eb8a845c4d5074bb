from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tokviz.tui.widgets.cursor_curve import Curve, Scale, compression_curve, curve_rows


def drawn(points: Sequence[tuple[float, float]], last_x: int = 8, *, is_log: bool = False) -> str:
    curve = Curve("", points, last_x, (0.0, 1.0))
    (row,) = curve_rows(curve, 9, 1, is_log=is_log)
    return row


def test_a_curve_without_points_is_empty() -> None:
    assert drawn([]) == " " * 9


def test_a_full_curve_fills_every_cell() -> None:
    curve = Curve("", [(0, 2.0), (256, 2.0)], 256, (0, 2))
    assert curve_rows(curve, 8, 2) == ["█" * 8] * 2


def test_columns_beyond_the_last_point_stay_empty() -> None:
    assert drawn([(0, 1.0), (4, 1.0)]) == "█████    "


def test_diminishing_returns_look_like_them_unless_the_scale_is_logarithmic() -> None:
    points = [(float(x), Scale(255, is_log=True).column_of(x, 9) / 8) for x in range(256)]
    linear, logarithmic = (drawn(points, 255, is_log=is_log) for is_log in (False, True))
    assert linear[:3] == "▁▅▆", "most is gained at the beginning"
    assert logarithmic == "▁▁▂▃▄▅▆▇█"


def test_counts_stand_on_a_logarithmic_axis_only_where_the_scale_is_logarithmic() -> None:
    curve = Curve("", [(1, 1000.0), (9, 10.0)], 9, (0.0, 1000.0), log_from=1.0)
    assert curve.y_axis(is_log=False) == (0.0, 1000.0, False)
    assert curve.y_axis(is_log=True) == (1.0, 1000.0, True)
    assert curve_rows(curve, 9, 3)[1][-1] == " "
    assert curve_rows(curve, 9, 3, is_log=True)[2][-1] == "█", "ten is a third of the way"


def test_compression_begins_with_a_byte_for_every_token() -> None:
    curve = compression_curve("", [(0, 1.0), (9, 3.2)], 9)
    assert (curve.y_range, curve.y_label(3.5)) == ((1.0, 3.5), "3.5")
    assert compression_curve("", [(0, 1.0)], 9).y_axis(is_log=True) == (1.0, 2.0, False)


def test_values_outside_the_scale_stay_inside_the_picture() -> None:
    assert drawn([(0, -5.0), (8, -5.0)]) == "▁" * 9
    assert drawn([(0, 9.0), (8, 9.0)]) == "█" * 9


def test_any_size_is_kept() -> None:
    for is_log in (False, True):
        for width in range(6):
            for height in range(4):
                curve = Curve("", [(0, 1.0)], 0, (1, 1), log_from=1.0)
                rows = curve_rows(curve, width, height, is_log=is_log)
                assert [len(row) for row in rows] == [width] * height


# -- the scale


@given(st.integers(2, 300), st.integers(1, 10_000), st.booleans())
def test_the_edges_of_a_scale_are_the_ends(width: int, last: int, is_log: bool) -> None:
    scale = Scale(last, is_log)
    assert (scale.value_of(0, width), scale.value_of(width - 1, width)) == (0, last)
    assert (scale.column_of(0, width), scale.column_of(last, width)) == (0, width - 1)


@given(st.integers(2, 300), st.integers(1, 100_000), st.data())
def test_a_value_picked_by_the_mouse_is_drawn_at_the_mouse(
    width: int, last: int, data: st.DataObject
) -> None:
    column = data.draw(st.integers(0, width - 1))
    if last >= width:
        assert Scale(last).column_of(Scale(last).value_of(column, width), width) == column


@given(st.integers(2, 200), st.integers(0, 10**6), st.data())
def test_columns_of_a_logarithmic_scale_grow_with_the_value(
    width: int, last: int, data: st.DataObject
) -> None:
    scale = Scale(last, is_log=True)
    low, high = sorted(data.draw(st.tuples(st.integers(0, last), st.integers(0, last))))
    assert 0 <= scale.column_of(low, width) <= scale.column_of(high, width) < width
    column = scale.column_of(high, width)
    value = scale.value_of(column, width)
    assert scale.column_of(value, width) == column or abs(value - high) <= 1
