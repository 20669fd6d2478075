"""A kernel's two forms, and which of them answers."""

from __future__ import annotations

import threading

from parcast.plugins import Kernel, kernel


def add(a, b):
    return a + b


def counted(plain_steps=10, loaded_steps=3):
    made = []

    def make():
        made.append(threading.get_ident())
        return lambda a, b: a + b

    return made, Kernel(add, make, plain_steps=plain_steps, loaded_steps=loaded_steps)


def test_numba_is_loaded_when_the_plain_steps_of_all_calls_would_take_as_long():
    made, both = counted()
    assert both.form(6) is add
    assert both.form(4) is add
    assert not made
    assert both.form(1) is not add
    assert len(made) == 1


def test_what_is_not_compiled_yet_is_when_plain_steps_would_take_as_long():
    cached = False
    both = Kernel(
        add, lambda: counted, plain_steps=10, uncached_steps=100, is_cached=lambda: cached
    )
    assert both.form(60) is add
    assert both.form(40) is add
    assert both.form(1) is counted
    other = Kernel(
        add, lambda: counted, plain_steps=10, uncached_steps=100, is_cached=lambda: cached
    )
    assert other.form(60) is add
    cached = True  # by another process
    assert other.form(1) is counted


def test_small_questions_stay_plain_where_the_compiled_form_is_loaded():
    _, both = counted()
    assert both.compiled(1, 2) == 3
    assert both.form(3) is add
    assert both.form(4) is both.compiled


def test_a_kernel_is_compiled_once_whoever_asks_first():
    made, both = counted()
    threads = [threading.Thread(target=lambda: both.compiled(1, 2)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_a_decorated_function_has_both_forms():
    both = kernel("parcast")(add)
    assert both.plain is add
    assert both.compiled(2.0, 3.0) == 5.0
