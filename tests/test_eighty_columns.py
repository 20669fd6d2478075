"""What commands print fits a terminal of 80 columns."""

from __future__ import annotations

import shlex

import pytest

from parcast import Registry
from parcast.testing import turn

COMMANDS = """
list
list machines
list solvers
list workloads
show stencil2d -p 4
show ring-matmul -p 4
show checkpointing-stencil -p 4
compare btio ibm-sp2 -p 4,16 -s spmd
compare btio ibm-sp2 -p 64 -d 1..8 -s spmd
compare btio ibm-sp2,intel-paragon -p 4,16 -s spmd
compare qcrd-like ibm-sp2,intel-paragon -p 16 -s spmd
compare btio ibm-sp2 -p 64 -s spmd --over 'processor.rate=60..240*2 MFLOP/s'
compare btio ibm-sp2 -p 16 --set network.bandwidth='27 +- 1 MB/s' --uncertainty 20 -s spmd
compare stencil2d ibm-sp2 -p 4,16 -s spmd,pamela,perturb
compare transpose fat-tree-hdr -p 4 -s spmd,pamela
compare stencil2d ibm-sp2 -p 4 -s spmd,pamela --explain
compare stencil2d ibm-sp2 -p 16 --sweep network.startup=0..1ms -s spmd
compare ring-matmul ibm-sp2 -p 4,8 -s pamela,spmd
compare master-worker-pool ibm-sp2 -p 4 -s emulator
compare machine-repair ibm-sp2 -p 4
compare matmul das1 -p 2,4 -s pamela
advise stencil2d ibm-sp2 -p 16
spmd surface btio ibm-sp2 -p 1..16 -d 1..4
petri slowdown --demand 10s --background exp:1s --utilization 0.5
network show fat-tree-hdr
predict btio ibm-sp2 -s spmd.sio -p 64
predict stencil2d ibm-sp2 -s pamela.bound -p 4
""".strip().splitlines()


@pytest.fixture(autouse=True)
def columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def too_long(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line) > 80]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_of_a_command_is_longer_than_the_terminal(parcast, command):
    result = parcast(*shlex.split(command))
    assert result.code == 0
    assert result.out
    assert too_long(result.out) == []


def test_no_line_about_anything_installed_is_longer_than_the_terminal(parcast):
    registry = Registry()
    names = [*registry.solvers, *registry.machines, *registry.workloads]
    assert len(names) > 50
    lines = {name: too_long(parcast("show", name).out) for name in turn(names, 2)}
    assert {name: longer for name, longer in lines.items() if longer} == {}
