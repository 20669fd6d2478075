"""Profiles of Score-P (CUBE): an archive of anchor.xml, and for each metric an index and values."""

from __future__ import annotations

import gzip
import struct
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import FileError, shorten
from parcast_profiles.profile import Profile, Region, communicates, joined
from parcast_profiles.tree import beside_note, overlap_note

_UNITS = {"sec": 1.0, "s": 1.0, "msec": 1e-3, "usec": 1e-6, "nsec": 1e-9}
_TYPES = {"DOUBLE": "f8", "FLOAT": "f8", "UINT64": "u8", "INT64": "i8", "INTEGER": "i8",
          "UNSIGNED INTEGER": "u8", "MAXDOUBLE": "f8", "MINDOUBLE": "f8"}  # fmt: skip

#: Bytes of the description, and of a metric's values, unpacked.
_MOST_XML, _MOST_VALUES = 1 << 28, 4 << 30

_INDEX, _PLAIN, _PACKED = b"CUBEX.INDEX", b"CUBEX.DATA", b"ZCUBEX.DATA"
#: What an index says that lists no call paths: all are stored.
_DENSE = 3

Floats = NDArray[np.float64]


@attrs.frozen
class _Call:
    """A call path: its region, and the paths below it."""

    number: int
    region: str
    below: tuple[int, ...]


@attrs.frozen(kw_only=True)
class _Anchor:
    """What anchor.xml says."""

    metrics: Mapping[str, Any]
    calls: Mapping[int, _Call]  #: in the order of the tree
    roots: tuple[int, ...]
    paradigms: Mapping[str, str]  #: of regions
    locations: int
    masters: list[int]  #: the first thread of each process


def read(path: Path) -> Profile:
    """Return the profile in a .cubex file.

    Raises
    ------
    FileError
        If it is damaged, or no time was measured.
    """
    try:
        with tarfile.open(path, "r:") as archive:
            return _profile(archive, path)
    except (tarfile.TarError, EOFError, OSError, zlib.error, ET.ParseError, struct.error,
            ValueError, KeyError, AttributeError, TypeError, IndexError, OverflowError,
            RecursionError) as error:  # fmt: skip
        reason = shorten(" ".join(str(error).split()) or type(error).__name__, 160)
        raise FileError(f"{path}: it is no archive of CUBE, or damaged: {reason}") from None


def _profile(archive: tarfile.TarFile, path: Path) -> Profile:
    anchor = _anchor(_member(archive, "anchor.xml", _MOST_XML))
    metric = _time(anchor.metrics, path)
    factor = _UNITS.get(metric["uom"].lower())
    if factor is None:
        raise FileError(f"{path}: time is in {shorten(metric['uom'])!r}, which is no unit")
    exclusive_seconds = _exclusive(_values(archive, metric, anchor), metric, anchor)
    visits, calls = _visits(archive, anchor), _names(anchor)
    regions, below, beside = [], 0.0, 0.0
    by_rank = np.zeros(len(anchor.masters))
    for number, seconds in exclusive_seconds.items():
        of_masters = seconds[anchor.masters] * factor
        total = float(of_masters.sum())
        by_rank += of_masters
        below, beside = below + max(-total, 0.0), beside + float(seconds.sum()) * factor - total
        name, mpi = calls[number]
        count = float(visits[number][anchor.masters].sum()) if number in visits else None
        regions.append(Region(name, max(total, 0.0), mpi, count))
    listed = joined(regions, str(path))
    notes = list(overlap_note(below, sum(region.seconds for region in listed)))
    notes += beside_note(anchor.locations - len(anchor.masters), beside)
    return Profile(
        where=str(path),
        tool="Score-P (CUBE)",
        processes=len(anchor.masters),
        regions=listed,
        by_rank=tuple(by_rank.tolist()),
        notes=tuple(notes),
        about={"measured as": f"{metric['uniq_name']}, {metric['type'].lower()}"},
    )


