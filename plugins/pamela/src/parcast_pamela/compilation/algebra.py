"""All rules together, over one kernel."""

from __future__ import annotations

from parcast_pamela.algebra.demands import Demands
from parcast_pamela.algebra.extremes import Extremes
from parcast_pamela.algebra.kernel import Kernel
from parcast_pamela.algebra.rules import Rules
from parcast_pamela.algebra.signs import Signs
from parcast_pamela.algebra.sums import Sums


class Algebra:
    """A kernel, and the rules that work on its expressions."""

    def __init__(self, kernel: Kernel | None = None, *, simplify: bool = True) -> None:
        self.kernel = kernel or Kernel()
        self.signs = Signs(self.kernel)
        self.rules = Rules(self.kernel, self.signs)
        self.sums = Sums(self.rules, closed=simplify)
        self.extremes = Extremes(self.sums)
        self.demands = Demands(self.extremes)
