"""Collectives by exchanges, as each process does them with its data."""

from .plain_processes import (
    add,
    bits,
    cut,
    power_of,
    recv,
    send,
    sendrecv,
)


def folded(comm, r, have, idle):
    """Hand over where idle; return the position among those that take part, or None."""
    p = len(comm)
    power = power_of(p)
    extra = p - power
    if idle == "high":
        if r >= power:
            yield from send(comm[r - power], have)
            return None, lambda v: v, r - power
        if r < extra:
            add(have, (yield from recv(comm[r + power])))
        return r, lambda v: v, r + power if r < extra else None
    gone = 0 if idle == "even" else 1

    def real(v):
        return 2 * v + 1 - gone if v < extra else v + extra

    if r >= 2 * extra:
        return r - extra, real, None
    if r % 2 == gone:
        yield from send(comm[r ^ 1], have)
        return None, real, r ^ 1
    add(have, (yield from recv(comm[r ^ 1])))
    return r // 2, real, r ^ 1


def unfolded(comm, v, partner, have):
    if partner is not None and v is None:
        have.update((yield from recv(comm[partner])))
    elif partner is not None:
        yield from send(comm[partner], have)


def recursive_doubling(comm, r, root, have, idle="even"):
    v, real, partner = yield from folded(comm, r, have, idle)
    for bit in bits(power_of(len(comm))) if v is not None else []:
        peer = comm[real(v ^ bit)]
        add(have, (yield from sendrecv(peer, dict(have), peer)))
    yield from unfolded(comm, v, partner, have)


def barrier_doubling(comm, r, root, have):
    yield from recursive_doubling(comm, r, root, have, "high")


def _halved(comm, v, real, have):
    """Blocks are of bits: keep those that agree with the own position in the bits so far."""
    mine = set(have)
    for bit in bits(power_of(len(comm))):
        kept = {b for b in mine if (b & bit) == (v & bit)}
        peer = comm[real(v ^ bit)]
        got = yield from sendrecv(peer, cut(have, mine - kept), peer)
        mine = kept
        for b in set(have) - kept:
            del have[b]
        add(have, got)


def rabenseifner(comm, r, root, have):
    v, real, partner = yield from folded(comm, r, have, "even")
    if v is not None:
        yield from _halved(comm, v, real, have)
        for bit in reversed(bits(power_of(len(comm)))):
            peer = comm[real(v ^ bit)]
            have.update((yield from sendrecv(peer, dict(have), peer)))
    yield from unfolded(comm, v, partner, have)


def rabenseifner_reduce(comm, r, root, have):
    p = len(comm)
    extra = p - power_of(p)
    v, real, _ = yield from folded(comm, r, have, "odd")
    if v is not None:
        yield from _halved(comm, v, real, have)
    else:
        have.clear()
    stand_in = root < 2 * extra and root % 2 == 1
    top = 0 if stand_in else root // 2 if root < 2 * extra else root - extra
    if stand_in and r == root:
        have.update((yield from recv(comm[0])))
        v = 0
    elif stand_in and r == 0:
        yield from send(comm[root], have)
        v = None
    for bit in reversed(bits(power_of(p))) if v is not None else []:
        other = v ^ bit
        peer = comm[root if stand_in and other == 0 else real(other)]
        if (other ^ top) < bit:
            yield from send(peer, have)
            return
        have.update((yield from recv(peer)))


def _of_position(p, v):
    """The blocks of a process that takes part: its own, and that of whom it stands for."""
    extra = p - power_of(p)
    return [2 * v, 2 * v + 1] if v < extra else [v + extra]


def recursive_halving(comm, r, root, have):
    p = len(comm)
    v, real, partner = yield from folded(comm, r, have, "even")
    if v is None:
        have.clear()
        have.update((yield from recv(comm[partner])))
        return
    for bit in reversed(bits(power_of(p))):
        theirs = [b for w in range(power_of(p)) if w // bit == (v ^ bit) // bit
                  for b in _of_position(p, w)]  # fmt: skip
        got = yield from sendrecv(comm[real(v ^ bit)], cut(have, theirs), comm[real(v ^ bit)])
        for b in set(have) - set(got):
            del have[b]
        add(have, got)
    if partner is not None:
        yield from send(comm[partner], {partner: have.pop(partner)})


