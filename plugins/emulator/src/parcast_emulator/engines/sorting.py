"""Sorting what arrives at a server by time; what arrives at one time stays in order."""

from __future__ import annotations

import math
from typing import Any

from parcast_emulator.compilation import kernel, step

# Arguments are untyped: they are arrays, of times and of what comes at them.


@kernel
def sort_by_time(times: Any, carried: Any, into_times: Any, into: Any, bucket: Any) -> None:
    """Sort blocks by time into other arrays; ``bucket``, one longer, is for help.

    Times of a window are spread about evenly, so a bucket for each message nearly sorts them.
    """
    count = len(times)
    earliest = latest = times[0]
    for index in range(1, count):
        earliest, latest = min(times[index], earliest), max(times[index], latest)
    scale = (count - 1) / (latest - earliest) if latest > earliest else 0.0
    if not scale < math.inf:
        merge_sort(times, carried, into_times, into)
        return
    spread(times, carried, into_times, into, bucket, earliest, scale)
    budget = 16 * count  # more moves than these: nearly all are in one bucket
    for index in range(1, count):
        if into_times[index - 1] > into_times[index]:
            time, block, to = into_times[index], into[index], index
            while to > 0 and into_times[to - 1] > time:
                into_times[to], into[to] = into_times[to - 1], into[to - 1]
                to -= 1
            into_times[to], into[to] = time, block
            budget -= index - to
            if budget < 0:
                merge_sort(times, carried, into_times, into)
                return


@step
def spread(
    times: Any, carried: Any, into_times: Any, into: Any, bucket: Any, earliest: float, scale: float
) -> None:
    """Put blocks into the order of buckets as wide as ``1 / scale`` seconds."""
    count = len(times)
    for index in range(count + 1):
        bucket[index] = 0
    for index in range(count):
        bucket[int((times[index] - earliest) * scale) + 1] += 1
    before = 0
    for index in range(count):
        before += bucket[index]
        bucket[index] = before
    for index in range(count):
        time = times[index]
        slot = int((time - earliest) * scale)
        to = bucket[slot]
        bucket[slot] = to + 1
        into_times[to], into[to] = time, carried[index]


@kernel
def merge_sort(times: Any, carried: Any, into_times: Any, into: Any) -> None:
    """Sort blocks by time, whatever the times are, into all four arrays."""
    count, width = len(times), 1
    while width < count:
        for low in range(0, count, 2 * width):
            left, right = low, min(low + width, count)
            middle, high = right, min(low + 2 * width, count)
            for to in range(low, high):
                if left < middle and (right >= high or times[left] <= times[right]):
                    into_times[to], into[to] = times[left], carried[left]
                    left += 1
                else:
                    into_times[to], into[to] = times[right], carried[right]
                    right += 1
        for at in range(count):  # of slices, numba would compile what tells that they differ
            times[at], carried[at] = into_times[at], into[at]
        width *= 2
