"""Seeds of random cases: those that are asked, or those of the day."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from parcast.testing import cases, first_seed, seeding, seeds, turn


def test_a_seed_that_is_asked_is_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARCAST_SEED", "41")
    assert list(seeds(3)) == [41, 42, 43]


def test_a_night_has_as_many_times_the_cases_as_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARCAST_CASES", "30")
    assert cases(7) == 210
    monkeypatch.setenv("PARCAST_CASES", "1")
    assert cases(60) == 60


def test_before_a_change_lands_a_fifth_is_drawn_but_three_at_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PARCAST_CASES", raising=False)
    assert [cases(count) for count in (2, 10, 12, 30, 60)] == [2, 3, 3, 6, 12]
    assert [cases(count, least=40) for count in (3, 60, 180, 300)] == [3, 40, 40, 60]


def test_every_item_has_its_day_and_a_night_has_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARCAST_CASES", raising=False)
    days = []
    for day in range(3):
        monkeypatch.setenv("PARCAST_SEED", str(100_000 * (2000 + day)))
        days += turn("abcdefg", 3)
    assert sorted(days) == list("abcdefg")
    monkeypatch.setenv("PARCAST_CASES", "30")
    assert turn("abcdefg", 3) == list("abcdefg")


def test_two_days_share_no_seed_of_a_night(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARCAST_SEED", raising=False)
    firsts = []
    for year, month, day in ((2026, 1, 1), (2026, 1, 2), (2026, 12, 31), (2027, 1, 1)):

        class Then(datetime):
            day_of_then = datetime(year, month, day, 12, tzinfo=UTC)

            @classmethod
            def now(cls, tz: object = None) -> datetime:
                return cls.day_of_then

        monkeypatch.setattr(seeding, "datetime", Then)
        firsts.append(first_seed())
    assert all(after - before >= 100_000 for before, after in pairwise(firsts))
    assert max(firsts) < 2**31
