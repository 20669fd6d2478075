"""What docs/program.md shows and names is so, the examples of what need not agree included."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from parcast.model.costs import Costs
from parcast.model.placement import Placement
from parcast.program import OPERATIONS
from parcast.program.matching.collectives import ALGORITHMS
from parcast.program.reader import read_source
from parcast.program.source.operations import REQUIRED
from parcast.program.unroll.unrolling import unroll
from parcast.testing import Reference, by_sweep

PAGE = (Path(__file__).parents[2] / "docs" / "program.md").read_text()


def on_the_page(heading: str) -> str:
    """Return the first program after a heading of the page."""
    section = PAGE.split(f"### {heading}\n")[1]
    return section.split("```python\n")[1].split("```")[0]


def test_the_page_names_every_operation_and_algorithm():
    for name in {*OPERATIONS, *(f"`{one}`" for names in ALGORITHMS.values() for one in names)}:
        assert name in PAGE


def test_the_page_has_every_signature_as_the_language_has_it():
    block = PAGE.split("## The operations\n\n```\n")[1].split("```")[0]
    listed = re.findall(r"([\w|]+)\((.*?)\)", block)
    written = {name: arguments for names, arguments in listed for name in names.split("|")}
    assert written == {name: signature(name) for name in OPERATIONS}


def signature(name: str) -> str:
    """Return the arguments of an operation as a call has them."""
    arguments = [
        one.name if one.default is REQUIRED else f"{one.name}={one.default!r}".replace("'", '"')
        for one in OPERATIONS[name]
    ]
    return ", ".join(arguments)


def test_the_examples_of_the_page_run(capsys):
    first, second = re.findall(r"```python\n(from parcast.*?)```", PAGE, re.DOTALL)
    exec(first)
    assert "Reference(time=" in capsys.readouterr().out
    exec(second)
    assert "Parts(compute=" in capsys.readouterr().out


def test_row_10_a_faster_processor_may_be_slower_with_contention():
    source = on_the_page("A faster machine may be slower")
    assert counterexample(source, 4, contention="bus").time == 16
    assert counterexample(source, 4, contention="bus", rate=2.0).time == 23
    assert counterexample(source, 4, contention="none", rate=2.0).time == 16


def test_row_7_ports_may_be_slower_than_a_bus():
    source = on_the_page("Ports may be slower than a bus")
    assert counterexample(source, 6, contention="bus").time == 43
    assert counterexample(source, 6, contention="endpoint").time == 57


def counterexample(source: str, p: int, **changes) -> Reference:
    placement = Placement(np.arange(p), np.ones(p), np.ones(p, dtype=int), p)
    numbers = {"rate": 1.0, "startup": 2.0, "per_byte": 1.0, **changes}
    program = unroll(read_source(source).content.tree, p, {})
    return by_sweep(program, Costs(placement=placement, **numbers))
