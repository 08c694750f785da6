"""Limit the CPUs that a group (short jobs submitted together) requests from Slurm.

Snakemake sums the CPUs of all jobs that could run in parallel, so a group with the jobs of ten
cells may request more CPUs than a small node has, and wait forever. Snakemake's option ``--cores``
would limit these CPUs, but also the CPUs of single jobs.
"""

import copy
from typing import Any


def limit_cpus(cpus: int) -> None:
    """Limit the CPUs that each group of jobs requests from Slurm.

    A group consists of short jobs that are submitted together. Its jobs run in parallel as far as
    the CPUs suffice, and else one after the other. The limit holds for this process, the driver of
    a run, which submits the groups.

    Args:
        cpus: maximum number of CPUs of a group. If one of its jobs needs more, the group gets as
            many as this job needs.
    """
    from snakemake.jobs import GroupJob

    group: Any = GroupJob
    plain = group.resources.fget

    def bounded(self: Any) -> Any:
        if self._resources is None:
            limited = copy.deepcopy(self.global_resources)  # for this group only
            limit = max(cpus, *(job.threads for job in self.jobs))
            cores = limited.get("_cores").value  # cores of this machine, or --cores
            limited["_cores"] = limit if cores is None else min(cores, limit)
            self.global_resources = limited
        return plain(self)

    group.resources = property(bounded)
