"""The event loop; numba compiles it, and as plain Python it gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Kinds of nodes
USE, DELAY, SEQUENCE, PARALLEL, REPEAT, FORK, CHOICE = range(7)
#: Ways to choose who is served next
FIFO, LIFO, RANDOM = range(3)
#: More frames than there can be at once
_FRAMES = 1 << 25


def run(  # noqa: PLR0912, PLR0915  (one kernel: numba keeps it whole on disk)
    kind: Any,
    first: Any,
    count: Any,
    time: Any,
    children: Any,
    servers: Any,
    policy: int,
    draw: Any,
) -> tuple[float, Any]:
    """Run a program of nodes, the last of which is the whole.

    Parameters
    ----------
    kind, first, count, time
        A column each, by node. ``USE``: ``first`` is the resource, ``time`` its service time.
        ``DELAY``: ``time``. ``SEQUENCE`` and ``PARALLEL``: ``count`` children from ``first``
        in ``children``. ``REPEAT`` and ``FORK``: ``count`` times the child at ``first``, one
        after the other or all at once. ``CHOICE``: with probability ``time`` the child at
        ``first``, else that after it.
    children
        Nodes.
    servers
        By resource; 0 is without limit.
    policy
        ``FIFO``, ``LIFO`` or ``RANDOM``: who is served next. Children start in order at the
        same instant; events at one time go by their order of making.
    draw
        A `numpy.random.Generator`.

    Returns
    -------
    float, array
        When the whole ends, and how long the servers of each resource were busy, in seconds.
    """
    # a frame is a node under way: its position in its own loop, and how many children it awaits
    frames, room = 1, 64
    node, parent = np.full(room, len(kind) - 1), np.full(room, -1)
    position, awaited, following = (
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.full(room, -1),
    )
    spare, spares = np.zeros(room, np.int64), 0
    busy = np.zeros(len(servers))
    idle = servers.copy()
    head, tail = np.full(len(servers), -1), np.full(len(servers), -1)
    waiting = np.zeros(len(servers), np.int64)
    # a heap of ends of services: when, and the order of making with the frame
    when, which, events = np.zeros(room), np.zeros(room, np.int64), 0
    # what else is to be done at this instant, a stack: 4 frame + 0 starts a frame, + 1 tells it
    # that a child ended, + 2 ends it, + 3 starts its next child
    todo, many_todo = np.zeros(room, np.int64), 0
    code, serving = 0, -1  # what is done next, and the frame whose time runs from now
    now, serial = 0.0, 0
    while True:
        if serving >= 0:
            serial += 1
            key, spot = now + time[node[serving]], events
            events += 1
            while spot > 0 and when[(spot - 1) >> 1] > key:
                when[spot], which[spot] = when[(spot - 1) >> 1], which[(spot - 1) >> 1]
                spot = (spot - 1) >> 1
            when[spot], which[spot] = key, serial * _FRAMES + serving
            serving = -1
        if code < 0 and many_todo > 0:
            many_todo -= 1
            code = todo[many_todo]
        if code < 0:
            if events == 0:
                return now, busy
            now, frame = when[0], which[0] % _FRAMES
            events -= 1
            key, last, spot = when[events], which[events], 0
            while 2 * spot + 1 < events:
                below = 2 * spot + 1
                if below + 1 < events and (
                    when[below + 1] < when[below]
                    or (when[below + 1] == when[below] and which[below + 1] < which[below])
                ):
                    below += 1
                if key < when[below] or (key == when[below] and last < which[below]):
                    break
                when[spot], which[spot] = when[below], which[below]
                spot = below
            when[spot], which[spot] = key, last
            code = 4 * frame + 2
            if kind[node[frame]] == USE:
                resource = first[node[frame]]
                idle[resource] += 1
                if head[resource] >= 0:
                    before, chosen = -1, head[resource]
                    if policy == RANDOM:
                        for _ in range(int(draw.random() * waiting[resource])):
                            before, chosen = chosen, following[chosen]
                    if before < 0:
                        head[resource] = following[chosen]
                    else:
                        following[before] = following[chosen]
                    if tail[resource] == chosen:
                        tail[resource] = before
                    waiting[resource] -= 1
                    idle[resource] -= 1
                    busy[resource] += time[node[chosen]]
                    serving = chosen
            continue
        step, frame = code & 3, code >> 2
        at = node[frame]
        node_kind = kind[at]
        code = -1
        if step == 0 and node_kind == USE:
            resource = first[at]
            if servers[resource] == 0 or idle[resource] > 0:
                idle[resource] -= 1
                busy[resource] += time[at]
                serving = frame
                continue
            following[frame] = -1
            if head[resource] < 0:
                head[resource] = frame
                tail[resource] = frame
            elif policy == LIFO:
                following[frame] = head[resource]
                head[resource] = frame
            else:
                following[tail[resource]] = frame
                tail[resource] = frame
            waiting[resource] += 1
        elif step == 0 and node_kind == DELAY:
            serving = frame
        elif step == 2:
            spare[spares] = frame
            spares += 1
            if parent[frame] < 0:
                return now, busy
            code = 4 * parent[frame] + 1
        else:
            # the next child, if it may start now; a parallel process awaits all of them
            many = node_kind in (PARALLEL, FORK)
            if step == 0:
                position[frame] = 0
                awaited[frame] = 0
            limit = 1 if node_kind == CHOICE else count[at]
            if step == 1 and many:
                awaited[frame] -= 1
                if awaited[frame] == 0 and position[frame] >= limit:
                    code = 4 * frame + 2
                continue
            if position[frame] >= limit:
                if not many or awaited[frame] == 0:
                    code = 4 * frame + 2
                continue
            if node_kind == CHOICE:
                child = children[first[at] + (0 if draw.random() < time[at] else 1)]
            elif node_kind in (REPEAT, FORK):
                child = children[first[at]]
            else:
                child = children[first[at] + position[frame]]
            position[frame] += 1
            if many:
                awaited[frame] += 1
                if position[frame] < limit:
                    todo[many_todo] = 4 * frame + 3
                    many_todo += 1
            if spares > 0:
                spares -= 1
                below = spare[spares]
            else:
                below = frames
                frames += 1
                if frames > room:  # no frame stands in more than one row of each column
                    padding = np.zeros(room, np.int64)
                    node, parent = np.append(node, padding), np.append(parent, padding)
                    position, awaited = np.append(position, padding), np.append(awaited, padding)
                    following, spare = np.append(following, padding), np.append(spare, padding)
                    which, todo = np.append(which, padding), np.append(todo, padding)
                    when = np.append(when, np.zeros(room))
                    room *= 2
            node[below] = child
            parent[below] = frame
            code = 4 * below
