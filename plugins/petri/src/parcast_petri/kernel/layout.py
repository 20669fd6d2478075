"""Where everything stands in the two memories of the kernel: the table of its state.

Memory ``m`` holds whole numbers, memory ``f`` seconds and other real ones. Both are arrays for
the compiled form, or lists for the plain one, which with fractions is exact. The first entries
of ``m`` are counters and options, then come the starts of the columns: ``m[m[FIRED] + t]`` is how
often transition t fired, ``f[m[LAST] + t]`` when it did last. Nothing else passes from function to
function, because each array that is passed costs the compiled form more than what
most of these functions do.

An *item* is what stands in a heap: transition t (its timer, where it has one server) is item
t, then come the pools, the queues, and the timers of transitions with several servers. A *reader*
of a place or load is a pool whose speed depends on it.
"""

from __future__ import annotations

#: Heaps; those of pools follow, then of each queue those who ask, then those who stand in line.
MAIN, IMMEDIATE, READY, FIRST_POOL = range(4)
#: Ways to find a delay
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
#: Where an item is that stands in no heap (in ``SLOT``)
OUT, WAITING = -1, -2

#: The first entries of ``f``.
(
    CLOCK,  # the present time
    SINCE,  # when its instant began
    UNTIL,  # and ends
    SAME,  # how much later than a time, relative to it, another may be and still be of its instant
) = range(4)

#: The first entries of ``m``.
(
    # what a run changes
    FIRINGS,  # so far
    INSTANT,  # firings since time last passed
    TRACES,  # firings in ``TRACE``
    PENDINGS,  # timers whose delay is evaluated at the end of the instant
    DIRTIES,  # pools whose speed must be evaluated anew
    STALES,  # links whose members' rates must be found anew
    SPARE,  # timers of transitions with several servers that nobody uses
    STARTED,  # whether the initial marking's timers run
    CULPRIT,  # the transition, pool or place because of which a run ends
    SAVES,  # the firing of this instant at which ``SAVED`` was written
    SERIAL,  # requests that have got their place in line
    # what it does not
    TRANSITIONS,  # how many
    POOLS,  # how many
    QUEUES,  # how many
    HEAPS,  # how many
    COUNTED,  # entries of the marking
    ROOM,  # firings that can be traced
    BOUND,  # tokens that no place may exceed
    STOP_PLACE,  # the place whose tokens end a run; -1: none
    STOP_TOKENS,  # and how many of them do
    SEQUENTIAL,  # whether delays of the marking are evaluated at once
    RANDOM,  # whether any delay is drawn
    BURST,  # timers that one firing may start at most
    LINKS,  # how many
    ORDINARY,  # whether all transitions are ``PLAIN``
) = range(25)

#: Columns. Entries of i in X stand from ``X_AT[i]`` to before ``X_AT[i + 1]``.
(
    # columns of ``m`` that a run does not change
    PRE_AT,  # by transition: its input arcs
    PRE_PLACE,  # by input arc
    PRE_WEIGHT,
    INHIBITOR_AT,  # by transition: its inhibitor arcs
    INHIBITOR_PLACE,  # by inhibitor arc
    INHIBITOR_WEIGHT,
    CHANGE_AT,  # by transition: the places whose tokens its firing changes
    CHANGE_PLACE,  # by change
    CHANGE_BY,
    TOUCH_AT,  # by transition: those whose enabling its firing may change
    TOUCH,
    READER_AT,  # by place or load: its readers
    READER,
    PLAIN,  # by transition, whether a timer, constant or drawn, is all there is to it
    KIND,  # by transition, how its delay is found
    IMMEDIATES,  # by transition, whether it is immediate
    SERVERS,  # by transition; -1: any number
    AGE,  # by transition, whether work done is kept while it is disabled
    POOL,  # by transition; -1: the clock's own time
    LOAD,  # by transition, where in the marking its enablings are counted; -1: nowhere
    QUEUE,  # by transition; -1: none
    RESOURCE,  # by queue, its place
    GRANTS,  # by place or load, the queue that it serves; -1: none
    CODE_AT,  # by transition, then by pool, then by link: delay, speed or capacity
    CODE,  # by operation of an expression
    TABLE_AT,  # by transition: the table of its law
    MEMBER_AT,  # by link: where in the marking what is on it is counted
    MEMBER,
    ON_AT,  # by place or load: the links that it is on
    ON,
    WATCHED_AT,  # by place or load: the links whose members' rates depend on it
    WATCHED,
    # columns of ``m`` that a run changes
    MARKING,  # tokens by place, then enablings by load
    SAVED,  # a marking of this instant, to find out whether it comes back
    DEGREE,  # by transition, its enablings as they are counted in its load
    ACTIVE,  # by transition, timers that run, or how far its request is
    FIRED,  # by transition, how often
    HEAD,  # by transition with several servers, its youngest timer
    DIRTY,  # by pool, whether it is in the next column
    DIRTY_LIST,  # pools whose speed must be evaluated anew
    PROMISED,  # by queue, whether its first request is about to be granted
    OWNER,  # by item, its transition
    TIE,  # by item, who is first at one key: the lower
    SLOT,  # by item, where in its heap it stands
    OLDER,  # by timer of several, the one started before it
    YOUNGER,  # and after it
    PENDING,  # by item, whether it is in the next column
    PENDING_LIST,  # items whose delay is evaluated at the end of the instant
    FREE,  # timers of transitions with several servers that nobody uses
    HEAP,  # the items of all heaps
    BASE,  # by heap, where it begins
    SIZE,  # by heap, how many items it has
    TRACE,  # the transitions that fired
    OPEN,  # by link, how many on it have no rate yet
    STALE,  # by link, whether it is in the next column
    STALE_LIST,  # links whose members' rates must be found anew
    # columns of ``f`` that a run does not change
    DELAY,  # by transition, a constant or the first parameter of its law
    SECOND,  # by transition, the second parameter of its law
    OPERAND,  # by operation of an expression
    TABLE,  # of empirical and hyperexponential laws, and delays that are given
    MEMBER_WEIGHT,  # by entry of ``MEMBER``: what it takes for each unit of its rate
    ON_WEIGHT,  # by entry of ``ON``, likewise
    # columns of ``f`` that a run changes
    LAST,  # by transition, when it fired last
    LEFT,  # by transition, work kept by age; -1: none
    VIRTUAL,  # by pool, the work done for each of its members
    UPDATED,  # by pool, until when
    SPEED,  # by pool
    STACK,  # of the expression being evaluated
    RATE,  # by place or load, its fair rate
    RATE_BEFORE,  # and what it was before rates were found anew
    LEFT_ON,  # by link, what it has left to give
    TAKEN,  # by link, what those take that have no rate yet, for each unit of it
    KEY,  # of what stands in ``HEAP``
    TRACE_TIME,  # when the transitions of ``TRACE`` fired
) = range(25, 99)

#: How many entries ``m`` has before its first column.
HEADER = TRACE_TIME + 1
#: The columns of ``f``; all others are of ``m``.
REAL = range(DELAY, HEADER)
