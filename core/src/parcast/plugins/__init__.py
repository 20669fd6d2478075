"""Plugins: what they register, the hooks, the catalogue of all of them, executors and kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.lazy import lazily

if TYPE_CHECKING:
    from parcast.plugins.entries import load, load_class
    from parcast.plugins.kernels import Kernel, cached_kernels, compile_kernel, kernel, kernel_cache
else:
    __getattr__ = lazily(
        __name__,
        {
            "entries": "load load_class",
            "kernels": "Kernel cached_kernels compile_kernel kernel kernel_cache",
        },
    )

__all__ = [
    "Kernel",
    "cached_kernels",
    "compile_kernel",
    "kernel",
    "kernel_cache",
    "load",
    "load_class",
]
