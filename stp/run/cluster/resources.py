"""Resources that jobs request, from expected costs, settings of the site, and earlier attempts.

They are computed again before every retry: memory doubles for each attempt that ran out of memory,
and the time limit doubles for each attempt that ran out of time. Other failures do not change them.
"""

import math
from typing import Any

from stp.core import store
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run.cluster import attempts
from stp.run.cluster.site import Site, small_group
from stp.run.costs.estimate import Cost, Costs

SITE_RESOURCES = ("gpu_model", "nodes", "slurm_partition", "slurm_account", "qos", "constraint")
"""Names of resources that jobs request only if the site, or the size of a training run, needs them.
"""
SAFETY = 2.0
"""Requested time as a multiple of the expected time."""
START_MINUTES = 15
"""Minutes added to the requested time, for a slow start on a busy file system."""
ROUND_MINUTES = 5
PROFILE_MB = 8000
PROFILE_SECONDS = 1200.0
"""Time of a training step of the largest network of Table 19 on one clip, measured on two CPU
cores, seconds."""

Json = dict[str, Any]


class JobResources:
    """Resource requests of all jobs of a plan.

    Args:
        plan: the plan.
        site: the site where the jobs run.
    """

    def __init__(self, plan: Plan, site: Site) -> None:
        self.plan, self.site, self.costs = plan, site, Costs(plan)
        self._requests: dict[tuple[str, int], Json] = {}
        self._small: dict[str, bool] = {}

    def of(self, receipt: str, attempt: int = 1) -> Json:
        """The resources of the job that makes an artefact.

        Args:
            receipt: path of the artefact's receipt.
            attempt: number of the attempt in this run of Snakemake, from 1.

        Returns:
            Snakemake's resources by name, and ``threads``.
        """
        if (receipt, attempt) not in self._requests:
            artefact = self.plan.find(receipt)
            self._requests[receipt, attempt] = self._request(artefact, attempt)
        return self._requests[receipt, attempt]

    def site_sets(self, name: str) -> bool:
        """Whether any job of this site requests a certain resource.

        Args:
            name: name of the resource, one of `SITE_RESOURCES`, such as ``slurm_partition``.
        """
        if name == "gpu_model":
            return self.site.gpu.request == "gpus" and self.site.gpu.type is not None
        if name == "nodes":
            return int(self.plan.config.scale.runtime.get("gpus", 0)) > self.site.gpu.per_node
        attribute = name.removeprefix("slurm_")
        return any(getattr(nodes, attribute) for nodes in (self.site.cpu, self.site.gpu))

    def group(self, receipt: str) -> str | None:
        """Name of the group of jobs with which a job is submitted; None if it is submitted alone.

        Short jobs without a GPU that do not depend on a long job are submitted together. A group
        starts when all inputs of its members exist, and a failed member stops members that have not
        begun. Jobs that depend on a training run, or were tried before, are therefore submitted
        alone.

        Args:
            receipt: path of the receipt (the record of a finished artefact) that the job writes.
        """
        return small_group(self.plan.find(receipt).dataset) if self._is_small(receipt) else None

    def _is_small(self, receipt: str) -> bool:
        if receipt not in self._small:
            self._small[receipt] = self._find_out_if_small(receipt)
        return self._small[receipt]

    def _find_out_if_small(self, receipt: str) -> bool:
        artefact = self.plan.find(receipt)
        cost = self.costs.of(artefact)
        if cost.gpus or cost.seconds > 60 * self.site.group_minutes:
            return False
        if artefact.stage not in ("predict", "features", "score"):
            return False
        if (self.plan.store / "state" / artefact.folder).exists():
            return False
        return all(
            (self.plan.store / needed.receipt).exists() or self._is_small(needed.receipt)
            for needed in artefact.inputs.values()
            if isinstance(needed, Artefact)
        )

    def of_fetch(self, lock: str) -> Json:
        """The resources of the job that fetches raw files."""
        cost = self.costs.of_raw(self.plan.raw_of(lock))
        return self.request_for(cost, "fetch")

    def of_profile(self, threads: int) -> Json:
        """The resources of the job that measures a network, the same as for a small training run.

        Args:
            threads: number of CPU threads.
        """
        gpus = min(1, int(self.plan.config.scale.runtime.get("gpus", 0)))
        cost = Cost(gpus, threads, PROFILE_MB, PROFILE_SECONDS, 0, 0, "measures for some minutes")
        return self.request_for(cost, "train")

    def _request(self, artefact: Artefact, attempt: int) -> Json:
        cost = self.costs.of(artefact)
        # Attempts of earlier runs count, too. Without an attempt, there is no state folder.
        state = self.plan.store / "state" / artefact.folder
        times_out_of_memory = times_out_of_time = 0
        if attempt > 1 or state.exists():
            if not store.is_held(state):
                attempts.settle_vanished(state)
            times_out_of_memory = attempts.count(state, attempts.OUT_OF_MEMORY)
            times_out_of_time = attempts.count(state, attempts.TIME_LIMIT)
        request = self.request_for(cost, artefact.stage, times_out_of_memory, times_out_of_time)
        ranks = self.plan.ranks(artefact)
        if ranks > 1:
            nodes = math.ceil(cost.gpus / self.site.gpu.per_node) or 1
            request["threads"] = cost.threads * math.ceil(ranks / nodes)
            if nodes > 1:  # threads and memory are per node
                request |= {"nodes": nodes, "mem_mb": math.ceil(request["mem_mb"] / nodes)}
        return request

    def summary(self) -> list[Json]:
        """Largest request of each stage and kind of node, as rows of a table."""
        rows: dict[tuple[str, bool], Json] = {}
        for artefact in self.plan.artefacts.values():
            request = self.of(artefact.receipt)
            on_gpu = bool(request["gpu"] or request["gres"])
            row = rows.setdefault((artefact.stage, on_gpu), {"stage": artefact.stage, "jobs": 0})
            row["jobs"] += 1
            for name, value in request.items():
                row[name] = max(value, row.get(name, value))
        return list(rows.values())

    def request_for(
        self, cost: Cost, stage: str, times_out_of_memory: int = 0, times_out_of_time: int = 0
    ) -> Json:
        site, nodes = self.site, self.site.nodes(cost.gpus)
        memory = site.memory_mb.get(stage, cost.memory_mb)  # type: ignore[call-overload]
        memory = max(memory, site.min_memory_mb) * 2**times_out_of_memory
        if nodes.max_memory_gb is not None:
            memory = min(memory, int(nodes.max_memory_gb * 1000))
        minutes = (SAFETY * cost.seconds / 60 + START_MINUTES) * 2**times_out_of_time
        minutes = ROUND_MINUTES * math.ceil(minutes / ROUND_MINUTES)
        request: Json = {
            "threads": cost.threads,
            "mem_mb": int(memory),
            "runtime": int(min(minutes, 60 * nodes.max_hours)),
            "slurm_extra": " ".join(
                filter(
                    None, [f"--signal=URG@{site.warning_seconds}", "--open-mode=append", site.extra]
                )
            ),
            "gpu": cost.gpus if site.gpu.request == "gpus" else 0,
            "gres": "",
        }
        if cost.gpus and site.gpu.request == "gres":
            per_node = min(cost.gpus, site.gpu.per_node)
            request["gres"] = ":".join(filter(None, ["gpu", site.gpu.type, str(per_node)]))
        elif cost.gpus and site.gpu.type:
            request["gpu_model"] = site.gpu.type
        for name, value in (
            ("slurm_partition", nodes.partition),
            ("slurm_account", nodes.account),
            ("qos", nodes.qos),
            ("constraint", nodes.constraint),
        ):
            if value:
                request[name] = value
        return request
