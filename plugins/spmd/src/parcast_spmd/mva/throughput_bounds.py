"""Proven bounds on the throughput of each class of a closed network."""

from __future__ import annotations

from parcast_spmd.mva.structure import Component, Group


def throughput_bounds(component: Component, group: Group) -> tuple[float, float]:
    """Return a lower and an upper bound on the cycles per second of one class of a group.

    With N_r jobs, delay Z_r, demands D_rk, their sum D_r, and N jobs in the component:

    *Upper.* A cycle takes at least Z_r + D_r, so X_r <= N_r / (Z_r + D_r). No queue is busy
    more than all of the time: X_r D_rk <= 1, and m X_r D_rk <= 1 at a queue that m classes
    visit whose throughputs are equal because the classes are alike.

    *Lower.* By the arrival theorem R_rk = D_rk (1 + Q_k(N - e_r)), where Q_k(N - e_r) is the
    mean number at queue k with one job of r fewer. Those means add up to at most N - 1, so
    sum_k R_rk <= D_r + (N - 1) max_k D_rk, and X_r = N_r / (Z_r + sum_k R_rk) is at least
    N_r / (Z_r + D_r + (N - 1) max_k D_rk).
    """
    largest = max((*group.shared, *group.private), default=0.0)
    busiest = max((*(group.count * x for x in group.shared), *group.private), default=0.0)
    alone = group.delay + sum(group.shared) + sum(group.private)
    lower = group.population / (alone + (component.jobs - 1) * largest)
    upper = group.population / alone
    return lower, min(upper, 1.0 / busiest) if busiest > 0 else upper
