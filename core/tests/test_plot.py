from __future__ import annotations

import pickle
import sys
from types import ModuleType

import pytest

from parcast import ParcastError, Results, Row, Writer

ROWS = (Row(workload="w", machine="m", solver="s", p=1, d=1, time=2.0),)


def test_a_plot_is_what_the_writer_of_the_asked_registry_makes(
    make_registry, workload, machine, monkeypatch
):
    module = ModuleType("parcast_drawing")
    module.write = lambda results, path: path.write_text(f"<svg>{len(results)}</svg>")
    monkeypatch.setitem(sys.modules, "parcast_drawing", module)
    drawn = Writer(".svg", "parcast_drawing:write", "A test.")
    registry = make_registry("works", hooks={"parcast_writers": lambda: [drawn]})
    results = registry.compare(workload, machine, p=[1, 2])
    assert results.plot()._repr_svg_() == "<svg>2</svg>"
    assert pickle.loads(pickle.dumps(results)).plot().svg == "<svg>2</svg>"


def test_without_a_plugin_that_draws_the_way_out_is_told(make_registry, workload, machine):
    with pytest.raises(ParcastError, match="pip install parcast-report"):
        make_registry("works").compare(workload, machine, p=1).plot()


def test_rows_of_nowhere_are_drawn_by_a_registry():
    with pytest.raises(ParcastError, match="come from no registry"):
        Results(ROWS).plot()
