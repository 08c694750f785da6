"""A limit of the CPUs that a submission of several jobs asks for.

Snakemake adds up the CPUs of all jobs that could run side by side, so that a submission with ten
cells may ask for more than a small node has, and wait for ever. `--cores` would limit these CPUs,
but also those of single jobs.
"""

import copy
from typing import Any


def limit_cpus(cpus: int) -> None:
    """Let this process, the driver, limit the CPUs of a submission of several jobs.

    Jobs that do not fit side by side run one after another.

    Args:
        cpus: largest number of CPUs; a submission gets more if a single job of it asks for more.
    """
    from snakemake.jobs import GroupJob

    group: Any = GroupJob
    plain = group.resources.fget

    def bounded(self: Any) -> Any:
        if self._resources is None:
            limited = copy.deepcopy(self.global_resources)  # that of the whole run does not change
            limit = max(cpus, *(job.threads for job in self.jobs))
            cores = limited.get("_cores").value  # of this machine, or of --cores
            limited["_cores"] = limit if cores is None else min(cores, limit)
            self.global_resources = limited
        return plain(self)

    group.resources = property(bounded)
