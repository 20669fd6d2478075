"""Calculon as a peer: what it is given, what it answers, and what it lacks.

A stand-in with its command, its files and its statistics takes the place of the program here; the
test of Selene's published steps (parcast-score, ``test_seen.py``) runs a checkout where one is.
"""

from __future__ import annotations

import json

import pytest

import parcast_training
from parcast import Query, Registry
from parcast.testing import check_solver
from parcast_training.steps import calculon

REGISTRY = Registry([parcast_training])

#: Seconds by what is asked; what it was given is kept beside it.
STAND_IN = """
import json, sys
from pathlib import Path

assert sys.argv[1] == "llm"
app, layout, machine = (json.loads(Path(name).read_text()) for name in sys.argv[2:5])
(Path(__file__).parents[1] / "given.json").write_text(json.dumps([app, layout, machine]))
if layout["batch_size"] > 1000:
    print("ERROR: Mem tier1 needs 99 GiB but only has 80 GiB")
    sys.exit(-1)
assert layout["pipeline_interleaving"] <= app["num_blocks"] // layout["pipeline_par"], "Bad"
tiers = machine["networks"]
seconds = dict.fromkeys(
    ["fw_time", "bw_time", "optim_step_time", "recompute_time", "recomm_exposed_time",
     "tp_comm_exposed_time", "pp_comm_exposed_time", "dp_comm_exposed_time",
     "fw_offload_exposed_time", "bw_offload_exposed_time", "bubble_time"], 0.0)
seconds["fw_time"] = app["num_blocks"] / machine["matrix"]["float16"]["tflops"]
seconds["tp_comm_exposed_time"] = 1 / tiers[layout["tensor_par_net"]]["bandwidth"]
seconds["bubble_time"] = 2.0 if layout["pipeline_par"] > 1 else 0.0
Path(sys.argv[5]).write_text(json.dumps({**seconds, "total_time": sum(seconds.values())}))
"""

MACHINE = {
    "name": "m",
    "processor": {"rate": "1 GFLOP/s"},
    "nodes": {"cores": 4},
    "network": {
        "startup": "5 us", "bandwidth": "20 GB/s", "contention": "none",
        "levels": [{"name": "links", "size": 4, "startup": "2 us", "bandwidth": "200 GB/s"}],
    },
    "accelerator": {
        "per_node": 4, "memory": "80 GiB", "memory_bandwidth": "2 TB/s",
        "rates": {"fp16": "300 TFLOP/s", "fp32": "20 TFLOP/s"},
        "efficiency": [
            {"share": 0.1}, {"least": 1e9, "share": 0.8}, {"kind": "memory", "share": 0.9},
        ],
    },
}  # fmt: skip

JOB = {
    "kind": "training", "name": "job", "layers": 12, "hidden": 1024, "heads": 16, "sequence": 512,
    "precision": "fp16", "attention": "unfused", "dropout": True, "global_batch": 16, "tp": 4,
    "sp": 1, "recompute": "selective",
}  # fmt: skip


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    (tmp_path / "calculon" / "llm").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "calculon").write_text(STAND_IN)
    monkeypatch.setenv(calculon.VARIABLE, str(tmp_path))
    return tmp_path


def asked(p=16, settings=None, **job):
    workload, machine = REGISTRY.workload({**JOB, **job}), REGISTRY.machine(MACHINE)
    return REGISTRY.predict(workload, machine, "training.calculon", p=p, settings=settings or {})


def test_a_step_and_its_machine_are_what_calculon_calls_them(checkout):
    prediction = asked(pp=2, schedule="interleaved", interleave=3, zero=1)
    model, layout, machine = json.loads((checkout / "given.json").read_text())
    assert model == {
        "hidden": 1024, "feedforward": 4096, "seq_size": 512, "attn_heads": 16, "attn_size": 64,
        "num_blocks": 12,
    }  # fmt: skip
    assert (layout["num_procs"], layout["data_par"], layout["pipeline_interleaving"]) == (16, 2, 3)
    assert layout["tensor_par_comm_type"] == "rs_ag"
    assert layout["seq_par_ag_redo"]
    assert layout["optimizer_sharding"]
    networks = [layout[f"{group}_par_net"] for group in ("tensor", "data", "pipeline")]
    assert networks == [0, 1, 1]
    assert machine["matrix"]["float16"]["gflops_efficiency"] == [[1, 0.8], [0, 0.1]]
    assert machine["mem1"]["MB_efficiency"] == [[0, 0.9]]
    links, between = machine["networks"]
    assert (links["bandwidth"], links["latency"]) == pytest.approx((200, 2e-6))
    assert (between["bandwidth"], between["latency"]) == pytest.approx((20, 5e-6))
    assert prediction.time == pytest.approx(12 / 300 + 1 / 200 + 2)
    assert prediction.parts.synchronization == 2
    assert prediction.binding == "synchronization"


def test_a_system_of_its_own_is_read_from_the_checkout(checkout):
    asked(p=4)
    _, _, machine = json.loads((checkout / "given.json").read_text())
    machine["matrix"]["float16"]["tflops"] = 100
    (checkout / "own.json").write_text(json.dumps(machine))
    prediction = asked(p=4, settings={"training.calculon.system": "own.json"})
    assert prediction.time == pytest.approx(12 / 100 + 1 / 200)
    assert "own.json, not the one asked" in " ".join(prediction.notes)
    missing = asked(p=4, settings={"training.calculon.system": "none.json"})
    assert "training.calculon.system = 'none.json'" in missing.message


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"attention": "flash"}, "Calculon has no attention = 'flash'; it has 'unfused'"),
        ({"experts": 8}, "Calculon has no experts = 8; it has 1"),
        ({"kv_heads": 8}, "Calculon has no kv_heads = 8; it has 1 or 16"),
        ({"zero": 3}, "Calculon has no zero = 3; it has 0 or 1"),
        ({"precision": "fp32", "tp": 5}, "heads = 16 is not divisible by tp = 5"),
        ({"global_batch": 1024}, "Calculon refuses: Mem tier1 needs 99 GiB"),
    ],
)
def test_what_it_lacks_is_refused(job, message):
    assert message in asked(**job).message


def test_an_error_of_the_program_is_told(checkout):
    (checkout / "bin" / "calculon").write_text("raise ValueError('no such layer')")
    assert asked().message == "Calculon ended with 1: ValueError: no such layer"
    (checkout / "bin" / "calculon").write_text("")
    assert "Calculon's statistics have no" in asked().message


@pytest.mark.usefixtures("checkout")
def test_the_solver_conforms():
    query = Query(workload=REGISTRY.workload(JOB), machine=REGISTRY.machine(MACHINE), p=8)
    assert len(check_solver(REGISTRY, "training.calculon", [query])) == 1


def test_another_calculon_is_not_mistaken_for_it(tmp_path, monkeypatch):
    """PyPI's ``calculon`` has a package of this name, and neither the command nor the models."""
    (tmp_path / "calculon").mkdir()
    monkeypatch.setenv(calculon.VARIABLE, str(tmp_path))
    assert asked().message.startswith("Calculon is not there: PARCAST_CALCULON is to name a folder")
    monkeypatch.delenv(calculon.VARIABLE)
    assert "PyPI's calculon is another program" in asked().message