def _time(metrics: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Return the metric of time: it has this name, or is shown by it."""
    for metric in (metrics.get("time"), *metrics.values()):
        if metric and (metric["uniq_name"] == "time" or metric["disp_name"].lower() == "time"):
            return metric  # type: ignore[no-any-return]
    others = shorten(", ".join(metrics) or "none")
    raise FileError(f"{path}: it has no metric 'time', whose others are: {others}")


def _member(archive: tarfile.TarFile, name: str, limit: int) -> bytes:
    """Return a file of the archive, unpacked."""
    member = archive.getmember(name)
    file = archive.extractfile(member)
    if file is None or member.size > limit:
        raise ValueError(f"{name} is no file, or has over {limit >> 20} MiB")
    data = file.read()
    if data[:2] != b"\x1f\x8b":
        return data
    unpacked = gzip.GzipFile(fileobj=archive.extractfile(member)).read(limit + 1)
    if len(unpacked) > limit:
        raise ValueError(f"{name} has over {limit >> 20} MiB unpacked")
    return unpacked


def _anchor(data: bytes) -> _Anchor:
    if b"<!ENTITY" in data:
        raise ValueError("anchor.xml declares entities")
    root = ET.fromstring(data)  # noqa: S314  (no entities)
    metrics = {}
    for metric in root.iter("metric"):
        facts = {name: (metric.findtext(name) or "").strip() for name in
                 ("uniq_name", "disp_name", "dtype", "uom")}  # fmt: skip
        metrics[facts["uniq_name"]] = facts | {"id": metric.get("id", ""),
                                               "type": metric.get("type", "EXCLUSIVE")}  # fmt: skip
    regions = {region.get("id"): (region.findtext("name") or "?").strip()
               for region in root.iter("region")}  # fmt: skip
    paradigms = {(region.findtext("name") or "?").strip(): (region.findtext("paradigm") or "")
                 .strip().lower() for region in root.iter("region")}  # fmt: skip
    calls: dict[int, _Call] = {}
    for node in root.iter("cnode"):
        number = int(node.get("id", ""))
        below = tuple(int(child.get("id", "")) for child in node.findall("cnode"))
        calls[number] = _Call(number, regions[node.get("calleeId")], below)
    under = {number for call in calls.values() for number in call.below}
    process, thread = _words(root)
    groups = [[int(place.get("Id", "")) for place in group.iter(thread)]
              for group in root.iter(process)
              if (group.findtext("type") or "process").strip() == "process"]  # fmt: skip
    count = sum(1 for _ in root.iter(thread))
    masters = [threads[0] for threads in groups if threads]
    if not masters or max(masters) >= count:
        raise ValueError("anchor.xml names no processes")
    return _Anchor(
        metrics=metrics,
        calls=calls,
        roots=tuple(number for number in calls if number not in under),
        paradigms=paradigms,
        locations=count,
        masters=masters,
    )


def _words(root: ET.Element) -> tuple[str, str]:
    """Return what processes and threads are called, which was otherwise before CUBE 4.1."""
    of_old = next(root.iter("locationgroup"), None) is None
    return ("process", "thread") if of_old else ("locationgroup", "location")


def _names(anchor: _Anchor) -> dict[int, tuple[str, bool]]:
    """Return the region of each call path, and whether it communicates, as all below it does."""
    names: dict[int, tuple[str, bool]] = {}
    stack = [(number, "") for number in anchor.roots]
    while stack:
        number, outer = stack.pop()
        call = anchor.calls[number]
        if not outer and (communicates(call.region) or anchor.paradigms[call.region] == "mpi"):
            outer = call.region
        names[number] = (outer or call.region, bool(outer))
        stack += [(child, outer) for child in call.below]
    return names


def _order(anchor: _Anchor, metric: Mapping[str, Any]) -> list[int]:
    """Return call paths in the order in which a metric's index counts them.

    Of exclusive metrics that is depth first; of inclusive ones all paths below one follow each
    other, where depth first comes to it.
    """
    order: list[int] = []
    inclusive = metric["type"] == "INCLUSIVE"
    stack = list(reversed(anchor.roots))
    if inclusive:
        order += anchor.roots
    while stack:
        call = anchor.calls[stack.pop()]
        order += call.below if inclusive else (call.number,)
        stack += reversed(call.below)
    return order


def _values(
    archive: tarfile.TarFile, metric: Mapping[str, Any], anchor: _Anchor
) -> dict[int, Floats]:
    """Return a metric's values at all locations, by call path; what is not stored is 0."""
    index = _member(archive, f"{metric['id']}.index", _MOST_XML)
    if not index.startswith(_INDEX):
        raise ValueError("the index of time begins otherwise")
    at = len(_INDEX)
    sign = "<" if struct.unpack_from("<i", index, at)[0] == 1 else ">"
    if index[at + 6] == _DENSE:
        count = len(anchor.calls)
        stored: Sequence[int] = range(count)
    else:
        (count,) = struct.unpack_from(f"{sign}i", index, at + 7)
        stored = struct.unpack_from(f"{sign}{max(count, 0)}i", index, at + 11)
    kind = np.dtype(sign + _TYPES[metric["dtype"]])
    size = count * anchor.locations * kind.itemsize
    if size > _MOST_VALUES or count > len(anchor.calls):
        raise ValueError("the index of time has more call paths than there are")
    data = _member(archive, f"{metric['id']}.data", _MOST_VALUES)
    plain = data[len(_PLAIN) :] if data.startswith(_PLAIN) else _unpacked(data, sign, size)
    if len(plain) != size:
        raise ValueError(f"time has {len(plain):,} bytes of values in place of {size:,}")
    table = np.frombuffer(plain, kind).reshape(count, anchor.locations).astype(float)
    order = _order(anchor, metric)
    return {order[place]: row for place, row in zip(stored, table, strict=True)}


def _unpacked(data: bytes, sign: str, limit: int) -> bytes:
    """Return packed values: their pieces one after another."""
    if not data.startswith(_PACKED):
        raise ValueError("the values of time begin otherwise")
    at = len(_PACKED)
    (pieces,) = struct.unpack_from(f"{sign}q", data, at)
    sizes = struct.unpack_from(f"{sign}{3 * pieces}q", data, at + 8)[2::3]
    at += 8 + 24 * pieces
    whole = bytearray()
    for size in sizes:
        if size:
            piece = zlib.decompressobj()
            whole += piece.decompress(data[at : at + size], limit - len(whole) + 1)
            at += size
        if len(whole) > limit:
            raise ValueError("time has more values than call paths and locations")
    return bytes(whole)


def _exclusive(
    values: Mapping[int, Floats], metric: Mapping[str, Any], anchor: _Anchor
) -> dict[int, Floats]:
    """Return what call paths took themselves."""
    nothing = np.zeros(anchor.locations)
    if metric["type"] != "INCLUSIVE":
        return {number: values.get(number, nothing) for number in anchor.calls}
    return {
        number: values.get(number, nothing)
        - sum((values.get(child, nothing) for child in call.below), nothing)
        for number, call in anchor.calls.items()
    }


def _visits(archive: tarfile.TarFile, anchor: _Anchor) -> Mapping[int, Floats]:
    """Return how often call paths were taken, where that is in the archive."""
    metric = anchor.metrics.get("visits")
    if metric is None or f"{metric['id']}.data" not in archive.getnames():
        return {}
    return _values(archive, metric, anchor)
