"""Messages that do not block: equation (2) as printed, and those that nobody waited for."""

import json
import random

import pytest

from parcast.cli import main
from parcast.testing import cases, seeds
from parcast_perturb.perturbation import Addition, Perturbation, Recorded, Semantics
from parcast_perturb.propagation.running import propagate
from parcast_perturb.unawaited import unawaited_sends
from parcast_traces.readers.neutral import trace_of

from .programs import Costs, neutral, random_program

LOOSE = cases(80, least=40)

PAIR = [
    [{"kind": "isend", "peer": 1, "bytes": 8, "request": 1, "t_start": 0, "t_end": 2},
     {"kind": "wait", "request": 1, "t_start": 50, "t_end": 70}],
    [{"kind": "irecv", "peer": 0, "bytes": 8, "request": 1, "t_start": 1000, "t_end": 1002},
     {"kind": "wait", "request": 1, "t_start": 1010, "t_end": 1030}],
]  # fmt: skip


@pytest.mark.parametrize("noise", [(3.0, 11.0), (200.0, 11.0), (3.0, 900.0)])
def test_waits_end_by_the_second_equation_as_printed(noise):
    """Both sides of each start at the wait's own end, and no delay comes from the other rank."""
    first, second = noise  # os1 = os3, of the sender, and os2 = os4, of the receiver
    latency, each = 40.0, 2.0
    added = Perturbation(
        noise=(Addition(first, ranks=(0,)), Addition(second, ranks=(1,))),
        latency=(Addition(latency),), per_byte=(Addition(each),),
    )  # fmt: skip
    found = propagate(
        trace_of({"ranks": PAIR}, "pair"), added, Recorded(), "equation-2",
        Semantics(rules="equation-2"), every_end=True,
    ).ends[:, 0]  # fmt: skip
    sender = max(first + latency + 8 * each + latency + first, second + latency + first)
    receiver = max(second + second, first + latency)
    assert found.tolist() == [0, sender, 0, receiver]


def test_the_second_equation_stands_beside_the_corrected_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pair.json").write_text(json.dumps({"ranks": PAIR}))
    words = ["perturb", "run", "pair.json", "--latency", "40", "--per-byte", "2"]
    assert main([*words, "--rules", "equation-2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["equation_2_final"] == [70 + 96, 1030 + 40]  # the data's own time is missing
    assert found["clockfree_final"] == [70, 1030 + 56]  # nobody waits for an eager send
    assert main([*words, "--rules", "equation-2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["equation-2", "upper", "lower"]


def test_without_a_perturbation_the_printed_rules_change_nothing():
    for seed in seeds(60):
        costs = Costs(o=10, latency=50, per_byte=1)
        trace = trace_of(neutral(random_program(seed), costs), "random")
        found = propagate(
            trace, Perturbation(), Recorded(overhead=10), "equation-2",
            Semantics(rules="equation-2"),
        )  # fmt: skip
        assert not found.final.any()


def freed(seed):
    """Return a random run of which some requests are given up, and its messages' loose sends."""
    rng, (ranks, comms) = random.Random(seed), random_program(seed)
    free = {
        given["request"] for calls in ranks for _, call, given in calls
        if call in ("isend", "issend", "irecv") and rng.random() < 0.6
    }  # fmt: skip
    data = neutral((ranks, comms), Costs(o=10, latency=50, per_byte=1))
    for events in data["ranks"]:
        for event in events:
            if event["kind"] == "waitall":
                event["requests"] = [one for one in event["requests"] if one not in free]
        end = events[-1]["t_end"]
        mine = [one["request"] for one in events if one.get("request") in free]
        events += [{"kind": "request_free", "request": one, "t_start": end, "t_end": end}
                   for one in mine]  # fmt: skip
    sent, taken = {}, {}
    for rank, events in enumerate(data["ranks"]):
        for place, one in enumerate(events):
            loose = one.get("request") in free
            if one["kind"] in ("send", "ssend", "bsend", "isend", "issend", "sendrecv"):
                channel = rank, one["peer"], one["tag"]
                sent.setdefault(channel, []).append((loose, (rank, place)))
            if one["kind"] in ("recv", "irecv", "sendrecv"):
                source = one["src"] if one["kind"] == "sendrecv" else one["peer"]
                taken.setdefault((source, rank, one.get("rtag", one["tag"])), []).append(loose)
    both = [
        place for channel in sent
        for (loose, place), other in zip(sent[channel], taken[channel], strict=True)
        if loose and other
    ]  # fmt: skip
    return data, sorted(both)


def test_messages_that_nobody_waited_for_are_all_told():
    told = 0
    for seed in seeds(LOOSE):
        data, want = freed(seed)
        trace = trace_of(data, "loose")
        rows = unawaited_sends(trace)
        ranks = trace.events.rank_of(rows)
        found = list(zip(ranks.tolist(), (rows - trace.events.offsets[ranks]).tolist(),
                         strict=True))  # fmt: skip
        assert found == want, seed
        told += bool(want)
    assert told > LOOSE / 12  # of 120 some 44


def test_both_commands_warn_of_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    loose = [
        [events[0],
         {"kind": "request_free", "request": 1, "t_start": 1020, "t_end": 1020}]
        for events in PAIR
    ]  # fmt: skip
    whole = {"ranks": loose, "unit": "1 us", "clocks": "comparable"}
    (tmp_path / "loose.json").write_text(json.dumps(whole))
    (tmp_path / "m.toml").write_text('[network]\nstartup = "1 us"\nbandwidth = "1 GB/s"\n')
    said = "nothing waited for, the first at rank 0, event 0 (isend)"
    assert main(["perturb", "run", "loose.json"]) == 0
    assert said in capsys.readouterr().out
    assert main(["compare", "loose.json", "m.toml", "-s", "perturb",
                 "--set", "perturb.recorded_on=m.toml"]) == 0  # fmt: skip
    assert said in capsys.readouterr().out
    (tmp_path / "pair.json").write_text(json.dumps({"ranks": PAIR}))
    assert main(["perturb", "run", "pair.json"]) == 0
    assert "nothing waited for" not in capsys.readouterr().out
