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
    fitted: list[Hypothesis] = []
    reach = np.geomspace(p.min(), farthest, 64)
    for hypotheses in _classes(len(p)):
        fits = [fit_terms(constant, terms, p, amounts) for constant, terms in hypotheses]
        good = [fit for fit in fits if fit and _rises_nowhere_below_zero(fit, reach)]
        if not good:
            continue
        least = min(fit.held_out for fit in good)
        plainest = next(fit for fit in good if fit.held_out <= ALIKE * least + EXACT)
        if len(p) < NEEDED[len(plainest.coefficients)] and plainest.held_out > EXACT:
            continue
        fitted += good
        if chosen is None or (
            chosen.held_out > EXACT and plainest.held_out < BETTER * chosen.held_out
        ):
            chosen = plainest
    if chosen is None:
        return None, []
    return chosen, [fit for fit in fitted if _is_rival(fit, chosen)]


def _is_rival(fit: Hypothesis, chosen: Hypothesis) -> bool:
    """Tell whether ``fit`` predicts as well: no more terms, or a constant more and no worse."""
    if len(fit.coefficients) <= len(chosen.coefficients):
        return fit.held_out <= RIVAL * chosen.held_out + EXACT
    extra_constant = len(fit.coefficients) == len(chosen.coefficients) + 1 and fit.constant
    return extra_constant and EXACT < fit.held_out <= chosen.held_out


def _rises_nowhere_below_zero(fit: Hypothesis, reach: Floats) -> bool:
    return bool((fit.rows(reach) @ fit.coefficients).min() >= -1e-12)
