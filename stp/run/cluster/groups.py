"""Limit the CPUs that a submission of several jobs to Slurm requests.

Snakemake sums the CPUs of all jobs that could run in parallel, so a submission with ten cells may
request more CPUs than a small node has, and wait forever. `--cores` would limit these CPUs, but
also the CPUs of single jobs.
"""

import copy
from typing import Any


def limit_cpus(cpus: int) -> None:
    """Let this process, the driver of a run, limit the CPUs of submissions of several jobs.

    Jobs that do not fit in parallel run one after the other.

    Args:
        cpus: maximum number of CPUs; a submission gets more if one of its jobs needs more.
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
