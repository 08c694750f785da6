"""A submission of several jobs asks for no more than a small node has."""

from types import SimpleNamespace

import pytest

from stp.run.cluster import groups


@pytest.mark.parametrize(
    ("threads", "cores", "cpus", "minutes"),
    [
        ([1] * 4, 2, 2, 40),  # a machine with two
        ([1] * 30, None, 10, 60),  # ten at a time, in three rounds of 20 minutes
        ([1] * 6, None, 6, 20),
        ([16, 1], None, 16, 40),  # who asks for more alone gets it
    ],
)
def test_cpus_of_a_submission_are_bounded(
    monkeypatch: pytest.MonkeyPatch, threads: list[int], cores: int | None, cpus: int, minutes: int
) -> None:
    from snakemake.jobs import GroupJob
    from snakemake.resources import Resources

    monkeypatch.setattr(GroupJob, "resources", GroupJob.resources)  # what it was comes back
    groups.limit_cpus(10)
    dag = SimpleNamespace(workflow=SimpleNamespace(local_exec=False))
    jobs = [
        SimpleNamespace(
            dag=dag,
            pipe_group=None,
            threads=number,
            resources={"_cores": number, "_nodes": 1, "mem_mb": 1000 * number, "runtime": 20},
        )
        for number in threads
    ]
    shared = Resources.parse([], allow_expressions=False)
    shared["_cores"] = cores
    group = GroupJob.__new__(GroupJob)
    group._jobs, group._toposorted = jobs, [jobs]
    group._resources, group.global_resources, group.groupid = None, shared, "small"
    asked = group.resources
    assert (asked["_cores"], asked["mem_mb"], asked["runtime"]) == (cpus, 1000 * cpus, minutes)
    assert shared["_cores"].value == cores, "the limit is of this submission alone"
