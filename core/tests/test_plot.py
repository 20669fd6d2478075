from __future__ import annotations

import sys
from types import ModuleType

import pytest

from parcast import ParcastError, Registry, Results, Row, Writer, hookimpl
from parcast.results import plot as plotting

RESULTS = Results((Row(workload="w", machine="m", solver="s", p=1, d=1, time=2.0),))


def test_a_plot_is_what_the_writer_of_pictures_makes(monkeypatch):
    module = ModuleType("parcast_drawing")
    module.write = lambda results, path: path.write_text(f"<svg>{len(results)}</svg>")
    module.parcast_writers = hookimpl(lambda: [Writer(".svg", "parcast_drawing:write", "A test.")])
    monkeypatch.setitem(sys.modules, "parcast_drawing", module)
    monkeypatch.setattr(plotting, "Catalog", lambda: Registry([module]))
    assert RESULTS.plot()._repr_svg_() == "<svg>1</svg>"


def test_without_a_plugin_that_draws_the_way_out_is_told(monkeypatch):
    monkeypatch.setattr(plotting, "Catalog", lambda: Registry([]))
    with pytest.raises(ParcastError, match="pip install parcast-report"):
        RESULTS.plot()
