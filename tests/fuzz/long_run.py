"""Many inputs to every reader: ``python tests/fuzz/long_run.py 100000 [TARGET ...]``.

Inputs are drawn by seed, so a run can be repeated. What fails is kept in the folder ``found``,
from where it goes to ``cases`` once it is mended. ``--atheris`` lets the fuzzer of that name
(a package that is installed apart) guide the inputs of one target by coverage.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from inspect import isfunction
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from random import Random

from fuzz_mutations import mutated
from fuzz_running import Hang, feed
from fuzz_targets import TARGETS

MOST_MEMORY = 6 << 30

#: Of one process: libraries keep some memory of files that they refuse (OTF2 some 2 MB of each).
MOST_INPUTS = 1000


def main() -> int:
    """Feed the inputs; return how many failed, at most 1."""
    parser = argparse.ArgumentParser()
    parser.add_argument("inputs", type=int)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", action="store_true")
    asked = parser.parse_args()
    for name in asked.targets:
        if name not in TARGETS:
            parser.error(f"there is no target {name!r}; known: {', '.join(TARGETS)}")
    targets = asked.targets or list(TARGETS)
    if asked.atheris:
        limit_memory()
        guided(targets[0], asked.inputs)
        return 0
    each = asked.inputs // len(targets)
    parts = [
        (name, range(first, min(first + MOST_INPUTS, each)))
        for name in targets
        for first in range(0, each, MOST_INPUTS)
    ]
    alone = get_context("spawn")
    with ProcessPoolExecutor(1, alone, limit_memory, max_tasks_per_child=1) as pool:
        failed = sum(pool.map(run, *zip(*parts, strict=True), repeat(asked.seed)))
    print(f"{asked.inputs:,} inputs, {failed} failures")
    return min(failed, 1)


def limit_memory() -> None:
    """Refuse this process more than `MOST_MEMORY`."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def run(name: str, inputs: range, seed: int) -> int:
    """Return how many different failures a target has, and print each once."""
    seeds, places = TARGETS[name].seeds(), set()
    slowest, start = 0.0, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for index in inputs:
            text = mutated(Random(f"{name} {seed} {index}"), seeds)
            began = time.perf_counter()
            try:
                feed(name, text, Path(folder))
            except (Exception, Hang) as error:  # noqa: BLE001  (this is what is looked for)
                place = "".join(traceback.format_tb(error.__traceback__)[-1:])
                if (type(error), place) not in places:
                    places.add((type(error), place))
                    print(f"{name}: {type(error).__name__}: {error}\n{place}{kept(name, text)}")
            slowest = max(slowest, time.perf_counter() - began)
    spent = time.perf_counter() - start
    print(
        f"{name}: {len(inputs):,} inputs in {spent:.0f} s, the slowest {slowest:.2f} s", flush=True
    )
    return len(places)


def kept(name: str, text: bytes) -> Path:
    """Write an input down that failed, and return where."""
    folder = Path("found")
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{sha256(text).hexdigest()[:8]}"
    path.write_bytes(text)
    return path


def guided(name: str, runs: int) -> None:
    """Let atheris choose the inputs of one target."""
    import atheris

    folder = Path(tempfile.mkdtemp())
    corpus = folder / "corpus"
    corpus.mkdir()
    for index, seed in enumerate(TARGETS[name].seeds()):
        (corpus / str(index)).write_bytes(seed)
    for one in gc.get_objects():  # all that is imported would take minutes
        if isfunction(one) and str(one.__module__).startswith("parcast"):
            atheris.instrument_func(one)
    atheris.Setup(
        [sys.argv[0], f"-runs={runs}", str(corpus)], lambda text: feed(name, text, folder)
    )
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
