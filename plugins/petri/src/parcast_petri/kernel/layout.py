"""Where everything stands in the two memories of the kernel.

Memory ``m`` holds whole numbers, memory ``f`` seconds and other real ones. Both are arrays for
the compiled form, or lists for the plain one, which with fractions is exact. The first entries
of ``m`` are counters and options, then come the starts of the columns: ``m[m[FIRED] + t]`` is how
often transition t fired, ``f[m[LAST] + t]`` when it did last. Nothing else passes from function to
function, because each array that is passed costs the compiled form more than what
most of these functions do.

An *item* is what stands in a heap: transition t (its timer, where it has one server) is item
t, then come the pools, the queues, and the timers of transitions with several servers.
"""

from __future__ import annotations

#: Heaps; those of pools follow, then of each queue those who ask, then those who stand in line.
MAIN, IMMEDIATE, READY, FIRST_POOL = range(4)
#: Routes to find a delay
CONST, MARKED, EXP, ERLANG, UNIFORM, GAMMA, LOGNORMAL, WEIBULL, PARETO, HYPER, SAMPLED = range(11)
STAGES, GIVEN = 11, 12
#: Operations of expressions
NUMBER, TOKENS, ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM, NEGATE, FAIR = range(10)
#: Why `run` returns
DEAD, STOPPED, LIMIT, ENDLESS, UNBOUNDED, TRACED, FULL, NEGATIVE = range(8)
#: Why `play_ordinary` returns besides
GENERAL = 8
#: How far a request for a queue's resource is (in ``ACTIVE``)
NOT_ASKED, ASKING, IN_LINE, GRANTED = range(4)
#: Where an item is that stands in no heap
OUT, WAITING = -1, -2
#: The places in ``f`` of the present time, of the begin and the end of its instant, and of how much
#: later than a time another may be, relative to it, and still be of one instant
CLOCK, SINCE, UNTIL, SAME = range(4)

#: The first entries of ``m``: what a run changes.
FIRINGS, INSTANT, TRACES, PENDINGS, DIRTIES, SPARE, STARTED, CULPRIT, SAVES, SERIAL = range(10)
#: What it does not: how many there are, and options.
TRANSITIONS, POOLS, QUEUES, HEAPS, COUNTED, ROOM = range(10, 16)
BOUND, STOP_PLACE, STOP_TOKENS, SEQUENTIAL, RANDOM, BURST, LINKS = range(16, 23)
ORDINARY = 23  # whether all transitions have `PLAIN` timers

#: Columns of ``m`` that a run does not change. Entries of i in X stand from ``X_AT[i]`` to before
#: ``X_AT[i + 1]``.
(
    PRE_AT, PRE_PLACE, PRE_WEIGHT, INHIBITOR_AT, INHIBITOR_PLACE, INHIBITOR_WEIGHT,
    CHANGE_AT, CHANGE_PLACE, CHANGE_BY,
    TOUCH_AT, TOUCH,  # transitions whose enabling a firing may change
    STIR_AT, STIR,  # pools whose speed depends on a place or a load
    PLAIN,  # whether a timer, constant or drawn, is all there is to it
    KIND, IMMEDIATES, SERVERS, AGE,
    POOL,  # -1: the clock's own time
    LOAD,  # where in the marking it is counted; -1: nowhere
    QUEUE,  # -1: none
    RESOURCE,  # by queue, its place
    GRANTS,  # by place or load, the queue that it serves; -1: none
    CODE_AT, CODE,  # of transitions' delays, then of pools' speeds and links' capacities
    TABLE_AT,
    MEMBER_AT, MEMBER,  # of links: where in the marking what is on them is counted
    ON_AT, ON,  # by place or load, the links that it is on
    # columns that it changes
    MARKING,  # places, then loads
    SAVED, DEGREE,
    ACTIVE,  # timers of a transition that run
    FIRED,
    HEAD,  # the youngest timer, where there are several
    DIRTY, DIRTY_LIST,
    PROMISED,  # by queue, whether its first request is about to be granted
    OWNER, TIE, PLACE, OLDER, YOUNGER, PENDING, PENDING_LIST, FREE,
    HEAP, BASE, SIZE, TRACE,
    OPEN,  # how many on a link have no rate yet
    # columns of ``f``: what a run does not change
    DELAY,  # a constant, or the first parameter of a law
    SECOND, OPERAND,
    TABLE,  # of empirical and hyperexponential laws
    # and what it does
    LAST,  # when a transition fired last
    LEFT,  # work kept by age; -1: none
    VIRTUAL,  # by pool, the work done for each of its members
    UPDATED, SPEED, STACK,
    RATE,  # by place or load, its fair rate
    LEFT_ON,  # what a link has left to give
    KEY,  # of what stands in ``HEAP``
    TRACE_TIME,
) = range(24, 90)  # fmt: skip

#: How many entries ``m`` has before its first column.
HEADER = TRACE_TIME + 1
#: The columns of ``f``; all others are of ``m``.
REAL = range(DELAY, HEADER)
