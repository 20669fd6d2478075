"""Programs by chance whose computations are on accelerators, as programs in which these elapse."""

from __future__ import annotations

import ast
from random import Random

import attrs
import pytest

from parcast import Registry
from parcast.model.accelerator import Accelerator, Efficiency, Rates
from parcast.program.reader import read_source
from parcast.testing import random_program

from .enough_seeds import seeds_until

ACCELERATOR = Accelerator(
    per_node=64,  # one for every process
    memory=1e9,
    memory_bandwidth=3e5,
    rates=Rates(fp64=2e5, bf16=7e5),
    efficiency=(
        Efficiency(share=0.5),
        Efficiency(least=600, share=0.75),
        Efficiency(least=0, kind="attention", precision="bf16", share=0.4),
        Efficiency(kind="memory", share=0.6),
        Efficiency(kind="pointwise", share=0.3),
    ),
)
WORKS = (("fp64", "gemm"), ("bf16", "gemm"), ("bf16", "attention"), ("fp64", "pointwise"))
#: What engines and formulas round otherwise.
CLOSE = 1e-9


class _Offloading(ast.NodeTransformer):
    """Puts computations on accelerators, or, if not, how long they take there."""

    def __init__(self, seed: int, *, plain: bool) -> None:
        self.random, self.plain = Random(seed), plain

    def visit_Call(self, call):
        if getattr(call.func, "id", "") != "compute":
            return call
        precision, kind = self.random.choice(WORKS)
        flops, moved = (*map(ast.unparse, call.args), "0")[:2]
        text = f"compute({flops}, {moved}, on='gpu', precision={precision!r}, kind={kind!r})"
        if self.plain:
            share = "0.4" if kind == "attention" else f"(0.75 if ({flops}) >= 600 else 0.5)"
            traffic = 0.3 if kind == "pointwise" else 0.6
            rate = ACCELERATOR.rates[precision]
            text = f"elapse(max(({flops}) / ({rate} * {share}), ({moved}) / (3e5 * {traffic})))"
        return ast.parse(text, mode="eval").body


def offloaded(source: str, seed: int, *, plain: bool) -> str:
    tree = _Offloading(seed, plain=plain).visit(ast.parse(source))
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize(
    "solver", ["emulator.tc", "petri.mean", "pamela.bound", "perturb.clocked", "spmd.sio"]
)
def test_every_family_charges_what_elapses(solver, programs):
    registry, answered, enough = Registry(), 0, min(10, programs // 8)
    for seed in seeds_until(max(12, programs // 10), lambda: answered >= enough):
        drawn = random_program(seed, pools=seed % 3 == 0, masters=seed % 2 == 0)
        machine = attrs.evolve(
            drawn.machine, parts={**drawn.machine.parts, "accelerator": ACCELERATOR}
        )
        rows = [
            registry.compare(
                read_source(offloaded(drawn.source, seed, plain=plain), "w.py", "w"),
                machine,
                p=drawn.size,
                d=drawn.disks,
                mapping=drawn.mapping,
                solvers=[solver],
                elasticities=False,
            ).rows[0]
            for plain in (False, True)
        ]
        offloading, elapsing = rows
        assert offloading.status == elapsing.status, (seed, offloading.message, elapsing.message)
        if offloading.time is not None:
            answered += 1
            assert offloading.time == pytest.approx(elapsing.time, rel=CLOSE, abs=1e-12), seed
    assert answered >= enough
