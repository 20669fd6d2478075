"""``training.calculon``: a step by the program Calculon, where a checkout of it is.

PyPI's ``calculon`` is another program; this one (calculon-ai/calculon, Apache-2.0) is run from its
folder, by its command ``llm`` and the files that this reads and writes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from parcast import Assumption, Prediction, Query
from parcast.errors import FileError, InvalidPointError, ParcastError, SolveError, UnsupportedError
from parcast.model import Parts, Seconds
from parcast_training.steps.asking import check_placement
from parcast_training.steps.calculon_files import (
    application,
    domain_of,
    execution,
    lacking,
    system,
)
from parcast_training.steps.job_settings import job_at
from parcast_training.steps.layout import layout_of
from parcast_training.steps.unmodelled import configuration_notes

#: Names the folder of a checkout.
VARIABLE = "PARCAST_CALCULON"

_MISSING = (
    f"Calculon is not there: {VARIABLE} is to name a folder with its bin/calculon and "
    "calculon/llm, a checkout of calculon-ai/calculon (PyPI's calculon is another program)"
)

#: What Calculon's seconds are of, by the names of its statistics.
_PARTS = {
    "compute": ("fw_time", "bw_time", "optim_step_time", "recompute_time"),
    "communication": (
        "recomm_exposed_time", "tp_comm_exposed_time", "pp_comm_exposed_time",
        "dp_comm_exposed_time",
    ),
    "io": ("fw_offload_exposed_time", "bw_offload_exposed_time"),
    "synchronization": ("bubble_time",),
}  # fmt: skip

_BINDINGS = {"compute": "processor", "communication": "network", "io": "storage"}


@attrs.frozen(kw_only=True)
class Options:
    """What a user may choose."""

    #: a system's file in the checkout, such as systems/a100_80g.json, in place of the machine
    system: str = ""
    limit: Seconds = 60.0  #: seconds that Calculon may take


class Calculon:
    """Predicts steps by the program Calculon; what it does not have is refused or noted."""

    def missing(self) -> str | None:
        """Return None, or what is to be installed first."""
        return None if _checkout() else _MISSING

    def supports(self, query: Query) -> str | None:
        """Return None, or what Calculon lacks."""
        try:
            check_placement(query)
            layout_of(job_at(query), query.p)
        except ParcastError as error:
            return str(error)
        return self.missing() or next(lacking(job_at(query)), None)

    def assumptions(self, query: Query) -> Iterator[Assumption]:
        """Yield what Calculon takes for granted."""
        contention = query.machine.network.contention or "none"
        yield Assumption(
            "messages share nothing",
            "" if contention == "none" else f"contention is {contention!r}",
        )
        yield Assumption("nothing is computed before the first layer or after the last")
        yield Assumption(
            "scores and both parts of a layer have dropout",
            "" if job_at(query).dropout else "none has",
        )

    def cost(self, query: Query) -> float:  # noqa: ARG002  (as solvers have it)
        """Return about how many seconds an answer takes: Python and NumPy are started."""
        return 0.3

    def solve(self, query: Query) -> Prediction:
        """Return the time of a step, and what Calculon says where it goes."""
        options: Options = query.options or Options()
        described = own_system(options.system) if options.system else system(query)
        layout = execution(query, domain_of(described))
        seconds = run(application(job_at(query)), layout, described, options.limit)
        parts = {part: sum(seconds[name] for name in names) for part, names in _PARTS.items()}
        longest = max(parts, key=lambda part: parts[part])
        return Prediction(
            time=seconds["total_time"],
            parts=Parts(**parts),
            binding=_BINDINGS.get(longest, longest),
            notes=(*_notes(options), *configuration_notes(job_at(query))),
            details={"seconds": {name: value for name, value in seconds.items() if value}},
        )


def _notes(options: Options) -> tuple[str, ...]:
    if not options.system:
        return ()
    return (f"the machine is Calculon's own {options.system}, not the one asked",)


def run(
    model: Mapping[str, Any], layout: Mapping[str, Any], machine: Mapping[str, Any], limit: float
) -> dict[str, float]:
    """Return the seconds of a step that Calculon writes, by the names of its statistics.

    Raises
    ------
    InvalidPointError
        If Calculon says that the layout cannot be or does not fit, or takes longer than the limit.
    SolveError
        If it fails, or writes no time.
    """
    checkout = _present()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{name}.json" for name in ("application", "execution", "system")]
        for file, table in zip(files, (model, layout, machine), strict=True):
            file.write_text(json.dumps(table), encoding="utf-8")
        statistics = Path(folder) / "statistics.json"
        command = [checkout / "bin" / "calculon", "llm", *files, statistics]
        _run([sys.executable, *map(str, command)], checkout, limit)
        return _read(statistics)


def _run(command: list[str], checkout: Path, limit: float) -> None:
    try:
        process = subprocess.run(  # noqa: S603  # the user's own program
            command, capture_output=True, text=True, timeout=limit, check=False,
            env={**os.environ, "PYTHONPATH": str(checkout)},
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise InvalidPointError(
            f"Calculon has run for {limit:g} s, the limit; --set training.calculon.limit to more"
        ) from error
    if process.returncode:
        last = (process.stdout.strip() or process.stderr.strip()).splitlines()[-1:] or ["no word"]
        if last[0].startswith("ERROR: "):
            raise InvalidPointError(f"Calculon refuses: {last[0].removeprefix('ERROR: ')}")
        raise SolveError(f"Calculon ended with {process.returncode}: {last[0]}")


def _read(statistics: Path) -> dict[str, float]:
    names = ["total_time", *(name for names in _PARTS.values() for name in names)]
    try:
        table = json.loads(statistics.read_text(encoding="utf-8"))
        return {name: float(table[name]) for name in names}
    except (OSError, ValueError, KeyError) as error:
        raise SolveError(f"Calculon's statistics have no {error}") from None


def own_system(name: str) -> dict[str, Any]:
    """Return a system that stands in the checkout.

    Raises
    ------
    FileError
        If none does by this name.
    """
    path = _present() / name
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"training.calculon.system = {name!r}: {path}: {reason}") from None


def _present() -> Path:
    checkout = _checkout()
    if checkout is None:
        raise UnsupportedError(_MISSING)
    return checkout


def _checkout() -> Path | None:
    """Return the folder that the environment names, where Calculon is in it."""
    program = os.environ.get(VARIABLE)
    folder = Path(program).absolute() if program else None
    if folder is None or not (folder / "bin" / "calculon").is_file():
        return None
    return folder if (folder / "calculon" / "llm").is_dir() else None
