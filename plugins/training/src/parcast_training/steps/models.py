"""Numbers of models that configurations know by name alone."""

from __future__ import annotations

#: Layers, hidden, heads, kv heads and ffn width of Llama 3 (arXiv 2407.21783, table 3) and its
#: smaller ones of version 3.2, as their model cards state them.
LLAMA_3 = {
    "1B": (16, 2048, 32, 8, 8192),
    "3B": (28, 3072, 24, 8, 8192),
    "8B": (32, 4096, 32, 8, 14336),
    "70B": (80, 8192, 64, 8, 28672),
    "405B": (126, 16384, 128, 8, 53248),
}
