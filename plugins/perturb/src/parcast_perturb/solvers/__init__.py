"""The solvers: what one takes, assumes, costs and solves."""

from parcast_perturb.solvers.bounds import lower_bound, upper_bound
from parcast_perturb.solvers.clocked import Clocked
from parcast_perturb.solvers.question import Options

__all__ = ["Clocked", "Options", "lower_bound", "upper_bound"]
