"""Each hook of the plugin does what docs/plugins.md says."""

from __future__ import annotations

import logging
from pathlib import Path

import parcast_roofline
import pytest
import typer
from parcast_roofline.cache import Cache
from typer.testing import CliRunner

from parcast import ParcastError, Query, Registry
from parcast.comparison.lowering import lower
from parcast.errors import FileError
from parcast.files import read_dataset
from parcast.plugins import load, warm


@pytest.fixture
def registry() -> Registry:
    return Registry([parcast_roofline])


def test_parcast_kinds(registry: Registry) -> None:
    loop = {"flops": "2*n", "bytes": "8*n"}
    kernel = {"name": "k", "kind": "kernel", "parameters": {"n": 10}, "loop": [loop]}
    query = Query(workload=registry.workload(kernel), machine=registry.machine("round-node"), p=2)
    (share,) = query.workload.content.at(query)
    assert (share.flops, share.bytes) == (10, 40)


def test_parcast_parts(registry: Registry) -> None:
    assert registry.machine("round-node").part("cache", Cache).capacity == 2**20
    with pytest.raises(FileError, match=r"cache\.capacity: '1 s' is in s, not in B"):
        registry.machine({"name": "m", "cache": {"capacity": "1 s", "bandwidth": 1}})


def test_parcast_solvers_predict_the_slower_of_work_and_data(registry: Registry) -> None:
    (row,) = registry.compare("stream-triad", "round-node", p=8).rows
    assert row.solver == "roofline.dram"
    assert row.time == pytest.approx(24e6 / 32e9)
    (row,) = registry.compare("stream-triad", "round-node", p=64).rows
    assert row.solver == "roofline.cache"
    assert row.time == pytest.approx(2e6 / 64 / 4e9)  # the operations take longer


def test_options_change_the_answer(registry: Registry) -> None:
    settings = {"roofline.overlap": "none"}
    prediction = registry.predict("stream-triad", "round-node", "roofline.dram", settings=settings)
    assert prediction.time == pytest.approx(24e6 / 32e9 + 2e6 / 4e9)


def test_parcast_measurements() -> None:
    dataset = read_dataset(Path(parcast_roofline.__file__).parent / "triad-runs")
    assert [item.point.size for item in dataset.calibrating] == [1, 2]
    assert [item.seconds for item in dataset.blind] == [0.26]


def test_parcast_predictors(registry: Registry) -> None:
    dataset = read_dataset(Path(parcast_roofline.__file__).parent / "triad-runs")
    predict = load(registry.predictors["halving"].target)
    assert [found.time for found in predict(dataset.question())] == [0.92, 0.46, 0.23]


def test_parcast_readers(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "triad.roof"
    path.write_text("n = 1000  # elements\ntriad 2*n 24*n\n\n# done\n")
    workload = registry.workload(path)
    assert (workload.name, workload.kind, workload.parameters) == ("triad", "kernel", {"n": 1000})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1", r"line 1: 'a 1' must be: name flops bytes \[footprint\]"),
        ("a 2*m 8", "uses 'm', which is neither p, d"),
        ("a 2 -8", "must be 0 or more"),
        ("n = many\na 2 8", "'many' is not a number"),
        ("", "is empty"),
        ("# nothing", r"loop: needs a list of tables"),
    ],
)
def test_a_bad_file_is_one_sentence(
    registry: Registry, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "bad.roof"
    path.write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        registry.workload(path)
    assert str(path) in str(caught.value)


def test_parcast_writers(registry: Registry, tmp_path: Path) -> None:
    results = registry.compare("stream-triad", "round-node", p=[1, 2])
    registry.write(results, tmp_path / "table.adoc")
    lines = (tmp_path / "table.adoc").read_text().splitlines()
    assert lines[2].startswith("| p | d | solver | time")
    assert len(lines) == 6


def test_parcast_lowerings(registry: Registry) -> None:
    workload, machine = registry.workload("stream-triad"), registry.machine("round-node")
    query = Query(workload=workload, machine=machine, p=4)
    lowered, steps, notes = lower(registry.lowerings, query, "phases")
    assert steps == ("kernel -> phases",)
    assert "memory traffic is left out" in notes[0]
    assert lowered.workload.content.at(lowered)[0].parallel == 2e6


def test_parcast_kernels(registry: Registry) -> None:
    ((name, seconds),) = warm(registry)
    assert name == "roofline"
    assert isinstance(seconds, float)


def test_parcast_commands(registry: Registry) -> None:
    app = typer.Typer()
    registry.add_commands(app)
    ran = CliRunner().invoke(app, ["roofline", "ridge", "round-node"], obj=registry)
    assert (ran.exit_code, ran.stdout) == (0, "1 FLOP/B\n")


def test_parcast_executor(registry: Registry) -> None:
    with registry.executor("pool:2") as executor:
        assert list(executor.map(abs, [-1, 2])) == [1, 2]
    with pytest.raises(ParcastError, match="'pool:x' needs a number, such as pool:4"):
        registry.executor("pool:x")
    with pytest.raises(ParcastError, match="No plugin knows an executor 'fibres:2'"):
        registry.executor("fibres:2")


def test_parcast_usual_error(registry: Registry) -> None:
    measured = [{"p": 4, "time": 24e6 / 32e9}]
    rows = registry.compare("stream-triad", "round-node", p=[4, 8, 64], measured=measured).rows
    near, far = rows[1:]
    assert near.details["record"]["interval"] == [near.time / 1.2, near.time * 1.2]
    assert "record" not in far.details
    assert "no record of how far it usually is off at 16 times" in far.notes[-1]


def test_parcast_point_done(registry: Registry, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "parcast_roofline"):
        registry.predict("stream-triad", "round-node", "roofline", p=8)
    assert caplog.messages == ["stream-triad on round-node at p=8: ok"]
