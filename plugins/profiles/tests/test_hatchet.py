"""JSON of Hatchet and Thicket: the seconds that trees have, whatever way they are written."""

from __future__ import annotations

import json
import math
from random import Random

import pytest

from parcast.errors import FileError
from parcast.testing import seeds
from parcast_profiles.workload import read

NAMES = ("main", "solve", "exchange", "MPI_Send", "MPI_Allreduce", "io")


def tree(rng, depth):
    """Return a literal tree, the seconds of each region, and those of all."""
    name, own = rng.choice(NAMES[:3] if depth else NAMES), rng.randint(0, 9) / 4
    inner = [tree(rng, depth - 1) for _ in range(rng.randint(0, 3) if depth else 0)]
    whole = own + sum(total for _, _, total in inner)
    seconds = {}
    for _, parts, _ in inner:
        for key, value in parts.items():
            seconds[key] = seconds.get(key, 0.0) + value
    seconds[name] = seconds.get(name, 0.0) + own
    node = {"frame": {"name": name, "type": "function"},
            "metrics": {"time": own, "time (inc)": whole, "_hatchet_nid": 3}}  # fmt: skip
    if inner:
        node["children"] = [child for child, _, _ in inner]
    return node, seconds, whole


def profile(tmp_path, data):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data))
    return read(path).content.profile


def nodes(roots):
    for root in roots:
        yield root
        yield from nodes(root.get("children", ()))


def test_trees_have_the_seconds_that_they_were_written_with(tmp_path):
    for seed in seeds(12):
        root, seconds, whole = tree(Random(seed), 3)
        root["metrics"]["time"] += 1.0
        seconds[root["frame"]["name"]] += 1.0
        expected = {name: value for name, value in seconds.items() if value}
        found = profile(tmp_path, [root])
        assert {r.name: r.seconds for r in found.regions if r.seconds} == pytest.approx(expected)
        assert found.seconds == pytest.approx(whole + 1)


def test_times_with_all_that_is_called_give_those_of_regions_alone(tmp_path):
    root = {"frame": {"name": "main"}, "metrics": {"time (inc)": 5.0}, "children": [
        {"frame": {"name": "MPI_Send"}, "metrics": {"time (inc)": 2.0}},
        {"frame": {"name": "work"}, "metrics": {"time (inc)": math.nan}},
    ]}  # fmt: skip
    found = profile(tmp_path, [root])
    assert {r.name: r.seconds for r in found.regions} == {"main": 3.0, "MPI_Send": 2.0, "work": 0.0}
    assert found.communication == 2.0


def thicket(profiles=("1",)):
    graph = {
        "0": {"data": {"name": "main"}, "children": [1, 2], "parents": []},
        "1": {"data": {"name": "MPI_Bcast"}, "children": [], "parents": [0]},
        "2": {"data": {"name": "step"}, "children": [], "parents": [0]},
    }
    rows = [
        {"node": node, "profile": number, "sum#inclusive#sum#time.duration": value}
        for number in profiles
        for node, value in ((0, 12.0), (1, 4.0), (2, 7.0))
    ]
    return {"graph": [graph], "dataframe": rows, "profile": list(profiles),
            "metadata": [{"jobsize": 4}], "profile_mapping": {"1": "runs/a.cali"}}  # fmt: skip


def test_a_thicket_of_one_profile_is_read_and_an_ensemble_says_what_to_do(tmp_path):
    found = profile(tmp_path, thicket())
    assert found.processes == 4
    assert {r.name: r.seconds for r in found.regions} == {"main": 1, "MPI_Bcast": 4, "step": 7}
    with pytest.raises(FileError, match=r"ensemble of 2 profiles; .*filter_profile.*runs/a.cali"):
        profile(tmp_path, thicket(("1", "2")))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"name": 3}]', "no JSON of Hatchet"),
        ('[{"frame": {"name": "a"}, "metrics": {"calls": 3}}]', "no column of time"),
        ('[{"frame": {"name": "a"}, "metrics": {"time": -3}}]', "took -3 s; times are 0 or more"),
        ('[{"frame": {"name": "a"}, "metrics": {"time": 0}}]', "no region in it took any time"),
        ('[{"frame": {"name": "a"}, "metrics": {"time": 1e999}}]', "times are 0 or more"),
        ('[{"frame": ' * 3000, "no JSON of Hatchet"),
        ('{"graph": [1, 2], "dataframe": []}', "no JSON of Hatchet"),
        (json.dumps(thicket()).replace('"node": 2', '"node": 9'), "no JSON of Hatchet"),
        ("HPCTOOLKITmeta\x04", r"HPCToolkit 4, .*from_hpctoolkit"),
    ],
)
def test_what_is_no_profile_is_refused_in_a_sentence(text, words, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(FileError, match=words):
        read(path)
