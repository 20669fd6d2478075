"""Plugins: what they register, the hooks, the catalogue of all of them, executors and kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.plugins.entries import (
        COST_FEATURES,
        JOBS,
        MEMORY_FEATURES,
        load,
        load_class,
        resources,
    )
    from parcast.plugins.kernels import Kernel, call_once, kernel, without_collection
    from parcast.plugins.machine_code import (
        announce,
        cached_kernels,
        compile_kernel,
        is_cached,
        kernel_cache,
    )
    from parcast.plugins.warming import warm
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "COST_FEATURES",
    "JOBS",
    "MEMORY_FEATURES",
    "Kernel",
    "announce",
    "cached_kernels",
    "call_once",
    "compile_kernel",
    "is_cached",
    "kernel",
    "kernel_cache",
    "load",
    "load_class",
    "resources",
    "warm",
    "without_collection",
]
