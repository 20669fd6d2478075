"""Long traces of as many megabytes as one asks for, written with hardly any memory.

Each is a halo exchange of many ranks, in time-independent actions and Paraver with a sum after each
step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

RANKS = 64
_TAGS = 8
_SCHEDULED = 1024  #: ranks of a schedule, each of whose messages has a tag of its own


def actions(path: Path, megabytes: int) -> None:
    """Write a time-independent trace, whose computation differs in every line."""
    written, step, random = 0, 0, Random(1)  # noqa: S311
    with path.open("w") as file:
        file.writelines(f"{rank} init\n" for rank in range(RANKS))
        while written < megabytes * 1e6:
            text = "".join(_step_of_actions(step, random))
            written, step = written + len(text), step + 1
            file.write(text)
        file.writelines(f"{rank} finalize\n" for rank in range(RANKS))


def _step_of_actions(step: int, random: Random) -> Iterator[str]:
    tag = step % _TAGS
    for rank in range(RANKS):
        right, left = (rank + 1) % RANKS, (rank - 1) % RANKS
        work = random.randrange(1_000_000, 2_000_000)
        yield f"{rank} compute {work}\n{rank} irecv {left} {tag} 4096 6\n"
        yield f"{rank} isend {right} {tag} 4096 6\n{rank} wait {left} {rank} {tag}\n"
        yield f"{rank} wait {rank} {right} {tag}\n{rank} allreduce 1 0 0\n"


def paraver(path: Path, megabytes: int) -> None:
    """Write a trace of Paraver."""
    written, step, at = 0, 0, 10
    with path.open("w") as file:
        lists = ",".join(["1:1"] * RANKS)
        file.write(f"#Paraver (24/11/2026 at 18:00):{10**14}_ns:1({RANKS}):1:{RANKS}({lists}),1\n")
        file.write(f"c:1:1:{RANKS}:{':'.join(str(rank + 1) for rank in range(RANKS))}\n")
        for rank in range(RANKS):
            file.writelines(text for _, text in _call(rank, 0, 5, "50000003:31"))
        while written < megabytes * 1e6:
            text = "".join(text for _, text in sorted(_step_of_paraver(step, at)))
            written, step, at = written + len(text), step + 1, at + 200
            file.write(text)
        for rank in range(RANKS):
            file.writelines(text for _, text in _call(rank, at, at + 5, "50000003:32"))


def _call(rank: int, start: int, end: int, value: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a call with their times."""
    where = f"2:{rank + 1}:1:{rank + 1}:1"
    yield start, f"{where}:{start}:{value}\n"
    yield end, f"{where}:{end}:{value.partition(':')[0]}:0\n"


def _step_of_paraver(step: int, at: int) -> Iterator[tuple[int, str]]:
    sums = "50000002:10:50100001:8:50100002:8:50100004:1"
    for rank in range(RANKS):
        begin, left = at + rank % 7, (rank - 1) % RANKS
        sent = at + left % 7 + 10
        yield from _call(rank, begin, begin + 2, "50000001:4")
        yield from _call(rank, begin + 10, begin + 15, "50000001:3")
        yield from _call(rank, begin + 20, begin + 60, "50000001:5")
        yield from _call(rank, begin + 70, begin + 90, sums)
        ends = f"{left + 1}:1:{left + 1}:1:{sent}:{sent}:{rank + 1}:1:{rank + 1}:1"
        yield sent, f"3:{ends}:{begin}:{begin + 60}:4096:{step % _TAGS}\n"


def schedule(path: Path, megabytes: int, ranks: int = _SCHEDULED) -> None:
    """Write a schedule (GOAL), whose ranks post all that they receive before they wait."""
    steps = megabytes * 1_000_000 // (ranks * 120)
    with path.open("w") as file:
        file.write(f"num_ranks {ranks}\n")
        for rank in range(ranks):
            right, left = (rank + 1) % ranks, (rank - 1) % ranks
            file.write(f"rank {rank} {{\n")
            for step in range(steps):
                label = 3 * step
                file.write(f"l{label}: calc {1000 + step}\n")
                file.write(f"l{label + 1}: send 65536b to {right} tag {step}\n")
                file.write(f"l{label + 2}: recv 65536b from {left} tag {step}\n")
                file.write(f"l{label + 1} requires l{label}\n")
                if step:
                    file.write(f"l{label} requires l{label - 1}\n")
            file.write("}\n")


WRITERS: Mapping[str, Callable[[Path, int], None]] = {
    ".tit": actions,
    ".prv": paraver,
    ".goal": schedule,
    "-few.goal": partial(schedule, ranks=2),
}
