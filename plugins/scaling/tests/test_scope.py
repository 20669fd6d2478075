"""What is known beside times: by options, by the table, by the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parcast.cli import app as command
from parcast_scaling.reading import read_times
from parcast_scaling.scope import Measures, Network, Scope

FLAT = "p,time\n" + "".join(f"{p},22 ms\n" for p in (8, 16, 32))
MACHINE = """
name = "{name}"
[processor]
rate = "1 GFLOP/s"
[network]
startup = "1 us"
bandwidth = "1 GB/s"
{cloud}
"""


@pytest.fixture
def run(registry, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)
    Path("flat.csv").write_text(FLAT)
    for name, cloud in {"cloud": "cloud = true", "own": "cloud = false", "unsaid": ""}.items():
        Path(f"{name}.toml").write_text(MACHINE.format(name=name, cloud=cloud))

    def call(*arguments):
        return command.main(list(arguments)), *capsys.readouterr()

    return call


def table(path, **columns):
    rows = [line.split(",") for line in FLAT.splitlines()]
    heads = [*rows[0], *columns]
    lines = [heads, *([*row, *columns.values()] for row in rows[1:])]
    path.write_text("\n".join(",".join(line) for line in lines) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("columns", "scope"),
    [
        ({}, Scope()),
        ({"network": "cloud"}, Scope(network=Network.CLOUD)),
        ({"network": " Cluster ", "measures": "code"},
         Scope(network=Network.CLUSTER, measures=Measures.CODE)),
        ({"network": "InfiniBand"}, Scope()),
    ],
)  # fmt: skip
def test_a_table_states_it_in_columns(columns, scope, tmp_path):
    assert read_times(table(tmp_path / "t.csv", **columns)).scope == scope


@pytest.mark.parametrize(
    ("options", "network"),
    [
        ((), None),
        (("--network", "cloud"), "cloud"),
        (("--on", "cloud.toml"), "cloud"),
        (("--on", "own.toml"), "cluster"),
        (("--on", "own.toml", "--network", "cloud"), "cloud"),
    ],
)
def test_options_and_machines_say_whose_network_it_is(run, options, network):
    code, out, err = run("scaling", "flat.csv", "-p", "64", "--json", *options)
    assert (code, err) == (0, "")
    assert json.loads(out)["scope"] == {"network": network, "measures": None}


def test_the_more_is_known_of_a_cloud_the_higher_the_band(run):
    high = {}
    for options in ((), ("--on", "cloud.toml"), ("--on", "own.toml")):
        answer = json.loads(run("scaling", "flat.csv", "-p", "64", "--json", *options)[1])
        high[options] = answer["bands"][0]["high90"]
    assert high["--on", "own.toml"] < high[()] < high["--on", "cloud.toml"]


def test_what_contradicts_or_says_nothing_is_one_sentence(run, tmp_path):
    code, out, err = run("scaling", "flat.csv", "--on", "unsaid.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "unsaid.toml: it does not state network.cloud, whose network it is" in err
    table(tmp_path / "t.csv", network="cluster")
    code, out, err = run("scaling", "t.csv", "--on", "cloud.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert (
        "t.csv states network = cluster, and cloud.toml has a cloud's; say which by --network"
        in err
    )


def test_what_is_measured_now_keeps_the_columns_that_state_it(run, tmp_path):
    table(tmp_path / "t.csv", network="cloud", measures="communication")
    asked = ("-p", "256", "--worth-measuring", "1", "--measure", "sh -c 'echo 23 ms # {p}'")
    code, _, err = run("scaling", "t.csv", *asked)
    assert (code, err) == (0, "")
    lines = Path("t.csv").read_text().splitlines()
    assert len(lines) == 5
    assert lines[-1].endswith(",0.023,cloud,communication")
    assert read_times("t.csv").scope.network == Network.CLOUD
