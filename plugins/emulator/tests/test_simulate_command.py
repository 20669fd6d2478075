from __future__ import annotations

import json
from copy import deepcopy

import pytest

from parcast.cli import main
from parcast.errors import ParcastError
from parcast_emulator.commands import simulate

from .specs import CASES

CASE = next(case for case in CASES if case["name"] == "all_to_all")


@pytest.fixture
def ask(tmp_path, capsys):
    def asked(data, *options):
        file = tmp_path / "spec.json"
        file.write_text(data if isinstance(data, str) else json.dumps(data))
        code = main(["emulator", "simulate", str(file), *options])
        out, err = capsys.readouterr()
        return code, out, err.replace(str(file), "FILE")

    return asked


@pytest.mark.parametrize("engine", ["auto", "feed-forward", "merge"])
def test_json_answers_with_the_keys_of_a_reference_case(ask, engine):
    code, out, err = ask(CASE, "--json", "--engine", engine)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found.keys() == CASE["expected"].keys()
    assert found["makespan"] == pytest.approx(CASE["expected"]["makespan"])
    for one, other in zip(found["ops"], CASE["expected"]["ops"], strict=True):
        assert one.keys() == other.keys()


def test_report_and_verification(ask):
    code, out, _ = ask(CASE, "--verify")
    assert code == 0
    assert out.startswith("time        0.243425 s, not below 0.1683 s\n")
    assert out.endswith("engine      feed-forward; the merge engine gives the same bits\n")
    assert "bottleneck  port out" in out


def changed(**changes):
    data = deepcopy(CASE)
    for path, value in changes.items():
        *keys, last = path.split("__")
        place = data
        for key in keys:
            place = place[int(key) if key.isdigit() else key]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return data


WRONG = {
    "no such consumer": (
        changed(epochs__0__1__consumers=[1, 9]),
        "FILE: epochs[0][1].consumers has 9; there are nodes 0 .. 3",
    ),
    "no such disk": (changed(epochs__0__1__disk=1), "node 1 has 1 disks, counted from 0"),
    "no such node": (changed(epochs__0__0__node=4), "epochs[0][0].node is 4; there are nodes"),
    "zero size": (changed(epochs__0__0__size=0), "epochs[0][0].size: 0 must be above 0"),
    "negative size": (changed(epochs__0__0__size=-8), "epochs[0][0].size: -8 must be above 0"),
    "negative time": (changed(epochs__0__0__tcomp=-1), "tcomp: -1 must be 0 or more"),
    "twice": (changed(epochs__0__0__consumers=[2, 2]), "names a node twice"),
    "no bandwidth": (changed(machine__beta=0), "machine.beta: 0 must be above 0"),
    "missing": (changed(machine__beta=None), "missing key 'machine.beta'"),
    "misspelt": (changed(machine__betta=1), "unknown key 'machine.betta'. Did you mean 'beta'?"),
    "negative bus": (changed(nodes__0__busof=[-1]), "nodes[0].busof[0]: -1 must be 0 or more"),
    "buses": (changed(nodes__0__busof=[0, 0]), "names the buses of 2 disks, and there are 1"),
    "no nodes": (changed(nodes=[], epochs=[]), "nodes: needs a list of tables"),
    "epochs": (changed(epochs=[{}]), "epochs must be a list of lists of blocks"),
    "blocks": (changed(epochs=[[7]]), "epochs[0][0]: 7 must be a table"),
    "no JSON": ("{", "not valid JSON"),
    "empty": ("", "is empty"),
    "arms": (changed(machine__channels=2, machine__trev=0.01), "one arm serves one access"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_one_sentence(tmp_path, name):
    data, sentence = WRONG[name]
    file = tmp_path / "spec.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    with pytest.raises(ParcastError) as raised:  # the command says it, as the next test shows
        simulate(file)
    said = str(raised.value).replace(str(file), "FILE")
    assert sentence in said
    assert "\n" not in said


def test_the_command_says_what_is_wrong(ask):
    code, out, err = ask(WRONG["zero size"][0])
    assert (code, out) == (2, "")
    assert err.startswith(f"parcast: FILE: {WRONG['zero size'][1]}")
    assert err.count("\n") == 1


def test_an_engine_that_does_not_apply_is_refused(ask):
    coupled = changed(machine__duplex="half")
    code, _, err = ask(coupled, "--engine", "feed-forward")
    assert code == 2
    assert "the feed-forward engine has no order of servers here, because port" in err
    assert ask(coupled, "--verify")[0] == 2
    code, out, _ = ask(coupled)
    assert code == 0
    assert "engine      merge (port" in out


def test_own_epochs_run_on_the_merge_engine(ask):
    data = changed(epochs=[CASE["epochs"][0]] * 2) | {"epochs_of": "node"}
    code, out, _ = ask(data)
    assert code == 0
    assert "a node begins an epoch when it has ended its last one" in out
    assert "waits for processor waits for" in out
    assert "--verify: epochs of each node's own" in ask(data, "--verify")[2]


def test_empty_epochs_take_no_time(ask):
    code, out, _ = ask(changed(epochs=[[], []]), "--json")
    assert code == 0
    assert json.loads(out) == {"makespan": 0.0, "epoch_ends": [0.0, 0.0], "ops": []}
    assert ask(changed(epochs=[]))[0] == 0
