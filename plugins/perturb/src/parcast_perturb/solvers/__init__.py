"""The solvers, a file each: what one takes, assumes, costs and solves."""

from parcast_perturb.solvers.clocked import Clocked
from parcast_perturb.solvers.lower import Lower
from parcast_perturb.solvers.question import Options
from parcast_perturb.solvers.upper import Upper

__all__ = ["Clocked", "Lower", "Options", "Upper"]
