"""Background jobs that draw memory bandwidth, and quantiles that are the time of idle nodes."""

from random import Random

import pytest

from parcast import Registry
from parcast.testing import seeds
from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load

REGISTRY = Registry()

STREAM = """
def program(rank, size, n=1000):
    compute(n * 1e6, bytes=n * 1e8)
"""


def machine(utilization, memory, *, cores=4, demand="exp:0.5s", **nodes):
    return {
        "name": "busy",
        "processor": {"rate": "1 GFLOP/s"},
        "nodes": {"count": 2, "cores": cores, "memory_bandwidth": "1 GB/s", **nodes},
        "network": {"startup": "1 us", "bandwidth": "10 GB/s", "contention": "none"},
        "background": {"utilization": utilization, "demand": demand, "memory": memory},
    }


@pytest.fixture
def stream(tmp_path):
    path = tmp_path / "stream.py"
    path.write_text(STREAM)
    return str(path)


def ask(stream, target, solver, p=1, **settings):
    settings = {name.replace("__", "."): value for name, value in settings.items()}
    return REGISTRY.predict(stream, target, solver, p=p, settings=settings)


@pytest.mark.parametrize("sharing", ["fixed", "ps"])
def test_long_runs_take_what_jobs_leave_of_the_memory(stream, sharing):
    """The net with its jobs beside the mean over the numbers of jobs, in the long run."""
    for seed in seeds(3):
        random = Random(seed)
        target = machine(
            random.uniform(0.1, 0.6), random.uniform(0.2, 1), cores=random.randint(1, 4)
        )
        p = random.randint(1, target["nodes"]["cores"])
        options = {"petri__memory": sharing, "petri.explicit.tolerance": 0.01}
        mean, net = (
            ask(stream, target, f"petri.{solver}", p, **options) for solver in ("mean", "explicit")
        )
        assert net.time == pytest.approx(mean.time, rel=0.05), seed
        assert mean.time > 100 * p  # what idle nodes take


def test_without_memory_the_row_says_why_nothing_is_delayed(stream):
    row = ask(stream, machine(0.3, 0.0), "petri.explicit", n=10)
    assert [*row.quantiles.values()] == pytest.approx([1.0] * len(row.quantiles))
    assert any("draw nothing; state background.memory" in note for note in row.notes)


def test_quantiles_that_are_the_idle_time_are_told(stream):
    target = machine(0.5, 0.0, cores=1, demand="exp:10s")
    row = ask(stream, target, "petri.explicit", n=10, **{"nodes.memory_bandwidth": "1 TB/s"})
    (note,) = [note for note in row.notes if "no job of others" in note]
    part = int(note.partition("in ")[2].partition("%")[0])
    assert row.quantiles[0.25] < row.quantiles[0.99]
    assert part == pytest.approx(50, abs=10)  # no job is there, and hardly any comes


def test_the_mean_over_one_core_by_hand():
    """Jobs on one core are n with probability (1 - U) U^n; the first alone is on it."""
    load = Load(1, 0.25, (Law("exp", (1.0,)),), (1.0,), memory=1.0)
    assert load.memory_factor(1, 1.0) == pytest.approx(1 / (0.75 * 1 + 0.25 / 2))
    assert load.memory_factor(1, 2.0) == pytest.approx(2)


def test_what_has_no_place_for_it_says_so(stream):
    turns = machine(0.3, 0.5)
    turns["background"]["scheduling"] = "rr:10ms"
    assert "leave out background.memory" in ask(stream, turns, "petri.explicit").message
    sampled = ask(stream, machine(0.3, 0.5, cores=1), "petri.sampled")
    assert "draw memory bandwidth" in sampled.message
    unlimited = machine(0.3, 0.5)
    del unlimited["nodes"]["memory_bandwidth"]
    notes = ask(stream, unlimited, "petri.mean").notes
    assert any("states no nodes.memory_bandwidth" in note for note in notes)
