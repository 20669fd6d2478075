"""Training as the DLIO benchmark emulates it: samples are read, and computed on batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

import attrs
import numpy as np

from parcast import Formula, InvalidPointError, Unit
from parcast_emulator.blocks import Blocks, Consumers, Floats, make_blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.fields import Bytes, Number, Servers, Time, constant
from parcast_emulator.emulators.layout import Layout, checked_count, layout, whole
from parcast_emulator.workflow import WorkFlow, passing_on


@attrs.frozen(kw_only=True)
class Dlio:
    """Each consumer is an accelerator; every epoch reads all files in another order."""

    files: Number  #: of the data set
    samples: Number = constant(1)  #: of a file
    size: Bytes  #: of a sample
    deviation: Annotated[Formula, Unit("B")] = constant(0, "B")  #: of a sample's size (normal)
    batch: Number = constant(1)  #: samples of a step of one accelerator
    compute: Time  #: of a step
    epochs_number: Number = constant(1)  #: passes over the data set
    most_steps: Annotated[Formula, Unit("1")] = constant(0)  #: of all epochs; 0: no limit
    servers: Servers = constant(0)  #: nodes that hold the data; 0: all of them
    unused: tuple[str, ...] = ()  #: keys of a DLIO file that change nothing here

    workflow: ClassVar[WorkFlow] = passing_on("dlio", "node with the file", "accelerator")

    @property
    def notes(self) -> tuple[str, ...]:
        """What the model leaves out."""
        unused = f"these keys change nothing here: {', '.join(self.unused)}"
        return (
            "samples are read ahead without limit, and accelerators meet at the end of an epoch",
            "a batch is computed on sample by sample, and a file lies whole on one disk",
            *((unused,) if self.unused else ()),
        )

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Refuse fewer samples than one step of all accelerators, and odd numbers of servers."""
        consumers = layout(values["servers"], p).consumers
        checked_count(
            self.steps(values, consumers)[0] * whole("batch", values["batch"]) * consumers
        )
        whole("epochs_number", values["epochs_number"])

    def steps(self, values: Mapping[str, float], consumers: int) -> list[int]:
        """Return how many steps each epoch has."""
        samples = whole("files", values["files"]) * whole("samples", values["samples"])
        step = whole("batch", values["batch"]) * consumers
        if samples < step:
            raise InvalidPointError(
                f"{samples} samples are less than a step of {consumers} accelerators, {step}; "
                "state more files, or use a smaller p"
            )
        left = values["most_steps"] or np.inf
        steps_of = []
        for _ in range(whole("epochs_number", values["epochs_number"])):
            steps_of.append(int(min(samples // step, left)))
            left -= steps_of[-1]
        return [steps for steps in steps_of if steps]

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return the samples of every epoch, in the order of steps."""
        sides = layout(values["servers"], len(cluster.speed))
        files, samples = whole("files", values["files"]), whole("samples", values["samples"])
        size = self.sizes(values, files * samples, random)
        for steps in self.steps(values, sides.consumers):
            count = steps * whole("batch", values["batch"])  # of each accelerator
            yield self.epoch(values, cluster, sides, count, random.permutation(files), size)

    def sizes(self, values: Mapping[str, float], count: int, random: np.random.Generator) -> Floats:
        """Return the size of each sample, or of all."""
        if not values["deviation"]:
            return np.array([values["size"]])
        drawn = random.normal(values["size"], values["deviation"], checked_count(count))
        sizes: Floats = np.maximum(np.rint(drawn), 1.0)
        return sizes

    def epoch(
        self, values: Mapping[str, float], cluster: Cluster, sides: Layout, count: int,
        order: np.ndarray, size: Floats,
    ) -> Blocks:  # fmt: skip
        """Return an epoch in which each accelerator reads ``count`` samples, file by file."""
        samples, disks = round(values["samples"]), sides.disks(cluster)
        turn = np.repeat(np.arange(count), sides.consumers)
        rank = np.tile(np.arange(sides.consumers), count)
        file = order[(rank + turn // samples * sides.consumers) % len(order)]
        sample = turn % samples
        return make_blocks(
            sides.disk(file % disks, cluster),
            (file // disks * samples + sample) * values["size"],
            size if len(size) == 1 else size[file * samples + sample],
            values["compute"] / whole("batch", values["batch"]),
            Consumers.lists(np.arange(len(rank) + 1), sides.first + rank),
        )

    def closed_form(self, values: Mapping[str, float], p: int) -> float:
        """Return the time of all steps without waiting: 100 % accelerator utilization."""
        consumers = layout(values["servers"], p).consumers
        return sum(self.steps(values, consumers)) * values["compute"]
