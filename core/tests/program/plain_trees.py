"""Collectives along trees, stars and chains, as each process does them with its data."""

from .plain_processes import (
    add,
    bits,
    cut,
    power_of,
    recv,
    send,
    sendrecv,
)


def children(name, p, v):
    """The children of a position from the root, in their order."""
    if name == "chain":
        return [v + 1]
    if name == "binary":
        width = 1 << ((v + 1).bit_length() - 1)
        return [v + width, v + 2 * width]
    if name == "bmtree":
        return [v + (1 << k) for k in range(v.bit_length(), p.bit_length())]
    distance, listed = 1, []
    while v % (4 * distance) == 0 and distance < p:
        listed = [v + k * distance for k in (1, 2, 3)] + listed
        distance *= 4
    return listed


def in_order(low, high):
    """(parent, children) of the in-order tree of these positions: the last one is the root."""
    top, right = high - 1, (high - low) // 2
    if top <= low:
        return {top: []} if top >= low else {}
    found = {top: [top - 1] + ([low + right - 1] if top - 1 > low else [])}
    return (
        found
        | in_order(low, low + right if top - 1 > low else low)
        | in_order(low + right if top - 1 > low else low, top)
    )


def tree_of(name, p):
    if name == "in-order-binary":
        return in_order(0, p)
    return {v: [c for c in children(name, p, v) if c < p] for v in range(p)}


def tree(name):
    def algorithm(comm, r, root, have, up=False):
        p = len(comm)
        top = p - 1 if name == "in-order-binary" else root
        turned = 0 if name == "in-order-binary" else root
        v = (r - turned) % p
        family = tree_of(name, p)
        parent = next((a for a, listed in family.items() if v in listed), None)
        if up:
            for child in family[v]:
                add(have, (yield from recv(comm[(child + turned) % p])))
        if parent is not None:
            above = comm[(parent + turned) % p]
            if up:
                yield from send(above, have)
            else:
                have.update((yield from recv(above)))
        if not up:
            for child in family[v]:
                yield from send(comm[(child + turned) % p], have)
        elif top != root and r == top:
            yield from send(comm[root], have)
        elif top != root and r == root:
            have.update((yield from recv(comm[top])))

    return algorithm


def up(name):
    algorithm = tree(name)
    return lambda comm, r, root, have: algorithm(comm, r, root, have, up=True)


def split_binary(comm, r, root, have):
    p = len(comm)
    v = (r - root) % p
    family = tree_of("binary", p)
    parent = next((a for a, listed in family.items() if v in listed), None)
    if parent is not None:
        have.update((yield from recv(comm[(parent + root) % p])))
    for child in family[v]:
        half = have if v else cut(have, [1 - child % 2])
        yield from send(comm[(child + root) % p], dict(half))
    if p % 2 == 0 and v == 0:
        yield from send(comm[(root + p - 1) % p], cut(have, [1]))
    elif p % 2 == 0 and v == p - 1:
        have.update((yield from recv(comm[root])))
    elif v:
        peer = comm[(v + (1 if v % 2 else -1) + root) % p]
        have.update((yield from sendrecv(peer, dict(have), peer)))


def scattered_first(comm, r, root, have):
    """A binomial scatter of one block for each position from the root."""
    p = len(comm)
    v, bit = (r - root) % p, 1
    while bit < p and not v & bit:
        bit *= 2
    if v:
        have.update((yield from recv(comm[(v - bit + root) % p])))
    while bit > 1:
        bit //= 2
        if v + bit < p:
            carried = cut(have, range(v + bit, min(v + 2 * bit, p)))
            yield from send(comm[(v + bit + root) % p], carried)
    for b in [b for b in have if b != v and v]:
        del have[b]


def scatter_ring_allgather(comm, r, root, have):
    p = len(comm)
    v = (r - root) % p
    yield from scattered_first(comm, r, root, have)
    for k in range(p - 1):
        handed = cut(have, [(v - k) % p])
        have.update((yield from sendrecv(comm[(r + 1) % p], handed, comm[(r - 1) % p])))


