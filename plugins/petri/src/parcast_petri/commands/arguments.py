"""What commands about nets take: a file with a net, or a program on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from parcast import Registry
from parcast.comparison import lower
from parcast.errors import FileError, UnknownNameError, did_you_mean
from parcast.model import Query
from parcast_petri.nets.arrays import Arrays, kernel_arrays
from parcast_petri.nets.net import Net
from parcast_petri.nets.net_files import read_json
from parcast_petri.nets.pnml.reading import read_pnml
from parcast_petri.options import Options
from parcast_petri.programs.folded import folded_net
from parcast_petri.programs.nodes import Nodes
from parcast_petri.solvers.preparation import build_program, loads, program_arrays

_OPTIONS = [field.name for field in attrs.fields(Options)]
_NETS = (".json", ".pnml", ".xml", ".tapn")

#: The machine of a program's net where none is given.
ASSUMED = {
    "name": "assumed",
    "processor": {"rate": "1 GFLOP/s"},
    "network": {"startup": "1 us", "bandwidth": "1 GB/s"},
    "storage": {"bandwidth": "1 GB/s"},
}


@attrs.frozen
class Subject:
    """A net, how it is played, and what is to be said about how it came to be."""

    net: Net
    arrays: Arrays
    notes: tuple[str, ...] = ()
    source: Path | None = None  #: the PNML file


def subject(
    registry: Registry,
    what: str,
    machine: str | None,
    p: int,
    settings: Sequence[str],
    *,
    folded: bool = False,
) -> Subject:
    """Return the net of a file, or of a program at p processes, its loops written out or kept.

    Raises
    ------
    ParcastError
        If there is no such program or machine, or no net of it.
    """
    path = Path(what)
    if _file_of(path).suffix.lower() in _NETS and _file_of(path).exists():
        if folded:
            raise FileError(f"{path} is a net already: --folded is for programs; leave it out")
        return read_net(path)
    notes = []
    if machine is None:
        notes.append("no --machine: 1 GFLOP/s, 1 us and 1 GB/s are assumed")
    query = query_of(registry, what, machine or ASSUMED, p, settings)
    if folded:
        folding = folded_net(query)
        net = attrs.evolve(folding.net, name=f"{folding.net.name} folded")
        return Subject(net, kernel_arrays(net, "plain"), (*notes, *folding.notes))
    program = build_program(query, Nodes(loads(query)))
    return Subject(program.net, program_arrays(query, program), tuple(notes))


def read_net(path: Path) -> Subject:
    """Return the net of a file, by its suffix; ``FILE#NAME`` names one of several."""
    file = _file_of(path)
    if file.suffix.lower() == ".json":
        net = read_json(path)
        return Subject(net, kernel_arrays(net, "plain"))
    if file.suffix.lower() in _NETS:
        document = read_pnml(file, str(path)[len(str(file)) + 1 :] or None)
        source = None if document.unfolded or file != path else file
        return Subject(document.net, kernel_arrays(document.net, "plain"), document.notes, source)
    raise FileError(f"{path}: nets are read from {', '.join(_NETS)}")


def _file_of(path: Path) -> Path:
    """Return the file of ``FILE#NAME``."""
    return path if path.exists() else Path(str(path).partition("#")[0])


def query_of(
    registry: Registry, program: str, machine: Any, p: int, settings: Sequence[str]
) -> Query:
    """Return the query about a program on a machine, as `petri.mean` is asked it."""
    workload, target = registry.workload(program), registry.machine(machine)
    parameters: dict[str, Any] = {}
    stated: dict[str, Any] = {}
    for text in settings:
        name, sign, value = text.partition("=")
        option = name.removeprefix("petri.")
        if name != option and option in _OPTIONS and sign:
            stated[option] = value
        elif name in workload.parameters and sign:
            parameters[name] = _number(name, value)
        else:
            names = [*workload.parameters, *(f"petri.{key}" for key in _OPTIONS)]
            hint = did_you_mean(name, names)
            raise UnknownNameError(
                f"--set {text}: give NAME=VALUE of a parameter or an option of petri.{hint}"
            )
    from parcast.files import structure

    options = structure(stated, Options, "option", "petri")
    query = Query(workload=workload, machine=target, p=p, d=target.storage.disks,
                  parameters=parameters, options=options)  # fmt: skip
    return lower(registry.lowerings, query, "program")[0]


def _number(name: str, text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise FileError(f"--set {name}={text}: {text!r} is no number") from None
