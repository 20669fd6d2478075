"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import pytest

import parcast_profiles
from parcast.testing import check_plugin

CALIPER = """\
__rec=node,id=20,attr=10,data=276,parent=3
__rec=node,id=21,attr=8,data=region,parent=20
__rec=node,id=30,attr=8,data=attribute.unit,parent=3
__rec=node,id=31,attr=30,data=sec,parent=5
__rec=node,id=32,attr=8,data=sum#inclusive#sum#time.duration,parent=31
__rec=node,id=40,attr=8,data=mpi.world.size,parent=3
__rec=node,id=41,attr=40,data=4
__rec=node,id=50,attr=21,data=main
__rec=node,id=51,attr=21,data=MPI_Allreduce,parent=50
__rec=ctx,ref=50,attr=32,data=40.0
__rec=ctx,ref=51,attr=32,data=6.0
__rec=globals,ref=41
"""


def test_the_package_conforms(tmp_path):
    registry = check_plugin(parcast_profiles)
    path = tmp_path / "run.cali"
    path.write_text(CALIPER)
    workload = registry.workload(path)
    assert (workload.kind, workload.processes) == ("profile", 4)
    assert workload.content.profile.seconds == pytest.approx(40)
