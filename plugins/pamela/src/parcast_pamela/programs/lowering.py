"""Programs as PAMELA models, in formulas where there are any, else in numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import attrs
import numpy as np

from parcast.errors import ParcastError, UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs, Query, Workload
from parcast.program import Statement, Unrolled
from parcast.program.matching import (
    Matched,
    conversion_cost,
    ends_in_block_order,
    matched_program,
)
from parcast.program.source import SENDS, expressions, nested
from parcast_pamela.bindings import bind
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.programs import formulas, recorded, steps
from parcast_pamela.programs.charges import Charges, says_more
from parcast_pamela.programs.links import link_seconds, longest_sending
from parcast_pamela.workload import PROCESSES, Content
from parcast_pamela_compiler.spelling import without_word

Form = Literal["free", "numbers", "barrier"]

_NOTES = {
    "free": (
        "waits for single messages are left out (pamela.form=free): the time is a lower bound, "
        "too low where processes wait for each other; of messages it counts what all exchange, and "
        "what ports and the bus carry"
    ),
    "numbers": (
        "no message waits for another (in numbers): the time is the critical path without "
        "contention, or what the fullest link, port or disk carries: a lower bound"
    ),
    "barrier": (
        "each operation ends for all processes before the next one begins (pamela.form=barrier): "
        "an estimate, mostly too high, because operations do not overlap"
    ),
}


@attrs.frozen
class _Model:
    text: str
    values: Mapping[str, int | float]  #: of its parameters
    reason: str  #: why it has numbers; empty where it has formulas
    waits: bool = False  #: whether the numbers are a critical path, waits for messages in it


#: Messages that take less than this beside all else may be left out of formulas.
_SMALL = 0.05

#: In the names of what the machine charges for messages.
_OF_MESSAGES = re.compile("startup|per_byte|overhead")

#: Seconds for an operation, in numbers: on one core of a server of 2023.
_OPERATION = 4e-7


def cost(query: Query) -> float:
    """Return the seconds that the conversion of a program takes at most."""
    return conversion_cost(query, _OPERATION)


def lower(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a ``program`` workload as a model whose bound T^l is one of the program.

    Raises
    ------
    UnsupportedError
        If the program carries variables round a loop; and for the form ``barrier`` where it has
        none.
    """
    form: Form = getattr(query.options, "form", "free")
    matched = _matched(workload, query)
    costs = Costs.of(query, matched.native.needs(), WHOLE_NETWORK)
    made = _model(workload, query, form, matched, costs, stated=False)
    notes = [_NOTES["numbers" if made.waits else form]]
    if made.reason:
        notes.append(f"the model has numbers in place of formulas: {made.reason}")
    if made.waits and matched.matching.timed():
        notes.append("nobody waits for what recv(ANY) takes: another message may come first")
    content = Content(
        made.text,
        f"{workload.name} as a model",
        workload.name,
        "",
        tuple(made.values.items()),
        form="numbers" if made.waits else form,
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
        ``free``, ``numbers`` or ``barrier``.
    stated
        Whether the text states the values.

    Raises
    ------
    UnsupportedError
        As `lower` does.
    """
    matched = _matched(workload, query)
    costs = Costs.of(query, matched.native.needs(), WHOLE_NETWORK)
    made = _model(workload, query, form, matched, costs, stated=stated)
    return made.text, made.values


def _model(
    workload: Workload, query: Query, form: Form, matched: Matched, costs: Costs, *, stated: bool
) -> _Model:
    reason = _without_text(workload, matched.native)
    if form == "barrier":
        if not reason and not ends_in_block_order(matched.native, costs.eager_limit):
            reason = (
                "a process waits for a message that another sends in a later operation of the text"
            )
        if reason:
            raise UnsupportedError(
                f"{workload.name} has no form barrier: {reason}; use pamela.form=free"
            )
    waits = form == "numbers" or (form == "free" and says_more(costs))
    if not reason and form != "numbers":
        written = _in_formulas(workload, query, form, matched, costs, stated=stated)
        if not written.reason and not _is_empty(written.text, matched):
            return written
        waits = waits or not written.reason
        reason = written.reason or "all that takes time is waiting for messages, which they lack"
    text = _in_numbers(workload, query, form, matched, costs, waits=waits, stated=stated)
    return _Model(text, {}, "" if form == "numbers" else reason, waits)


def _is_empty(text: str, matched: Matched) -> bool:
    """Return whether a model of a program with messages says that nothing takes time."""
    says = "use(" in text or "delay(" in text
    return not says and "messages" in matched.native.needs()


def _in_formulas(
    workload: Workload, query: Query, form: Form, matched: Matched, costs: Costs, *, stated: bool
) -> _Model:
    """Return the model of a program with a text, or why it is left for numbers."""
    itself, slowest = formulas.to_itself(matched.native), form == "barrier"
    if slowest and query.machine.storage.aggregators is not None and _together(matched.native):
        return _Model("", {}, "some processes access files for all others here")
    try:
        charges = Charges.of(costs, query.machine, workload.name, to_itself=itself, slowest=slowest)
    except UnsupportedError as error:
        return _Model("", {}, _reason(workload, error))
    try:
        text, values = formulas.text(workload, query, matched.native, charges, stated=stated)
    except UnsupportedError as error:
        if not says_more(costs):
            raise
        return _Model("", {}, _reason(workload, error))
    if not slowest and says_more(costs) and not any(map(_OF_MESSAGES.search, values)):
        sending = longest_sending(matched, costs)
        if sending > _SMALL * _seconds(text, values, query.p):
            return _Model("", {}, "they leave out all messages")
    links = {} if slowest else link_seconds(matched, costs)
    link = next(iter(links), None)
    if link is None or _seconds(text, values, query.p, carried=True) >= links[link] * (1 - 1e-9):
        return _Model(text, values, "")
    return _Model("", {}, f"they leave out some of what {link} carries")


def _together(unrolled: Unrolled) -> bool:
    """Return whether all access a shared file together."""
    return any(
        block.arguments.get("collective") and block.arguments["file"] == "shared"
        for block in unrolled.blocks
    )


def _reason(workload: Workload, error: UnsupportedError) -> str:
    return str(error).removeprefix(f"{workload.name}: ").partition(";")[0]


def _seconds(
    text: str, values: Mapping[str, int | float], p: int, *, carried: bool = False
) -> float:
    """Return the bound of a model, or how long its fullest resource is busy; 0 if not found."""
    linked = Content(text, "", "", "").model()
    try:
        bound = bind(linked, {PROCESSES: p, **values})
        at = compile_model(linked).values_at(bound)
        return float(at.contention if carried else at.bound)
    except ParcastError:  # a formula too large, or one of too many steps
        return 0.0


def _without_text(workload: Workload, unrolled: Unrolled) -> str:
    """Return why a program has no operations that all processes take; empty where it has."""
    if workload.content.tree is None:
        return "it was recorded, and has no loops to keep"
    if unrolled.pools:
        return "who takes a task of a pool is only known as it runs"
    if any(block.op == "start" for block in unrolled.blocks):
        return "it is timed from start()"
    if bits := _bits(workload.content.tree.body):
        return f"PAMELA has no word for {bits!r} on the bits of whole numbers"
    return ""


def _bits(body: tuple[Statement, ...]) -> str:
    """Return an operator of a program that PAMELA has no word for, or nothing."""
    roots = (expr for statement in nested(body) for expr in expressions(statement).values())
    return next(filter(None, map(without_word, roots)), "")


def _in_numbers(
    workload: Workload,
    query: Query,
    form: Form,
    matched: Matched,
    costs: Costs,
    *,
    waits: bool,
    stated: bool,
) -> str:
    """Return the text of the model of a program without formulas."""
    if form == "barrier":
        if _held(matched, costs) and not ends_in_block_order(matched.unrolled, costs.eager_limit):
            raise UnsupportedError(
                f"{workload.name} has no form barrier: messages of a collective wait for their "
                "receives here, and the model has numbers; use pamela.form=free"
            )
        lines = steps.text(matched, costs)
    else:
        lines = recorded.text(matched, costs, waits=waits)
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


def _held(matched: Matched, costs: Costs) -> bool:
    """Return whether some message leaves only when its receive is posted."""
    columns = matched.columns
    late = columns.amount > (0 if costs.eager == "waits" else costs.eager_limit)
    return bool(np.any(columns.among(SENDS) & late))
