"""Settings of one computing site: partitions, accounts, GPUs, limits.

People copy config/site.example.yaml to config/site.yaml and change what differs at their site.
Nothing here can change a result, so nothing of it is in a fingerprint.
"""

import os
import shlex
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from stp.core.errors import StpError
from stp.plan.checked_config import CONFIG_FOLDER, Strict, check, entries, read_yaml
from stp.run.cluster import slurm


def small_group(dataset: str) -> str:
    """Name the group of short jobs of a dataset."""
    return f"small-{dataset}"


class Nodes(Strict):
    """One kind of node, and how to ask for it.

    Attributes:
        partition: of Slurm; the default one unless set.
        account: that jobs are charged to.
        qos: quality of service.
        constraint: features that a node must have.
        max_hours: time limit of the partition; longer trainings save and requeue themselves.
        max_memory_gb: of one node; requests never grow beyond it.
    """

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    max_hours: float = Field(default=24.0, gt=0)
    max_memory_gb: float | None = Field(default=None, gt=0)


class GpuNodes(Nodes):
    """Nodes with GPUs.

    Attributes:
        request: ``gpus`` (sbatch --gpus=1) or ``gres`` (sbatch --gres=gpu:a100:1).
        type: the site's name of the GPU type, such as ``a100``; None for any.
        per_node: GPUs of one node; more for one training means several nodes.
    """

    request: Literal["gpus", "gres"] = "gpus"
    type: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.]+$")
    per_node: int = Field(default=8, ge=1)


class Site(Strict):
    """A site; its file is config/site.yaml, or the one that STP_SITE names.

    Attributes:
        accounting: does ``sacct`` know finished jobs? ``auto`` asks Slurm.
        cpu: where jobs without a GPU run.
        gpu: where jobs with a GPU run.
        jobs: submitted at the same time, at most.
        retries: of a job that failed, by Snakemake.
        requeues: of one training that saved itself, by Slurm; not counted as retries.
        warning_seconds: how long before its time limit a training is told to save itself.
        first_status_seconds: until Snakemake first looks at a job.
        group_minutes: jobs expected to be shorter than this are submitted together.
        group_jobs: of how many cells they make one submission. It asks for what its jobs ask
            together, but for no more CPUs than this: the others run after them.
        min_memory_mb: no job asks for less.
        memory_mb: first request of a stage, instead of the estimate.
        scratch: folder for temporary files on a node; may hold variables of the job, such as
            ``/scratch/$SLURM_JOB_ID``.
        software: how a job finds its software: as it is here, or by conda or apptainer.
        image: of apptainer, a file or a docker:// address.
        extra: further options of sbatch.
    """

    accounting: bool | Literal["auto"] = "auto"  # YAML reads on and off as booleans
    cpu: Nodes = Nodes()
    gpu: GpuNodes = GpuNodes()
    jobs: int = Field(default=200, ge=1)
    retries: int = Field(default=2, ge=0)
    requeues: int = Field(default=100, ge=0)
    warning_seconds: int = Field(default=180, ge=1)
    first_status_seconds: int = Field(default=40, ge=1)
    group_minutes: float = Field(default=10.0, ge=0)
    group_jobs: int = Field(default=10, ge=1)
    min_memory_mb: int = Field(default=1000, ge=1)
    memory_mb: dict[Literal["fetch", "prepare", "train", "predict", "features", "score"], int] = (
        Field(default={})
    )
    scratch: str | None = None
    software: Literal["here", "conda", "apptainer"] = "here"
    image: str | None = None
    extra: str = ""

    @classmethod
    def load(cls) -> "Site":
        """Read the site's file; without one, the defaults hold.

        Raises:
            StpError: the file that STP_SITE names is missing, or a key is unknown or wrong.
        """
        named = os.environ.get("STP_SITE")
        path = Path(named) if named else CONFIG_FOLDER / "site.yaml"
        if not named and not path.is_file():
            return cls()
        return _read(path.absolute())

    def nodes(self, gpus: int) -> Nodes:
        """The nodes for a job."""
        return self.gpu if gpus else self.cpu

    def has_accounting(self) -> bool:
        """Does ``sacct`` know finished jobs?"""
        if self.accounting == "auto":
            return slurm.has_accounting()
        return self.accounting

    def job_setup(self) -> str:
        """Shell commands at the start of every rule: temporary files go to the node's disk."""
        if self.scratch is None:
            return ""
        return (
            f'if [ -n "${{SLURM_JOB_ID:-}}" ]; then export TMPDIR="{self.scratch}"; '
            'mkdir -p "$TMPDIR"; fi; '
        )

    def shell_prefix(self, commands: Path) -> str:
        """What Snakemake puts before the shell command of every rule.

        Args:
            commands: folder of commands that jobs find after all others.

        Returns:
            for ``shell.prefix``, which formats it: braces of the shell are doubled.
        """
        setup = f'export PATH="$PATH":{shlex.quote(str(commands))}; {self.job_setup()}'
        return setup.replace("{", "{{").replace("}", "}}")

    def profile(self) -> dict[str, Any]:
        """What profiles/slurm/config.yaml takes over, by the names of Snakemake's options."""
        keys: dict[str, Any] = {
            "jobs": self.jobs,
            "retries": self.retries,
            "slurm-status-command": "sacct" if self.has_accounting() else "squeue",
            "slurm-init-seconds-before-status-checks": self.first_status_seconds,
            "slurm-requeue": True,
            "group-components": {
                small_group(name): self.group_jobs for name in entries("datasets")
            },
        }
        if self.software != "here":
            keys["software-deployment-method"] = self.software
        return keys


@cache
def _read(path: Path) -> Site:
    try:
        content = read_yaml(path)
    except StpError as error:
        raise StpError(
            error.what,
            remedy="copy config/site.example.yaml, or unset STP_SITE",
        ) from None
    # A section whose lines are all comments is null, and means its defaults.
    return check(Site, {k: v for k, v in (content or {}).items() if v is not None}, str(path))
