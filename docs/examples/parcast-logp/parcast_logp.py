"""LogP for parcast: work, messages and I/O add up, and nothing waits for anything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from parcast import Assumption, Parts, Prediction, Query, SolverEntry, hookimpl


class LogP:
    """Per cycle: bursts x (work/rate + messages x (L + 2o) + bytes/bandwidth) + I/O."""

    def supports(self, query: Query) -> str | None:
        overlapped = any(phase.io == "async" for phase in query.workload.content.phase)
        return "LogP has no I/O that overlaps computation" if overlapped else None

    def solve(self, query: Query) -> Prediction:
        need, total = query.machine.need, Parts()
        for phase in query.workload.content.at(query):
            work = phase.parallel / query.p + phase.serial
            compute = work / need("processor.rate", "a workload with work") if work else 0.0
            messages = bulk = io = 0.0
            if phase.messages:
                startup = need("network.startup", "a workload with messages")
                messages = phase.messages * (startup + 2 * query.machine.network.overhead)
            if phase.bytes:
                bulk = phase.bytes / need("network.bandwidth", "a workload with messages")
            if phase.io_bytes:
                bandwidth = need("storage.bandwidth", "a workload with I/O") * query.d
                io = query.machine.storage.startup + phase.io_bytes / bandwidth
            burst = Parts(compute=compute, communication=messages + bulk)
            total += (burst * phase.bursts + Parts(io=io)) * phase.cycles
        return Prediction(time=total.total, parts=total)

    def assumptions(self, query: Query) -> tuple[Assumption, ...]:
        shared = query.machine.network.contention in ("endpoint", "bus") and query.p > 1
        return (Assumption("nothing ever waits", "messages share the network" * shared),)

    def cost(self, query: Query) -> float:
        return 20e-6 * len(query.workload.content.phase)

    def derivatives(self, query: Query, names: Sequence[str]) -> Mapping[str, float]:
        """Of the machine's values; a workload's parameters are left to differences."""
        machine = query.machine
        slopes = dict.fromkeys(
            ("processor.rate", "network.startup", "network.overhead", "network.bandwidth",
             "storage.startup", "storage.bandwidth"), 0.0,
        )  # fmt: skip
        for phase in query.workload.content.at(query):
            repeated = phase.cycles * phase.bursts
            work = phase.parallel / query.p + phase.serial
            slopes["network.startup"] += repeated * phase.messages
            slopes["network.overhead"] += 2 * repeated * phase.messages
            slopes["storage.startup"] += phase.cycles * (phase.io_bytes > 0)
            for path, amount in (
                ("processor.rate", repeated * work),
                ("network.bandwidth", repeated * phase.bytes),
                ("storage.bandwidth", phase.cycles * phase.io_bytes / query.d),
            ):
                if amount:  # the time has a term amount / value
                    slopes[path] -= amount / machine.need(path, "a derivative") ** 2
        return {name: slopes[name] for name in names if name in slopes}


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry]:
    yield SolverEntry("logp", "phases", "parcast_logp:LogP", "LogP: nothing ever waits.")
