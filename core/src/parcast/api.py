"""The registry: everything by name, read, asked and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcast.comparison import inputs
from parcast.comparison.inputs import MachineLike, WorkloadLike
from parcast.files.tables import file_to_write
from parcast.files.writing import whole_file
from parcast.model.machine import Machine
from parcast.model.workload import Workload
from parcast.plugins.catalog import Catalog
from parcast.plugins.entries import load

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from parcast.comparison.grid import Placed
    from parcast.comparison.job_placement import Placement
    from parcast.comparison.tasks import Tell
    from parcast.model.query import Prediction
    from parcast.results.results import Results
    from parcast.study.reading import Study


class Registry(Catalog):
    """Every plugin's solvers, machines, workloads and formats, by name, and what answers them.

    Parameters
    ----------
    plugins
        Plugin objects or modules to use instead of the installed ones. The core's own
        kinds, parts and writers are always there.

    Notes
    -----
    There is no global registry; one may be shared between threads once made.
    ``PARCAST_DISABLE_PLUGINS`` (comma-separated names) leaves plugins out, and
    ``PARCAST_STRICT_PLUGINS=1`` raises instead of reporting a bad one.
    """

    def machine(self, machine: MachineLike) -> Machine:
        """Return a machine from its name, a file, a mapping or a value.

        Raises
        ------
        UnknownNameError
            If nothing has this name; a likely one is suggested.
        FileError
            If the file or mapping is wrong; key path and expectation are named.
        """
        return inputs.machine(self, machine)

    def workload(self, workload: WorkloadLike) -> Workload:
        """Return a workload from its name, a file, a mapping or a value (see `machine`).

        A Python function is the program that its source describes.
        """
        return inputs.workload(self, workload)

    def read(self, path: str | Path) -> Machine | Workload:
        """Return the machine or workload that a file describes, whichever it is, to be shown.

        It may be a run that is too long for any solver, which `workload` refuses.
        """
        return inputs.file(self, None, Path(path), Path(path).stem)

    def write(self, results: Results, path: str | Path) -> None:
        """Write results in the format of the file's suffix: the whole file, or nothing of it."""
        path = file_to_write(path)
        with whole_file(path) as part:
            load(self.writer(path).target)(results, part)

    def compare(
        self,
        workload: WorkloadLike | Sequence[WorkloadLike],
        machine: MachineLike | Sequence[MachineLike],
        *,
        p: int | str | Iterable[int | str] | None = None,
        d: int | Iterable[int] | None = None,
        solvers: str | Iterable[str] | None = None,
        mapping: Placed = "block",
        placement: Placement | None = None,
        settings: Mapping[str, Any] | None = None,
        over: Mapping[str, Sequence[Any]] | None = None,
        seed: int = 0,
        measured: Any = None,
        uncertainty: int = 0,
        elasticities: bool | None = None,
        budget: float | None = None,
        per: str | None = None,
        tell: Tell = lambda _: None,
    ) -> Results:
        """Ask solvers about workloads on machines; see `parcast.comparison.compare.compare`."""
        from parcast.comparison.compare import compare

        return compare(
            self,
            workload,
            machine,
            p=p,
            d=d,
            solvers=solvers,
            mapping=mapping,
            placement=placement,
            settings=settings,
            over=over,
            seed=seed,
            measured=measured,
            uncertainty=uncertainty,
            elasticities=elasticities,
            budget=budget,
            per=per,
            tell=tell,
        )

    def study(
        self,
        source: str | Path | Mapping[str, Any] | Study,
        *,
        executor: str | Executor = "processes",
        cache: str | Path | None = "",
        tell: Callable[[int], None] = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> Results:
        """Answer a whole grid of questions; see `parcast.study.answering.study`."""
        from parcast.study.answering import study

        return study(self, source, executor=executor, cache=cache, tell=tell, warn=warn)

    def predict(
        self,
        workload: WorkloadLike,
        machine: MachineLike,
        solver: str,
        *,
        p: int | str | None = None,
        d: int | None = None,
        mapping: Placed = "block",
        placement: Placement | None = None,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Prediction:
        """Return one solver's prediction; see `parcast.comparison.predict.predict`."""
        from parcast.comparison.predict import predict

        return predict(
            self,
            workload,
            machine,
            solver,
            p=p,
            d=d,
            mapping=mapping,
            placement=placement,
            settings=settings,
            seed=seed,
        )
