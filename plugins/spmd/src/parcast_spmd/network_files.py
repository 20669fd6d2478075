"""Queuing networks in files: JSON, and JMT's .jmva and .jsimg."""

from __future__ import annotations

import json
from pathlib import Path

import attrs

from parcast.errors import FileError, UnsupportedError
from parcast.files import check_file, read_xml, write_text
from parcast_spmd.jmt.elements import PetriPartError
from parcast_spmd.mixed.network import MixedNetwork, MixedSolution, NoSteadyStateError
from parcast_spmd.mva.closed_network import ClosedNetwork, NetworkSolution
from parcast_spmd.mva.json_files import read_network
from parcast_spmd.states.model import ManyStatesError, StatesError
from parcast_spmd.states.solve import StatesSolution

#: Files in XML, which are told apart by their root element.
_XML = {".jmva", ".jsimg", ".jsim", ".xml"}
SUFFIXES = (".json", ".jmva", ".jsimg")


def read(path: Path) -> ClosedNetwork | MixedNetwork:
    """Return the network in a file; what is no closed one of single servers is a mixed one.

    Raises
    ------
    FileError
        If the file cannot be read, or holds a network without an exact or bounded solution.
    """
    if path.suffix.lower() not in _XML:
        return read_network(path)
    from parcast_spmd.jmt.jmva import network_from_jmva
    from parcast_spmd.jmt.jsimg import network_from_jsimg

    root = read_xml(path)
    if root.tag == "model":
        return network_from_jmva(root, str(path))
    if root.tag in {"archive", "sim"}:
        return network_from_jsimg(root, str(path))
    raise FileError(f"{path} holds <{root.tag}>; name a JMVA <model> or a JSIM <archive>.")


@attrs.frozen
class Answer:
    """The solution of a file, and its network where that has a product form or a law by station."""

    network: ClosedNetwork | MixedNetwork | None
    solution: NetworkSolution | MixedSolution | StatesSolution


def solve_file(path: Path, method: str = "auto") -> Answer:
    """Return the solution of the network in a file.

    Simulations of JMT without a product form are solved state by state, or, where these are too
    many, simulated.

    Raises
    ------
    ParcastError
        If the file cannot be read, or its network has no solution here.
    """
    if method in {"states", "simulated"}:
        return Answer(None, _by_states(path, method))
    try:
        return _solved(read(path), path, method)
    except NoSteadyStateError:
        raise
    except (FileError, UnsupportedError) as refusal:
        if method != "auto" or path.suffix.lower() not in _XML or read_xml(path).tag == "model":
            raise
        try:
            return Answer(None, _by_states(path, method))
        except (FileError, UnsupportedError) as error:
            if isinstance(refusal, PetriPartError) or isinstance(error, NoSteadyStateError):
                raise
            if str(error) == str(refusal):
                raise refusal from None
            reason = str(error).removeprefix(f"{path}: ")
            raise UnsupportedError(f"{refusal} State by state: {reason}") from None


def _solved(network: ClosedNetwork | MixedNetwork, path: Path, method: str) -> Answer:
    from parcast_spmd.mixed.solve import solve_mixed
    from parcast_spmd.mva.choice import solve

    if isinstance(network, ClosedNetwork):
        return Answer(network, solve(network, method))
    if method != "auto":
        raise UnsupportedError(
            f"{path} is open, mixed or has several servers, for which there are the methods "
            f"'auto', 'states' and 'simulated', not {method!r}; leave --method out."
        )
    return Answer(network, solve_mixed(network))


def _by_states(path: Path, method: str) -> StatesSolution:
    from parcast_spmd.jmt.states import states_from_jsimg
    from parcast_spmd.states.solve import simulate_states, solve_states

    if path.suffix.lower() not in _XML:
        raise FileError(
            f"{path} is solved state by state only as a JSIM model; name a .jsimg file."
        )
    model = states_from_jsimg(read_xml(path), str(path))
    try:
        if method == "simulated":
            return simulate_states(model, patient=True)
        try:
            return solve_states(model)
        except ManyStatesError:
            if method == "states":
                raise
            return simulate_states(model)
    except StatesError as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise UnsupportedError(f"{path}: {reason}.") from None


def check_writable(path: Path) -> None:
    """Refuse a file that `write` could not write, before anything is computed."""
    check_file(path, "a network", SUFFIXES)


def write(network: ClosedNetwork, path: Path) -> None:
    """Write a network in the format of the file's suffix.

    Raises
    ------
    FileError
        If the suffix is unknown or the file cannot be written.
    UnsupportedError
        If the format cannot hold this network.
    """
    check_writable(path)
    write_text(path, _text(network, path))


def _text(network: ClosedNetwork, path: Path) -> str:
    if path.suffix.lower() == ".json":
        return json.dumps(attrs.asdict(network), indent=1) + "\n"
    if path.suffix.lower() == ".jmva":
        from parcast_spmd.jmt.jmva import jmva_text

        return jmva_text(network)
    from parcast_spmd.jmt.simulation import jsimg_text

    return jsimg_text(network, path.name)
