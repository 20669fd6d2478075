"""Processes that move data as generators: what collectives are written with, plainly.

A process is a generator: it yields what it does and gets what it receives. Data are blocks, each
with the processes whose contributions it holds.
"""

from collections import defaultdict, deque


def run(processes):
    """Run generators to their ends; return (op, dst, blocks, src) of each in its order."""
    done = [[] for _ in processes]
    waiting = [(process, next(process, None)) for process in processes]
    begun, channels = set(), defaultdict(deque)
    moved = True
    while moved:
        moved = False
        for rank, (process, action) in enumerate(waiting):
            if action is None:
                continue
            op, dst, blocks, src = action
            if dst is not None and rank not in begun:
                begun.add(rank)
                channels[rank, dst].append(dict(blocks))
                moved = True
            sources = (
                src if isinstance(src, list) else [] if src is None or op == "irecv" else [src]
            )
            if not all(channels[source, rank] for source in sources):
                continue
            received = [channels[source, rank].popleft() for source in sources]
            done[rank].append((op, dst, dict(blocks), src))
            begun.discard(rank)
            moved = True
            try:
                answer = received if isinstance(src, list) else received[0] if received else None
                waiting[rank] = process, process.send(answer)
            except StopIteration:
                waiting[rank] = process, None
    assert all(action is None for _, action in waiting), "never ends"
    assert not any(channels.values()), "never received"
    return done


def send(to, blocks):
    yield "send", to, blocks, None


def recv(source):
    return (yield "recv", None, {}, source)


def sendrecv(to, blocks, source):
    return (yield "sendrecv", to, blocks, source)


def add(have, blocks):
    """Sum contributions up: none may count twice."""
    for block, contributions in blocks.items():
        assert not have.get(block, frozenset()) & contributions, "counted twice"
        have[block] = have.get(block, frozenset()) | contributions


def cut(have, blocks):
    return {block: have[block] for block in blocks}


def power_of(p):
    return 1 << (p.bit_length() - 1)


def bits(power):
    return [1 << k for k in range(power.bit_length() - 1)]