def scatter_allgather(comm, r, root, have):
    p = len(comm)
    v = (r - root) % p
    if power_of(p) != p:
        yield from scatter_ring_allgather(comm, r, root, have)
        return
    yield from scattered_first(comm, r, root, have)
    for bit in bits(p):
        peer = comm[((v ^ bit) + root) % p]
        mine = cut(have, [b for b in range(p) if b // bit == v // bit])
        have.update((yield from sendrecv(peer, mine, peer)))


def binomial_reduce(comm, r, root, have):
    p = len(comm)
    v, bit = (r - root) % p, 1
    while bit < p:
        if v & bit:
            yield from send(comm[(v - bit + root) % p], have)
            return
        if v + bit < p:
            add(have, (yield from recv(comm[(v + bit + root) % p])))
        bit *= 2


def binomial_bcast(comm, r, root, have):
    p = len(comm)
    v, bit = (r - root) % p, 1
    while bit < p and not v & bit:
        bit *= 2
    if v:
        have.update((yield from recv(comm[(v - bit + root) % p])))
    while bit > 1:
        bit //= 2
        if v + bit < p:
            yield from send(comm[(v + bit + root) % p], dict(have))


def reduce_bcast(comm, r, root, have):
    yield from binomial_reduce(comm, r, 0, have)
    yield from binomial_bcast(comm, r, 0, have)


def linear_reduce(comm, r, root, have):
    if r != root:
        yield from send(comm[root], have)
    for other in range(len(comm)) if r == root else []:
        if other != root:
            add(have, (yield from recv(comm[other])))


def linear_bcast(comm, r, root, have):
    if r != root:
        have.update((yield from recv(comm[root])))
    for other in range(len(comm)) if r == root else []:
        if other != root:
            yield from send(comm[other], dict(have))


def linear_there_and_back(comm, r, root, have):
    yield from linear_reduce(comm, r, 0, have)
    yield from linear_bcast(comm, r, 0, have)


def linear_scatter(comm, r, root, have):
    if r != root:
        have.update((yield from recv(comm[root])))
    for other in range(len(comm)) if r == root else []:
        if other != root:
            yield from send(comm[other], {other: have.pop(other)})


def scatter_at_once(comm, r, root, have):
    if r != root:
        have.update((yield from recv(comm[root])))
        return
    for other in range(len(comm)):
        if other != root:
            yield "isend", comm[other], {other: have.pop(other)}, None
    if len(comm) > 1:
        yield "waitall", None, {}, []


def reduce_at_once(comm, r, root, have):
    if r != root:
        yield from send(comm[root], have)
        return
    others = [comm[other] for other in range(len(comm)) if other != root]
    for other in others:
        yield "irecv", None, {}, other
    if others:
        for got in (yield "waitall", None, {}, others):
            add(have, got)


def there_and_back_at_once(comm, r, root, have):
    yield from reduce_at_once(comm, r, 0, have)
    if r:
        have.update((yield from recv(comm[0])))
        return
    for other in comm[1:]:
        yield "isend", other, dict(have), None
    if len(comm) > 1:
        yield "waitall", None, {}, []


def asked_in_turn(comm, r, root, have):
    if r != root:
        yield from recv(comm[root])
        yield from send(comm[root], have)
        yield from send(comm[root], {})
        return
    others = [comm[other] for other in range(len(comm)) if other != root]
    for other in others:
        yield from send(other, {})
        add(have, (yield from recv(other)))
        yield "irecv", None, {}, other
    if others:
        yield "waitall", None, {}, others


def gather_bcast(comm, r, root, have):
    yield from linear_reduce(comm, r, 0, have)
    yield from binomial_bcast(comm, r, 0, have)


def reduce_scatterv(comm, r, root, have):
    yield from binomial_reduce(comm, r, 0, have)
    if r != 0:
        have.clear()
    yield from linear_scatter(comm, r, 0, have)


def reduce_scatter_ring(comm, r, root, have):
    """Block r - 1 goes round first and comes to its process last."""
    p = len(comm)
    for k in range(p - 1):
        handed = {(r - 1 - k) % p: have.pop((r - 1 - k) % p)}
        add(have, (yield from sendrecv(comm[(r + 1) % p], handed, comm[(r - 1) % p])))
