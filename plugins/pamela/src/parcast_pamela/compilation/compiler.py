"""The compiler: a model in, its formulas out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from parcast_pamela.algebra.exact import MOST_STEPS, ExactValues, StepsRefusedError
from parcast_pamela.algebra.kernel import Kernel
from parcast_pamela.algebra.polynomials import Polynomial
from parcast_pamela.bindings import bind
from parcast_pamela.compilation.algebra import Algebra
from parcast_pamela.compilation.expressions import Lowering
from parcast_pamela.compilation.guards import Guard
from parcast_pamela.compilation.processes import Processes
from parcast_pamela.compilation.scope import Scope
from parcast_pamela.language.errors import ModelError, ModelValueError, TooManyStepsError
from parcast_pamela.language.functions import ArithmeticRefusedError, Exact
from parcast_pamela.language.model import Model


@attrs.frozen
class Values:
    """The formulas' values at one set of parameters, exactly."""

    critical_path: Exact
    contention: Exact
    bound: Exact
    upper: Exact

    @property
    def theta(self) -> float | None:
        """ln(omega / phi): -inf without any demand, None without any work."""
        return theta(self.critical_path, self.contention)


def theta(path: Exact, contention: Exact) -> float | None:
    """Return the contention index ln(omega / phi) of section 2.3, the logarithm being natural."""
    if path <= 0:
        return None
    if contention <= 0:
        return -math.inf
    ratio = contention / path if isinstance(path, float) else None
    return math.log(ratio) if ratio else _log(contention) - _log(path)


def theta_data(value: float | None) -> dict[str, float | str | None]:
    """Return theta for JSON, which has no infinity: a number or None, and which of both it is."""
    if value is None:
        return {"theta": None, "theta_is": "undefined"}
    if math.isinf(value):
        return {"theta": None, "theta_is": "-infinity"}
    return {"theta": value, "theta_is": "finite"}


def _log(value: Exact) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


@attrs.frozen(eq=False)
class Compiled:
    """A model's formulas, in its own parameters."""

    model: Model
    critical_path: Polynomial  #: phi
    contention: Polynomial  #: omega of the whole
    demands: Mapping[str, Polynomial]  #: omega by resource
    bound: Polynomial  #: T^l
    upper: Polynomial  #: T^u
    arrays: Mapping[str, tuple[tuple[Polynomial, Polynomial], ...]]  #: first and last indices
    guards: tuple[Guard, ...] = ()
    notes: tuple[str, ...] = ()

    def values(self, parameters: Mapping[str, Any]) -> Values:
        """Return the formulas' values, exactly.

        Raises
        ------
        ModelValueError
            If a parameter is wrong or missing, or a guard does not hold.
        """
        return self.values_at(bind(self.model, parameters))

    def values_at(self, bound: Mapping[str, Any], step_limit: int = MOST_STEPS) -> Values:
        """Return the values at parameters that are bound already, in at most so many steps."""
        evaluate = ExactValues(bound, step_limit)
        for guard in self.guards:
            try:
                violated = evaluate.value(guard.violation)
            except StepsRefusedError as error:
                raise TooManyStepsError(str(error), guard.position) from None
            except ArithmeticRefusedError as error:
                raise ModelValueError(str(error), guard.position) from None
            if violated:
                raise ModelValueError(guard.message, guard.position)
        try:
            return Values(
                *map(evaluate.value, (self.critical_path, self.contention, self.bound, self.upper))
            )
        except StepsRefusedError as error:
            raise TooManyStepsError(f"{self.model.name}: {error}") from None
        except ArithmeticRefusedError as error:
            raise ModelValueError(f"{self.model.name}: {error}") from None


def _refuse_missing(model: Model) -> None:
    if missing := model.missing():
        names = ", ".join(missing)
        raise ModelError(
            f"{model.name}: nothing says what {names} does; give a machine with --machine-model",
            model.externs[missing[0]].position,
        )


def compile_model(
    model: Model, *, simplify: bool = True, transfers: str = "", kernel: Kernel | None = None
) -> Compiled:
    """Return the formulas of a model.

    Unless they ``simplify``, sums, maxima and demands stay as the equations have them: the values
    are the same, and evaluating takes as long as going through every loop (ST_1 of the paper's
    table 3). On the critical path a call of the equation ``transfers`` takes its own T^l.
    ``kernel`` does the arithmetic, parcast's own by default.

    Raises
    ------
    ModelError
        If an equation that a machine must supply is missing, or an expression can have no
        value.
    """
    _refuse_missing(model)
    lowering = Lowering(model, Algebra(kernel, simplify=simplify))
    processes = Processes(lowering, transfers)
    try:
        part = processes.part(model.equations[model.root].body, Scope({}))
        demands = processes.contention(part.demands)
    except ZeroDivisionError:
        lowering.guards.refuse_violated()
        raise
    lowering.guards.refuse_violated()
    restored = lowering.parameters.restored
    contention = lowering.rules.maximum([lowering.kernel.number(0), *demands.values()])
    return Compiled(
        model=model,
        critical_path=restored(part.path),
        contention=restored(contention),
        demands={name: restored(demand) for name, demand in demands.items()},
        bound=restored(part.full_bound()),
        upper=restored(part.weighed + part.load),
        arrays={
            name: tuple(
                (restored(low), restored(high))
                for low, high in (
                    lowering.range(s.first, s.last, Scope({})) for s in parameter.dims
                )
            )
            for name, parameter in model.parameters.items()
            if parameter.dims
        },
        guards=tuple(
            attrs.evolve(guard, violation=restored(guard.violation))
            for guard in lowering.guards.required
        ),
    )
