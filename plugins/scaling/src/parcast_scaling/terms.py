"""Amounts as formulas of p: sums of c p^a log2(p)^b, chosen by held-out error.

The exponents are the default set of Extra-P 4 (Calotoiu et al., SC13), and their negatives for
amounts that shrink as p grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.quantities import student_t

Floats = NDArray[np.float64]

_PLAIN = "1/4 1/3 1/2 2/3 3/4 4/5 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3"
_WITH_LOG = "0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 2 5/2 3"
_WITH_LOG_SQUARED = "0 1/4 1/3 1/2 2/3 3/4 1 3/2 2 5/2"

#: Distinct p that a formula of so many coefficients needs, so that one can be left out and checked.
NEEDED = {1: 3, 2: 5, 3: 7}

#: Fewer do where they are exact, as counts are and noise is not: for a constant and a term, and
#: from one more on for two terms, of which some are exact at three points by chance.
EXACT_FROM = 3

#: A formula with one more coefficient must lower the held-out error to this part to be believed:
#: among a thousand of them some fit noise.
BETTER = 0.1

#: Within so many times the least held-out error the plainest formula is taken.
ALIKE = 1.5

#: Formulas with a held-out error up to this many times the chosen one's are its rivals.
RIVAL = 2.0

#: Amounts above this are not negative but for rounding.
_ZERO = -1e-12

#: Held-out errors below this are rounding.
EXACT = 1e-9


@attrs.frozen
class Term:
    """p^a log2(p)^b."""

    a: Fraction
    b: int

    def __call__(self, p: Floats) -> Floats:
        """Return its values."""
        values: Floats = p ** float(self.a) * np.log2(p) ** self.b
        return values

    @property
    def plainness(self) -> tuple[int, int, Fraction]:
        """Sorts plain terms first: no logarithm, then small denominators and exponents."""
        return (self.b, self.a.denominator, abs(self.a))

    def text(self) -> str:
        """Return it as parcast's formulas spell it."""
        words = []
        if self.a == Fraction(1, 2):
            words.append("sqrt(p)")
        elif self.a == 1:
            words.append("p")
        elif self.a:
            exponent = str(self.a) if self.a > 0 and self.a.denominator == 1 else f"({self.a})"
            words.append(f"p**{exponent}")
        if self.b:
            words.append("log2(p)" if self.b == 1 else f"log2(p)**{self.b}")
        return " * ".join(words)


def _terms() -> tuple[Term, ...]:
    terms = []
    for b, words in enumerate((_PLAIN, _WITH_LOG, _WITH_LOG_SQUARED)):
        for a in map(Fraction, words.split()):
            terms += [Term(a, b)] if a == 0 else [Term(a, b), Term(-a, b)]
    return tuple(sorted(terms, key=lambda term: term.plainness))


TERMS = _terms()


@attrs.frozen(kw_only=True)
class Hypothesis:
    """A formula fitted to some points."""

    constant: bool
    terms: tuple[Term, ...]
    coefficients: Floats = attrs.field(eq=False)
    held_out: float  #: RMS relative error of each point predicted from the others
    largest_out: float  #: relative error of the largest p predicted from the others
    scatter: float  #: RMS relative error, per spare point
    spare: int
    spread: Floats = attrs.field(eq=False)  #: inverse of X'X, per unit of scatter

    def rows(self, p: Floats) -> Floats:
        """Return the values of constant and terms, shape (points, coefficients)."""
        return _rows(self.constant, self.terms, p)

    def __call__(self, p: float) -> float:
        """Return the value at p."""
        return float(self.rows(np.array([float(p)]))[0] @ self.coefficients)

    def interval(self, p: float) -> tuple[float, float]:
        """Return the 95 % prediction interval of the amount at p, if the formula is right."""
        row = self.rows(np.array([float(p)]))[0]
        center = float(row @ self.coefficients)
        width = student_t(0.95, self.spare) * self.scatter
        width *= math.sqrt(float(row @ self.spread @ row) + center**2)
        return max(0.0, center - width), center + width

    def text(self) -> str:
        """Return the formula, with 12 digits."""
        texts = [term.text() for term in self.terms]
        texts = ["", *texts] if self.constant else texts
        formula = ""
        for value, text in zip(self.coefficients, texts, strict=True):
            sign = (" - " if value < 0 else " + ") if formula else ("-" if value < 0 else "")
            number = f"{abs(value):.12g}"
            formula += sign + (f"{number} * {text}" if text else number)
        return formula


def _rows(constant: bool, terms: Sequence[Term], p: Floats) -> Floats:
    columns = [np.ones_like(p)] if constant else []
    return np.column_stack([*columns, *(term(p) for term in terms)])


