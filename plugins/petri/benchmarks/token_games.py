"""Token games per CPU second on rings of several sizes, and against peers in the same run.

    uv pip install snakes pm4py line-solver
    python plugins/petri/benchmarks/token_games.py

Each place of a ring gives its tokens to the next. Our delays are constant or exponential, those of
LINE's discrete-event simulator (LDES, a compiled program) exponential; SNAKES and pm4py play
without time. Ours is the best of three, compilation apart; LDES is the difference between a long
and a short run, so that its start does not count. A peer that is not installed is left out.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from parcast_petri.machine.laws import Law
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.net import Net, NetError, Transition
from parcast_petri.nets.token_game import Play

FIRINGS = 1_000_000


def ring(size: int, tokens: int, law: bool) -> Net:
    """Return a ring whose transitions differ a little."""
    delays = [1 + index % 7 * 0.01 for index in range(size)]
    return Net(
        places=tuple(f"p{index}" for index in range(size)),
        initial={f"p{index * size // tokens}": 1 for index in range(tokens)},
        transitions=tuple(
            Transition(
                name=f"t{index}",
                pre={f"p{index}": 1},
                post={f"p{(index + 1) % size}": 1},
                delay=Law("exp", (delay,)) if law else delay,
            )
            for index, delay in enumerate(delays)
        ),
    )


def rate(net: Net, form: str = "compiled", firings: int = FIRINGS) -> float:
    """Return firings per CPU second."""
    made = kernel_arrays(net, form)  # type: ignore[arg-type]
    seconds = []
    for most in (1000, firings, firings, firings):
        play = Play(made, most_firings=most)
        start = time.process_time()
        with suppress(NetError):  # a ring has no end
            play.end()
        seconds.append(time.process_time() - start)
    return firings / min(seconds[1:])


def timed(call: Callable[[int], object], firings: int) -> float:
    """Return what a peer does per CPU second."""
    start = time.process_time()
    call(firings)
    return firings / (time.process_time() - start)


def snakes(size: int, tokens: int, *, sweeping: bool) -> float:
    """Return the firings per second of SNAKES on the ring.

    Each firing is that of the first enabled mode, looked for from the first transition on; or,
    ``sweeping``, from the one after that which fired last.
    """
    from snakes.nets import PetriNet, Place, Value
    from snakes.nets import Transition as Step

    net = PetriNet("ring")
    for index in range(size):
        marked = any(place * size // tokens == index for place in range(tokens))
        net.add_place(Place(f"p{index}", [1] if marked else []))
    for index in range(size):
        net.add_transition(Step(f"t{index}"))
        net.add_input(f"p{index}", f"t{index}", Value(1))
        net.add_output(f"p{(index + 1) % size}", f"t{index}", Value(1))
    steps = list(net.transition())

    def play(firings: int) -> None:
        at = 0
        for _ in range(firings):
            at = at + 1 if sweeping else 0
            while not (modes := steps[at % size].modes()):
                at += 1
            steps[at % size].fire(modes[0])

    return timed(play, 20_000)


def pm4py(size: int, tokens: int) -> float:
    """Return the firings per second of pm4py on the ring."""
    from pm4py.objects.petri_net import semantics
    from pm4py.objects.petri_net.obj import Marking, PetriNet
    from pm4py.objects.petri_net.utils.petri_utils import add_arc_from_to

    net = PetriNet("ring")
    places = [PetriNet.Place(f"p{index}") for index in range(size)]
    steps = [PetriNet.Transition(f"t{index}", f"t{index}") for index in range(size)]
    net.places.update(places)
    net.transitions.update(steps)
    for index in range(size):
        add_arc_from_to(places[index], steps[index], net)
        add_arc_from_to(steps[index], places[(index + 1) % size], net)
    marking = Marking({places[index * size // tokens]: 1 for index in range(tokens)})

    def play(firings: int) -> None:
        now = marking
        for _ in range(firings):
            enabled = semantics.enabled_transitions(net, now)
            now = semantics.execute(min(enabled, key=lambda one: one.name), net, now)

    return timed(play, 20_000)


def line(size: int, tokens: int) -> float:
    """Return the firings per second of LINE's LDES on the ring."""
    from line_solver import ClosedClass, Exp, Network, Place, SolverLDES
    from line_solver import Transition as Step

    model = Network("ring")
    places = [Place(model, f"p{index}") for index in range(size)]
    token = ClosedClass(model, "token", tokens, places[0], 0)
    routing_of = []
    for index in range(size):
        step, after = Step(model, f"t{index}"), places[(index + 1) % size]
        mode = step.add_mode("fire")
        step.set_distribution(mode, Exp(1 / (1 + index % 7 * 0.01)))
        step.set_enabling_conditions(mode, token, places[index], 1)
        step.set_firing_outcome(mode, token, after, 1)
        routing_of += [(places[index], step), (step, after)]
    routing = model.init_routing_matrix()
    for here, there in routing_of:
        routing.set(token, token, here, there, 1.0)
    model.link(routing)
    for index, place in enumerate(places):
        place.set_state(sum(one * size // tokens == index for one in range(tokens)))

    def seconds(firings: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        SolverLDES(model, seed=23000, samples=firings, verbose=False).avg_table()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    short, long = seconds(20_000), seconds(220_000)
    return 200_000 / (long - short)


def main() -> None:
    """Print the table."""
    ours, drawn = (rate(ring(50, 20, law=law)) for law in (False, True))
    plain = rate(ring(50, 20, law=False), "plain", 20_000)
    print(
        f"{'ring, tokens':>16s}  {'constant':>12s}  {'exponential':>12s}   firings per CPU second"
    )
    for size, tokens in ((50, 20), (112, 16), (7168, 1024), (70_000, 10_000)):
        each = [rate(ring(size, tokens, law=law)) for law in (False, True)]
        print(f"{size:>8d} {tokens:>7d}  {each[0]:12,.0f}  {each[1]:12,.0f}")
    print(f"plain Python at 50 places: {plain:,.0f}, {ours / plain:.0f} times slower")
    for name, peer, mine in (
        ("SNAKES, first enabled,", partial(snakes, sweeping=False), ours),
        ("SNAKES, in turn,", partial(snakes, sweeping=True), ours),
        ("pm4py", pm4py, ours),
        ("LINE's LDES", line, drawn),
    ):
        try:
            theirs = peer(50, 20)
        except ImportError:
            print(f"{name} is not installed; it is left out")
            continue
        print(f"{name} at 50 places: {theirs:,.0f}; ours is {mine / theirs:.0f} times that")


if __name__ == "__main__":
    main()
