"""How long a machine takes to write the state of a job to its disks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from parcast import Machine, Prediction, Registry, Status
from parcast.errors import UnsupportedError

#: A large write, as that of the shipped workload ``checkpoint``.
_BLOCK = 16e6


def write_state(rank, size, state=1e12):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, ARG001
    """All processes write their parts of one state at once; read as a program, never run."""
    write(state / size)  # type: ignore[name-defined]  # noqa: F821


_PROGRAM: Any = write_state


@attrs.frozen(kw_only=True)
class CheckpointTime:
    """Seconds, and the model that predicts them."""

    seconds: float
    by: str


def checkpoint_time(
    registry: Registry, machine: Machine, p: int, size: float, settings: Mapping[str, Any]
) -> CheckpointTime:
    """Return how long p processes take to write ``size`` bytes, equal parts each.

    The settings are of the machine.

    Blocks through the machine's disks and buses where it has a part ``disk``, else whole parts to
    its ``storage``.

    Raises
    ------
    UnsupportedError
        If the machine says nothing of disks, or the model refuses it.
    """
    blocks = {"name": "checkpoint", "kind": "emulator",
              "checkpoint": {"size": size, "block": min(_BLOCK, size / p)}}  # fmt: skip
    emulated = registry.predict(blocks, machine, "emulator", p=p, settings=settings)
    if emulated.status is Status.OK:
        return _answer(emulated, "blocks of up to 16 MB through its disks, emulator")
    sized = {"state": size, **settings}
    stored = registry.predict(_PROGRAM, machine, "emulator.tc", p=p, settings=sized)
    if stored.status is Status.OK:
        return _answer(stored, "by its storage, emulator.tc")
    raise UnsupportedError(f"{machine.name} says nothing of how fast it writes a state: "
                           f"{emulated.message}; {stored.message}")  # fmt: skip


def _answer(prediction: Prediction, by: str) -> CheckpointTime:
    assert prediction.time is not None
    return CheckpointTime(seconds=prediction.time, by=by)
