"""The computation does as many updates as it is told, compiled or not."""

from __future__ import annotations

import numpy as np
import pytest

from parcast_mpi.running.kernel import FLOPS, TILE, Kernel, sweep, update, update_twice


class Counted(float):
    """A number that counts the operations done with it."""

    done = 0

    def __mul__(self, other: float) -> Counted:
        Counted.done += 1
        return Counted(float(self) * float(other))

    def __rmul__(self, other: float) -> Counted:
        return self * other

    def __rsub__(self, other: float) -> Counted:
        Counted.done += 1
        return Counted(float(other) - float(self))


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_an_update_is_three_operations(rounds: int) -> None:
    x = np.array([Counted(0.1 * (i + 1)) for i in range(5)], object)
    Counted.done = 0
    update.py_func(x, rounds)
    assert Counted.done == FLOPS * 5 * rounds
    compiled = 0.1 * np.arange(1.0, 6.0)
    update(compiled, rounds)
    np.testing.assert_allclose(compiled, x.astype(float), rtol=1e-12)


def test_two_updates_at_once_are_two_updates() -> None:
    once, twice = np.linspace(0.1, 0.9, 7), np.linspace(0.1, 0.9, 7)
    update(once, 2)
    update_twice.py_func(twice)
    np.testing.assert_allclose(twice, once, rtol=1e-12)


@pytest.mark.parametrize(
    ("elements", "updates"), [(TILE, 0), (1000, 17), (3 * TILE, 3 * TILE), (5000, 40_001)]
)
def test_a_sweep_does_all_updates_and_touches_all_elements(elements: int, updates: int) -> None:
    start = np.linspace(0.2, 0.4, 4 * TILE)
    plain, compiled = start.copy(), start.copy()
    assert sweep.py_func(plain, elements, updates) == updates
    assert sweep(compiled, elements, updates) == updates
    np.testing.assert_allclose(compiled, plain, rtol=1e-9)
    touched = min(elements, start.size)
    assert (compiled[:touched] != start[:touched]).all()
    assert (compiled[touched:] == start[touched:]).all()


@pytest.mark.parametrize("updates", [7, TILE, TILE + 5, 3 * TILE + 9])
def test_a_tile_gets_each_update(updates: int) -> None:
    found, expected = np.linspace(0.2, 0.4, TILE), np.linspace(0.2, 0.4, TILE)
    sweep(found, TILE, updates)
    if updates < TILE:  # the others are read and written only
        expected[updates:] = 1.0 - expected[updates:]
    update.py_func(expected, updates // TILE)
    update.py_func(expected[: updates % TILE], 1)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_amounts_become_updates_and_elements() -> None:
    kernel = Kernel(memory=False)
    kernel.compute(0, 0)
    before = kernel._tile.copy()
    kernel.compute(3 * (2 * TILE + 5), 0)
    expected = before.copy()
    update.py_func(expected, 2)
    update.py_func(expected[:5], 1)
    np.testing.assert_allclose(kernel._tile, expected, rtol=1e-12)
