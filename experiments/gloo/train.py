"""Data-parallel training of a tiny model over gloo, recorded by PyTorch's profiler.

    python train.py FOLDER [--ranks 2] [--steps 200] [--delay 0.02] [--slow 1] [--every 2]

Needs PyTorch, which parcast does not. Each rank writes FOLDER/rank-N.json, a trace of Kineto, and
rank 0 FOLDER-steps.csv: the seconds of the steps by a clock of its own. ``--delay`` is how long the
slow rank sleeps before the forward pass of every so many steps. With ``--ddp``
gradients are summed by DistributedDataParallel, in buckets beside the backward pass; else by hand
after it.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.profiler import ProfilerActivity, profile


def model(width: int) -> nn.Module:
    """Return a small perceptron."""
    layers = [nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def train(rank: int, options: argparse.Namespace, folder: Path) -> None:
    """Train on one rank."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(options.port)}
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", rank=rank, world_size=options.ranks)
    net = model(options.width)
    wrapped = nn.parallel.DistributedDataParallel(net) if options.ddp else net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    inputs = torch.randn(options.batch, options.width)
    labels = torch.randint(0, 10, (options.batch,))

    def step(number: int) -> None:
        if rank == options.slow and number % options.every == 0 and options.delay:
            time.sleep(options.delay)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(wrapped(inputs), labels)
        loss.backward()
        if not options.ddp:
            gradient = torch.cat([part.grad.flatten() for part in net.parameters()])
            dist.all_reduce(gradient)
        optimizer.step()

    for number in range(5):
        step(number)
    seconds = []
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        dist.barrier()
        for number in range(options.steps):
            begin = time.perf_counter()
            step(number)
            seconds.append(time.perf_counter() - begin)
        dist.barrier()
    recorded.export_chrome_trace(str(folder / f"rank-{rank}.json"))
    if rank == 0:
        rows = "".join(f"{number},{length!r}\n" for number, length in enumerate(seconds))
        folder.with_name(f"{folder.name}-steps.csv").write_text(f"step,seconds\n{rows}")
    dist.destroy_process_group()


def main() -> None:
    """Train on all ranks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--slow", type=int, default=1)
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--port", type=int, default=29_517)
    parser.add_argument("--ddp", action="store_true")
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    del options.folder
    torch.multiprocessing.spawn(train, (options, folder), nprocs=options.ranks)


if __name__ == "__main__":
    main()
