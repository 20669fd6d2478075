"""Profiles that other tools wrote: seconds of regions, as phases on other machines."""

from __future__ import annotations

from parcast import KindEntry, Lowering, Reader

#: What files of any suffix begin with, and the names of files in folders.
_ANY = (
    r"\A(?:__rec=|\d+ templated_functions|<\?xml[^>]*>\s*(?:<!--.*?-->\s*)*<!DOCTYPE HPCToolkit)"
    r"|(?m:^(?:profile\.\d+\.\d+\.\d+|experiment\.xml|profile\.cubex|meta\.db)$)"
)

#: What a list of trees of calls begins with, and no list of events.
TREE = r'\[\s*\{\s*"(?:name|frame|metrics)"(?![^{}]*"ph"\s*:)'

_READ = {
    ".cali": ("A profile of Caliper.", ""),
    ".cubex": ("A profile of Score-P (CUBE).", ""),
    ".sqlite": ("What Nsight Systems exports.", ""),
    ".json": (
        "A profile of Caliper, as cali-query prints it, or of Hatchet and Thicket.",
        r'"column_metadata"|\A\s*(?:' + TREE + r'|\{\s*"graph")',
    ),
    ".db": ("A database of HPCToolkit 4, which is refused with what to do.", ""),
    ".csv": ("A table of events, as Pipit has it.", r"\ATimestamp \((?:m|u|n)?s\)"),
    ".sts": ("A profile of Projections (Charm++).", ""),
    ".xml": ("A profile of HPCToolkit.", "<!DOCTYPE HPCToolkit"),
    "": ("A profile of TAU, of HPCToolkit or of Caliper, or a folder with one.", _ANY),
}


parcast_kinds = (
    KindEntry(
        "profile",
        "parcast_profiles.profile:Profiled",
        "How long each region took, summed over a run.",
        suffix=".cali",
    ),
)


parcast_readers = tuple(
    Reader(suffix, "parcast_profiles.workload:read", summary, mark=mark)
    for suffix, (summary, mark) in _READ.items()
)


parcast_lowerings = (
    Lowering(
        "profile",
        "phases",
        "parcast_profiles.lowerings:phases",
        "A phase for each region, as long as recorded, at its own number of processes.",
        shared=True,
    ),
    Lowering(
        "profile",
        "program",
        "parcast_profiles.lowerings:program",
        "Every process spends the mean of what each region took, one after another.",
        shared=True,
    ),
)
