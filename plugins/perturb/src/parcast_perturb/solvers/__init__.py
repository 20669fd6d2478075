"""The solvers: what one takes, assumes, costs and solves."""

from parcast_perturb.solvers.bounds import lower_bound, upper_bound
from parcast_perturb.solvers.clocked import Clocked
from parcast_perturb.solvers.question import Options
from parcast_perturb.solvers.simulated import Simulated

__all__ = ["Clocked", "Options", "Simulated", "lower_bound", "upper_bound"]
