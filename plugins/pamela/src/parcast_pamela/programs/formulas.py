"""Programs in formulas: the text of a model, its parameters, and their values at a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from parcast.errors import FormulaError
from parcast.model import Query, Workload
from parcast.program import Block, For, Op, Statement, Unrolled
from parcast.program.source import SENDS, nested
from parcast.quantities import evaluate
from parcast_pamela.programs.barrier import Barrier
from parcast_pamela.programs.charges import Charges, is_collective
from parcast_pamela.programs.free import Free
from parcast_pamela.programs.splitting import cut
from parcast_pamela.programs.substitution import substitute
from parcast_pamela.workload import PROCESSES
from parcast_pamela_compiler.spelling import truth

#: Words of the language, and names of the model's own, that no parameter may have
_RESERVED = frozenset(
    "par seq use delay if else skip param let resource assume import as unit extern root mult "  # noqa: SIM905  (a list of words is read as one)
    "by in mod div and or not bus out into disk program_ rank round_".split()
)


def text(
    workload: Workload, query: Query, unrolled: Unrolled, charges: Charges, *, stated: bool
) -> tuple[str, Mapping[str, int | float]]:
    """Return the text of a program's model, and the values of its parameters at the query.

    Parameters
    ----------
    workload, query, unrolled
        A program, and its operations at the query.
    charges
        What the machine charges: at most for the form ``barrier``, else at least.
    stated
        Whether the text states the values.

    Raises
    ------
    UnsupportedError
        If the program carries variables round a loop, or has no such form.
    """
    form = "barrier" if charges.slowest else "free"
    parameters = {name: query.values[name] for name in workload.parameters}
    substituted = substitute(workload.content.tree, parameters | {"size": query.p})
    parameters |= {
        name: evaluate(expr, parameters | {"size": query.p})
        for name, expr in substituted.derived.items()
    }
    machine = charges.values()
    taken = [*machine, *(border.name for border in charges.borders)]
    names = _names([*parameters, *_variables(substituted.body)], taken)
    if charges.slowest:
        where = workload.content.tree.where or workload.name
        lines = Barrier(charges, names, where).text(substituted.body)
    else:
        values = parameters | {"size": query.p}
        lines = _without_waits(unrolled, charges, names, substituted.body, values)
    assumed = [f"assume {truth(test, names)}" for test in substituted.assumed]
    equations = "\n".join([*assumed, *lines])
    numbers = {names[name]: value for name, value in parameters.items()} | machine
    parameter_values = {
        name: value for name, value in numbers.items() if _mentions(equations, name)
    }
    belonging = [names[name] for name in substituted.derived if names[name] in parameter_values]
    head = [
        f"// {workload.summary or workload.name}",
        f"// source: made of {workload.name}, form {form}",
        *_declarations(query.p, parameter_values, belonging, stated=stated),
    ]
    return "\n".join([*head, "", equations, ""]), parameter_values


def _without_waits(
    unrolled: Unrolled,
    charges: Charges,
    names: Mapping[str, str],
    body: tuple[Statement, ...],
    values: Mapping[str, int | float],
) -> Iterator[str]:
    """Return the lines of the form free, which leaves out waits for single messages."""
    free = Free(charges, names, _aligned(unrolled), to_itself(unrolled))
    return free.text(cut(body, _joins(charges), lambda loop: _runs(loop, values)))


def _declarations(
    p: int, values: Mapping[str, int | float], belonging: Sequence[str], *, stated: bool
) -> Iterator[str]:
    """Yield the parameters, with their values if ``stated``; some belong to this p alone."""
    yield f"param {PROCESSES} : int >= 1{f' = {p}' if stated else ''}"
    for name, value in values.items():
        yield _parameter(name, value) + f" = {value!r}" * stated
    if stated and belonging:
        yield f"assume {PROCESSES} == {p}  // {', '.join(belonging)} belong to it"


def _names(program_names: Sequence[str], machine: Iterable[str]) -> dict[str, str]:
    """Return what each name of a program, and each number of the machine, is in the model."""
    names = {"size": PROCESSES, "rank": "rank"}
    used = {PROCESSES, *machine, *_RESERVED}
    for name in program_names:
        names[name] = name
        while names[name] in used:
            names[name] += "_"
        used.add(names[name])
    return names | {f"${name}": name for name in machine}


def _joins(charges: Charges) -> Callable[[Op], bool]:
    """Return what tells whether nobody leaves an operation before all have come to it."""
    return lambda op: is_collective(op) and any(True for _ in charges.rounds(op))


def _runs(loop: For, values: Mapping[str, int | float]) -> bool:
    """Return whether a loop outside of all others has an iteration here."""
    try:
        return evaluate(loop.stop, values) > evaluate(loop.start, values)
    except FormulaError:
        return False


def _sent(unrolled: Unrolled) -> Iterator[Block]:
    """Yield each kind of block with messages once."""
    yield from {id(block): block for block in unrolled.blocks if block.op in SENDS}.values()


def to_itself(unrolled: Unrolled) -> bool:
    """Return whether some message is one of a process to itself."""
    return any(
        bool(np.any(np.asarray(block.arguments["dst"]) == unrolled.ranks_of(block)))
        for block in _sent(unrolled)
    )


def _aligned(unrolled: Unrolled) -> bool:
    """Return whether the messages of each exchange are received in that exchange.

    They are where every process that sends has the receiver wait for it at the same place, and
    nothing else has messages of that tag: the k-th message then belongs to the k-th receive.
    """
    others = {
        tag
        for block in {id(block): block for block in unrolled.blocks}.values()
        if block.op in {"send", "isend", "recv", "irecv"}
        for tag in np.unique(block.arguments["tag"]).tolist()
    }
    for block in _sent(unrolled):
        if block.op != "sendrecv":
            continue
        tags, ranks = np.unique(block.arguments["tag"]), unrolled.ranks_of(block)
        if len(tags) > 1 or tags[0] in others:
            return False
        waits_for = np.full(unrolled.size, -1)
        waits_for[ranks] = block.arguments["src"]
        if np.any(waits_for[np.broadcast_to(block.arguments["dst"], ranks.shape)] != ranks):
            return False
    return True


def _variables(body: tuple[Statement, ...]) -> list[str]:
    return [statement.variable for statement in nested(body) if isinstance(statement, For)]


def _parameter(name: str, value: float) -> str:
    if name in {"rate", "memory_rate"}:
        return f"param {name} : rate"
    if isinstance(value, int):
        return f"param {name} : int" + (f" >= {min(value, 1)}" if value >= 0 else "")
    return f"param {name} : real" + (" >= 0" if value >= 0 else "")


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None
