"""Profiles from files, whatever wrote them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from parcast import Workload
from parcast.errors import FileError
from parcast.plugins import load
from parcast_profiles import TREE
from parcast_profiles.profile import Profile, Profiled

_BEGINNING = 1 << 16

#: A larger file of text or XML is no profile.
MOST_BYTES = 1 << 30

#: What shows of a profile by itself.
_SHOWN = 12


@attrs.frozen
class Format:
    """A format of profiles: what a file of it begins with, and its reader."""

    mark: bytes
    target: str
    events: bool = False  #: its lines are events, as many as a run has

    def begins(self, beginning: bytes) -> bool:
        """Tell whether a file that begins so is of this format."""
        return re.search(self.mark, beginning, re.DOTALL) is not None


_READERS = "parcast_profiles.readers"
FORMATS = (
    Format(rb"\A__rec=|\n__rec=", f"{_READERS}.caliper:read"),
    Format(rb"\A\d+ templated_functions", f"{_READERS}.tau:read"),
    Format(rb"\ASQLite format 3\x00", f"{_READERS}.nsight:read"),
    Format(rb"<!DOCTYPE HPCToolkit|<HPCToolkitExperiment", f"{_READERS}.hpctoolkit:read"),
    Format(rb"\A.{257}ustar", f"{_READERS}.cube:read"),
    Format(
        rb"\A(?:\xef\xbb\xbf)?[Tt]imestamp \([mun]?s\)", f"{_READERS}.pipit_csv:read", events=True
    ),
    Format(rb"\APROJECTIONS_ID", f"{_READERS}.projections:read"),
    Format(rb"\AHPCTOOLKIT(?:meta|prof|ctxt|trce)", f"{_READERS}.hatchet_json:refuse_database"),
    Format(
        rb"\A\s*(?:" + TREE.encode() + rb'|\{\s*"graph")',
        f"{_READERS}.hatchet_json:read",
    ),
    Format(rb"\A\s*\{", f"{_READERS}.caliper_json:read"),
)

#: The file that stands for a folder.
_OF_FOLDERS = ("experiment.xml", "profile.cubex", "profile.0.0.0", "meta.db")


def read(path: Path) -> Workload:
    """Return the profile in a file or a folder as a workload.

    Raises
    ------
    FileError
        If it is of no known format, or damaged.
    """
    try:
        profile = _profile(_file(path))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    except FileError as error:  # names in files may have several lines
        raise FileError(" ".join(str(error).split())) from None
    return workload(profile, path.stem)


def _profile(file: Path) -> Profile:
    """Return the profile in a file, by what it begins with."""
    with file.open("rb") as opened:
        beginning = opened.read(_BEGINNING)
    file_format = next((entry for entry in FORMATS if entry.begins(beginning)), None)
    if file_format is None:
        raise FileError(
            f"{file}: it begins as no profile does of Caliper, Score-P, TAU, HPCToolkit, Nsight "
            "Systems, Projections, Pipit, Hatchet or Thicket"
        )
    if file.stat().st_size > MOST_BYTES and not file_format.events:
        raise FileError(f"{file} has over {MOST_BYTES >> 30} GiB; profiles are smaller")
    profile: Profile = load(file_format.target)(file)
    return profile


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in _OF_FOLDERS:
        if (path / name).is_file():
            return path / name
    raise FileError(f"{path} has no profile: none of {', '.join(_OF_FOLDERS)}")


def workload(profile: Profile, name: str) -> Workload:
    """Return a profile as a workload."""
    return Workload(
        name=name,
        kind="profile",
        content=Profiled(profile),
        parameters={"speed": 1.0, "mpi": 1.0},
        summary=f"A profile of {profile.processes:,} processes, {len(profile.regions):,} regions.",
        data=_facts(profile),
        where=profile.where,
        processes=profile.processes,
    )


def _facts(profile: Profile) -> Mapping[str, Any]:
    """Return what ``parcast show`` says."""
    total = profile.seconds
    facts: dict[str, Any] = {"format": profile.tool, **profile.about, "ranks": profile.processes}
    facts["time"] = f"{total:.9g} s of all ranks together, {total / profile.processes:.6g} s of one"
    share = profile.communication / total
    facts["communication"] = f"{profile.communication:.6g} s ({share:.1%})"
    facts["regions"] = {
        region.name: f"{region.seconds:.6g} s ({region.seconds / total:.1%})"
        + ("" if region.calls is None else f", {region.calls:,.0f} calls")
        for region in profile.regions[:_SHOWN]
    }
    if len(profile.regions) > _SHOWN:
        facts["regions"]["..."] = f"{len(profile.regions) - _SHOWN:,} more"
    if profile.notes:
        facts["notes"] = {str(number): note for number, note in enumerate(profile.notes, 1)}
    return facts
