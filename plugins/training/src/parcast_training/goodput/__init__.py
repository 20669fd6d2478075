"""Goodput: the share of its time that a job which fails spends on work that lasts."""

from __future__ import annotations

from parcast_training.goodput.failing import FailingJob, Plan
from parcast_training.goodput.failures import (
    failures_to_finish,
    failures_within,
    quantile_of,
    waiting_share,
)
from parcast_training.goodput.intervals import INTERVALS, best_plan, daly, daly_first, exact, young
from parcast_training.goodput.renewal import Shares, goodput, shares, time_to_finish
from parcast_training.goodput.simulation import Spans, simulate_finish, simulate_span

__all__ = [
    "INTERVALS",
    "FailingJob",
    "Plan",
    "Shares",
    "Spans",
    "best_plan",
    "daly",
    "daly_first",
    "exact",
    "failures_to_finish",
    "failures_within",
    "goodput",
    "quantile_of",
    "shares",
    "simulate_finish",
    "simulate_span",
    "time_to_finish",
    "waiting_share",
    "young",
]
