"""Results as frames, grids and the files that others read."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import ParcastError, Parts, Registry, Results, Row, Status
from parcast.results import writers
from parcast.results.columns import GRID, axes, flat
from parcast.testing import cases

PROVENANCE = {"seed": 7, "bad": math.nan, "source": "é" * 100_000}
PARTS = Parts(1.0, 0.5, 0.25, 0.25)


def row(p, time=None, **more):
    one = {"workload": "w", "machine": "m", "solver": "a.one", "d": 1}
    return Row(**{**one, "p": p, "time": time, **more})


FULL = row(4, 2.0, lower=1.0, upper=math.inf, std=0.1, ci=(1.5, 2.5), speedup=3.5, parts=PARTS,
           params={"n": 64, "network.bandwidth": "5 MB/s"}, quantiles={"0.95": 3.0, "0.05": 1.0},
           notes=("one", "two"), binding="network", mapping=(0, 1, 0, 1),
           lowering=("phases -> program",))  # fmt: skip
REFUSED = row(8, solver="b", status=Status.REFUSED, message="no, “never”")
RESULTS = Results((FULL, REFUSED), PROVENANCE)


def weak(ps=(1, 4, 16), extra=()):
    """The size follows from p; each of ``extra`` tells points apart."""
    rows = [
        row(p, float(p), params={"n": 8 * p, **({"m": m} if extra else {})})
        for p in ps
        for m in extra or (None,)
    ]
    return Results(tuple(rows))


def written(results, folder, name):
    Registry(plugins=[]).write(results, folder / name)
    return folder / name


def test_a_frame_has_the_columns_of_csv_with_numbers_as_numbers(tmp_path):
    frame = RESULTS.to_frame()
    with written(RESULTS, tmp_path, "x.csv").open(encoding="utf-8", newline="") as file:
        assert list(frame.columns) == next(csv.reader(file))
    first, second = (frame.iloc[index] for index in (0, 1))
    assert (first["time"], first["parts.compute"], first["quantiles.0.05"]) == (2.0, 1.0, 1.0)
    assert (first["params.n"], first["params.network.bandwidth"]) == (64, "5 MB/s")
    assert (first["notes"], first["lowering"]) == ("one; two", "phases -> program")
    assert (second["status"], second["message"]) == ("refused", "no, “never”")
    assert frame["p"].dtype == np.int64
    for name in ("time", "upper", "measured", "parts.io", "solve_seconds"):
        assert frame[name].dtype == float
        assert math.isnan(second[name])


def test_a_frame_says_where_it_comes_from():
    assert RESULTS.to_frame().attrs["provenance"] == {**PROVENANCE, "bad": None}


def test_a_column_beside_a_table_of_its_name_is_kept(tmp_path):
    results = Results((row(1, params={"network": 3, "network.bandwidth": 5}),))
    assert results.to_frame()["params.network"].tolist() == [3]
    assert "params.network," in written(results, tmp_path, "x.csv").read_text()


def test_a_dataset_is_a_grid_with_units_and_holes():
    grid = RESULTS.to_dataset()
    assert dict(grid.sizes) == {
        "workload": 1, "machine": 1, "solver": 2, "p": 2, "d": 1, "quantile": 2,
    }  # fmt: skip
    at = grid.sel(workload="w", machine="m", solver="a.one", d=1)
    assert at.time.dims == ("p",)
    assert at.time.sel(p=4) == 2.0
    assert at["compute"].sel(p=4) == 1.0
    assert at.binding.sel(p=4) == "network"
    assert at.quantiles.sel(p=4).to_numpy().tolist() == [1.0, 3.0]
    assert at["quantile"].to_numpy().tolist() == [0.05, 0.95]
    assert np.isnan(at.time.sel(p=8))
    assert at.status.sel(p=8) == ""
    assert grid.status.sel(solver="b", p=8).item() == "refused"
    assert {name: one.attrs.get("units") for name, one in grid.data_vars.items()} == {
        **dict.fromkeys(("time", "lower", "upper", "std", "measured", "quantiles"), "s"),
        **dict.fromkeys(("compute", "communication", "io", "synchronization"), "s"),
        **dict.fromkeys(("speedup", "error"), "1"),
        **dict.fromkeys(("status", "binding", "message")),
    }
    assert json.loads(grid.attrs["provenance"]) == {**PROVENANCE, "bad": None}


def test_p_and_d_ascend_in_a_grid():
    rows = [row(p, p / d, d=d) for p in (16, 1, 4) for d in (3, 2)]
    grid = Results(tuple(rows)).to_dataset()
    assert (grid.p.to_numpy().tolist(), grid.d.to_numpy().tolist()) == ([1, 4, 16], [2, 3])
    assert grid.time.sel(p=4, d=3).item() == pytest.approx(4 / 3)


def test_a_size_that_follows_from_p_is_a_coordinate_over_p():
    grid = weak().to_dataset()
    assert "n" not in grid.dims
    assert grid.n.dims == ("p",)
    assert grid.n.to_numpy().tolist() == [8, 32, 128]
    assert grid.sel(p=4).time.item() == 4.0


def test_what_tells_points_apart_is_a_dimension():
    grid = weak(extra=(1, 2)).to_dataset()
    assert "m" in grid.dims
    assert grid.m.to_numpy().tolist() == [1, 2]
    assert grid.n.dims == ("p",)
    assert grid.sizes["p"] == 3


def test_what_is_computed_from_a_dimension_and_p_is_none():
    rows = [row(p, params={"n": s * p, "s": s}) for p in (1, 2, 4) for s in (3, 5)]
    grid = Results(tuple(rows)).to_dataset()
    assert "n" not in grid.dims
    assert grid.n.dims == ("p", "s")
    assert grid.n.sel(p=4, s=5) == 20


def test_a_parameter_of_one_workload_or_solver_is_a_coordinate_over_it():
    works = [row(p, workload=w, params={"n": 3} if w == "v" else {}) for p in (1, 2) for w in "wv"]
    sizes = Results(tuple(works)).to_dataset()["n"]
    assert sizes.dims == ("workload",)
    assert np.isnan(sizes.sel(workload="w"))
    options = [row(p, solver=s, params={f"{s}.how": "fast"} if s == "b" else {})
               for p in (1, 2) for s in "ab"]  # fmt: skip
    how = Results(tuple(options)).to_dataset()["b.how"]
    assert (how.dims, how.to_numpy().tolist()) == (("solver",), ["", "fast"])


def test_seeds_and_mappings_tell_points_apart():
    rows = [row(4, s, seed=s, mapping=m) for s in (1, 2) for m in ("block", (0, 1, 0, 1))]
    grid = Results(tuple(rows)).to_dataset()
    assert grid.time.dims[-2:] == ("mapping", "seed")
    assert grid.time.sel(mapping="0; 1; 0; 1", seed=2).item() == 2.0


def test_a_parameter_called_like_a_variable_keeps_its_long_name():
    grid = Results((row(1, 5.0, params={"time": 3, "io": "x", "solver": 4}),)).to_dataset()
    assert (grid["params.time"].item(), grid["params.io"].item()) == (3, "x")
    assert (grid["params.solver"].item(), grid.solver.item()) == (4, "a.one")
    assert grid.time.item() == 5.0


def test_two_rows_on_one_place_are_refused():
    results = Results((row(4, 1.0), row(8), row(4, 2.0)))
    with pytest.raises(ParcastError, match=r"workload w, machine m, solver a\.one, p 4, d 1, with"):
        results.to_dataset()
    assert len(results.to_frame()) == 3


@given(
    st.lists(st.tuples(*[st.integers(1, 3)] * 4, st.sampled_from("xyz")), unique=True, min_size=1)
)
@settings(max_examples=cases(20))
def test_every_point_is_found_again_in_the_grid(points):
    rows = tuple(
        row(p, float(index), d=d, params={"a": a, "b": b, "c": c, "sum": a + p})
        for index, (p, d, a, b, c) in enumerate(points)
    )
    names, cells = flat(rows)
    dims = axes(names, cells)
    assert dims[: len(GRID)] == GRID
    grid = Results(rows).to_dataset()
    for cell in cells:
        place = {name.removeprefix("params."): cell[name] for name in dims}
        found = grid.sel(place)
        assert found.time.item() == cell["time"]
        for name in ("a", "b", "c", "sum"):
            assert found[name].item() == cell[f"params.{name}"]
    assert np.isfinite(grid.time).sum() == len(points)


def test_parquet_reads_back(tmp_path):
    frame = pd.read_parquet(written(RESULTS, tmp_path, "x.parquet"))
    pd.testing.assert_frame_equal(frame, RESULTS.to_frame(), check_dtype=False)
    assert frame["time"].dtype == float
    assert frame.attrs["provenance"] == {**PROVENANCE, "bad": None}


def test_parquet_takes_columns_of_several_types(tmp_path):
    rows = tuple(
        row(p, details={"x": x, "flag": flag})
        for p, (x, flag) in enumerate([(1, True), ("one", None), (None, False), (10**30, True)])
    )
    frame = pd.read_parquet(written(Results(rows), tmp_path, "x.parquet"))
    assert frame["details.x"].dropna().tolist() == ["1", "one", str(10**30)]
    assert frame["details.flag"].dropna().tolist() == [True, False, True]


def test_netcdf_reads_back(tmp_path):
    rows = (FULL, REFUSED, row(1, params={"n": 2.5, "flag": True, "network.bandwidth": "x"}))
    results = Results(rows, PROVENANCE)
    with xr.open_dataset(written(results, tmp_path, "x.nc"), engine="h5netcdf") as read:
        grid = results.to_dataset()
        xr.testing.assert_equal(read, grid)
        assert read.attrs == grid.attrs
        assert read.time.attrs["units"] == "s"
        assert read.message.sel(p=8, solver="b").item() == "no, “never”"


@pytest.mark.parametrize("suffix", [".parquet", ".nc", ".csv", ".extrap.jsonl"])
def test_a_file_that_cannot_be_written_is_told(tmp_path, suffix):
    with pytest.raises(ParcastError, match="cannot be written: No such file or directory"):
        written(RESULTS, tmp_path / "none", f"x{suffix}")


def points(results, folder):
    lines = written(results, folder, "x.extrap.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_extrap_has_a_line_for_each_time_and_none_for_refusals(tmp_path):
    assert points(RESULTS, tmp_path) == [
        {"params": {"p": 4}, "callpath": "a.one", "metric": "time", "value": 2.0}
    ]
    assert points(Results((REFUSED,)), tmp_path) == []


def test_extrap_leaves_out_what_follows_from_p(tmp_path):
    assert [one["params"] for one in points(weak(), tmp_path)] == [{"p": 1}, {"p": 4}, {"p": 16}]
    both = points(weak(extra=(1, 2)), tmp_path)
    assert [one["params"] for one in both[:3]] == [{"p": 1, "m": 1}, {"p": 1, "m": 2},
                                                   {"p": 4, "m": 1}]  # fmt: skip


def test_extrap_puts_what_is_no_number_in_the_call_path(tmp_path):
    rows = [row(p, 1.0, d=d, workload=w, params={"how": how})
            for p in (1, 2) for d in (1, 3) for w in "wv" for how in ("x", "y")]  # fmt: skip
    first, *_, last = points(Results(tuple(rows)), tmp_path)
    assert first["callpath"] == "workload=w->how=x->a.one"
    assert last["callpath"] == "workload=v->how=y->a.one"
    assert last["params"] == {"p": 2, "d": 3}


def test_extrap_takes_seeds_for_repetitions(tmp_path):
    rows = [row(p, float(seed), seed=seed) for p in (1, 2) for seed in (5, 6)]
    assert [(one["params"], one["value"]) for one in points(Results(tuple(rows)), tmp_path)] == [
        ({"p": 1}, 5.0), ({"p": 1}, 6.0), ({"p": 2}, 5.0), ({"p": 2}, 6.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.extrap.jsonl", ".extrap.jsonl"),
        ("a.b.EXTRAP.jsonl", ".extrap.jsonl"),
        ("a.other.jsonl", ".jsonl"),
        ("extrap.jsonl", ".jsonl"),
        ("2026.11.csv", ".csv"),
    ],
)
def test_the_longest_suffix_chooses_the_writer(name, suffix):
    assert Registry(plugins=[]).writer(f"folder.nc/{name}").suffix == suffix


@pytest.mark.parametrize("name", ["a.extrap", ".csv", "a", "a.csv.gz"])
def test_a_name_without_a_known_suffix_has_no_writer(name):
    with pytest.raises(ParcastError, match=r"no writer for .* Known: \.csv, \.extrap\.jsonl"):
        Registry(plugins=[]).writer(name)


@pytest.mark.parametrize(
    ("missing", "call"),
    [
        ("pandas", lambda folder: RESULTS.to_frame()),
        ("xarray", lambda folder: RESULTS.to_dataset()),
        ("pyarrow", lambda folder: written(RESULTS, folder, "x.parquet")),
        ("h5py", lambda folder: written(RESULTS, folder, "x.nc")),
        ("h5netcdf", lambda folder: written(RESULTS, folder, "x.nc")),
    ],
)
def test_a_missing_library_is_named_with_what_to_install(monkeypatch, tmp_path, missing, call):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ParcastError, match=rf'^{missing} .* pip install "parcast\[frames\]"$'):
        call(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".parquet", ".nc", ".csv", ".json", ".extrap.jsonl"])
def test_a_full_disk_is_told(tmp_path, suffix):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    (tmp_path / f"x{suffix}").symlink_to("/dev/full")
    with pytest.raises(ParcastError, match=r"cannot be written: .*No space left on device"):
        written(RESULTS, tmp_path, f"x{suffix}")


def test_parquet_keeps_integers_of_more_than_64_bits_as_text(tmp_path):
    wide = [2**63, 2**63 + 1, -(2**63) - 1]
    rows = tuple(
        row(p, seed=seed, params={"n": n}, details={"most": most})
        for p, (seed, n, most) in enumerate(
            zip(wide, (10**30, 1.5, 2), (2**63 - 1, 1, 2), strict=True)
        )
    )
    frame = pd.read_parquet(written(Results(rows), tmp_path, "x.parquet"))
    assert frame["seed"].tolist() == list(map(str, wide))
    assert frame["params.n"].tolist() == [str(10**30), "1.5", "2"]
    assert frame["details.most"].tolist() == [2**63 - 1, 1, 2]


def test_parquet_rounds_integers_among_floats(tmp_path):
    rows = (row(1, params={"n": 2**53 + 1}), row(2, params={"n": 0.5}))
    frame = pd.read_parquet(written(Results(rows), tmp_path, "x.parquet"))
    assert frame["params.n"].tolist() == [2.0**53, 0.5]


@pytest.mark.parametrize("error", [OSError(28, "full"), ValueError("x"), KeyboardInterrupt()])
def test_nothing_is_left_of_what_was_not_finished(monkeypatch, tmp_path, error):
    def stop(results, path):
        path.write_text("half")
        raise error

    monkeypatch.setattr(writers, "write_csv", stop)
    (tmp_path / "x.csv").write_text("old")
    with pytest.raises(ParcastError if isinstance(error, OSError) else type(error)):
        written(RESULTS, tmp_path, "x.csv")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("x.csv", "old")]


def test_a_folder_that_is_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ParcastError, match="cannot be written: Not a directory"):
        written(RESULTS, tmp_path / "file", "x.csv")
