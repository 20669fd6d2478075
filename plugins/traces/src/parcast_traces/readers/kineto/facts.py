"""What the files of PyTorch's profiler say of the tool, the devices and where time went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parcast_traces.readers.kineto.profile import Profile, busy

_VERSIONS = ("schemaVersion", "cupti_version", "cuda_runtime_version", "cuda_driver_version",
             "hip_runtime_version", "roctracer_version")  # fmt: skip
_OF_RUN = ("backend", "nccl_version")
#: What is read: all else is skipped.
_READ = ("kernels", "copies", "fills", "kernels that communicate", "operations that communicate",
         "host operations", "user_annotation", "gpu_user_annotation", "cuda_runtime",
         "cuda_driver", "hip_runtime", "xpu_runtime", "runtime")  # fmt: skip
_MOST_STREAMS = 24


def facts_of(profiles: Sequence[Profile]) -> Mapping[str, Any]:
    """Return the facts of all files, sums over all ranks.

    ``work`` is the sum of the durations of all events of a kind; ``busy`` the length of their
    union, of each stream: where events of a stream overlap it is less.
    """
    first = profiles[0]
    counts, taken = Counter[str](), Counter[str]()
    for profile in profiles:
        counts += profile.counts
        taken += profile.taken
    facts: dict[str, Any] = {"tool": _tool(first)}
    if devices := _devices(first):
        facts["devices"] = devices
    facts["files"] = len(profiles)
    if len(profiles) == 1 and "rank" in first.info:
        facts["rank"] = f"{first.info['rank']} of {first.info.get('world_size', 'unknown')}"
    facts["work"] = {kind: _amount(counts[kind], taken[kind]) for kind in _READ if counts[kind]}
    if streams := _streams(profiles):
        facts["busy"] = streams
    if steps := _steps(profiles):
        facts["steps"] = steps
    skipped = {kind: _amount(counts[kind], taken[kind]) for kind in counts if kind not in _READ}
    facts["skipped"] = dict(sorted(skipped.items())) or "nothing"
    if untimed := sum(profile.untimed for profile in profiles):
        facts["events without times"] = f"{untimed:,}"
    return facts


def knows_none(profiles: Sequence[Profile]) -> bool:
    """Tell whether no event is of a kind that PyTorch's profiler has."""
    return not any(profile.counts.keys() & {*_READ, "python_function"} for profile in profiles)


def _steps(profiles: Sequence[Profile]) -> dict[str, str]:
    """Return how long the profiler's steps took: they repeat each other, on all ranks."""
    spans = [[(span.end - span.start) / 1e9 for span in profile.steps] for profile in profiles]
    seconds = np.array([value for lasted in spans for value in lasted])
    if not len(seconds):
        return {}
    several = f", of {len(spans)} ranks" if len(spans) > 1 else ""
    facts = {
        "count": f"{len(seconds)}{several}, as the host began and ended them",
        "mean": f"{seconds.mean():.6g} s",
    }
    if len(seconds) > 1:
        error = seconds.std(ddof=1) / len(seconds) ** 0.5
        quantiles = np.quantile(seconds, (0.05, 0.5, 0.95))
        facts["mean"] += f" +- {error:.2g} s"
        facts["5 %, 50 %, 95 %"] = ", ".join(f"{value:.6g}" for value in quantiles) + " s"
        facts["least, most"] = f"{seconds.min():.6g}, {seconds.max():.6g} s"
    return facts


def _amount(count: int, ns: int) -> str:
    return f"{count:,}, {ns / 1e9:.9f} s"


def _tool(profile: Profile) -> str:
    versions = [f"{name} {profile.facts[name]}" for name in _VERSIONS if name in profile.facts]
    of_run = [f"{name} {profile.info[name]}" for name in _OF_RUN if name in profile.info]
    return ", ".join(["PyTorch's profiler", *versions, *of_run])


def _devices(profile: Profile) -> str:
    devices = profile.facts.get("deviceProperties")
    named = [device.get("name") for device in devices or () if isinstance(device, dict)]
    kinds = Counter(str(name) for name in named if name)
    return ", ".join(f"{count} x {name}" for name, count in kinds.items())


def _streams(profiles: Sequence[Profile]) -> dict[str, str]:
    """Return how long each stream is busy, with what computes and what communicates."""
    streams: dict[str, str] = {}
    for number, profile in enumerate(profiles):
        pairs = {place: list(map(int, column)) for place, column in profile.work.items()}
        for spell in profile.devices:
            pairs.setdefault(spell.place, []).extend((spell.start, spell.end))
        rank = f"file {number} " if len(profiles) > 1 else ""
        for (device, stream), own in sorted(pairs.items()):
            if len(streams) < _MOST_STREAMS:
                table = np.array(own, np.int64)
                streams[f"{rank}device {device} stream {stream}"] = f"{busy(table) / 1e9:.9f} s"
    return streams