def fit_terms(
    constant: bool, terms: Sequence[Term], p: Floats, amounts: Floats
) -> Hypothesis | None:
    """Return the least-squares fit of relative errors; None where the terms cannot be told apart.

    Leaving a point out changes its residual r to r / (1 - h), with h its diagonal of the hat
    matrix (Allen, Technometrics 16:125, 1974).
    """
    scale = np.where(amounts > 0, amounts, np.min(amounts[amounts > 0], initial=1.0))
    rows = _rows(constant, terms, p) / scale[:, None]
    norms = np.linalg.norm(rows, axis=0)
    if not norms.all() or np.linalg.matrix_rank(rows / norms, tol=1e-9) < len(norms):
        return None
    orthogonal, upper = np.linalg.qr(rows / norms)
    solved = np.linalg.solve(upper, orthogonal.T @ (amounts / scale))
    residuals = rows @ (solved / norms) - amounts / scale
    leverage = (orthogonal**2).sum(axis=1)
    if leverage.max() > 1 - 1e-9:
        return None
    left_out = residuals / (1 - leverage)
    spare = len(p) - len(norms)
    inverse = np.linalg.inv(upper)
    spread = (inverse @ inverse.T) / np.outer(norms, norms)
    return Hypothesis(
        constant=constant,
        terms=tuple(terms),
        coefficients=solved / norms,
        held_out=float(np.sqrt(np.mean(left_out**2))),
        largest_out=float(left_out[p.argmax()]),
        scatter=float(np.sqrt(residuals @ residuals / spare)),
        spare=spare,
        spread=spread,
    )


def _classes(points: int) -> Iterator[list[tuple[bool, tuple[Term, ...]]]]:
    """Yield the hypotheses by their number of coefficients, as far as the points suffice."""
    if points >= NEEDED[1]:
        yield [(True, ()), *((False, (term,)) for term in TERMS)]
    if points >= EXACT_FROM:
        pairs = combinations(TERMS, 2) if points > EXACT_FROM else ()
        yield [*((True, (term,)) for term in TERMS), *((False, pair) for pair in pairs)]
    if points >= NEEDED[3]:
        yield [(True, pair) for pair in combinations(TERMS, 2)]


def choose(
    p: Floats, amounts: Floats, farthest: float
) -> tuple[Hypothesis | None, list[Hypothesis]]:
    """Return the formula to use and its rivals, those that predict held-out points about as well.

    Formulas that fall below 0 up to ``farthest`` are none: no amount is negative. Of those
    with about the least held-out error the plainest is taken.
    """
    chosen: Hypothesis | None = None
    good: list[tuple[bool, tuple[Term, ...], float]] = []
    reach = np.geomspace(p.min(), farthest, 64)
    for hypotheses in _classes(len(p)):
        errors = _held_out_errors(hypotheses, p, amounts, reach)
        if not np.isfinite(errors).any():
            continue
        near = errors <= ALIKE * errors.min() + EXACT
        plainest = fit_terms(*hypotheses[int(near.argmax())], p, amounts)
        if plainest is None:
            continue
        if len(p) < NEEDED[len(plainest.coefficients)] and plainest.held_out > EXACT:
            continue
        good += [(*which, error) for which, error in zip(hypotheses, errors, strict=True)]
        if chosen is None or (
            chosen.held_out > EXACT and plainest.held_out < BETTER * chosen.held_out
        ):
            chosen = plainest
    if chosen is None:
        return None, []
    rivals = [
        fit_terms(constant, terms, p, amounts)
        for constant, terms, error in good
        if _is_rival(constant, terms, error, chosen)
    ]
    return chosen, [rival for rival in rivals if rival]


def _held_out_errors(
    hypotheses: Sequence[tuple[bool, tuple[Term, ...]]], p: Floats, amounts: Floats, reach: Floats
) -> Floats:
    """Return the held-out error of all at once, as `fit_terms` does of each.

    It is infinite of those whose terms cannot be told apart, or that fall below 0 in the reach.
    """
    errors = np.full(len(hypotheses), np.inf)
    scale = np.where(amounts > 0, amounts, np.min(amounts[amounts > 0], initial=1.0))
    rows = np.stack([_rows(*hypothesis, p) for hypothesis in hypotheses]) / scale[:, None]
    norms = np.linalg.norm(rows, axis=1)
    apart = np.flatnonzero(norms.all(axis=1))
    rows = rows[apart] / norms[apart][:, None]
    full = np.linalg.matrix_rank(rows, tol=1e-9) == rows.shape[2]
    apart, rows = apart[full], rows[full]
    orthogonal, upper = np.linalg.qr(rows)
    solved = np.linalg.solve(upper, orthogonal.swapaxes(1, 2) @ (amounts / scale)[:, None])[..., 0]
    leverage = (orthogonal**2).sum(axis=2)
    spare = leverage.max(axis=1) <= 1 - 1e-9
    apart, rows, solved, leverage = apart[spare], rows[spare], solved[spare], leverage[spare]
    residuals = np.einsum("hpc,hc->hp", rows, solved) - amounts / scale
    held_out = np.sqrt(np.mean((residuals / (1 - leverage)) ** 2, axis=1))
    if len(apart) == 0:
        return errors
    far = np.stack([_rows(*hypotheses[int(index)], reach) for index in apart])
    lowest = np.einsum("hpc,hc->hp", far, solved / norms[apart]).min(axis=1)
    errors[apart] = np.where(lowest >= _ZERO, held_out, np.inf)
    return errors


def _is_rival(constant: bool, terms: Sequence[Term], held_out: float, chosen: Hypothesis) -> bool:
    """Tell whether a formula predicts as well: no more terms, or a constant more and no worse."""
    count = constant + len(terms)
    if count <= len(chosen.coefficients):
        return held_out <= RIVAL * chosen.held_out + EXACT
    extra_constant = count == len(chosen.coefficients) + 1 and constant
    return extra_constant and EXACT < held_out <= chosen.held_out
