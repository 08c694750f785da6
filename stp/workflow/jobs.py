"""Determine inputs and resources of jobs, for rules of Snakemake."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.plan.artefacts import PERCEPTUAL, Artefact
from stp.plan.cells import Plan
from stp.run.cluster.resources import SITE_RESOURCES, JobResources
from stp.run.cluster.site import Site
from stp.run.input_digest import clamp_future_time
from stp.run.snakemake_cli import exits_plainly
from stp.studies.options import BEST_OF_FILE, BestOf, load_item

Ask = Callable[..., Any]
"""Function in a rule: Snakemake calls it with the wildcards of each job that it plans."""

_KEYS = (
    *("suite", "dimension", "model", "variant", "trained_on", "train_subset", "tested_on"),
    *("subset", "setting", "seed"),
)
"""Wildcards of a cell, in the order of its path in the store."""
CELL = "/".join(f"{{{key}}}" for key in _KEYS)
MADE = "{fingerprint}/artefact.json"
RECEIPTS = {
    "prepare": f"data/{{dataset}}/{MADE}",
    "train": f"models/{{dataset}}/{{model}}/{{variant}}/{{seed}}/{MADE}",
    "predict": f"predictions/{CELL}/{MADE}",
    "features of data": "features/data/{tested_on}/{subset}/{setting}/{frames}/{layer}/" + MADE,
    "features of predictions": f"features/predictions/{CELL}/{{frames}}/{{layer}}/{MADE}",
    "score": f"scores/{CELL}/{MADE}",
    "score_perceptual": f"scores/{CELL}/{PERCEPTUAL}/{MADE}",
}
"""Receipts in the store, by the stage that makes them."""
LOCK = "raw/{dataset}/{release}.lock.json"


def require_dimension(plan: Plan, dimension: str) -> str:
    """Check that the scale of a plan has a dimension, and return its name.

    Raises:
        StpError: the scale does not have the dimension.
    """
    scale = plan.config.scale
    if dimension not in scale.dimensions:
        raise StpError(
            f"the scale {scale.scale} has no dimension {dimension}",
            expected=f"one of {', '.join(scale.dimensions)}",
            remedy="name a scale that has it (`stp run ... --scale NAME`), or declare it under "
            "`dimensions:` in the scale file",
        )
    return dimension


def _of_now(paths: list[str]) -> list[str]:
    now = time.time()
    for path in paths:
        clamp_future_time(Path(path), now)
    return paths


class Jobs:
    """Inputs and resources of the jobs of a plan.

    Args:
        plan: the plan of the scale.
        site: the site where jobs run.
        cores: number of cores of this machine that Snakemake may use; None for a cluster.
    """

    def __init__(self, plan: Plan, site: Site, cores: int | None) -> None:
        self.plan = plan
        self.resources = JobResources(plan, site)
        self.profile_threads = cores or 8
        """Threads of a measurement: all cores of this machine, or those of a job on a cluster."""
        # Resources that the site does not set are left out.
        self.named = ["mem_mb", "runtime", "slurm_extra"]
        self.named += ["gres" if site.gpu.request == "gres" else "gpu"]
        self.named += [name for name in SITE_RESOURCES if self.resources.site_sets(name)]

    def receipt(self, stage: str) -> str:
        """Path of the receipt, the file by which Snakemake knows that an artefact is finished.

        Args:
            stage: what makes the artefact, such as ``train`` or ``score``: a key of `RECEIPTS`.

        Returns:
            the path, with wildcards.
        """
        return f"{self.plan.store}/{RECEIPTS[stage]}"

    @property
    def lock(self) -> str:
        """Path, with wildcards, of the lock file with the checksums of a dataset's raw files."""
        return f"{self.plan.store}/{LOCK}"

    def log(self, results: str, stage: str) -> str:
        """Path of the log of the jobs of a stage, with wildcards.

        Args:
            results: folder of results of the scale.
            stage: stage of the jobs, such as ``train`` or ``score``: a key of `RECEIPTS`.
        """
        verb = stage.removesuffix(f"_{PERCEPTUAL}").split()[0]
        where = RECEIPTS[stage].removesuffix("/artefact.json").partition("/")[2]
        return f"{results}/logs/{verb}/{where}.log"

    def inputs_of(self, receipt: str) -> Ask:
        """Make a function of wildcards that returns what an artefact is made from.

        The function returns paths of receipts of other artefacts and of lock files.

        Args:
            receipt: path of the receipt of the artefact, with wildcards.
        """
        return lambda wildcards: _of_now(
            self.plan.inputs(self.plan.find(receipt.format(**wildcards)))
        )

    def scores_of(self, dimension: str) -> Ask:
        """Make a function of wildcards that returns what the table of a dimension waits for.

        The function returns paths of the receipts of all scores of the dimension.

        Args:
            dimension: name of the dimension.
        """
        return lambda wildcards: _of_now(self.plan.receipts(dimension))

    def asks(self, receipt: str) -> dict[str, Ask]:
        """Make functions of wildcards that tell Snakemake the resources of a job.

        Snakemake calls them with the wildcards of each job, and again before every retry
        (stp/run/cluster/resources.py).

        Args:
            receipt: path of the receipt that the job makes, with wildcards.

        Returns:
            a function for each resource that the site sets, by Snakemake's name of the resource,
            such as ``mem_mb`` (memory in MB) or ``runtime`` (minutes).
        """

        def ask(name: str) -> Ask:
            return lambda wildcards, attempt: self.resources.of(
                receipt.format(**wildcards), attempt
            ).get(name)

        return {name: ask(name) for name in self.named}

    def asks_fetch(self) -> dict[str, Ask]:
        """Make functions of wildcards that tell Snakemake the resources of a download.

        Returns:
            a function for each resource that the site sets, by Snakemake's name of the resource, as
            for `asks`.
        """

        def ask(name: str) -> Ask:
            return lambda wildcards: self.resources.of_fetch(self.lock.format(**wildcards)).get(
                name
            )

        return {name: ask(name) for name in self.named}

    def asks_profile(self) -> dict[str, Ask]:
        """Make functions of wildcards that tell Snakemake the resources of a job of `stp profile`.

        Such a job measures size and speed of a network.

        Returns:
            a function for each resource that the site sets, by Snakemake's name of the resource, as
            for `asks`.
        """

        def ask(name: str) -> Ask:
            return lambda wildcards: self.resources.of_profile(self.profile_threads).get(name)

        return {name: ask(name) for name in self.named}

    def threads_of(self, receipt: str) -> Ask:
        """Make a function of wildcards that returns the number of CPU threads of a job.

        The number is for all processes of the job together.

        Args:
            receipt: path of the receipt that the job makes, with wildcards.
        """
        return lambda wildcards: self.resources.of(receipt.format(**wildcards))["threads"]

    def group_of(self, receipt: str) -> Ask:
        """Make a function of wildcards that returns the name of the group of a short job.

        Short jobs of one group are submitted to the cluster together, as one job. The function
        returns None for a job that is submitted alone.

        Args:
            receipt: path of the receipt that the job makes, with wildcards.
        """
        return lambda wildcards: self.resources.group(receipt.format(**wildcards))

    def predictions_of_study(self, dimension: str | None) -> Ask:
        """Make a function of wildcards that returns what a questionnaire is made from.

        Snakemake calls the function only if somebody asks for the questionnaire of the study in
        which raters choose the best prediction. It returns paths of the receipts of the predictions
        that raters see. If the scale lacks some of them, or the suite has no such study, it ends
        the process with an error.

        Args:
            dimension: name of the dimension of the predictions; None if the suite has no such
                study.
        """

        @exits_plainly()
        def needed(wildcards: object) -> list[str]:
            scale = self.plan.config.scale.scale
            if dimension is None:
                raise StpError(
                    f"the suite {self.plan.config.scale.suite} has no study of predictions",
                    expected=f"a table of a dimension with `study: {BEST_OF_FILE.name}`",
                )
            require_dimension(self.plan, dimension)
            study = load_item(BestOf, BEST_OF_FILE, scale)
            predictions: dict[tuple[str, str], Artefact] = {}
            for made in self.plan.cells:
                cell = made.cell
                is_own = cell.dimension == dimension and cell.trained_on == cell.tested_on
                if is_own and made.predictions is not None:
                    predictions.setdefault((cell.model, cell.tested_on), made.predictions)
            study.demand(scale, predictions, BEST_OF_FILE)
            pairs = [(model, dataset) for dataset in study.clips for model in study.models]
            return [str(Path(self.plan.store, predictions[pair].receipt)) for pair in pairs]

        return needed
