"""Nodes of hwloc: the levels that a machine's file states."""

from __future__ import annotations

import pytest

from parcast.cli import main
from parcast.errors import FileError
from parcast_network.readers.hwloc import level_sizes

CORE = '<object type="Core"><object type="PU"/><object type="PU"/></object>'


def package(cores, caches=2):
    cache = f'<object type="L3Cache">{CORE * (cores // caches)}</object>'
    return f'<object type="Package"><object type="NUMANode"/>{cache * caches}</object>'


def node(path, *packages):
    parts = "".join(packages)
    head = '<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">'  # as lstopo writes it
    path.write_text(
        f'{head}<topology version="2.0"><object type="Machine">{parts}</object></topology>'
    )
    return path


def test_levels_are_by_cores(tmp_path):
    path = node(tmp_path / "n.xml", package(8), package(8))
    assert level_sizes(path) == (("cache", 4), ("socket", 8), ("node", 16))


def test_the_widest_of_equal_levels_counts(tmp_path):
    assert level_sizes(node(tmp_path / "n.xml", package(4, caches=4))) == (("node", 4),)


def test_the_command_prints_what_a_machine_states(tmp_path, capsys):
    assert main(["network", "levels", str(node(tmp_path / "n.xml", package(8), package(8)))]) == 0
    assert '[[network.levels]]\nname = "socket"\nsize = 8\n' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("packages", "reason"),
    [
        ((package(8), package(4)), "type L3Cache have 2 and 4 cores"),
        ((), "has no cores"),
    ],
)
def test_nodes_that_have_no_levels(tmp_path, packages, reason):
    with pytest.raises(FileError, match=reason):
        level_sizes(node(tmp_path / "n.xml", *packages))


def test_other_files_are_refused(tmp_path):
    (tmp_path / "n.xml").write_text("<platform/>")
    with pytest.raises(FileError, match="<platform> is no <topology> of hwloc"):
        level_sizes(tmp_path / "n.xml")