def butterfly(comm, r, root, have):
    p, power = len(comm), power_of(len(comm))
    extra = p - power

    def mirror(w):
        return int(format(w, f"0{len(bits(power))}b")[::-1] or "0", 2) if power > 1 else 0

    v, real, _ = yield from folded(comm, r, have, "even")
    if v is None:
        have.clear()
        have.update((yield from recv(comm[real(mirror(r // 2))])))
        return
    low, count = 0, power
    for bit in bits(power):
        count //= 2
        keep = low + count if v & bit else low
        give = low if v & bit else low + count
        sent = [b for w in range(give, give + count) for b in _of_position(p, w)]
        got = yield from sendrecv(comm[real(v ^ bit)], cut(have, sent), comm[real(v ^ bit)])
        for b in set(have) - set(got):
            del have[b]
        add(have, got)
        low = keep
    held = mirror(v)
    assert low == held
    if held < extra:
        yield from send(comm[2 * held], {2 * held: have.pop(2 * held)})
    if held != v:
        peer = comm[real(held)]
        got = yield from sendrecv(peer, dict(have), peer)
        have.clear()
        have.update(got)


def scan_doubling(comm, r, root, have):
    total = dict(have)
    for bit in [1 << k for k in range(len(comm).bit_length())]:
        if r ^ bit < len(comm) and bit < len(comm):
            got = yield from sendrecv(comm[r ^ bit], dict(total), comm[r ^ bit])
            if r & bit:
                add(have, got)
            add(total, got)


def allgather_bruck(comm, r, root, have):
    p, shift = len(comm), 1
    while shift < p:
        carried = [(r + k) % p for k in range(min(shift, p - shift))]
        to, source = comm[(r - shift) % p], comm[(r + shift) % p]
        add(have, (yield from sendrecv(to, cut(have, carried), source)))
        shift *= 2


def allgather_doubling(comm, r, root, have):
    if power_of(len(comm)) != len(comm):
        yield from allgather_bruck(comm, r, root, have)
        return
    for bit in bits(len(comm)):
        add(have, (yield from sendrecv(comm[r ^ bit], dict(have), comm[r ^ bit])))


def allgather_ring(comm, r, root, have):
    p = len(comm)
    for k in range(p - 1):
        handed = cut(have, [(r - k) % p])
        add(have, (yield from sendrecv(comm[(r + 1) % p], handed, comm[(r - 1) % p])))


def neighbor(comm, r, root, have):
    p = len(comm)
    if p % 2:
        yield from allgather_ring(comm, r, root, have)
        return
    way = 1 if r % 2 == 0 else -1
    last = list(have)
    for k in range(p // 2):
        peer = comm[(r + (way if k % 2 == 0 else -way)) % p]
        got = yield from sendrecv(peer, cut(have, last), peer)
        add(have, got)
        last = list(have) if k == 0 else list(got)


def modified_bruck(comm, r, root, have):
    p, shift = len(comm), 1
    while shift < p:
        carried = [block for block in have if ((block[1] - r) % p) & shift]
        carried = {block: have.pop(block) for block in carried}
        add(have, (yield from sendrecv(comm[(r + shift) % p], carried, comm[(r - shift) % p])))
        shift *= 2


def pairwise_exchange(comm, r, root, have):
    p = len(comm)
    for k in range(1, p):
        to, source = (r ^ k, r ^ k) if power_of(p) == p else ((r + k) % p, (r - k) % p)
        add(have, (yield from sendrecv(comm[to], {(r, to): have.pop((r, to))}, comm[source])))


def all_posted(comm, r, root, have, at_once=None):
    p = len(comm)
    for start in range(0, p, at_once or p):
        turns = range(max(1, start), min(p, start + (at_once or p)))
        for k in turns:
            yield "irecv", None, {}, comm[(r + k) % p]
        for k in turns:
            to = (r - k) % p
            yield "isend", comm[to], {(r, to): have.pop((r, to))}, None
        if turns:
            for got in (yield "waitall", None, {}, [comm[(r + k) % p] for k in turns]):
                add(have, got)


def allgather_posted(comm, r, root, have):
    own, p = dict(have), len(comm)
    peers = [comm[(r + k) % p] for k in range(1, p)]
    for peer in peers:
        yield "irecv", None, {}, peer
    for k in range(1, p):
        yield "isend", comm[(r - k) % p], own, None
    if peers:
        for got in (yield "waitall", None, {}, peers):
            add(have, got)


def scattered(comm, r, root, have):
    yield from all_posted(comm, r, root, have, 32)
