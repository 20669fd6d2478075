"""What plugins register: light named records whose code is imported on first use."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Protocol, runtime_checkable

import attrs

from parcast.errors import PluginError
from parcast.model.query import Prediction, Query

#: Raised when a record or a protocol changes incompatibly.
API = 1


@runtime_checkable
class Solver(Protocol):
    """What a solver's class offers; five more methods are optional.

    ``cost(query)`` estimates the seconds that ``solve`` takes where its code is loaded and its
    kernels are compiled, conversions of the workload apart, and ``assumptions(query)`` returns what
    the method takes for granted, each an `Assumption` that says what of the query violates it; both
    without solving: advice has them. ``missing()`` returns None, or what is to be installed first.
    ``solve_many(queries)`` returns a prediction for each query in order. ``derivatives(query,
    names)`` returns the partial derivatives of the time, a mapping from name to seconds per base
    unit, for those ``names`` (key paths of the machine and workload parameters) that it can do; a
    name that the time does not depend on has 0. None where it has none at all.
    """

    def supports(self, query: Query) -> str | None:
        """Return None, or the reason why this solver cannot take the query."""

    def solve(self, query: Query) -> Prediction:
        """Return the prediction: the same for the same query."""


#: What of the table of costs is more than sums: whoever keeps to it names these in ``follows``.
MEMORY_FEATURES = ("nodes.memory_bandwidth", "nodes.core_bandwidth")
COST_FEATURES = ("network.eager_limit", *MEMORY_FEATURES)

#: Who also says in ``details["jobs"]`` how long each of several jobs takes names this, too.
JOBS = "jobs"


@attrs.frozen
class SolverEntry:
    """A solver: ``target`` is a class without arguments, taking workloads of one ``kind``.

    ``choices`` are modelling choices that options leave out: from a choice's name, as in "without
    the law of bursts", to the values of options. `parcast.analysis.explanation` leaves them out.
    ``follows`` names what the solver obeys of that which not every solver does: parts of machines
    that have a ``choice``, and `parcast.comparison.not_modeled.FEATURES`. Where a machine states
    others that matter to the workload, rows say that they are not modeled.
    """

    name: str
    kind: str
    target: str
    summary: str
    options: str | None = attrs.field(default=None, kw_only=True)  #: an attrs class
    on_request: bool = attrs.field(default=False, kw_only=True)  #: only asked when named
    follows: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    choices: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict, kw_only=True, hash=False)
    api: int = attrs.field(default=API, kw_only=True)

    @property
    def family(self) -> str:
        """The word before the first dot."""
        return self.name.partition(".")[0]


@attrs.frozen
class FamilyEntry:
    """A family's default: ``target`` is a function from a query to the name of a solver.

    With ``kind`` the query's workload is lowered to that kind first.
    """

    name: str
    target: str
    summary: str
    kind: str | None = attrs.field(default=None, kw_only=True)
    api: int = attrs.field(default=API, kw_only=True)


@attrs.frozen
class KindEntry:
    """A kind of workload: ``target`` is the attrs class of its content.

    Tables (.toml, .json) are read into the class, unless ``suffix`` says in which files
    workloads of the kind stand; a `Reader` reads those.
    """

    name: str
    target: str
    summary: str
    suffix: str | None = attrs.field(default=None, kw_only=True)
    api: int = attrs.field(default=API, kw_only=True)


@attrs.frozen
class PartEntry:
    """A part of machines: ``target`` is the attrs class that its table is read into.

    ``choice`` names the modelling choice that a machine without the part leaves out. ``shows`` and
    ``draws`` are what ``parcast show MACHINE`` calls where a machine has the part:
    ``shows(machine)`` prints what it amounts to, and ``draws(machine, path)`` writes a picture.
    """

    name: str
    target: str
    summary: str
    choice: str = attrs.field(default="", kw_only=True)
    shows: str | None = attrs.field(default=None, kw_only=True)
    draws: str | None = attrs.field(default=None, kw_only=True)
    api: int = attrs.field(default=API, kw_only=True)


@attrs.frozen
class Resource:
    """A machine or a workload that a package ships as a file, or measured data as a folder."""

    name: str
    path: Traversable
    api: int = attrs.field(default=API, kw_only=True)


def resources(package: str, suffix: str, folder: str = "") -> tuple[Resource, ...]:
    """Return the files of a package, or a folder of it, that end so, named without the suffix."""
    paths = [path for path in (files(package) / folder).iterdir() if path.name.endswith(suffix)]
    by_name = {path.name.removesuffix(suffix): path for path in paths}
    return tuple(Resource(name, path) for name, path in sorted(by_name.items()))


@attrs.frozen
class PredictorEntry:
    """Predicts points of measured series from others: ``target(question) -> predictions``.

    The `parcast.model.Question` has no measured value of what is to be predicted; the predictions
    are those of its ``points`` in order, a refused one with its reason. Without the module that it
    ``needs`` it is only asked when named.
    """

    name: str
    target: str
    summary: str
    needs: str = attrs.field(default="", kw_only=True)
    api: int = attrs.field(default=API, kw_only=True)


@attrs.frozen
class Reader:
    """Reads files by suffix: ``target(path)`` returns a `Workload` or a `Machine`.

    With a ``mark`` it reads only those files in whose first 64 KiB this regular expression is
    found: others may be tables, or another reader's. With the suffix ``""`` it reads files of
    suffixes that nobody else reads, and folders and patterns such as ``run-*.json``, of which the
    mark is searched for in the names of their files, one a line. One that is ``alike`` can take
    ranks that have no file for the like of others, where `parcast.files.ASSUMED_ALIKE` says so.
    What a ``command`` takes is no workload, and whoever gives it for one is told the command.
    ``shown`` reads what ``parcast show`` prints, where ``target`` refuses what no solver takes.
    """

    suffix: str
    target: str
    summary: str
    mark: str = attrs.field(default="", kw_only=True)
    alike: bool = attrs.field(default=False, kw_only=True)
    command: str = attrs.field(default="", kw_only=True)
    shown: str = attrs.field(default="", kw_only=True)
    api: int = attrs.field(default=API, kw_only=True)

    @property
    def name(self) -> str:
        """The suffix, which no two readers may share; with a mark, no two of one package."""
        module = self.target.partition(":")[0]
        package = f"-{module.partition('.')[0]}" if self.mark else ""
        return (self.suffix or "folder") + package


@attrs.frozen
class Writer:
    """Writes results by suffix: ``target(results, path)``."""

    suffix: str
    target: str
    summary: str
    api: int = attrs.field(default=API, kw_only=True)

    @property
    def name(self) -> str:
        """The suffix, which no two writers may share."""
        return self.suffix


@attrs.frozen
class KernelEntry:
    """Compiled kernels: ``target()`` asks what compiles them; `parcast.plugins.warm` calls it."""

    name: str
    target: str
    summary: str
    api: int = attrs.field(default=API, kw_only=True)


@attrs.frozen
class Lowering:
    """Turns a workload of one kind into another: ``target(workload, query) -> workload, notes``.

    One that makes much of little (a loop's iterations written out) is ``on_request``: it is not
    followed to a solver that nobody named. Of one that is ``exact`` bounds are bounds of the
    workload, of one that is ``below`` lower bounds are. ``cost`` names a function from the query to
    the seconds that the conversion takes, where they are more than a solver's. What is made by one
    that is ``shared`` is made once for all solvers: it does not see their options.
    """

    source: str
    goal: str
    target: str
    summary: str
    exact: bool = attrs.field(default=False, kw_only=True)
    below: bool = attrs.field(default=False, kw_only=True)
    on_request: bool = attrs.field(default=False, kw_only=True)
    cost: str | None = attrs.field(default=None, kw_only=True)
    shared: bool = attrs.field(default=False, kw_only=True)
    api: int = attrs.field(default=API, kw_only=True)

    @property
    def name(self) -> str:
        """``source -> goal``."""
        return f"{self.source} -> {self.goal}"


Entry = (
    SolverEntry
    | FamilyEntry
    | KindEntry
    | PartEntry
    | Resource
    | PredictorEntry
    | Reader
    | Writer
    | Lowering
    | KernelEntry
)


def load(target: str) -> Any:
    """Return what ``"module:attribute"`` names.

    Raises
    ------
    PluginError
        If it cannot be imported.
    """
    module, _, attribute = target.partition(":")
    try:
        # never from `sys.modules`, where another thread's half-imported module already stands
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise PluginError(f"{target!r} cannot be imported: {error}") from error


def load_class(target: str) -> type:
    """Return the attrs class that ``"module:attribute"`` names (see `load`)."""
    value = load(target)
    if not isinstance(value, type) or not attrs.has(value):
        raise PluginError(f"{target!r} is no attrs class")
    return value
