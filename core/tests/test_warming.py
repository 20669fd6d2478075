"""All kernels compiled ahead, and questions that then find them."""

from __future__ import annotations

from parcast import KernelEntry, Registry, hookimpl
from parcast.plugins import Kernel, warm
from parcast.plugins.kernels import compiling


class Plugin:
    @hookimpl
    def parcast_kernels(self):
        yield KernelEntry("broken", "parcast.startup:missing", "Fails.")
        yield KernelEntry("fine", "gc:get_threshold", "Works.")


def test_kernels_answer_compiled_while_they_are_warmed():
    both = Kernel(len, lambda: sum, plain_steps=10)
    assert both.form(1) is len
    with compiling():
        assert both.form(1) is sum


def test_what_fails_says_why_and_the_others_are_compiled():
    outcomes = dict(warm(Registry([Plugin()])))
    assert outcomes.keys() == {"broken", "fine"}
    assert outcomes["broken"].startswith("'parcast.startup:missing' cannot be imported")
    assert isinstance(outcomes["fine"], float)
