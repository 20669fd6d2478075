"""The event loop; numba compiles it, and as plain Python it gives the same."""

from __future__ import annotations

import heapq
from typing import Any

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
    float, list
        When the whole ends, and how long the servers of each resource were busy, in seconds.
    """
    # a frame is a node under way: its place in its own loop, and how many children it awaits
    node, parent, place, awaited, following = [len(kind) - 1], [-1], [0], [0], [-1]
    spare = [0]
    spare.pop()
    busy = [0.0 for _ in range(len(servers))]
    idle = [int(one) for one in servers]
    head = [-1 for _ in range(len(servers))]
    tail = [-1 for _ in range(len(servers))]
    waiting = [0 for _ in range(len(servers))]
    events = [(0.0, 0)]  # (time, order of making and frame)
    events.pop()
    # 4 frame + 0 starts a frame, + 1 tells it that a child ended, + 2 ends it, + 3 starts its
    # next child
    todo = [0]
    now, made = 0.0, 0
    while True:
        while len(todo) > 0:
            code = todo.pop()
            step, frame = code & 3, code >> 2
            at = node[frame]
            what = kind[at]
            if step == 0 and what == USE:
                resource = first[at]
                if servers[resource] == 0 or idle[resource] > 0:
                    idle[resource] -= 1
                    busy[resource] += time[at]
                    made += 1
                    heapq.heappush(events, (now + time[at], made * _FRAMES + frame))
                else:
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
            elif step == 0 and what == DELAY:
                made += 1
                heapq.heappush(events, (now + time[at], made * _FRAMES + frame))
            elif step == 2:
                above = parent[frame]
                spare.append(frame)
                if above < 0:
                    return now, busy
                todo.append(4 * above + 1)
            else:
                # the next child, if it may start now; a parallel process awaits all of them
                many = what in (PARALLEL, FORK)
                if step == 1 and many:
                    awaited[frame] -= 1
                    if awaited[frame] == 0 and place[frame] >= count[at]:
                        todo.append(4 * frame + 2)
                    continue
                if step == 0:
                    place[frame] = 0
                    awaited[frame] = 0
                limit = 1 if what == CHOICE else count[at]
                if place[frame] >= limit:
                    if not many or awaited[frame] == 0:
                        todo.append(4 * frame + 2)
                    continue
                if what == CHOICE:
                    child = children[first[at] + (0 if draw.random() < time[at] else 1)]
                elif what in (REPEAT, FORK):
                    child = children[first[at]]
                else:
                    child = children[first[at] + place[frame]]
                place[frame] += 1
                if many:
                    awaited[frame] += 1
                    if place[frame] < limit:
                        todo.append(4 * frame + 3)
                if len(spare) > 0:
                    below = spare.pop()
                    node[below] = child
                    parent[below] = frame
                else:
                    below = len(node)
                    node.append(child)
                    parent.append(frame)
                    place.append(0)
                    awaited.append(0)
                    following.append(-1)
                todo.append(4 * below)
        if len(events) == 0:
            return now, busy
        now, code = heapq.heappop(events)
        frame = code % _FRAMES
        at = node[frame]
        if kind[at] == USE:
            resource = first[at]
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
                made += 1
                heapq.heappush(events, (now + time[node[chosen]], made * _FRAMES + chosen))
        todo.append(4 * frame + 2)
