"""An empty dataset to fill in."""

from __future__ import annotations

from pathlib import Path

from parcast.errors import FileError
from parcast.files import write_text

_TABLE = """\
name = "{name}"                        # how parcast score asks for it
summary = ""                          # what was run where, in a line
source = ""                           # who measured it, or where it is published
commit = ""                           # the commit of that source, where it has one
licence = ""                          # its SPDX name (Apache-2.0); "facts" if published figures
method = ""                           # how: which timer, how many runs, median or mean
unit = "s"                            # of the column value; of a rate "samples/s" or the like
simulated = false                     # true where another program gave the times
counts = "nodes"                      # what the column size counts
remarks = []                          # sentences: which figures to mind, and why
unrecorded = ""                       # why errors here are to widen no interval, if they are not:
                                      # such as that repeated runs are as far apart as predictions

# Which points are predicted without having been seen, stated once and before any prediction:
#   "largest"  the largest size of each series that has several
#   "all"      nothing calibrates: workload and machine state all numbers
#   "none"     all were seen when the model was made
# or two lists of sizes, such as: blind = [128, 256] and calibrate = [16, 32, 64]
[split]
blind = "largest"

# Who had seen the times that are blind, such as a solver that was fitted to them, and what for:
# it is not judged as blind.
# [seen]
# "spmd" = "its rates were fitted to these runs"

# Every column of points.csv beside series, size, value, work, low, high and bottleneck, with its
# unit: "1" where it has none, "text" where it is a text. Only what is known before a run.
[columns]
processes = "1"

# For solvers: the workload and the machine of a point, as names or files in this folder; a column
# in braces stands for its value. Without this table rules such as ideal are asked alone.
# [modeling]
# workload = "solver.toml"
# machine = "cluster.toml"
# p = "processes"                     # the column with the number of processes
# settings = []                       # columns that are set by their name, as by --set
# fit = "work"                        # a parameter of the workload, chosen in each series so that
#                                     # its calibrating points come out right
# solvers = ["spmd"]                  # who is asked where nobody is named
"""

_POINTS = """\
# One line for each point, the median of its runs; low and high are the shortest and longest run.
# series: the curve that a point belongs to, such as a code on a machine with its input
# work: how much is done, relative to other points of the series; leave it out where all do the same
# bottleneck: processor, network, storage or synchronization, where a measurement shows it
series,size,value,low,high,processes
# stencil on a,2,14.1,13.9,14.6,128
# stencil on a,4,7.6,7.5,7.8,256
"""


def write_template(folder: Path) -> None:
    """Write the two files of an empty dataset into a new folder.

    Raises
    ------
    FileError
        If the folder is there already, or cannot be made.
    """
    if folder.exists():
        raise FileError(f"{folder} is there already; name a new folder")
    try:
        folder.mkdir()
    except OSError as error:
        raise FileError(f"{folder} cannot be made: {error.strerror}") from None
    write_text(folder / "dataset.toml", _TABLE.format(name=folder.name))
    write_text(folder / "points.csv", _POINTS)
