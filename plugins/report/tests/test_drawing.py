"""What is drawn is what the rows say, found in the figure and not in its pixels."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from rows import CURVE, GRID, results, row

from parcast_report import bars, curves, surfaces
from parcast_report.choosing import choose
from parcast_report.style import PARTS, RESOURCES, ticks, time_unit

DRAW = {"surface": surfaces.draw, "curves": curves.draw, "bars": bars.draw}


def drawn(found):
    figure = Figure()
    picture = choose(found)
    DRAW[picture.kind](figure, picture)
    return figure.axes


def lines(axes):
    return {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}


def test_times_and_speedups_are_those_of_the_rows():
    time, speedup, _ = drawn(CURVE)
    assert lines(time)["predicted"] == [[r.p, r.time] for r in CURVE.rows]
    assert [[r.p, r.speedup] for r in CURVE.rows] in lines(speedup).values()
    assert lines(speedup)["ideal"] == [[p, p] for p in (1, 2, 4)]  # to twice the best
    assert time.get_xscale() == time.get_yscale() == speedup.get_xscale() == "log"
    assert (time.get_xlabel(), time.get_ylabel()) == ("processes p", "time [s]")


def test_small_times_are_in_small_units():
    rows = [attrs.evolve(r, time=r.time * 1e-6) for r in CURVE.rows]
    time, *_ = drawn(results(*rows))
    assert time.get_ylabel() == "time [us]"
    assert lines(time)["predicted"][1] == [2, pytest.approx(CURVE.rows[1].time)]


def test_measured_times_and_where_one_process_was_measured_their_speedups():
    rows = [attrs.evolve(r, measured=2 * r.time) for r in CURVE.rows]
    time, speedup, _ = drawn(results(*rows))
    assert lines(time)["measured"] == [[r.p, 2 * r.time] for r in rows]
    assert lines(speedup)["measured"] == [[r.p, rows[0].time / r.time] for r in rows]
    assert "measured" not in lines(drawn(results(*rows[1:]))[1])


def bands(axes):
    """Return the least and the largest y of every band."""
    found = [
        c.get_paths()[0].vertices[:, 1] for c in axes.collections if isinstance(c, PolyCollection)
    ]
    return [(float(y.min()), float(y.max())) for y in found]


def test_proven_bounds_and_quantiles_are_bands():
    assert bands(drawn(CURVE)[0]) == []
    proven = [attrs.evolve(r, lower=r.time / 2, upper=3 * r.time) for r in CURVE.rows]
    least = min(r.time for r in CURVE.rows)
    most = max(r.time for r in CURVE.rows)
    assert bands(drawn(results(*proven))[0]) == [(least / 2, 3 * most)]
    quantiles = [
        attrs.evolve(r, quantiles={"0.05": r.time / 4, "0.5": r.time, "0.95": r.time * 4, "0.9": 0})
        for r in CURVE.rows
    ]
    assert (least / 4, 4 * most) in bands(drawn(results(*quantiles))[0])
    certain = [attrs.evolve(r, ci=(r.time - 1, r.time + 1)) for r in CURVE.rows]
    assert bands(drawn(results(*certain))[0]) == [(least - 1, most + 1)]


def test_bounds_that_a_solver_names_are_lines():
    rows = [
        attrs.evolve(r, details={"bounds": {"balanced_job": [r.time / 2, None]}})
        for r in CURVE.rows
    ]
    time, *_ = drawn(results(*rows))
    assert lines(time)["balanced job bounds"] == [[r.p, r.time / 2] for r in rows]


def test_parts_are_stacked_to_the_whole():
    *_, parts = drawn(CURVE)
    shown = [PARTS[name] for name in ("compute", "communication", "io", "synchronization")]
    stacks = [c for c in parts.collections if isinstance(c, PolyCollection)]
    assert [to_hex(c.get_facecolor()[0]).upper() for c in stacks] == [one.upper() for one in shown]
    tops = [c.get_paths()[0].vertices[:, 1].max() for c in stacks]
    first = CURVE.rows[0].parts
    assert tops[0] == pytest.approx(100 * first.compute / first.total)
    assert tops[-1] == pytest.approx(100)
    seen = [text.get_text() for text in parts.get_legend().get_texts()]
    assert seen == ["compute", "communication", "io"]


def test_contours_have_the_speedups_and_the_ridge_the_fewest_disks():
    contours, what, *_ = drawn(GRID)
    ridge = lines(contours)["fewest disks within 1 % of the least time"]
    for p, d in ridge:
        column = {r.d: r.time for r in GRID.rows if r.p == p}
        assert column[d] <= 1.01 * min(column.values())
        assert all(column[e] > 1.01 * min(column.values()) for e in column if e < d)
    best = min(GRID.rows, key=lambda r: r.time)
    assert [[best.p, best.d]] in lines(contours).values()
    assert what.get_title() == "bottleneck"


def color_at(axes, p, d):
    """Return the color of the rectangle that covers a point of the map."""
    for collection in axes.collections:
        for path in collection.get_paths():
            box = path.get_extents()
            if box.x0 <= p <= box.x1 and box.y0 <= d <= box.y1:
                return to_hex(collection.get_facecolor()[0]).upper()
    return None


def test_the_map_has_the_color_of_what_binds_at_every_point():
    _, what, *_ = drawn(GRID)
    for r in GRID.rows:
        if 1 < r.p < 16 and 1 < r.d < 4:  # a point at the rim touches its rectangle only
            assert color_at(what, r.p, r.d) == RESOURCES[r.binding].upper()
    assert [text.get_text() for text in what.get_legend().get_texts()] == ["processor", "network"]


def test_a_surface_with_gaps_has_cells_and_no_ridge():
    rows = [r for r in GRID.rows if r.p % r.d == 0]
    contours, what, *_ = drawn(results(*rows))
    assert "fewest disks within 1 % of the least time" not in lines(contours)
    (cells,) = (c for c in contours.collections if type(c).__name__ == "QuadMesh")
    assert np.ma.count(cells.get_array()) == len(rows)
    assert color_at(what, 1.05, 3.9) is None


def test_a_flat_surface_and_one_without_speedups():
    flat = [attrs.evolve(r, time=2.0, speedup=1.0) for r in GRID.rows]
    assert drawn(results(*flat))[0].get_title() == "speedup"
    alone = [attrs.evolve(r, speedup=None) for r in GRID.rows]
    axes = drawn(results(*alone))
    assert axes[0].get_title() == "time"
    assert "time [s]" in [one.get_ylabel() for one in axes]


def test_bars_are_stacked_of_parts_with_marks():
    rows = [
        row(4, solver="a", lower=5.0, upper=50.0, measured=20.0),
        row(4, solver="b", parts=None, ci=(20.0, 30.0)),
    ]
    (axes,) = drawn(results(*rows))
    widths = [patch.get_width() for patch in axes.patches]
    assert widths == pytest.approx([*rows[0].parts.values(), rows[1].time])
    assert lines(axes)["proven bounds"] == [[5, 0], [50, 0]]
    assert lines(axes)["95 % interval"] == [[20, 1], [30, 1]]
    assert lines(axes)["measured"] == [[20, 0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_a_setting_may_be_zero():
    rows = [row(params={"network.contention_level": w}, time=1 + w) for w in (0, 0.5, 1)]
    time, *_ = drawn(results(*rows))
    assert (time.get_xscale(), time.get_yscale()) == ("linear", "log")
    nothing = [row(params={"n": n}, time=0.0, parts=None) for n in (1, 2, 4)]
    assert drawn(results(*nothing))[0].get_yscale() == "linear"


def test_ticks_never_touch_and_mark_both_ends():
    assert ticks([1, 4, 9, 16, 25, 36, 49, 64]) == [1, 4, 9, 16, 25, 64]
    assert ticks(range(1, 1001)) == [2.0**n for n in range(10)]
    assert ticks([3]) == [3]


def test_units_of_time():
    assert time_unit([100.0, 0.5]) == (1.0, "s")
    assert time_unit([0.005, 1.0]) == (1e-3, "ms")
    assert time_unit([0.0]) == (1.0, "s")
    assert time_unit([1e-15]) == (1e-9, "ns")


def test_a_legend_of_many_lines_hides_none_of_them():
    rows = [attrs.evolve(r, solver=f"a.{n}") for n in range(8) for r in CURVE.rows]
    figure = Figure(layout="constrained")
    curves.draw(figure, choose(results(*rows)))
    figure.draw_without_rendering()
    time = figure.axes[0]
    legend, panel = time.get_legend().get_window_extent(), time.get_window_extent()
    assert legend.y1 < time.xaxis.label.get_window_extent().y0 + 3  # of its padding
    assert panel.height > 150
