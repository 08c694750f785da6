"""How much a submission of several jobs asks for.

Snakemake adds up what all jobs ask that could run side by side: ten cells of a few short jobs each
asked for more CPUs than a small node has, and waited for ever.
"""

import copy
from typing import Any


def keep_small(cpus: int) -> None:
    """Let this process, the driver, ask for so many CPUs at most for a submission of several jobs.

    Jobs for which these do not suffice at once run one after another. A job that asks for more by
    itself gets it.
    """
    from snakemake.jobs import GroupJob

    group: Any = GroupJob
    plain = group.resources.fget

    def bounded(self: Any) -> Any:
        if self._resources is None:
            within = copy.deepcopy(self.global_resources)  # that of the whole run stays
            most = max(cpus, *(job.threads for job in self.jobs))
            cores = within.get("_cores").value  # of this machine, or of --cores
            within["_cores"] = most if cores is None else min(cores, most)
            self.global_resources = within
        return plain(self)

    group.resources = property(bounded)
