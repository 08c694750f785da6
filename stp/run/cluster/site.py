"""Settings of one computing site: partitions, accounts, GPUs, limits.

Users copy config/site.example.yaml to config/site.yaml, and change what differs at their site.
These settings cannot change a result, so no fingerprint contains them.
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
    """Name of the group of a dataset's short jobs, which are submitted to Slurm together."""
    return f"small-{dataset}"


class Nodes(Strict):
    """One kind of node, and how jobs request it.

    Attributes:
        partition: Slurm partition; by default the cluster's default partition.
        account: Slurm account to which jobs are charged; by default the user's default account.
        qos: Slurm's quality of service of jobs; by default that which Slurm chooses.
        constraint: features that a node must have (sbatch --constraint); by default none.
        max_hours: time limit of the partition, hours; longer training runs save their state and
            requeue themselves.
        max_memory_gb: memory of a node in GB, which limits all requests.
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
        per_node: number of GPUs of a node; a training run with more GPUs uses several nodes.
    """

    request: Literal["gpus", "gres"] = "gpus"
    type: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.]+$")
    per_node: int = Field(default=8, ge=1)


class Site(Strict):
    """Settings of a site, from config/site.yaml or the file that STP_SITE names.

    Attributes:
        accounting: whether ``sacct`` knows finished jobs; ``auto`` asks Slurm.
        cpu: nodes for jobs without a GPU.
        gpu: nodes for jobs with a GPU.
        jobs: maximum number of submitted jobs at any time.
        retries: number of times that Snakemake retries a failed job.
        requeues: number of times that Slurm restarts a training run that saved its state; these do
            not count as retries.
        warning_seconds: time before the time limit at which a training run receives a signal to
            save its state, seconds.
        first_status_seconds: time until Snakemake first checks the state of a job, seconds.
        group_minutes: expected duration in minutes up to which jobs are submitted together.
        group_jobs: maximum number of cells whose jobs are submitted together (a cell has several
            jobs, such as prediction and scoring), and maximum number of CPUs that such a submission
            requests; jobs that do not fit run afterwards.
        min_memory_mb: minimum memory of a request, MB.
        memory_mb: memory of the first request by stage, MB, in place of the estimate.
        scratch: folder for temporary files on a node; may contain variables of the job, as in
            ``/scratch/$SLURM_JOB_ID``.
        software: source of a job's software: the environment of the submitting process, conda or
            apptainer.
        image: image for apptainer: a file or a docker:// address.
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
        """Read the file of the site; without a file, return the defaults.

        Raises:
            StpError: the file that STP_SITE names is missing, or a key is unknown or wrong.
        """
        site_file = os.environ.get("STP_SITE")
        path = Path(site_file) if site_file else CONFIG_FOLDER / "site.yaml"
        if not site_file and not path.is_file():
            return cls()
        return _read(path.absolute())

    def nodes(self, gpus: int) -> Nodes:
        """The kind of node for a job with ``gpus`` GPUs."""
        return self.gpu if gpus else self.cpu

    def has_accounting(self) -> bool:
        """Whether ``sacct`` knows finished jobs."""
        if self.accounting == "auto":
            return slurm.has_accounting()
        return self.accounting

    def job_setup(self) -> str:
        """Shell commands at the start of each rule, to put temporary files into `scratch`.

        They take effect in Slurm jobs only; empty if `scratch` is None.
        """
        if self.scratch is None:
            return ""
        return (
            f'if [ -n "${{SLURM_JOB_ID:-}}" ]; then export TMPDIR="{self.scratch}"; '
            'mkdir -p "$TMPDIR"; fi; '
        )

    def shell_prefix(self, commands: Path) -> str:
        """Make the shell commands that run before the command of each rule.

        They append a folder to PATH, so that jobs find the command ``stp``. If `scratch` is set,
        they also let TMPDIR name this folder in Slurm jobs, and create it.

        Args:
            commands: folder of the command ``stp``.

        Returns:
            a format string for Snakemake's ``shell.prefix``, with doubled braces.
        """
        setup = f'export PATH="$PATH":{shlex.quote(str(commands))}; {self.job_setup()}'
        return setup.replace("{", "{{").replace("}", "}}")

    def profile(self) -> dict[str, Any]:
        """Settings of profiles/slurm/config.yaml, by name of Snakemake's option."""
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
