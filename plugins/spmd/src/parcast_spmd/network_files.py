"""Queuing networks in files: JSON, and JMT's .jmva and .jsimg."""

from __future__ import annotations

import json
from pathlib import Path

import attrs

from parcast.errors import FileError
from parcast.files import check_file, read_xml, write_text
from parcast_spmd.mixed.network import MixedNetwork
from parcast_spmd.mva.closed_network import ClosedNetwork
from parcast_spmd.mva.json_files import read_network

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
