"""Programs as PAMELA models: the text, its parameters and their values at a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import attrs
import numpy as np

from parcast.errors import FormulaError, UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs, Query, Workload
from parcast.program import Block, For, Op, Statement, Unrolled
from parcast.program.matching import Matched, ends_in_block_order, matched_program
from parcast.program.source import SENDS, nested
from parcast.quantities import evaluate
from parcast_pamela.programs import recorded, steps
from parcast_pamela.programs.barrier import Barrier
from parcast_pamela.programs.charges import Charges, is_collective, says_more
from parcast_pamela.programs.free import Free
from parcast_pamela.programs.links import link_seconds
from parcast_pamela.programs.splitting import cut
from parcast_pamela.programs.substitution import substitute
from parcast_pamela.workload import PROCESSES, Content
from parcast_pamela_compiler.spelling import truth

Form = Literal["free", "barrier"]

#: Words of the language, and names of the model's own, that no parameter may have
_RESERVED = frozenset(
    "par seq use delay if else skip param let resource assume import as unit extern root mult "  # noqa: SIM905  (a list of words is read as one)
    "by in mod div and or not bus out into disk program_ rank round_".split()
)

_NOTES = {
    "free": (
        "waits for single messages are left out (form free): the time is a lower bound, too low "
        "where processes wait for each other; of messages it counts what all exchange, and what "
        "ports and the bus carry"
    ),
    "numbers": (
        "no message waits for another (form free): the time is the critical path without "
        "contention, or what the fullest link, port or disk carries: a lower bound"
    ),
    "barrier": (
        "each operation ends for all processes before the next one begins (form barrier): an "
        "estimate, mostly too high, because operations do not overlap"
    ),
}


def lower(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a ``program`` workload as a model whose bound T^l is one of the program.

    Raises
    ------
    UnsupportedError
        If the program carries variables round a loop; and for the form ``barrier`` where it has
        none.
    """
    form: Form = getattr(query.options, "form", "free")
    source, values = model(workload, query, form, stated=False)
    reason = _only_in_numbers(workload, query)
    matched, costs = _matched(workload, query), _costs(workload, query)
    in_full = bool(reason) and form == "free" and says_more(costs)
    notes = [_NOTES["numbers" if in_full else form]]
    if reason:
        notes.append(f"the model has numbers in place of formulas: {reason}")
    if in_full and matched.matching.timed():
        notes.append("nobody waits for what recv(ANY) takes: another message may come first")
    content = Content(
        source,
        f"{workload.name} as a model",
        workload.name,
        "",
        tuple(values.items()),
        form="numbers" if in_full else form,
        links=tuple(link_seconds(matched, costs).items()),
    )
    converted = Workload(
        name=workload.name,
        kind="pamela",
        content=content,
        parameters=workload.parameters,
        summary=workload.summary,
        source=workload.source,
        data=workload.data,
        where=workload.where,
    )
    return converted, tuple(notes)


def model(
    workload: Workload, query: Query, form: Form, *, stated: bool
) -> tuple[str, Mapping[str, int | float]]:
    """Return the text of a program's model, and the values of its parameters at the query.

    Parameters
    ----------
    workload
        A ``program``.
    query
        The machine, p and parameters.
    form
        ``free`` or ``barrier``.
    stated
        Whether the text states the values.

    Raises
    ------
    UnsupportedError
        As `lower` does.
    """
    unrolled = _matched(workload, query).native
    reason = _only_in_numbers(workload, query)
    if form == "barrier":
        if unread := _without_text(workload, unrolled):
            raise UnsupportedError(
                f"{workload.name} has no form barrier: {unread}; use pamela.form=free"
            )
        if not ends_in_block_order(unrolled, _costs(workload, query).eager_limit):
            raise UnsupportedError(
                f"{workload.name} has no form barrier: a process waits for a message that another "
                "sends in a later operation of the text; use pamela.form=free"
            )
    if reason:
        return _in_numbers(workload, query, form, stated=stated), {}
    charges = _charges(workload, query, form)
    parameters = {name: query.values[name] for name in workload.parameters}
    substituted = substitute(workload.content.tree, parameters | {"size": query.p})
    parameters |= {
        name: evaluate(expr, parameters | {"size": query.p})
        for name, expr in substituted.derived.items()
    }
    machine = charges.values()
    names = _names([*parameters, *_variables(substituted.body)], machine)
    if form == "barrier":
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
    free = Free(charges, names, _aligned(unrolled), _to_itself(unrolled))
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


def _costs(workload: Workload, query: Query) -> Costs:
    return Costs.of(query, _matched(workload, query).native.needs(), WHOLE_NETWORK)


def _charges(workload: Workload, query: Query, form: Form) -> Charges:
    itself = _to_itself(_matched(workload, query).native)
    costs = _costs(workload, query)
    return Charges.of(costs, workload.name, to_itself=itself, slowest=form == "barrier")


def _without_text(workload: Workload, unrolled: Unrolled) -> str:
    """Return why a program has no operations that all processes take; empty where it has."""
    if workload.content.tree is None:
        return "it was recorded, and has no loops to keep"
    if unrolled.pools:
        return "who takes a task of a pool is only known as it runs"
    if any(block.op == "start" for block in unrolled.blocks):
        return "it is timed from start()"
    return ""


def _only_in_numbers(workload: Workload, query: Query) -> str:
    """Return why a program has no formulas here; empty where it has."""
    if reason := _without_text(workload, _matched(workload, query).native):
        return reason
    try:
        _charges(workload, query, "free")
    except UnsupportedError as error:
        return str(error).removeprefix(f"{workload.name}: ").partition(";")[0]
    return ""


def _in_numbers(workload: Workload, query: Query, form: Form, *, stated: bool) -> str:
    """Return the text of the model of a program without formulas."""
    matched, costs = _matched(workload, query), _costs(workload, query)
    lines = steps.text(matched, costs) if form == "barrier" else recorded.text(matched, costs)
    head = [
        f"// {workload.summary or workload.name}",
        f"// source: made of {workload.name} at {query.p} processes, in numbers",
        f"param {PROCESSES} : int >= 1{f' = {query.p}' if stated else ''}",
        f"assume {PROCESSES} == {query.p}",
        "",
    ]
    return "\n".join([*head, lines, ""])


def _matched(workload: Workload, query: Query) -> Matched:
    """Return the operations at the query's p."""
    return matched_program(attrs.evolve(query, workload=workload), pools=True)


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


def _to_itself(unrolled: Unrolled) -> bool:
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
