"""What is certain of an expression's sign: sound, and never complete.

Every answer holds for all values of the parameters within their declared ranges, and of the
indices within theirs. False only means that no proof was found.
"""

from __future__ import annotations

from collections.abc import Callable

from parcast_pamela.algebra.growth import direction
from parcast_pamela.algebra.kernel import Kernel
from parcast_pamela.algebra.polynomials import Atom, Monomial, Polynomial, Symbol
from parcast_pamela.algebra.ranges import Facts, ParameterRanges
from parcast_pamela.algebra.terms import atoms_to_choose, denominators, split, whole_coefficients

#: How many steps a proof may take: one after the other, in all, and within another proof
_DEEPEST, _MOST, _NESTED = 6, 24, 8
#: Expressions of more terms have no proof but of their terms' signs.
_LONGEST = 48

_NONNEGATIVE = frozenset({"ge0", "eq0", "gcd", "lcm", "exp", "sqrt", "top"})


class Signs:
    """Proofs about signs; ``facts`` are expressions known to be 0 or more."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.facts: Facts = ()
        #: Makes a changed atom anew; the rules, which build on signs, set it.
        self.make: Callable[..., Polynomial] = kernel.call
        self.ranges = ParameterRanges(kernel)
        self._proven: dict[Polynomial, bool] = {}
        self._signs: dict[Monomial, bool] = {}
        self._steps_left, self._nested = _MOST, 0

    def assume(self, fact: Polynomial) -> None:
        """Take an expression to be 0 or more from now on."""
        if fact.constant is not None or not self.ranges.assume(fact):
            return
        shifted = map(self.ranges.shift, self.ranges.stated)
        self.facts = tuple(a for a in shifted if not self.evidently_nonneg(a))
        self._proven = {key: value for key, value in self._proven.items() if value}
        self._signs = {key: value for key, value in self._signs.items() if value}

    def evidently_nonneg(self, polynomial: Polynomial) -> bool:
        """Return whether every term of an expression is certainly 0 or more."""
        return all(c > 0 and self._monomial_sign(m) for m, c in polynomial.terms)

    def integer(self, polynomial: Polynomial) -> bool:
        """Return whether an expression is certainly whole."""
        return all(
            coefficient.denominator == 1
            and all(exponent > 0 and self._whole_atom(atom) for atom, exponent in monomial)
            for monomial, coefficient in polynomial.terms
        )

    def _whole_atom(self, atom: Atom) -> bool:
        if atom.kind in {"sym", "item"}:
            return atom.arguments[0].integer  # type: ignore[no-any-return]
        if atom.kind == "max":
            return all(map(self.integer, atom.arguments))
        if atom.kind in {"sum", "top", "prod", "most"}:
            return self.integer(atom.arguments[3])
        return atom.kind in {"floor", "gcd", "lcm", "ge0", "eq0"}

    def nonneg(self, polynomial: Polynomial) -> bool:
        """Return whether an expression is certainly 0 or more."""
        if (value := polynomial.constant) is not None:
            return value >= 0
        polynomial = whole_coefficients(polynomial)
        if polynomial not in self._proven:
            outer, limit = self._steps_left, _NESTED if self._nested else _MOST
            self._steps_left = min(outer - 1, limit)
            self._nested += 1
            self._proven[polynomial] = self._prove(self.ranges.shift(polynomial), (), _DEEPEST)
            self._nested -= 1
            self._steps_left = outer if not self._nested else outer - 1
        return self._proven[polynomial]

    def nonpos(self, polynomial: Polynomial) -> bool:
        """Return whether an expression is certainly 0 or less."""
        return self.nonneg(-polynomial)

    def positive(self, polynomial: Polynomial) -> bool:
        """Return whether an expression is certainly above 0."""
        if self.integer(polynomial):
            return self.nonneg(polynomial - 1)
        under = denominators(polynomial)
        whole = self.kernel.expanded(polynomial * under)
        if under.constant != 1 and self.nonneg(under) and self.integer(whole):
            return self.nonneg(whole - 1)
        shifted = self.ranges.shift(polynomial)
        return any(c > 0 and self._monomial_positive(m) for m, c in shifted.terms) and all(
            c > 0 and self._monomial_sign(m) for m, c in shifted.terms
        )

    def _monomial_positive(self, monomial: Monomial) -> bool:
        """Return whether a monomial of shifted symbols is certainly above 0."""
        return all(
            atom.kind == "exp" or (atom.kind == "poly" and self.positive(atom.arguments[0]))
            or exponent < 0 or (atom.kind == "sym" and atom.arguments[0].positive)
            for atom, exponent in monomial
        ) and self._monomial_sign(monomial)  # fmt: skip

    def atom_sign(self, atom: Atom) -> bool:
        """Return whether an atom is certainly 0 or more."""
        kind = atom.kind
        if kind in _NONNEGATIVE:
            return True
        if kind == "sym":
            symbol = atom.arguments[0]
            return self.ranges.is_unsigned(symbol) if symbol.level == 0 else self.nonneg(symbol.low)
        if kind == "item":
            return atom.arguments[0].low is not None and atom.arguments[0].low >= 0
        if kind in {"floor", "poly"}:
            return self.nonneg(atom.arguments[0])
        if kind == "max":
            arms = atom.arguments
            return any(-arm in arms for arm in arms) or any(map(self.nonneg, arms))
        if kind in {"sum", "prod"}:
            return self.nonneg(atom.arguments[3])
        if kind in {"log2", "log"}:
            return self.nonneg(atom.arguments[0] - 1)
        return kind == "pow" and self.nonneg(atom.arguments[0])

    def _monomial_sign(self, monomial: Monomial) -> bool:
        sign = self._signs.get(monomial)
        if sign is None:
            sign = all(exponent % 2 == 0 or self.atom_sign(atom) for atom, exponent in monomial)
            self._signs[monomial] = sign
        return sign

    # proofs, of shifted expressions

    def _prove(self, polynomial: Polynomial, facts: Facts, depth: int) -> bool:
        if (value := polynomial.constant) is not None:
            return value >= 0
        signs = [self._monomial_sign(monomial) for monomial, _ in polynomial.terms]
        pairs = list(zip(polynomial.terms, signs, strict=True))
        if all(nonneg and c > 0 for (_, c), nonneg in pairs):
            return True
        self._steps_left -= 1
        if depth == 0 or self._steps_left < 0 or len(polynomial.terms) > _LONGEST:
            return False
        if all(nonneg and c < 0 for (_, c), nonneg in pairs) or self.ranges.refuted(
            polynomial, facts
        ):
            return False
        return (
            self._by_choice(polynomial, facts, depth - 1)
            or self._by_index(polynomial, facts, depth - 1)
            or self._by_facts(polynomial, facts, depth - 1)
            or self._by_denominator(polynomial, facts, depth - 1)
        )

    def _by_choice(self, polynomial: Polynomial, facts: Facts, depth: int) -> bool:
        """Replace a max by its arms, a floor by its bounds, a bracket by 0 and 1."""
        for atom in atoms_to_choose(polynomial):
            parts = split(polynomial, atom)
            if parts is None:
                continue
            factor, remainder = parts
            if factor.constant is None and len(factor.terms) > 8:
                continue
            rising = self._sign_of(factor, facts, depth)
            if rising is None:
                continue
            if atom.kind == "max":
                arms = (factor * self.ranges.shift(arm) + remainder for arm in atom.arguments)
                choose = any if rising else all
                if choose(self._prove(arm, facts, depth) for arm in arms):
                    return True
            elif atom.kind == "floor":
                exact = factor.constant == 1 and self.integer(remainder)
                bounds = self._floor_bounds(self.ranges.shift(atom.arguments[0]), rising, exact)
                if any(self._prove(factor * bound + remainder, facts, depth) for bound in bounds):
                    return True
            elif self._by_bracket(atom, factor, remainder, facts, depth):
                return True
        return False

    def _by_bracket(
        self, atom: Atom, factor: Polynomial, remainder: Polynomial, facts: Facts, depth: int
    ) -> bool:
        inner = self.ranges.shift(atom.arguments[0])
        yes = (*facts, inner) if atom.kind == "ge0" else (*facts, inner, -inner)
        no = facts
        if atom.kind == "ge0":
            no = (*facts, -inner - 1 if self.integer(inner) else -inner)
        return self._prove(remainder, no, depth) and self._prove(remainder + factor, yes, depth)

    def _sign_of(self, factor: Polynomial, facts: Facts, depth: int) -> bool | None:
        if (value := factor.constant) is not None:
            return value >= 0
        if self._prove(factor, facts, min(depth, 2)):
            return True
        return False if self._prove(-factor, facts, min(depth, 2)) else None

    def _floor_bounds(self, inner: Polynomial, below: bool, exact: bool) -> list[Polynomial]:
        """Return bounds of a floor; ``exact`` if it is compared with a whole number.

        floor(x) >= n just where x >= n.
        """
        if not below:
            negative = [self.kernel.number(-1)] if self.positive(-inner) else []
            return [inner, *negative]
        under, least = denominators(inner), inner - 1
        if exact:
            least = inner
        elif self.integer(self.kernel.expanded(inner * under)) and self.nonneg(
            self.kernel.expanded(under) - 1
        ):
            least = inner - 1 + self.kernel.inverse(under)
        zero = [self.kernel.number(0)] if self.nonneg(inner) else []
        return [least, *zero]

    def _by_index(self, polynomial: Polynomial, facts: Facts, depth: int) -> bool:
        """Replace an index by an end of its range, or count it from there."""
        indices = sorted((s for s in polynomial.free if s.level), key=lambda s: (-s.level, s.name))
        for index in indices:
            atom = self.kernel.atom("sym", index)
            if any(a is not atom and index in a.free for m, _ in polynomial.terms for a, _ in m):
                rising = self.direction(polynomial, index)
                if rising:
                    end = index.low if rising > 0 else index.high
                    # as it was before shifting: floor((P B - 1)/B) is P - 1, a product stays whole
                    plain = self.ranges.unshift(polynomial)
                    try:
                        moved = self.ranges.shift(
                            self.kernel.rebuilt(plain, {index: end}, self.make)
                        )
                    except ZeroDivisionError:
                        return False  # no value there, so it bounds nothing
                    return self._prove(moved, facts, depth)
                continue
            if any(a is atom and e < 0 for m, _ in polynomial.terms for a, e in m):
                continue
            low, high = self.ranges.shift(index.low), self.ranges.shift(index.high)
            parts = split(polynomial, atom)
            if parts is not None:
                factor, remainder = parts
                rising = self._sign_of(factor, facts, depth)
                ends = (low, high) if rising is None else ((low,) if rising else (high,))
                if all(self._prove(factor * end + remainder, facts, depth) for end in ends):
                    return True
            else:
                for name, end, sign in (
                    (f"{index.name}-low", low, 1),
                    (f"high-{index.name}", high, -1),
                ):
                    step = self.kernel.parameter(name, integer=True, low=0)
                    self.ranges.origins[step] = sign * (self.kernel.value(index) - end)
                    point = end + sign * self.kernel.value(step)
                    moved = self.kernel.substitute(polynomial, {index: point})
                    if self._prove(moved, facts, depth - 1) if depth else False:
                        return True
            return False
        return False

    def _by_facts(self, polynomial: Polynomial, facts: Facts, depth: int) -> bool:
        """Take away a multiple of a fact that cancels a negative term."""
        for fact in (*facts, *self.facts):
            for monomial, coefficient in polynomial.terms:
                if coefficient > 0 and self._monomial_sign(monomial):
                    continue
                for base, weight in fact.terms:
                    if (weight < 0) != (coefficient < 0) or not self._divides(base, monomial):
                        continue
                    factor = self.kernel.monomial(monomial, coefficient) / self.kernel.monomial(
                        base, weight
                    )
                    if not self._monomial_sign(factor.terms[0][0]):
                        continue
                    if self._steps_left < 0:
                        return False
                    if self._prove(polynomial - factor * fact, facts, min(depth, 3)):
                        return True
        return False

    def _divides(self, base: Monomial, monomial: Monomial) -> bool:
        """Return whether monomial / base has a value wherever the monomial has one."""
        powers = dict(monomial)
        return all(
            exponent <= max(powers.get(atom, 0), 0)
            or powers.get(atom, 0) < 0
            or self._monomial_positive(((atom, 1),))
            for atom, exponent in base
        )

    def _by_denominator(self, polynomial: Polynomial, facts: Facts, depth: int) -> bool:
        denominator = denominators(polynomial)
        if denominator.constant is not None or not self._monomial_sign(denominator.terms[0][0]):
            return False
        return self._prove(self.kernel.expanded(polynomial * denominator), facts, depth)

    def direction(self, polynomial: Polynomial, index: Symbol) -> int | None:
        """Return whether an expression rises with an index (`growth.direction`)."""
        return direction(self, polynomial, index)
