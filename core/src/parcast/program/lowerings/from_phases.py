"""Phases as a program: deterministic bursts, messages around a ring, shared writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import attrs

from parcast.errors import InvalidPointError
from parcast.model.phases import Phase, Phases
from parcast.model.query import Query
from parcast.model.workload import Workload
from parcast.program.reader import read_source
from parcast.program.source.statements import RESERVED
from parcast.program.workload import Program
from parcast.quantities.expressions import Call, Expr, Name, Num, Value, names_in, spell
from parcast.quantities.formulas import Formula

_VARIABLES = frozenset({"cycle", "burst", "messages", "message", "away"})

#: How one process sends the messages of a burst, by the phase's pattern: to the right and to
#: the left in turn, to the nearest first, never to itself.
_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "ring": (
        "away = (1 + message // 2 % (size - 1)) * (1 if message % 2 == 0 else -1)",
        "sendrecv((rank + away) % size, {bytes} / messages, (rank - away) % size)",
    )
}


def lower(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a ``phases`` workload as a ``program``, and what had to be fixed for it.

    Every process computes S_par/p + S_ser in a burst: serial work is on all of them, as
    equation 13 of Cremonesi & Gennaro 2002 has it. The program's text is in its content.

    Raises
    ------
    InvalidPointError
        If the phases have no meaning at this p and d, or repeat a fraction of a cycle.
    """
    phases: Phases = workload.content
    notes = list(_notes(phases, query))
    fixed: dict[str, Value] = {"d": query.d}
    fixed |= {k: v for k, v in query.values.items() if k in RESERVED | _VARIABLES}

    def text(formula: Formula) -> str:
        bare = spell(_fixed(formula.expr, fixed))
        return bare if formula.factor == 1 else f"{formula.factor!r} * {bare}"

    read = set().union(*(names_in(f.expr) for phase in phases.phase for f in _formulas(phase)))
    read_parameters = {k: v for k, v in workload.parameters.items() if k in read - fixed.keys()}
    parameters = "".join(f", {name}={value!r}" for name, value in read_parameters.items())
    lines = [f"def program(rank, size{parameters}):"]
    for index, phase in enumerate(phases.phase):
        lines += [f"    {line}" for line in _phase(phase, index, text)]
    content = _content("\n".join(lines) + "\n", workload.name, workload.summary)
    return attrs.evolve(workload, kind="program", content=content), tuple(notes)


@lru_cache(maxsize=8)
def _content(source: str, name: str, summary: str) -> Program:
    """Return the program of a source: of the same one the same, which is then unrolled once."""
    program: Program = read_source(source, f"{name} as a program", name).content
    assert program.tree is not None, "it has a source"
    return attrs.evolve(program, tree=attrs.evolve(program.tree, description=summary))


def _formulas(phase: Phase) -> list[Formula]:
    return [value for value in attrs.astuple(phase, recurse=False) if isinstance(value, Formula)]


def _fixed(expr: Expr, values: Mapping[str, Value]) -> Expr:
    """Return the expression with p as ``size`` and these names as their values."""
    if isinstance(expr, Name):
        if expr.id in values:
            return Num(values[expr.id])
        return Name("size") if expr.id == "p" else expr
    if isinstance(expr, Call):
        return Call(expr.f, tuple(_fixed(argument, values) for argument in expr.args))
    return expr


def _phase(phase: Phase, index: int, text: Callable[[Formula], str]) -> list[str]:
    """Return the statements of one phase."""
    lines = [
        f"region({phase.name or f'phase {index + 1}'!r})",
        f"for cycle in range(floor({text(phase.cycles)} + 0.5)):",
        f"    for burst in range(floor({text(phase.bursts)} + 0.5)):",
        "        pass",
    ]
    if any(map(_is_nonzero, (phase.parallel, phase.serial, phase.memory_bytes))):
        moved = (
            f", bytes={text(phase.memory_bytes)} / size" if _is_nonzero(phase.memory_bytes) else ""
        )
        lines += [f"        compute({text(phase.parallel)} / size + {text(phase.serial)}{moved})"]
    if _is_nonzero(phase.messages) or _is_nonzero(phase.bytes):
        sent = f"{text(phase.bytes)} * {text(phase.scale)}"
        lines += [
            "        if size > 1:",
            f"            messages = floor({text(phase.messages)} + 0.5)",
            f"            if messages == 0 and {sent} > 0:",
            "                messages = 1",
            "            for message in range(messages):",
            *(f"                {line.format(bytes=sent)}" for line in _PATTERNS[phase.pattern]),
        ]
    if phase.group.expr != Num(1) and phase.group.expr != Num(1.0):
        lines += [
            "        if size > 1:",
            f"            barrier(color=rank // floor({text(phase.group)} + 0.5))",
        ]
    if _is_nonzero(phase.io_bytes):
        shared = ", file='shared', collective=True" if phase.io == "sync" else ""
        accessed = text(phase.io_bytes)
        lines += [f"    if {accessed} > 0:", f"        write({accessed} / size{shared})"]
    return lines


def _is_nonzero(formula: Formula) -> bool:
    return not (isinstance(formula.expr, Num) and formula.expr.value == 0)


def _notes(phases: Phases, query: Query) -> list[str]:
    """Return what the program fixes that the phases leave open."""
    notes = []
    values = phases.at(query)
    for index, phase in enumerate(values):
        for name, count in (("cycles", phase.cycles), ("bursts", phase.bursts)):
            if count != int(count):
                raise InvalidPointError(
                    f"workload {query.workload.name!r}, phase[{index}].{name} is {count:g} at "
                    f"p={query.p}; a program repeats whole {name}"
                )
        rounded = max(int(phase.messages + 0.5), 1 if phase.bytes else 0)
        if rounded != phase.messages:
            notes.append(
                f"{phase.messages:g} messages in a burst of {phase.name!r} became {rounded}"
            )
    if any(phase.distribution.variance for phase in values):
        notes.append("bursts are deterministic here; the workload's vary")
    if any(phase.serial for phase in values) and query.p > 1:
        notes.append("serial work is done by every process")
    if any(phase.messages for phase in values):
        notes.append("messages go to the nearest neighbors on a ring, by sendrecv")
    if any(phase.group > 1 for phase in values):
        notes.append("the processes of a group join by a barrier, whose messages take their time")
    if any(phase.io_bytes for phase in values):
        notes.append(
            "I/O is written; synchronous I/O is a barrier, an access of each process to one "
            "shared file, and a barrier"
        )
    return notes
