"""Nets of programs built at once, in columns, against those built operation by operation."""

from __future__ import annotations

import numpy as np
import pytest

from parcast import Query, Registry, UnsupportedError
from parcast.testing import cases, random_program, seeds
from parcast_petri.kernel import layout as k
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.token_game import Play
from parcast_petri.options import Options
from parcast_petri.programs.at_once import column_program, is_plain
from parcast_petri.programs.lowering import END, program_net
from parcast_petri.solvers import preparation

CASES = cases(60, least=40)
REGISTRY = Registry()


def options_of(random):
    return Options(
        sharing=random.choice([None, None, "none", "ps_transfer", "max_min"]),
        startup=random.choice(["outside", "inside"]),
        sends=random.choice(["nonblocking", "blocking"]),
    )


def net_or_reason(build, query, options):
    try:
        return build(query, options)
    except UnsupportedError as error:
        return str(error)


@pytest.mark.parametrize("form", ["plain", "compiled"])
def test_both_nets_fire_alike_in_every_bit(form):
    compared = sharing = 0
    for seed in seeds(CASES):
        random = np.random.default_rng(seed)
        query = random_program(seed, steps=12, network=bool(seed % 2), decimal=seed % 3 == 0).query
        options = options_of(random)
        if not is_plain(query, options):
            continue
        by_operation = net_or_reason(program_net, query, options)
        at_once = net_or_reason(column_program, query, options)
        if isinstance(at_once, str):
            assert at_once == by_operation
            continue
        one = Play(kernel_arrays(by_operation.net, form, until=(END, query.p)))
        other = Play(at_once.net.arrays(form, until=(at_once.end, query.p)))
        assert one.end() == other.end()
        fired = one.memory.column(k.LAST)
        assert fired == other.memory.column(k.LAST), seed
        assert one.firings == other.firings
        accounts = by_operation.records.read(fired), at_once.records.read(fired)
        for field in ("time", "start", "ends", "spent"):
            assert np.array_equal(*(getattr(account, field) for account in accounts)), seed
        compared, sharing = compared + 1, sharing + bool(at_once.net.speeds)
    assert compared > CASES / 8
    assert sharing


@pytest.mark.parametrize("machine", ["ibm-sp2", "fat-tree-hdr"])
def test_a_large_program_is_played_from_columns(machine, monkeypatch):
    query = Query(
        workload=REGISTRY.workload("stencil2d"), machine=REGISTRY.machine(machine), p=36, d=1
    )
    by_columns = REGISTRY.solver("petri.mean").solve(query)
    monkeypatch.setattr(preparation, "is_plain", lambda *_: False)
    assert REGISTRY.solver("petri.mean").solve(query) == by_columns


def test_what_is_too_large_without_columns_is_refused(monkeypatch):
    monkeypatch.setattr(preparation, "MOST_OPERATIONS", 1000)
    machine = REGISTRY.machine("ibm-sp2")
    query = Query(workload=REGISTRY.workload("stencil2d"), machine=machine, p=4, d=1)
    assert preparation.refusal(query) is None
    monkeypatch.setattr(preparation, "MOST_IN_COLUMNS", 2000)
    assert preparation.refusal(query) == (
        "2,480 operations make a net that is too large for petri (at most 2,000); use a smaller p"
    )
    monkeypatch.setattr(preparation, "is_plain", lambda *_: False)
    assert "at most 1,000 of such a program" in str(preparation.refusal(query))


def test_operations_take_little_memory():
    machine = REGISTRY.machine("ibm-sp2")
    query = Query(workload=REGISTRY.workload("stencil2d"), machine=machine, p=64, d=1)
    program = column_program(query, Options().on(machine))
    net_arrays = program.net.arrays("compiled", (program.end, query.p))
    memory = net_arrays.memory()
    columns = sum(getattr(column, "nbytes", 0) for column in net_arrays.columns.values())
    operations = 61_440
    assert (memory.m.nbytes + memory.f.nbytes + columns) / operations < 300  # bytes
